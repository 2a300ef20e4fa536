import { inSlices } from '@baton/kernel/limits/slices';
import type { ProcessSpec } from '@baton/process-engine/language/definition';
import { elementsOf } from '@baton/process-engine/language/elements';
import { isObject } from '@baton/process-engine/language/expressions/types';
import type { ProcessProblem } from '@baton/process-engine/language/problems';
import {
  type ReadDefinition,
  readDefinition,
  sizeFault,
} from '@baton/process-engine/language/read-definition';
import { newId } from '@baton/values/ids';
import { nodesOf } from '@baton/values/json';
import type { Json } from '@baton/values/wire';
import { requireMayMove } from '../../access/policy/filed-in.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { lockVersions } from '../../organisation/version-lock.ts';
import { enterWorkspace } from '../../organisation/workspaces/workspaces.ts';
import { requireMayActAs } from '../../registry/agent-identity/acting-agents.ts';
import { refuseSecretText } from '../../service/documents.ts';
import { requireSight } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { storeTriggers } from '../triggers/triggers.ts';
import { scheduleMigrations } from './declared-migrations.ts';
import {
  definitionOf,
  type KeyedDefinitionRow,
  type ProcessDefinition,
  type ProcessDefinitionRequest,
} from './definition.ts';
import { findProblems, hashDefinition } from './definition-problems.ts';
import { definitionPublished, definitionRestored, elementsNamedMax } from './definitions.events.ts';
import {
  deleteReferences,
  findDefinition,
  insertDefinition,
  insertProcessKey,
  insertReferences,
  lockProcessKey,
  updateLatestToEarlier,
} from './definitions.sql.ts';

const expressionProfile = 'cp/1';
/** Must be incremented whenever the engine starts to interpret definitions differently. */
const engineRevision = 1;

/** The package that a version belongs to. */
interface Author {
  readonly key: string;
  readonly version: string;
}

/** Locks a process, even one that doesn't exist yet, against concurrent publication and retirement until the commit. */
export async function lockDefinition(context: Context, key: string): Promise<void> {
  const { db, tenantId } = context;
  await lockVersions(context, 'process_definitions', key);
  await db.run(insertProcessKey(tenantId, key));
  await db.run(lockProcessKey(tenantId, key));
}

/**
 * Publishes a version of a process (docs/reference/processes.md#definitions). The author chooses its number, which must
 * be higher than all earlier ones.
 * @param author the package that the version belongs to; absent for a person
 * @returns the version, and whether it is new
 * @throws Refusal `payload_too_large`, `secret_material_rejected`, `not_found`, `process_version_conflict`,
 * `invalid_process`, `workspace_archived`, `unknown_agent`, `permission_escalation`
 */
export async function publishDefinition(
  context: Context,
  { key, spec: sent }: ProcessDefinitionRequest,
  author?: Author,
): Promise<{ definition: ProcessDefinition; isNew: boolean }> {
  const tooLarge = sizeFault(sent);
  if (tooLarge !== undefined) fail('payload_too_large', { field: 'spec', ...tooLarge });
  const read = await inSlices(readDefinition(sent));
  await inSlices(refusingSecrets((read.spec ?? sent ?? null) as Json));
  const { db, tenantId } = context;
  await lockDefinition(context, key);
  const latest = await db.row(findDefinition(tenantId, key, null));
  if (latest !== undefined) await requireSight(context, latest.workspace_id, { processDefinition: key });
  const hash = hashDefinition(read);
  const same = latest && (await sameVersion(context, latest, read, sent, hash));
  if (same !== undefined) return { definition: definitionOf(same), isNew: false };
  const { spec, warnings, calendars } = await requireValid(context, read, latest);
  if (spec.workspaceId !== null) await enterWorkspace(context, spec.workspaceId);
  await requireMayMove(context, 'processes.write', latest?.workspace_id ?? null, spec.workspaceId);
  const { permissions } = context.caller;
  await requireMayActAs(context, spec.identity?.agent as string, [permissions]);
  const made = {
    id: newId(),
    tenant_id: tenantId,
    workspace_id: spec.workspaceId,
    key,
    version: spec.version,
    definition_hash: hash as string,
    identity_agent: spec.identity?.agent as string,
    governed_by: spec.governedBy,
    expression_profile: expressionProfile,
    engine_revision: engineRevision,
    spec,
    warnings,
    created_by: context.caller.principalId,
  };
  await db.run(updateLatestToEarlier(tenantId, key));
  await db.run(insertDefinition(made));
  await db.run(deleteReferences(tenantId, key));
  const documents = spec.governedBy.map((name) => ({ kind: 'document' as const, name }));
  await db.run(
    insertReferences(tenantId, key, [
      ...documents,
      ...calendars.map((name) => ({ kind: 'calendar' as const, name })),
    ]),
  );
  const from = await scheduleMigrations(context, key, spec);
  await storeTriggers(context, { key, version: spec.version, spec }, from);
  tellPublished(context, made, latest, author);
  const row = (await db.row(findDefinition(tenantId, key, null))) ?? fail('not_found');
  return { definition: definitionOf(row), isNew: true };
}

