import { sql } from '@baton/kernel/database/sql';
import type { JsonObject } from '@baton/values/wire';
import type { RunRow } from '../../leases/lease-rows.ts';
import { writeEvents } from '../../ledger/journal/write-events.sql-parts.ts';
import type { TaskRef } from '../../work/tasks/task-ref.ts';

export interface NewRun {
  tenantId: string;
  principalId: string;
  iamPrincipalId: string | null;
  ref: TaskRef;
  claimId: string;
  fencingToken: number;
  /** Whether the caller was already checked against the task's addressee, under the task's lock. */
  isEligible: boolean;
  runId: string;
  startedEventId: string;
  failedEventId: string;
  input: JsonObject | null;
  metadata: JsonObject;
  maxDurationSeconds: number | null;
  maxActions: number | null;
  /** The principal that starts the run, for the manifest: tenant, principal, kind, permissions. */
  identity: JsonObject;
  maxTokens: number | null;
  maxCostMicros: number | null;
  currency: string | null;
  /** The agent that starts the run, and its revision; null if the principal is not a registered agent. */
  agentRevisionId: string | null;
  agentId: string | null;
  /**
   * The handle of a launched task. Null for a task that was not launched; a launched task is not started without it.
   */
  childHandleId: string | null;
  correlationId: string;
  requestId: string;
  traceRunId: string;
  /** Whether the run's events are also written to the outbox. */
  writesOutbox: boolean;
}

/** The new run with the payloads of its events. */
export type StartedRunRow = RunRow & { started_payload: unknown; failed_payload: unknown };

/**
 * Starts a run under a live claim in one statement and one round trip, with the journal and outbox rows. Returns no row
 * if a condition fails.
 *
 * Claim and epoch are checked on the task's row, and again after a wait for its lock; leases are checked once the row is
 * locked. Every command that ends the claim also writes that row, and one that closes its session takes the session's
 * lock exclusively, which is shared here, so the other reads can't be older than the locks allow. Runs are read as of
 * the start of the statement: if another run began or ended during the wait, the unique indexes on the running run and
 * on the attempt reject this one, and it is retried under the lock.
 */
