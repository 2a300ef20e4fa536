import { sql } from '@baton/kernel/database/sql';
import type { ClaimRow } from '../../leases/lease-rows.ts';
import type { TaskRow } from '../tasks/task.ts';
import type { TaskRef } from '../tasks/task-ref.ts';

/** A task with its live claim; without one, all columns of the claim are null. */
export type ClaimabilityRow = Pick<
  TaskRow,
  | 'id'
  | 'type_id'
  | 'public_id'
  | 'status'
  | 'category'
  | 'pending_gates'
  | 'open_verification_id'
  | 'verification'
  | 'requirement_set_id'
  | 'is_addressed'
> & {
  /** Whether its status is a blocked one that doesn't allow claims. */
  is_on_hold: boolean;
  /** The time before which the task can't be claimed; null if it has passed. */
  not_before: string | null;
} & {
  [Column in 'holder_id' | 'expires_at']: ClaimRow[Column] | null;
} & {
  claim_id: string | null;
  pending_approvals: string[];
  missing_inputs: { key: string; type: string; from: string }[];
  unmet: { taskId: string; publicId: string; status: string; systemStatusCategory: string }[];
};

/**
 * Reads the obstacles to a claim. A claim protects its task only while its own lease, its session and the session's
 * lease are live, regardless of the sweeper's records. A dead claim that was the last attempt also blocks the task.
 */
export function findClaimability(tenantId: string, ref: TaskRef) {
  return sql<ClaimabilityRow>`
    select t.id, t.type_id, t.public_id, t.status, t.category, t.pending_gates, t.open_verification_id, t.verification,
      t.requirement_set_id, t.is_addressed, t.category = 'blocked' and not is_claimable_blocked(t.type_id, t.status) as is_on_hold,
      case when t.available_at > clock_timestamp() then t.available_at
        when t.active_claim_id is not null and c.id is null and is_last_attempt(t.type_id, t.failed_attempts)
          and is_expired(t.active_claim_id) then attempts_are_over()
      end as not_before, c.id as claim_id, c.holder_id, c.expires_at,
      coalesce((
        select jsonb_agg(jsonb_build_object('taskId', p.id, 'publicId', p.public_id, 'status', p.status,
          'systemStatusCategory', p.category) order by p.public_number)
        from task_relations r join tasks p on p.id = r.prerequisite_task_id
        where r.waiting_task_id = t.id and p.category <> 'terminal_success'), '[]') as unmet,
      pending_gates_of(t.id) as pending_approvals,
      case when t.is_restricted then missing_inputs(t.id) else '[]' end as missing_inputs
    from tasks t
    left join (claims c join sessions s on s.id = c.session_id and s.status = 'active' and s.expires_at > clock_timestamp())
      on c.id = t.active_claim_id and c.status = 'active' and c.expires_at > clock_timestamp()
    where t.id = coalesce(${ref.id}::uuid, (select id from tasks where tenant_id = ${tenantId} and public_number = ${ref.number}::bigint))
      and t.tenant_id = ${tenantId}`;
}
