import { queryBuilder } from '@baton/kernel/database/db';
import {
  condition,
  type ListOrder,
  matching,
  mergedPageQuery,
  ownedPageQuery,
  type PageQuery,
  pageQuery,
  rowsWhere,
} from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { ClaimRow } from '../../leases/lease-rows.ts';
import { writeEvents } from '../../ledger/journal/write-events.sql-parts.ts';
import { type SeenList, tasksSeenBy } from '../../service/sight/places.ts';
import type { TaskRef } from '../../work/tasks/task-ref.ts';
import { claimStatuses } from './claim.ts';

export interface NewClaim {
  tenantId: string;
  principalId: string;
  iamPrincipalId: string | null;
  ref: TaskRef;
  /** Whether the task's addressee was already checked, under the task's lock. */
  isEligible: boolean;
  sessionId: string;
  claimId: string;
  claimedEventId: string;
  expiredEventId: string;
  ttlSeconds: number;
  intent: string;
  correlationId: string;
  requestId: string;
  traceRunId: string;
  /** Whether the claim's events are also written to the outbox. */
  writesOutbox: boolean;
}

/** The new claim with the payloads of its events. */
export type InsertedClaimRow = ClaimRow & {
  reaped_claim_id: string | null;
  claimed_payload: unknown;
  expired_payload: unknown;
};

/**
 * Claims a task in one statement and one round trip, with the journal and outbox rows. Returns no row if the task can't
 * be claimed.
 *
 * Only one rival can win, because everything that they compete for is on the task's row: after waiting for its lock,
 * PostgreSQL evaluates the `where` again on the new row, prerequisites included. The session of the current claim is
 * read as of the start of the statement. That is enough, because a dead session stays dead; with a later time, a
 * session that was renewed during the wait would look dead. `enter_own_session` takes shared locks on the caller and
 * the caller's session, against a concurrent disable or close. The unique index `claims_one_active` is the second
 * guard.
 *
 * An expired lease counts as a failed attempt (`is_expired`); the command that ends it first counts it. If it is the
 * last allowed attempt, the task is not taken over: the worker moves it to a blocked status.
 *
 * The new lease starts, and the caller's session is checked, at `free.at`, which is read once the task is locked: if a
 * rival locks the task without changing it, PostgreSQL continues with the values from before the wait.
 */