export function insertRun(start: NewRun) {
  return sql<StartedRunRow>`
    with caller as materialized (
      select ${start.principalId}::uuid as id
      where enter_principal(${start.principalId}, ${start.tenantId}) = 'active' and (${start.agentRevisionId}::uuid is null or exists (
        select from agent_revisions r
        where r.id = ${start.agentRevisionId} and r.tenant_id = ${start.tenantId} and r.agent_id = ${start.agentId}::uuid))
    ), holder as materialized (
      select c.id as claim_id, c.task_id, c.session_id, c.fencing_token,
        enter_session(s.id, s.principal_id, s.on_behalf_of_id) as live_until, d.expires_at as delegated_until
      from caller
      join claims c on c.holder_id = caller.id
      join sessions s on s.id = c.session_id
      left join delegations d on d.id = s.delegation_id and d.revoked_at is null
      where c.id = ${start.claimId} and c.tenant_id = ${start.tenantId} and c.fencing_token = ${start.fencingToken}
        and s.status = 'active' and (s.delegation_id is null or d.id is not null)
    ), locked as materialized (
      select t.id, t.public_id, t.version, t.workspace_id, t.type_id, holder.session_id,
        least(t.lease_expires_at, holder.live_until, holder.delegated_until) as live_until
      from holder join tasks t on t.id = holder.task_id
      where holder.live_until is not null
        and (t.id = ${start.ref.id}::uuid or t.public_number = ${start.ref.number}::bigint)
        and t.category not in ('terminal_success', 'terminal_cancelled')
        and t.active_claim_id = holder.claim_id and t.claim_epoch = holder.fencing_token
        and (not t.is_addressed or ${start.isEligible}::boolean or is_addressee(t.id, ${start.principalId}))
        and t.child_handle_id is not distinct from ${start.childHandleId}::uuid
      for no key update of t
    ), task as materialized (
      select locked.id, public_id, locked.version, workspace_id, session_id, tt.key as type_key, tt.version as type_version,
        case when tt.instructions <> '' then 'sha256:' || encode(sha256(convert_to(tt.instructions, 'UTF8')), 'hex') end
          as instructions_hash,
        case when tt.instructions <> '' then jsonb_build_array('taskType:' || tt.key || '@' || tt.version) end
          as instructions_refs, (tt.execution ->> 'progressTimeoutSeconds')::integer as progress_timeout_seconds
      from locked join task_types tt on tt.id = locked.type_id
      where live_until > clock_timestamp()
    ), superseded as (
      update runs r
      set status = 'failed', failure_reason = 'superseded', finished_at = now(), version = r.version + 1, updated_at = now()
      from task
      where r.task_id = task.id and r.status = 'running' and r.claim_id <> ${start.claimId}
      returning r.id, r.task_id, r.session_id, r.attempt
    ), made as (
      insert into runs (id, tenant_id, task_id, claim_id, principal_id, session_id, fencing_token, attempt, input, metadata,
        max_duration_seconds, max_actions, max_tokens, max_cost_micros, currency, progress_timeout_seconds, stalls_at,
        instructions_hash, instructions_refs, child_handle_id, agent_revision_id)
      select ${start.runId}, ${start.tenantId}, task.id, ${start.claimId}, ${start.principalId}, task.session_id,
        ${start.fencingToken}, 1 + coalesce((select max(r.attempt) from runs r where r.task_id = task.id), 0),
        ${start.input === null ? null : JSON.stringify(start.input)}, ${JSON.stringify(start.metadata)},
        ${start.maxDurationSeconds}, ${start.maxActions}, ${start.maxTokens}, ${start.maxCostMicros}, ${start.currency},
        task.progress_timeout_seconds, now() + make_interval(secs => task.progress_timeout_seconds),
        task.instructions_hash, task.instructions_refs, ${start.childHandleId}, ${start.agentRevisionId}
      -- joined, so that the superseded run leaves the unique index before the new run enters it
      from task left join superseded on superseded.task_id = task.id
      where not exists (
        select from runs r where r.task_id = task.id and r.status = 'running' and r.claim_id = ${start.claimId})
      returning *
    ), compiled as (
      insert into harness_manifests (run_id, version, tenant_id, reason, base, captured, created_by)
      select made.id, 1, made.tenant_id, 'run_started',
        jsonb_build_object(
          'identity', ${JSON.stringify(start.identity)}::jsonb || jsonb_build_object('sessionId', s.id, 'onBehalfOf', s.on_behalf_of_id),
          'run', jsonb_build_object('id', made.id, 'taskId', made.task_id, 'taskPublicId', task.public_id,
            'typeKey', task.type_key, 'typeVersion', task.type_version, 'workspaceId', task.workspace_id,
            'claimId', made.claim_id, 'fencingToken', made.fencing_token, 'attempt', made.attempt,
            'agentRevisionId', made.agent_revision_id, 'instructionsHash', made.instructions_hash),
          'projectPolicy', null::text, 'toolPolicy', tool_policy(made.principal_id, s.id),
          'budgets', jsonb_build_object('maxDurationSeconds', made.max_duration_seconds, 'maxActions', made.max_actions,
            'maxTokens', made.max_tokens, 'maxCostMicros', made.max_cost_micros, 'currency', made.currency),
          'model', null::text, 'redaction', null::text, 'workerProfile', null::text, 'executionBackend', null::text),
        jsonb_build_object('horizon', journal_horizon(), 'taskVersion', task.version, 'runVersion', made.version),
        made.principal_id
      from made join task on task.id = made.task_id join sessions s on s.id = made.session_id
    ), new_events as (
      select 1 as n, ${start.failedEventId}::uuid as id, 'run.failed' as type, 1 as schema_version,
        'run' as entity_type, superseded.id as entity_id, task.workspace_id, superseded.session_id,
        jsonb_build_object('taskId', superseded.task_id, 'reason', 'superseded', 'attempt', superseded.attempt) as payload
      from superseded, task
      union all
      select 2, ${start.startedEventId}::uuid, 'run.started', 2, 'run', made.id, task.workspace_id, made.session_id,
        jsonb_build_object('taskId', made.task_id, 'claimId', made.claim_id, 'attempt', made.attempt,
          'fencingToken', made.fencing_token, 'instructionsHash', made.instructions_hash,
          'instructionsRefs', made.instructions_refs, 'agentRevisionId', made.agent_revision_id)
      from made, task
    ), ${writeEvents(start)}
    select made.*, (select payload from new_events where n = 2) as started_payload,
      (select payload from new_events where n = 1) as failed_payload
    from made`;
}

/** Finds a revision of this agent. */
export function findOwnRevision(tenantId: string, agentId: string, revisionId: string) {
  return sql<{ id: string }>`
    select id from agent_revisions where id = ${revisionId} and agent_id = ${agentId} and tenant_id = ${tenantId}`;
}

/** Finds the running run of a claim. */
export function findRunningRun(tenantId: string, claimId: string) {
  return sql<{ id: string }>`
    select id from runs where claim_id = ${claimId} and tenant_id = ${tenantId} and status = 'running'`;
}
