import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { canonicalJson } from '@baton/values/canonical-json';
import { eventText } from '@baton/values/event-text';
import { newId } from '@baton/values/ids';
import type { JsonObject } from '@baton/values/wire';
import { emit } from '../../ledger/journal/journal.ts';
import { requireVersionOf } from '../../service/changes.ts';
import { checkDocument, refuseSecretKeys, refuseSecretText } from '../../service/documents.ts';
import { holds } from '../../service/permissions.ts';
import { checkStoredSchema } from '../../service/stored-schema.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { lockVersions } from '../version-lock.ts';
import {
  type Skill,
  type SkillChange,
  type SkillRequest,
  type SkillRow,
  skillOf,
  skillProtocols,
  skillStatuses,
} from './skill.ts';
import {
  callableProtocols,
  checkContractSchemas,
  checkEndpoint,
  parseContract,
  routeOf,
  type SkillContract,
} from './skill-contract.ts';
import { skillRegistered, skillUpdated } from './skills.events.ts';
import {
  findNewestSkill,
  findSkill,
  findSkillOfVersion,
  findSkills,
  findSkillsOfVersions,
  insertSkill,
  lockSkill,
  type PinnedSkillRow,
  shareSkill,
  updateSkillValues,
} from './skills.sql.ts';

/**
 * Records a version of a skill, which can be assigned and required; with a contract it can be called. See
 * docs/reference/skills.md#skills.
 * @throws Refusal `invalid_skill_contract`, `unsupported_skill_condition`, `invalid_protocol`, `invalid_document`,
 * `payload_too_large`, `payload_too_deep`, `invalid_json_schema`, `secret_material_rejected`, `skill_exists`
 */
export async function createSkill(context: Context, request: SkillRequest): Promise<Skill> {
  const { db, tenantId } = context;
  const { name, version, description } = request;
  const [sideEffects, riskLevel] = [request.sideEffects ?? null, request.riskLevel ?? null];
  const contract =
    request.contract == null ? null : parseContract(request.contract, { sideEffects, riskLevel });
  const protocol = protocolOf(request, contract);
  refuseSecretText(description, 'description');
  if (contract !== null) checkContractSchemas(contract);
  const [inputSchema, outputSchema] = [
    parseSchema(request.inputSchema ?? null, 'inputSchema'),
    parseSchema(request.outputSchema ?? null, 'outputSchema'),
  ];
  const config = parseConfig(request.config);
  const route = contract === null ? { target: '', audience: '' } : routeOf(contract);
  await lockVersions(context, 'skills', name);
  const facts = { name, version, description, protocol, config, inputSchema, outputSchema, contract };
  const row = await db.row(
    insertSkill({ ...facts, ...route, sideEffects, riskLevel, id: newId(), tenantId }),
  );
  if (row === undefined) return fail('skill_exists', { name, version });
  const payload = { name: eventText(name), version, protocol, sideEffects, riskLevel };
  emit(context, skillRegistered, { entityId: row.id }, { ...payload, invocable: contract !== null });
  return skillOf(row);
}

/** The contract's protocol or, if there is no contract, the request's. */
function protocolOf(
  { protocol, inputSchema, outputSchema }: SkillRequest,
  contract: SkillContract | null,
): SkillRow['protocol'] {
  if (contract === null)
    return (
      skillProtocols.find((known) => known === protocol) ??
      fail('invalid_protocol', { allowed: skillProtocols })
    );
  const own = contract.implementation.protocol;
  if (protocol != null && protocol !== own)
    fail('invalid_skill_contract', { field: 'protocol', message: "must be the contract's" });
  const beside = inputSchema != null ? 'inputSchema' : outputSchema != null ? 'outputSchema' : undefined;
  if (beside !== undefined)
    fail('invalid_skill_contract', { field: beside, message: 'belongs to the contract' });
  return own;
}

