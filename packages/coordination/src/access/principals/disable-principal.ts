import { eventText } from '@baton/values/event-text';
import { childResolved } from '../../leases/children/children.events.ts';
import { type EndOfPrincipal, endWorkOf } from '../../leases/endings.ts';
import { withdrawCallsOf } from '../../leases/invocations/cancel-invocations.ts';
import { invocationCancelled } from '../../leases/invocations/invocations.events.ts';
import { claimReleased, runFailed, sessionClosed } from '../../leases/leases.events.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { livePermissionsOfKeys } from '../api-keys/api-keys.ts';
import { requireActiveCaller } from '../authn/principal-lock.ts';
import type { Context } from '../context.ts';
import { delegationRevoked } from '../delegations/delegations.events.ts';
import { revokeAllDelegationsOf } from '../delegations/delegations.ts';
import { fail } from '../errors.ts';
import { iamBindingRevoked } from '../iam-bindings/iam-bindings.events.ts';
import { forgetIdentity, getBindingRows, revokeIamBindingsOf } from '../iam-bindings/iam-bindings.ts';
import { refuseEscalation } from '../permission-list.ts';
import { type EnabledPrincipal, type Principal, type PrincipalRow, principalOf } from './principal.ts';
import { principalDisabled, principalEnabled } from './principals.events.ts';
import {
  type AgentOfPrincipal,
  findAgentOf,
  findPrincipal,
  lockPrincipalForChange,
  takePrincipalLock,
  updatePrincipalStatus,
} from './principals.sql.ts';

/** The events of a call that disables a principal. */
export const disableEvents = [
  iamBindingRevoked,
  delegationRevoked,
  claimReleased,
  sessionClosed,
  runFailed,
  childResolved,
  invocationCancelled,
  principalDisabled,
];

/**
 * Disables a principal and ends everything that belongs to it; disabling it again changes nothing. Its API keys remain
 * but aren't accepted. The response is sent after the first batch of the work; the event counts all of it. See
 * docs/reference/access.md#disable-a-principal.
 * @throws Refusal `not_found`, `principal_kind_not_disableable`, `cannot_disable_self`, `permission_escalation`,
 * `use_agent_retire`
 */
export async function disablePrincipal(
  context: Context,
  principalId: string,
  reason: string | undefined,
): Promise<Principal> {
  const before = await lockAlone(context, principalId, async (found) => {
    if (found.status !== 'disabled') await requireMayDisable(context, found);
  });
  if (before.status === 'disabled') return principalOf(before);
  return (await endPrincipal(context, before, reason, 'principal_disabled')).principal;
}

/**
 * Disables the principal, of any kind, of an agent that is being retired: the permission to retire the agent covers
 * this.
 * @returns the number of claims that end with it, including those that the worker releases
 */
export async function retirePrincipal(
  context: Context,
  principalId: string,
  reason: string,
): Promise<number> {
  const before = await lockAlone(context, principalId, async () => undefined);
  if (before.status === 'disabled') return 0;
  return (await endPrincipal(context, before, reason, 'agent_retired')).releasedClaims;
}

async function endPrincipal(
  context: Context,
  before: PrincipalRow,
  reason: string | undefined,
  reasonOfEffects: EndOfPrincipal,
): Promise<{ principal: Principal; releasedClaims: number }> {
  const { db, tenantId } = context;
  const { id: principalId } = before;
  const row = (await db.row(updatePrincipalStatus(tenantId, principalId, 'disabled'))) as PrincipalRow;
  const revokedBindings = await revokeIamBindingsOf(context, principalId);
  const revokedDelegations = await revokeAllDelegationsOf(context, principalId, reasonOfEffects);
  const ended = await endWorkOf(context, principalId, reasonOfEffects);
  const withdrawnInvocations = await withdrawCallsOf(context, principalId);
  emit(
    context,
    principalDisabled,
    { entityId: principalId },
    {
      kind: before.kind,
      previousStatus: before.status,
      reason: reason === undefined ? null : eventText(reason),
      revokedBindings,
      revokedDelegations,
      ...ended,
      withdrawnInvocations,
    },
  );
  return { principal: principalOf(row), releasedClaims: ended.releasedClaims };
}

