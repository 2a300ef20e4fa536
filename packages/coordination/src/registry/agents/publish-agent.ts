import { newId } from '@baton/values/ids';
import { livePermissionsOfKeys } from '../../access/api-keys/api-keys.ts';
import { lockPrincipal } from '../../access/authn/principal-lock.ts';
import { regrantIamBinding } from '../../access/iam-bindings/iam-bindings.ts';
import { refuseEscalation, refuseWiderSight } from '../../access/permission-list.ts';
import { renamePrincipal } from '../../access/principals/managed-principals.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { changeAssignments } from '../../organisation/assignments/assignment-sets.ts';
import { holds, type Permission } from '../../service/permissions.ts';
import { requireSight } from '../../service/sight/sight.ts';
import { assignConnections } from '../connections/assigned.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  type Agent,
  type AgentRequest,
  type AgentRow,
  type AgentValidation,
  agentOf,
  type RevisionRow,
  type RevisionSource,
} from './agent.ts';
import { type AgentSpec, isPlaced, replicasOf } from './agent-spec.ts';
import { agentRevisionPublished, agentStateChanged } from './agents.events.ts';
import {
  findAgent,
  findRevision,
  insertAgent,
  insertRevision,
  lockAgent,
  type SpecifiedValues,
  updateAgentState,
  updateSpecifiedValues,
} from './agents.sql.ts';
import { requireMayGrant, requireMayUseAssignments } from './grant-rules.ts';
import { findStoredSecret } from './references.sql.ts';
import { requireSpecReferences, type SpecReferences } from './references.ts';
import { type CheckedSpec, changedFields, checkSpec } from './spec-checks.ts';

/** A valid spec, with the objects that it refers to. */
interface JudgedSpec {
  readonly spec: AgentSpec;
  readonly permissions: readonly Permission[];
  readonly references: SpecReferences;
  readonly checked: CheckedSpec;
}

/** A prepared spec, with its package. */
type SourcedSpec = JudgedSpec & { readonly source: RevisionSource };

/**
 * Publishes the next revision of an agent, unless it equals the current one. The binding, roles, capabilities and
 * skills of a linked agent are updated in the same transaction. See docs/reference/agents.md#publish.
 * @returns the agent, and whether a revision was created
 * @throws Refusal `agent_retired`, `agent_identity_conflict`, those of `judgeSpec` and `requireMayInstruct`,
 * `not_found` for a hidden agent
 */
export async function publishAgent(
  context: Context,
  { key, spec, package: from }: AgentRequest,
): Promise<{ agent: Agent; isNew: boolean }> {
  const known = await lockAgentToPublish(context, key, spec);
  const source: RevisionSource = from === undefined ? { kind: 'manual' } : { kind: 'package', package: from };
  const judged = { ...(await judgeSpec(context, spec)), source };
  if (known !== undefined) return publishNext(context, known, judged);
  const first = await publishFirst(context, key, judged);
  if (first !== undefined) return { agent: first, isNew: true };
  // Another request has published the key in the meantime.
  const rival = (await lockAgentToPublish(context, key, spec)) as AgentRow;
  return publishNext(context, rival, judged);
}

/** Returns the effect that publishing would have; writes nothing. @throws Refusal as `publishAgent` */
export async function validateAgent(context: Context, { key, spec }: AgentRequest): Promise<AgentValidation> {
  const { db, tenantId } = context;
  const known = await db.row(findAgent(tenantId, key));
  if (known !== undefined) {
    await requireSight(context, known.workspace_id, { agent: key });
    requirePublishable(known, spec);
  }
  const { checked } = await judgeSpec(context, spec);
  const current =
    known === undefined ? undefined : await db.row(findRevision(tenantId, known.id, known.current_revision));
  const wouldCreateRevision = current?.spec_hash !== checked.hash;
  if (known !== undefined && current !== undefined && wouldCreateRevision)
    await requireMayInstruct(context, known, spec, current);
  return {
    key,
    specHash: checked.hash,
    currentRevision: current?.revision ?? null,
    wouldCreateRevision,
    wouldChangeState: known !== undefined && movesState(known, spec),
  };
}

