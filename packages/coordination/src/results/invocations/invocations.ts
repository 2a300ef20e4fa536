import { cancelCalls } from '../../leases/invocations/cancel-invocations.ts';
import { holds } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type InvocationRow, invocationOf, type SkillInvocation } from './invocation.ts';
import { findInvocation } from './invocations.sql.ts';

/**
 * Reads a call, for its requester, its executor, and everyone who may execute skills.
 * @throws Refusal `not_found`, also for any other caller
 */
export async function getInvocation(context: Context, id: string): Promise<SkillInvocation> {
  const row = await getInvocationRow(context, id);
  const { principalId, permissions } = context.caller;
  const isParty = [row.authority_principal_id, row.executor_principal_id].includes(principalId);
  if (!isParty && !holds(permissions, 'skills.execute')) fail('not_found', { invocationId: id });
  return invocationOf(row);
}

/**
 * Cancels a call; if its executor reports a result later, that result is refused. Cancelling again changes nothing.
 * @throws Refusal `not_found`, also for callers who neither requested it nor manage the organisation;
 * `invocation_terminal`
 */
export async function cancelInvocation(
  context: Context,
  id: string,
  reason: string,
): Promise<SkillInvocation> {
  const row = await getInvocationRow(context, id);
  const { principalId, permissions } = context.caller;
  if (row.authority_principal_id !== principalId && !holds(permissions, 'org.manage'))
    fail('not_found', { invocationId: id });
  await cancelCalls(context, [id], { code: 'cancelled', reason, initiator: 'principal' });
  const after = await getInvocationRow(context, id);
  if (after.status !== 'cancelled') fail('invocation_terminal', { invocationId: id, status: after.status });
  return invocationOf(after);
}

async function getInvocationRow({ db, tenantId }: Context, id: string): Promise<InvocationRow> {
  return (await db.row(findInvocation(tenantId, id))) ?? fail('not_found', { invocationId: id });
}
