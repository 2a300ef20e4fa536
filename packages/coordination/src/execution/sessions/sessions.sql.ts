import { queryBuilder } from '@baton/kernel/database/db';
import {
  condition,
  fragment,
  type ListOrder,
  matching,
  ownedPageQuery,
  pageQuery,
  rowsWhere,
} from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { JsonObject } from '@baton/values/wire';
import type { SessionRow } from '../../leases/lease-rows.ts';
import { type SeenList, tasksSeenBy, workspacesSeenBy } from '../../service/sight/places.ts';

export interface NewSession {
  id: string;
  tenantId: string;
  principalId: string;
  onBehalfOfId: string | null;
  delegationId: string | null;
  clientName: string;
  clientVersion: string;
  controlLevel: string;
  harness: {
    type: string;
    version: string;
    protocolVersion: string;
    hostname: string | null;
    capabilities: readonly string[];
    environment: JsonObject;
  } | null;
  metadata: JsonObject;
  revocableBy: readonly string[] | null;
  ttlSeconds: number;
}

export function insertSession({ harness, ...session }: NewSession) {
  const environment = harness === null ? null : JSON.stringify(harness.environment);
  return sql<SessionRow>`
    with granted as materialized (select clock_timestamp() as at)
    insert into sessions (id, tenant_id, principal_id, on_behalf_of_id, delegation_id, client_name, client_version,
      control_level, harness_type, harness_version, protocol_version, hostname, harness_capabilities, environment,
      metadata, revocable_by, lease_seconds, started_at, heartbeat_at, expires_at, sweep_at)
    values (${session.id}, ${session.tenantId}, ${session.principalId}, ${session.onBehalfOfId}, ${session.delegationId},
      ${session.clientName}, ${session.clientVersion}, ${session.controlLevel}, ${harness?.type ?? null},
      ${harness?.version ?? null}, ${harness?.protocolVersion ?? null}, ${harness?.hostname ?? null},
      ${harness?.capabilities ?? null}, ${environment}, ${JSON.stringify(session.metadata)},
      ${session.revocableBy}, ${session.ttlSeconds}::integer, (select at from granted), (select at from granted),
      (select at from granted) + make_interval(secs => ${session.ttlSeconds}),
      (select at from granted) + make_interval(secs => ${session.ttlSeconds}))
    returning *`;
}

/** Finds the live delegation that ends last. */
export function findLiveDelegation(tenantId: string, humanPrincipalId: string, agentPrincipalId: string) {
  return sql<{ id: string }>`
    select id from delegations
    where tenant_id = ${tenantId} and human_principal_id = ${humanPrincipalId} and agent_principal_id = ${agentPrincipalId}
      and revoked_at is null and starts_at <= clock_timestamp() and (expires_at is null or expires_at > clock_timestamp())
      and not exists (
        select from endings e
        where e.principal_id in (human_principal_id, agent_principal_id) and e.acknowledged_at >= created_at)
    order by expires_at desc nulls first, created_at
    limit 1`;
}

export function findSession(tenantId: string, sessionId: string) {
  return sql<SessionRow>`select * from sessions where id = ${sessionId} and tenant_id = ${tenantId}`;
}

/**
 * Acquires the session's lock exclusively: waits at most a few seconds, and terminates connections that share it for
 * longer.
 */
export function takeSessionLock(sessionId: string) {
  return sql`select take_lock(session_lock(${sessionId}))`;
}

const build = queryBuilder<{ sessions: SessionRow }>();

const newestFirst: ListOrder<SessionRow> = {
  cursor: 'sessions',
  columns: { started_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

/** Sessions visible to a person, as defined by `sees_session` (migration 0092). */
export function listOfSessions(
  tenantId: string,
  filter: { status: string | undefined; principal_id: string | undefined },
): SeenList<SessionRow> {
  const found = (source: 'sessions') =>
    matching(build.selectFrom(source).selectAll().where('tenant_id', '=', tenantId), filter);
  return {
    all: (page) => pageQuery(found('sessions'), newestFirst, page),
    filedBy: 'session',
    seen: (viewerId, page) => {
      const isSeen = condition`id = owner.id and sees_session(${viewerId}::uuid, id)`;
      const part = found(rowsWhere('sessions', isSeen).as('sessions') as unknown as 'sessions');
      const owners = fragment`select distinct id from (${sessionsToSee(tenantId, viewerId)}) as to_see (id)`;
      return ownedPageQuery([{ owners, part, headsFirst: false }], newestFirst, page);
    },
    lookups: (viewerId) => sessionsToSee(tenantId, viewerId),
  };
}

/** Candidate sessions for the visibility check, possibly with duplicates. */
function sessionsToSee(tenantId: string, viewerId: string) {
  return fragment`
    select id from sessions where principal_id = ${viewerId}::uuid
    union all select id from sessions where on_behalf_of_id = ${viewerId}::uuid
    union all
    select opened.id from (${workspacesSeenBy(viewerId)}) as place
    cross join lateral (select principal_id from agents where coalesce(workspace_id, tenant_id) = place.id offset 0) as agent
    cross join lateral (select id from sessions where principal_id = agent.principal_id offset 0) as opened
    union all
    select claimed.id from (${tasksSeenBy(tenantId, viewerId)}) as task
    cross join lateral (select session_id as id from claims where task_id = task.id offset 0) as claimed`;
}

/**
 * Extends a live session's lease. Returns no row if it can't be extended. Shared locks on the caller and the session
 * protect against a concurrent disable or close. The lease is checked, and the new one starts, at `live.at`, once the
 * row is locked: if a rival locks the row without changing it, PostgreSQL continues with the values from before the
 * wait. The owner's credential replaces the previous one; if it is the same, the update changes no indexed column.
 */
export function updateSessionLease(beat: {
  tenantId: string;
  sessionId: string;
  callerId: string;
  mayManage: boolean;
  revocableBy: readonly string[] | null;
  /** Null for the original length. */
  ttlSeconds: number | null;
}) {
  return sql<SessionRow>`
    with caller as materialized (
      select ${beat.callerId}::uuid as id
      where enter_principal(${beat.callerId}, ${beat.tenantId}) = 'active'
    ), entered as materialized (
      select s.id, enter_session(s.id, s.principal_id, s.on_behalf_of_id) as live_until, d.expires_at as delegated_until
      from caller join sessions s on s.principal_id = caller.id or ${beat.mayManage}
      left join delegations d on d.id = s.delegation_id and d.revoked_at is null
      where s.id = ${beat.sessionId} and s.tenant_id = ${beat.tenantId} and s.status = 'active'
        and (s.delegation_id is null or d.id is not null)
    ), locked as materialized (
      select s.id, least(s.expires_at, entered.delegated_until) as live_until
      from entered join sessions s on s.id = entered.id
      where entered.live_until is not null and s.status = 'active'
      for no key update of s
    ), live as materialized (
      select id, live_until, clock_timestamp() as at from locked
    )
    update sessions s
    set heartbeat_at = live.at, expires_at = live.at + make_interval(secs => coalesce(${beat.ttlSeconds}::integer, s.lease_seconds)),
      sweep_at = least(s.sweep_at, live.at + make_interval(secs => coalesce(${beat.ttlSeconds}::integer, s.lease_seconds))),
      revocable_by = case when s.principal_id = ${beat.callerId}
        and s.revocable_by is distinct from ${beat.revocableBy}::text[] then ${beat.revocableBy}::text[] else s.revocable_by end
    from live where s.id = live.id and live.live_until > live.at
    returning s.*`;
}