/**
 * Locks a principal against its own commands, for a change of its status, and the caller (shared) like any command. The
 * two are locked in the order of their ids: if two callers disable each other, one waits for the other and is then no
 * longer active. The caller's lock is only shared, because no command changes its own caller's status.
 * @param check also runs before the lock, so that an unauthorized caller can't delay the commands of a principal
 * @throws Refusal `principal_not_active`, `not_found`, and the refusals of `check`
 */
async function lockAlone(
  context: Context,
  principalId: string,
  check: (principal: PrincipalRow) => Promise<void>,
): Promise<PrincipalRow> {
  const { db, tenantId, caller } = context;
  const lockCaller = () => requireActiveCaller(db, caller);
  const isFirst = principalId < caller.principalId;
  if (!isFirst) await lockCaller();
  const found = (await db.row(findPrincipal(tenantId, principalId))) ?? fail('not_found', { principalId });
  await check(found);
  if (principalId === caller.principalId) return found;
  await db.row(takePrincipalLock(principalId));
  if (isFirst) await lockCaller();
  const locked = (await db.row(lockPrincipalForChange(tenantId, principalId))) ?? found;
  await check(locked);
  return locked;
}

/**
 * Refuses a disable that the caller may not perform; `POST /authz:check` uses it too.
 * @throws Refusal `principal_kind_not_disableable`, `cannot_disable_self`, `permission_escalation`, `use_agent_retire`
 */
export async function requireMayDisable(
  context: Context,
  { id, kind, agent_id: agentId }: PrincipalRow,
): Promise<void> {
  if (kind === 'service') fail('principal_kind_not_disableable', { kind });
  if (id === context.caller.principalId) fail('cannot_disable_self');
  const bindings = await getBindingRows(context, id);
  const live = [
    ...bindings.filter(({ status }) => status === 'active').map(({ permissions }) => permissions),
    ...(await livePermissionsOfKeys(context, id)),
  ];
  // Only an administrator may disable an administrator.
  refuseEscalation(context.caller.permissions, live.flat().includes('admin') ? ['admin'] : []);
  if (agentId !== null) fail('use_agent_retire', { agent: (await getAgentOf(context, agentId)).key });
}

/**
 * Enables a principal. Only its status is restored: sessions, claims and other objects that the disable ended remain
 * ended, but its live API keys are accepted again.
 * @throws Refusal `not_found`, `principal_kind_not_enableable`, `permission_escalation`, `use_agent_publish`
 */
export async function enablePrincipal(
  context: Context,
  principalId: string,
  reason: string | undefined,
): Promise<EnabledPrincipal> {
  const { db, tenantId } = context;
  const before = await lockAlone(context, principalId, async (found) => {
    if (found.status !== 'active') await requireMayEnable(context, found);
  });
  const liveApiKeys = (await livePermissionsOfKeys(context, principalId)).length;
  if (before.status === 'active') return { ...principalOf(before), liveApiKeys };

  const row = (await db.row(updatePrincipalStatus(tenantId, principalId, 'active'))) as PrincipalRow;
  for (const binding of await getBindingRows(context, principalId)) forgetIdentity(context, binding);
  const { kind, status: previousStatus } = before;
  const why = reason === undefined ? null : eventText(reason);
  emit(
    context,
    principalEnabled,
    { entityId: principalId },
    { kind, previousStatus, reason: why, liveApiKeys },
  );
  return { ...principalOf(row), liveApiKeys };
}

/**
 * Refuses an enable that the caller may not perform: callers can't restore permissions that they lack.
 * @throws Refusal `principal_kind_not_enableable`, `permission_escalation`, `use_agent_publish`
 */
export async function requireMayEnable(
  context: Context,
  { id, kind, agent_id: agentId }: PrincipalRow,
): Promise<void> {
  if (kind === 'service') fail('principal_kind_not_enableable', { kind });
  const bindings = await getBindingRows(context, id);
  const given = [
    ...bindings.filter(({ status }) => status !== 'revoked').map(({ permissions }) => permissions),
    ...(await livePermissionsOfKeys(context, id)),
  ];
  refuseEscalation(context.caller.permissions, [...new Set(given.flat())].sort());
  if (agentId === null) return;
  const { key: agent, status: agentStatus } = await getAgentOf(context, agentId);
  fail('use_agent_publish', { agent, agentStatus });
}

/** The principal's agent in the registry, whose operations change that principal. */
async function getAgentOf({ db, tenantId }: Context, agentId: string): Promise<AgentOfPrincipal> {
  return (await db.row(findAgentOf(tenantId, agentId))) as AgentOfPrincipal;
}