export function insertClaim(request: NewClaim) {
  return sql<InsertedClaimRow>`
    with holder as materialized (
      select enter_own_session(${request.sessionId}, ${request.tenantId}, ${request.principalId}) as live_until
    ), locked as materialized (
      select t.id, t.active_claim_id as dead_claim_id, holder.live_until from holder, tasks t
      where holder.live_until > clock_timestamp()
        and t.id = coalesce(${request.ref.id}::uuid, (
          select id from tasks where tenant_id = ${request.tenantId} and public_number = ${request.ref.number}::bigint))
        and t.tenant_id = ${request.tenantId} and t.category not in ('terminal_success', 'terminal_cancelled')
        and (t.active_claim_id is null or t.lease_expires_at <= clock_timestamp() or exists (
          select from claims c join sessions s on s.id = c.session_id
          where c.id = t.active_claim_id and (s.status <> 'active' or s.expires_at <= statement_timestamp())))
        and t.open_prerequisites = 0 and t.pending_gates = 0 and t.open_verification_id is null
        and (t.category <> 'blocked' or is_claimable_blocked(t.type_id, t.status))
        and (t.available_at is null or t.available_at <= clock_timestamp())
        and (t.active_claim_id is null or not (is_last_attempt(t.type_id, t.failed_attempts) and is_expired(t.active_claim_id)))
        and (not t.is_restricted or may_claim(t.id, ${request.principalId}))
        and (not t.is_addressed or ${request.isEligible}::boolean or is_addressee(t.id, ${request.principalId}))
      for no key update of t
    ), free as materialized (
      select id, dead_claim_id, live_until, clock_timestamp() as at from locked
    ), taken as (
      update tasks t
      set claim_epoch = t.claim_epoch + 1, active_claim_id = ${request.claimId},
        lease_expires_at = free.at + make_interval(secs => ${request.ttlSeconds}),
        status = case when t.status = any (tt.claim_from) then tt.claim_status else t.status end,
        category = case when t.status = any (tt.claim_from) then tt.claim_category else t.category end,
        failed_attempts = t.failed_attempts + (free.dead_claim_id is not null and is_expired(free.dead_claim_id))::integer,
        version = t.version + 1, updated_at = now()
      from free, task_types tt
      where t.id = free.id and free.live_until > free.at and tt.id = t.type_id
      returning t.id, t.public_id, t.workspace_id, t.claim_epoch, t.lease_expires_at, t.status, t.category, t.version,
        free.dead_claim_id, free.at
    ), reaped as (
      update claims c set status = 'stale', released_at = taken.at,
        release_reason = case when c.expires_at <= taken.at then 'expired' else 'session_inactive' end
      -- A subquery, so that the claim is found by its id even with a plan that was cached while the table was empty: a
      -- join, or a search for active claims, then read a whole index on each call.
      from taken where c.id = (select dead_claim_id from taken) and c.released_at is null
      returning c.id, c.task_id, c.session_id, c.release_reason as reason
    ), made as (
      insert into claims (id, tenant_id, task_id, session_id, holder_id, fencing_token, intent, lease_seconds,
        acquired_at, heartbeat_at, expires_at, sweep_at)
      select ${request.claimId}, ${request.tenantId}, taken.id, ${request.sessionId}, ${request.principalId},
        taken.claim_epoch, ${request.intent}, ${request.ttlSeconds}::integer, taken.at, taken.at, taken.lease_expires_at,
        taken.lease_expires_at
      -- joined, so that the dead claim leaves the unique index before the new one enters it
      from taken left join reaped on reaped.task_id = taken.id
      returning *
    ), new_events as (
      select 1 as n, ${request.expiredEventId}::uuid as id, 'claim.expired' as type, 1 as schema_version,
        'claim' as entity_type, reaped.id as entity_id, taken.workspace_id, reaped.session_id,
        jsonb_build_object('taskId', taken.id, 'reason', reaped.reason) as payload
      from reaped join taken on taken.id = reaped.task_id
      union all
      select 2, ${request.claimedEventId}::uuid, 'task.claimed', 1, 'task', taken.id, taken.workspace_id, made.session_id,
        jsonb_build_object('publicId', taken.public_id, 'claimId', made.id, 'sessionId', made.session_id,
          'holderId', made.holder_id, 'fencingToken', made.fencing_token,
          'expiresAt', to_char(made.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'status', taken.status, 'systemStatusCategory', taken.category, 'version', taken.version)
      from made join taken on taken.id = made.task_id
    ), ${writeEvents(request)}
    select made.*, (select id from reaped) as reaped_claim_id,
      (select payload from new_events where n = 1) as expired_payload,
      (select payload from new_events where n = 2) as claimed_payload
    from made`;
}

export function findClaim(tenantId: string, claimId: string) {
  return sql<ClaimRow>`select * from claims where id = ${claimId} and tenant_id = ${tenantId}`;
}

const build = queryBuilder<{ claims: ClaimRow }>();

const newestFirst: ListOrder<ClaimRow> = {
  cursor: 'claims',
  columns: { acquired_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export type ClaimFilter = { readonly [Column in 'task_id' | 'session_id' | 'status']: string | undefined };

export function listOfClaims(tenantId: string, filter: ClaimFilter): SeenList<ClaimRow> {
  return {
    all: (page) => findClaims(tenantId, filter, page),
    filedBy: 'task',
    seen: (viewerId, page) => {
      const claims = rowsWhere('claims', condition`task_id = owner.id`).as('claims');
      const query = build.selectFrom(claims as unknown as 'claims').selectAll();
      const part = matching(query.where('tenant_id', '=', tenantId), filter);
      return ownedPageQuery(
        [{ owners: tasksSeenBy(tenantId, viewerId), part, headsFirst: false }],
        newestFirst,
        page,
      );
    },
    lookups: (viewerId) => tasksSeenBy(tenantId, viewerId),
  };
}

function findClaims(tenantId: string, filter: ClaimFilter, page: Page): PageQuery<ClaimRow> {
  const found = matching(build.selectFrom('claims').selectAll().where('tenant_id', '=', tenantId), filter);
  if (filter.status !== undefined || filter.task_id !== undefined) return pageQuery(found, newestFirst, page);
  // The indexes for a tenant's claims and for a session's claims start with the status.
  const parts = claimStatuses.map((status) => found.where('status', '=', status));
  return mergedPageQuery(parts, newestFirst, page);
}