/** @throws Refusal `invalid_status`, `invalid_cursor` */
export async function listSkills(
  { db, tenantId }: Context,
  { name, status, package: packageKey }: { name?: string; status?: string; package?: string },
  page: Page,
): Promise<ItemPage<Skill>> {
  if (status !== undefined) requireStatus(status);
  const found = findSkills(tenantId, { name, status, package_key: packageKey }, page);
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

/** Finds a skill and locks its status until the commit. @throws Refusal `not_found` */
export async function holdSkill({ db, tenantId }: Context, id: string): Promise<SkillRow> {
  return (await db.row(shareSkill(tenantId, id))) ?? fail('not_found', { skillId: id });
}

const idForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Returns the first reason why a skill can't be called, if any. See docs/reference/skills.md#invoke. */
export function findObstacleToCall({ status, protocol, contract }: SkillRow): ObstacleToCall | undefined {
  return obstacleOf({ status, protocol, has_contract: contract !== null });
}

export type ObstacleToCall = 'disabled' | 'protocol_not_invocable' | 'no_contract';

function obstacleOf(skill: Pick<PinnedSkillRow, 'status' | 'protocol' | 'has_contract'>) {
  if (skill.status === 'disabled') return 'disabled';
  if (!callableProtocols.some((known) => known === skill.protocol)) return 'protocol_not_invocable';
  return skill.has_contract ? undefined : 'no_contract';
}

/** A version of a skill that another object refers to. */
export interface PinnedSkill {
  readonly id: string;
  readonly obstacle: ObstacleToCall | undefined;
  readonly sideEffects: SkillRow['side_effects'];
}

/** Returns those of the given references, in the form `name@version`, that are skills of the tenant. */
export async function findPinnedSkills(
  { db, tenantId }: Context,
  refs: readonly string[],
): Promise<ReadonlyMap<string, PinnedSkill>> {
  if (refs.length === 0) return new Map();
  const parts = [...new Set(refs)].map((ref) => ref.split('@', 2) as [string, string]);
  const names = parts.map(([name]) => name);
  const versions = parts.map(([, version]) => version);
  const rows = await db.rows(findSkillsOfVersions(tenantId, names, versions));
  return new Map(
    rows.map((row) => [
      `${row.name}@${row.version}`,
      { id: row.id, obstacle: obstacleOf(row), sideEffects: row.side_effects },
    ]),
  );
}

/** Finds a skill by its id, by `name@version` in any status, or by a name as described in `SkillRef`. */
export function findSkillByRef({ db, tenantId }: Context, ref: string): Promise<SkillRow | undefined> {
  if (idForm.test(ref)) return db.row(findSkill(tenantId, ref));
  const at = ref.indexOf('@');
  if (at < 0) return db.row(findNewestSkill(tenantId, ref));
  return db.row(findSkillOfVersion(tenantId, ref.slice(0, at), ref.slice(at + 1)));
}

/** A status that isn't listed here is final. See docs/reference/skills.md#skills. */
const moves: Readonly<Record<SkillRow['status'], readonly SkillRow['status'][]>> = {
  active: ['deprecated', 'disabled'],
  deprecated: ['disabled'],
  disabled: [],
};

/**
 * Changes the description or the status of a skill or the endpoint of its contract; the behaviour of a version never
 * changes. Values equal to the stored ones change nothing.
 * @throws Refusal `not_found`, `version_conflict`, `invalid_status`, `skill_version_immutable`,
 * `invalid_status_transition`, `skill_not_invocable`, `invalid_skill_contract`, `empty_update`,
 * `secret_material_rejected`
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
  const contract = change.endpoint == null ? before.contract : contractAt(before, change.endpoint);
  if (Object.keys(change).length === 0) fail('empty_update');
  const description = change.description ?? before.description;
  if (description !== before.description) refuseSecretText(description, 'description');
  const endpoint = { from: endpointOf(before.contract), to: endpointOf(contract) };
  const changedFields = [
    ...(description === before.description ? [] : ['description']),
    ...(status === before.status ? [] : ['status']),
    ...(endpoint.from === endpoint.to ? [] : ['endpoint']),
  ];
  if (changedFields.length === 0) return skillOf(before);
  const { target, audience } = contract === null ? before : routeOf(contract);
  const after = { description, status, contract, target, audience };
  const row = (await db.row(updateSkillValues(tenantId, id, after))) as SkillRow;
  const moved =
    endpoint.from === endpoint.to || endpoint.to === null ? undefined : textsOf(endpoint.from, endpoint.to);
  const payload = {
    changedFields,
    rowVersion: row.row_version,
    ...(moved !== undefined && { endpoint: moved }),
  };
  emit(context, skillUpdated, { entityId: id }, payload);
  return skillOf(row);
}

const endpointOf = (contract: SkillContract | null) => contract?.implementation.endpoint ?? null;

function textsOf(from: string | null, to: string) {
  return { from: from === null ? null : eventText(from), to: eventText(to) };
}

/** @throws Refusal `skill_not_invocable`, `invalid_skill_contract`, `secret_material_rejected` */
function contractAt({ contract, protocol }: SkillRow, endpoint: string): SkillContract {
  if (contract === null) return fail('skill_not_invocable', { reason: 'no_contract' });
  checkEndpoint(protocol, endpoint, 'endpoint');
  refuseSecretText(endpoint, 'endpoint');
  return { ...contract, implementation: { ...contract.implementation, endpoint } };
}

function requireStatus(status: string): SkillRow['status'] {
  return (
    skillStatuses.find((known) => known === status) ?? fail('invalid_status', { allowed: skillStatuses })
  );
}

/** @throws Refusal `skill_version_immutable` if documents differ from the stored ones */
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

function parseSchema(schema: unknown, field: string): JsonObject | null {
  if (schema === null) return null;
  checkStoredSchema(schema, { field });
  return schema;
}