/** Searches the strings one by one, so that other work can run in between. */
function* refusingSecrets(document: Json): Generator<void, void> {
  for (const { value, path } of nodesOf(document)) {
    if (typeof value !== 'string') continue;
    refuseSecretText(value, `spec${path}`.slice(0, 200).toWellFormed());
    yield;
  }
}

/**
 * The version that already exists, if its content is the same.
 * @throws Refusal `process_version_conflict` for different content, or for a number that is not higher than the latest
 */
async function sameVersion(
  { db, tenantId }: Context,
  latest: KeyedDefinitionRow,
  read: ReadDefinition,
  sent: unknown,
  hash: string | undefined,
): Promise<KeyedDefinitionRow | undefined> {
  const { key, version: latestVersion } = latest;
  const version = read.spec?.version ?? (isObject(sent) ? sent['version'] : undefined);
  if (typeof version !== 'number' || !Number.isInteger(version) || version > latestVersion) return undefined;
  const stored = version < 1 ? undefined : await db.row(findDefinition(tenantId, key, version));
  if (stored !== undefined && stored.definition_hash === hash) return stored;
  const details = { key, version, latestVersion };
  return fail(
    'process_version_conflict',
    stored ? { ...details, definitionHash: stored.definition_hash } : details,
  );
}

interface ValidDefinition {
  readonly spec: ProcessSpec;
  readonly warnings: ProcessProblem[];
  /** The keys of the calendars that the definition uses. */
  readonly calendars: readonly string[];
}

/** @throws Refusal `invalid_process` with every problem */
async function requireValid(
  context: Context,
  read: ReadDefinition,
  latest: KeyedDefinitionRow | undefined,
): Promise<ValidDefinition> {
  const { problems, calendars } = await findProblems(context, read, latest);
  const { spec } = read;
  if (spec === undefined || problems.some(({ severity }) => severity === 'error'))
    return fail('invalid_process', { problems });
  return { spec, warnings: problems, calendars };
}

type Made = Parameters<typeof insertDefinition>[0];

function tellPublished(
  context: Context,
  made: Made,
  latest: KeyedDefinitionRow | undefined,
  author: Author | undefined,
): void {
  const { key, version, spec } = made;
  const about = { entityId: made.id, workspaceId: made.workspace_id };
  const elements = [...elementsOf(spec)].slice(0, elementsNamedMax).map(({ id, kind }) => ({ id, kind }));
  emit(context, definitionPublished, about, {
    key,
    version,
    definitionHash: made.definition_hash,
    previousVersion: latest?.version ?? null,
    workspaceId: made.workspace_id,
    identityAgent: made.identity_agent,
    displayName: spec.displayName,
    governedBy: spec.governedBy,
    elements,
  });
  if (latest?.status === 'retired')
    emit(context, definitionRestored, about, {
      key,
      latestVersion: version,
      packageKey: author?.key ?? null,
      packageVersion: author?.version ?? null,
    });
}
