import { sql } from '@baton/kernel/database/sql';

/** For each obstacle to a claim, when it began, and its details; the time is null if the obstacle doesn't exist. */
export interface AdviceRow {
  ended_since: string | null;
  waiting_since: string | null;
  gates_since: string | null;
  verification_since: string | null;
  claimed_since: string | null;
  /** The unmet prerequisites: their relation to the task, and their own obstacles. */
  blockers: {
    taskId: string;
    relationId: string;
    relatedBy: string;
    codes: string[];
    /** A cancelled task can no longer be completed. */
    isCancelled: boolean;
    holderId: string | null;
  }[];
  /** Whether the caller had a run of the task or holds its claim. */
  is_worker: boolean;
  /** Whether a pause after a failed attempt is in effect, and whether the start is in the future. */
  is_paused: boolean;
  starts_later: boolean;
  /** The archived project that makes the task unavailable. */
  archived_project_id: string | null;
  archived_project_place: string | null;
  archived_since: string | null;
  /** False if no active principal meets the requirements; null if the check would take too long. */
  is_for_anybody: boolean | null;
}

/** @param blockersMax the maximum number of prerequisites; the oldest tasks are returned */
export function findAdvice(tenantId: string, taskId: string, callerId: string, blockersMax: number) {
  return sql<AdviceRow>`
    with blockers as materialized (
      select p.*, r.id as relation_id, r.created_at as related_at, r.created_by as related_by,
        c.id is not null as is_claimed, c.holder_id
      from task_relations r join tasks p on p.id = r.prerequisite_task_id
      left join (claims c join sessions s on s.id = c.session_id and s.status = 'active' and s.expires_at > clock_timestamp())
        on c.id = p.active_claim_id and c.status = 'active' and c.expires_at > clock_timestamp()
      where r.waiting_task_id = ${taskId} and r.tenant_id = ${tenantId} and p.category <> 'terminal_success'
      order by p.public_number
      limit ${blockersMax}
    )
    select case when t.category in ('terminal_success', 'terminal_cancelled') then coalesce(t.completed_at, t.updated_at) end
        as ended_since,
      (select min(related_at) from blockers) as waiting_since,
      (select min(a.created_at) from approvals a where a.task_id = t.id and a.gate and a.status = 'pending') as gates_since,
      (select v.started_at from verifications v where v.id = t.open_verification_id) as verification_since,
      (select c.acquired_at from claims c where c.id = t.active_claim_id) as claimed_since,
      coalesce((
        select jsonb_agg(jsonb_build_object('taskId', b.id, 'relationId', b.relation_id, 'relatedBy', b.related_by,
          'holderId', b.holder_id, 'isCancelled', b.category = 'terminal_cancelled',
          'codes', array_remove(array[
            case when b.category = 'terminal_cancelled'
              or b.category = 'blocked' and not is_claimable_blocked(b.type_id, b.status) then 'task_not_claimable' end,
            case when exists (select from missing_items(b.tenant_id, b.requirement_set_id, ${callerId}))
              or b.is_addressed and not is_addressee(b.id, ${callerId}) then 'not_eligible' end,
            case when b.open_prerequisites > 0 then 'task_not_ready' end,
            case when b.is_restricted and missing_inputs(b.id) <> '[]' then 'input_missing' end,
            case when b.pending_gates > 0 then 'approval_required' end,
            case when b.open_verification_id is not null then 'verification_pending' end,
            case when b.available_at > clock_timestamp() then 'not_before' end,
            case when b.is_claimed then 'task_already_claimed' end], null)) order by b.public_number)
        from blockers b), '[]') as blockers,
      exists (select from claims c where c.id = t.active_claim_id and c.holder_id = ${callerId})
        or exists (select from runs r where r.task_id = t.id and r.principal_id = ${callerId}) as is_worker,
      coalesce(t.retry_at > clock_timestamp(), false) as is_paused,
      coalesce(t.starts_at > clock_timestamp(), false) as starts_later,
      case when t.requirement_set_id is not null then is_fulfilled_by_anybody(t.tenant_id, t.requirement_set_id) end
        as is_for_anybody,
      archived.id as archived_project_id, archived.workspace_id as archived_project_place,
      archived.archived_at as archived_since
    from tasks t
    left join workspaces w on w.id = t.workspace_id
    left join projects archived on archived.id = w.project_id and archived.status = 'archived'
    where t.id = ${taskId} and t.tenant_id = ${tenantId}`;
}