/**
 * Validates the grants, the names and the texts of a spec, in the order of the refusals.
 * @throws Refusal those of `requireMayGrant`, `requireSpecReferences` and `checkSpec`
 */
async function judgeSpec(context: Context, spec: AgentSpec): Promise<JudgedSpec> {
  const permissions = requireMayGrant(context, spec);
  const references = await requireSpecReferences(context, spec);
  return { spec, permissions, references, checked: checkSpec(spec) };
}

/** @throws Refusal `agent_retired`; `agent_identity_conflict`: an agent that acts as a principal keeps its kind */
function requirePublishable(agent: AgentRow, { identity }: AgentSpec): void {
  if (agent.status === 'retired') fail('agent_retired', { agent: agent.key });
  if (agent.principal_id !== null && agent.kind !== identity.kind)
    fail('agent_identity_conflict', { agent: agent.key, kind: agent.kind });
}

/**
 * A revision instructs an agent. The binding gets exactly the grants of the revision, but the agent also keeps the API
 * keys of its principal, direct assignments, and the stored secrets that the revision lists. Only a caller who could
 * grant these may publish the revision. Linked agents may see the whole tenant, so only a caller who sees it, too, may add
 * permissions.
 * @param current the previous revision
 * @throws Refusal `permission_escalation` {missing} or {path}; `visibility_escalation`
 */
async function requireMayInstruct(
  context: Context,
  { id, principal_id: principalId }: AgentRow,
  { placement = 'none', identity }: AgentSpec,
  { grants, spec: former }: RevisionRow,
): Promise<void> {
  const { caller } = context;
  if (principalId !== null) {
    const ofKeys = (await livePermissionsOfKeys(context, principalId)).flat();
    refuseEscalation(caller.permissions, [...new Set(ofKeys)].sort());
    await requireMayUseAssignments(context, principalId, grants);
  }
  const secrets = placement === 'none' ? [] : placement.secrets;
  if (secrets.length > 0 && !holds(caller.permissions, 'agents.secrets.manage'))
    if ((await context.db.row(findStoredSecret(context.tenantId, id, secrets))) !== undefined)
      fail('permission_escalation', { path: '/placement/secrets' });
  if (principalId !== null) await refuseWiderSight(context, permissionsOf(former), identity.permissions);
}

async function lockAgentToPublish(
  context: Context,
  key: string,
  spec: AgentSpec,
): Promise<AgentRow | undefined> {
  const agent = await lockLinkedAgent(context, key);
  if (agent !== undefined) requirePublishable(agent, spec);
  return agent;
}

/**
 * Locks the principal of an agent and then the agent, so that a retirement either precedes or follows this command.
 * @returns undefined when the tenant has no such agent
 * @throws Refusal `not_found` for an agent that the caller may not see
 */
export async function lockLinkedAgent(context: Context, key: string): Promise<AgentRow | undefined> {
  const { db, tenantId } = context;
  const found = await db.row(findAgent(tenantId, key));
  if (found === undefined) return undefined;
  await requireSight(context, found.workspace_id, { agent: key });
  if (found.principal_id !== null) await lockPrincipal(context, found.principal_id);
  const locked = (await db.row(lockAgent(tenantId, key))) as AgentRow;
  // An identity was linked between the two statements.
  if (found.principal_id === null && locked.principal_id !== null)
    await lockPrincipal(context, locked.principal_id);
  return locked;
}

function valuesOf({ spec, references }: JudgedSpec): SpecifiedValues {
  const { displayName, identity, state, work = null } = spec;
  const { workspaceId } = references;
  return { kind: identity.kind, displayName, state, replicas: replicasOf(spec), workspaceId, work };
}

/**
 * @returns undefined if another request has created the key in the meantime
 */
