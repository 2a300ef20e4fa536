import { sql } from '@baton/kernel/database/sql';
import type { QueuePosition } from '../../../service/queue-walk.ts';

export type OldInvocationRow = { id: string; tenant_id: string; finished_at: string };

/** Calls of all tenants that ended this long ago, except those that an approval permitted. */
export function findOldInvocations([finishedAt, id]: QueuePosition, ageSeconds: number, rowsMax: number) {
  return sql<OldInvocationRow>`
    select id, tenant_id, finished_at from skill_invocations
    where finished_at is not null and approval_id is null
      and finished_at < now() - make_interval(secs => ${ageSeconds}::integer)
      and (finished_at, id) > (${finishedAt}::timestamptz, ${id}::uuid)
    order by finished_at, id limit ${rowsMax}`;
}

/**
 * Deletes those of the given calls that are no longer referenced. A call may be referenced by an open attempt of a
 * verification, by a pending evaluation of a rule, by an outcome that may continue or be replayed, and by a running run
 * that may call its execution's skill only once.
 */
export function deleteUnreadInvocations(ids: readonly string[], tenantIds: readonly string[]) {
  return sql<{ id: string }>`
    delete from skill_invocations i
    using unnest(${ids}::uuid[], ${tenantIds}::uuid[]) as old (id, tenant_id)
    where i.id = old.id and i.tenant_id = old.tenant_id and i.finished_at is not null and i.approval_id is null
      and not exists (
        select from verifications v
        where i.requested_by_kind = 'verification' and v.skill_invocation_id = i.id and v.finished_at is null)
      and not exists (
        select from rule_evaluations e
        where i.requested_by_kind = 'rule' and e.id = i.requested_by_ref::uuid and e.status = 'waiting')
      and not exists (
        select from approvals a
        where i.requested_by_kind = 'approval' and a.id = i.requested_by_ref::uuid and a.outcome_status <> 'executed')
      and not exists (
        select from runs r
        where i.authorization_basis ->> 'kind' = 'execution' and r.id = i.run_id and r.status = 'running')
    returning i.id`;
}
