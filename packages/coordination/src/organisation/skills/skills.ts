import { canonicalJson } from '@baton/kernel/idempotency';
import { newId } from '@baton/kernel/ids';
import { type ItemPage, listPage } from '@baton/kernel/list';
import type { Page } from '@baton/kernel/paging';
import type { JsonObject } from '@baton/kernel/wire';
import { emit } from '../../ledger/journal/journal.ts';
import { requireVersionOf } from '../../service/changes.ts';
import { checkDocument, eventText, refuseSecretKeys, refuseSecretText } from '../../service/documents.ts';
import { holds } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  type Skill,
  type SkillChange,
  type SkillRequest,
  type SkillRow,
  skillOf,
  skillProtocols,
  skillStatuses,
} from './skill.ts';
import { skillRegistered, skillUpdated } from './skills.events.ts';
import {
  findNewestSkill,
  findSkill,
  findSkillOfVersion,
  findSkills,
  insertSkill,
  lockSkill,
  type SkillValues,
  shareSkill,
  updateSkillValues,
} from './skills.sql.ts';

/**
 * Records a skill that can be assigned and asked for (organisation, section 10.2). Skills that can be called have a
 * contract; calls don't exist yet, so a contract is refused.
 * @throws Refusal `invalid_skill_contract`, `invalid_protocol`, `invalid_document`, `payload_too_large`,
 * `payload_too_deep`, `invalid_json_schema`, `secret_material_rejected`, `skill_exists`
 */
export async function createSkill(context: Context, request: SkillRequest): Promise<Skill> {
  const { db, tenantId } = context;
  const { name, version, description, sideEffects = null, riskLevel = null } = request;
  if (request.contract != null) fail('invalid_skill_contract', { field: 'contract' });
  const protocol =
    skillProtocols.find((known) => known === request.protocol) ??
    fail('invalid_protocol', { allowed: skillProtocols });
  refuseSecretText(description, 'description');
  const [inputSchema, outputSchema] = [
    parseSchema(request.inputSchema ?? null, 'inputSchema'),
    parseSchema(request.outputSchema ?? null, 'outputSchema'),
  ];
  const config = parseConfig(request.config);
  const facts = { name, version, description, protocol, config, inputSchema, outputSchema };
  const row = await db.row(insertSkill({ ...facts, sideEffects, riskLevel, id: newId(), tenantId }));
  if (row === undefined) return fail('skill_exists', { name, version });
  const payload = { name: eventText(name), version, protocol, invocable: false, sideEffects, riskLevel };
  emit(context, skillRegistered, { entityId: row.id }, payload);
  return skillOf(row);
}

/** @throws Refusal `invalid_status`, `invalid_cursor` */
export async function listSkills(
  { db, tenantId }: Context,
  { name, status, package: packageKey }: { name?: string; status?: string; package?: string },
  page: Page,
): Promise<ItemPage<Skill>> {
  if (status !== undefined) requireStatus(status);
  const found = findSkills(tenantId, { name, status }, page);
  // No package has installed anything yet.
  if (packageKey !== undefined) return { items: [], nextCursor: null };
  return listPage(db, found, skillOf);
}

/** @param ref an id, a name, or `name@version` @throws Refusal `not_found` */
export async function getSkill(context: Context, ref: string): Promise<Skill> {
  const skill = skillOf((await findSkillByRef(context, ref)) ?? fail('not_found', { skill: ref }));
  return holds(context.caller.permissions, 'org.read') ? skill : { ...skill, config: {} };
}

/** @throws Refusal `not_found` */
export async function getSkillRow({ db, tenantId }: Context, id: string): Promise<SkillRow> {
  return (await db.row(findSkill(tenantId, id))) ?? fail('not_found', { skillId: id });
}

/** A skill whose status stays as it is until the commit. @throws Refusal `not_found` */
export async function holdSkill({ db, tenantId }: Context, id: string): Promise<SkillRow> {
  return (await db.row(shareSkill(tenantId, id))) ?? fail('not_found', { skillId: id });
}

const idForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A skill by its id, by `name@version` whatever its status, or by a name as `SkillRef` says. */
export function findSkillByRef({ db, tenantId }: Context, ref: string): Promise<SkillRow | undefined> {
  if (idForm.test(ref)) return db.row(findSkill(tenantId, ref));
  const at = ref.indexOf('@');
  if (at < 0) return db.row(findNewestSkill(tenantId, ref));
  return db.row(findSkillOfVersion(tenantId, ref.slice(0, at), ref.slice(at + 1)));
}

/** A skill in another of these statuses never changes its status again (organisation, section 10.2). */
const moves: Readonly<Record<SkillRow['status'], readonly SkillRow['status'][]>> = {
  active: ['deprecated', 'disabled'],
  deprecated: ['disabled'],
  disabled: [],
};

/**
 * Changes the description of a skill, or takes it out of use; what a version does never changes. Values that are stored
 * already change nothing.
 * @throws Refusal `not_found`, `version_conflict`, `invalid_status`, `skill_version_immutable`,
 * `invalid_status_transition`, `skill_not_invocable`, `secret_material_rejected`, `empty_update`
 */
export async function updateSkill(
  context: Context,
  id: string,
  ifMatch: number,
  change: SkillChange,
): Promise<Skill> {
  const { db, tenantId } = context;
  const before = (await db.row(lockSkill(tenantId, id))) ?? fail('not_found', { skillId: id });
  requireVersionOf('skill', { id, version: before.row_version }, ifMatch);
  const status = change.status == null ? before.status : requireStatus(change.status);
  refuseOtherDocuments(before, change);
  if (status !== before.status && !moves[before.status].includes(status))
    fail('invalid_status_transition', { from: before.status, to: status, allowed: moves[before.status] });
  if (change.endpoint != null) fail('skill_not_invocable', { reason: 'no_contract' });
  if (Object.keys(change).length === 0) fail('empty_update');
  const after: SkillValues = { description: change.description ?? before.description, status };
  if (after.description !== before.description) refuseSecretText(after.description, 'description');
  const changedFields = (['description', 'status'] as const).filter(
    (field) => after[field] !== before[field],
  );
  if (changedFields.length === 0) return skillOf(before);
  const row = (await db.row(updateSkillValues(tenantId, id, after))) as SkillRow;
  emit(context, skillUpdated, { entityId: id }, { changedFields, rowVersion: row.row_version });
  return skillOf(row);
}

function requireStatus(status: string): SkillRow['status'] {
  return (
    skillStatuses.find((known) => known === status) ?? fail('invalid_status', { allowed: skillStatuses })
  );
}

/** @throws Refusal `skill_version_immutable` with the documents that differ from what is stored */
function refuseOtherDocuments(before: SkillRow, change: SkillChange): void {
  const stored = {
    config: before.config,
    inputSchema: before.input_schema,
    outputSchema: before.output_schema,
  };
  const fields = (['config', 'inputSchema', 'outputSchema'] as const).filter(
    (field) => field in change && canonicalJson(change[field]) !== canonicalJson(stored[field]),
  );
  if (fields.length > 0) fail('skill_version_immutable', { fields });
}

function parseConfig(config: unknown): JsonObject {
  checkDocument(config, { field: 'config' });
  refuseSecretKeys(config, 'config');
  return config;
}

/** Only the empty schema is taken as long as nothing here judges by a schema. */
function parseSchema(schema: unknown, field: string): JsonObject | null {
  if (schema === null) return null;
  checkDocument(schema, { field });
  if (Object.keys(schema).length > 0) fail('invalid_json_schema', { field });
  return schema;
}