async function publishFirst(context: Context, key: string, judged: SourcedSpec): Promise<Agent | undefined> {
  const { db, tenantId, caller } = context;
  const values = valuesOf(judged);
  const row = await db.row(
    insertAgent({ ...values, id: newId(), tenantId, key, createdBy: caller.principalId }),
  );
  if (row === undefined) return undefined;
  return agentOf(row, await addRevision(context, row, judged, undefined));
}

async function publishNext(
  context: Context,
  before: AgentRow,
  judged: SourcedSpec,
): Promise<{ agent: Agent; isNew: boolean }> {
  const { db, tenantId } = context;
  const { id, current_revision: number } = before;
  const { spec, checked } = judged;
  const current = (await db.row(findRevision(tenantId, id, number))) as RevisionRow;
  const isNew = current.spec_hash !== checked.hash;
  if (!isNew && !movesState(before, spec)) return { agent: agentOf(before, current), isNew };
  if (isNew) await requireMayInstruct(context, before, spec, current);
  const values = valuesOf(judged);
  const update = isNew
    ? updateSpecifiedValues(tenantId, id, { ...values, currentRevision: number + 1 })
    : updateAgentState(tenantId, id, values);
  const row = (await db.row(update)) as AgentRow;
  const revision = isNew ? await addRevision(context, row, judged, current) : current;
  if (isNew) await followSpec(context, row, judged, current);
  if (movesState(before, spec)) emitStateChange(context, before, row);
  return { agent: agentOf(row, revision), isNew };
}

const movesState = ({ state, replicas }: AgentRow, spec: AgentSpec): boolean =>
  state !== spec.state || replicas !== replicasOf(spec);

/** Writes the event of a changed state or number of replicas to the agent's stream. */
export function emitStateChange(context: Context, before: AgentRow, after: AgentRow): void {
  const { id: entityId, workspace_id: workspaceId, key, state, replicas } = after;
  const previous = { previousState: before.state, previousReplicas: before.replicas };
  emit(context, agentStateChanged, { entityId, workspaceId }, { key, state, replicas, ...previous });
}

async function addRevision(
  context: Context,
  agent: AgentRow,
  { spec, permissions, references, checked, source }: SourcedSpec,
  previous: RevisionRow | undefined,
): Promise<RevisionRow> {
  const { db, tenantId, caller } = context;
  const { id: agentId, key, current_revision: revision, workspace_id: workspaceId } = agent;
  await db.run(
    insertRevision({
      id: newId(),
      tenantId,
      agentId,
      revision,
      spec,
      specHash: checked.hash,
      grants: references.grants,
      changedFields: previous === undefined ? null : changedFields(previous.spec, spec),
      specBytes: checked.bytes,
      source,
      createdBy: caller.principalId,
    }),
  );
  await assignConnections(context, agentId, spec.connections);
  const said = {
    key,
    revision,
    specHash: checked.hash,
    previousRevision: previous?.revision ?? null,
    executorKind: spec.executor?.kind ?? null,
    placed: isPlaced(spec),
    permissionsChanged: permissions.join() !== permissionsOf(previous?.spec).join(),
  };
  emit(context, agentRevisionPublished, { entityId: agentId, workspaceId }, said);
  return (await db.row(findRevision(tenantId, agentId, revision))) as RevisionRow;
}

/** The permissions that a published spec grants, without duplicates, in alphabetical order. */
export const permissionsOf = (spec: AgentSpec | undefined): Permission[] =>
  [...new Set(spec?.identity.permissions)].sort() as Permission[];

/**
 * Grants the principal of a linked agent the rights of the new spec, and revokes those that only the previous one
 * granted.
 */
async function followSpec(
  context: Context,
  agent: AgentRow,
  { spec, permissions, references }: JudgedSpec,
  previous: RevisionRow,
): Promise<void> {
  const { principal_id: principalId, binding_id: bindingId } = agent;
  if (principalId === null || bindingId === null) return;
  await renamePrincipal(context, principalId, spec.displayName);
  await regrantIamBinding(context, bindingId, permissions);
  await changeAssignments(context, principalId, previous.grants, references.grants);
}
