import { sql } from '@baton/kernel/sql';

export interface SessionSummaryRow {
  id: string;
  status: 'active' | 'stale' | 'closed';
  client_name: string;
  client_version: string;
  harness_type: string | null;
  harness_version: string | null;
  control_level: 'human_operated' | 'connected';
  protocol_version: string | null;
  harness_capabilities: string[] | null;
  started_at: string;
  expires_at: string;
}

export interface HeldClaimRow {
  id: string;
  task_id: string;
  public_id: string;
  title: string;
  task_status: string;
  session_id: string;
  fencing_token: number;
  expires_at: string;
}

export interface OwnRunRow {
  id: string;
  task_id: string;
  claim_id: string;
  session_id: string;
  status: 'running' | 'suspended';
  attempt: number;
  fencing_token: number;
  started_at: string;
  finished_at: string | null;
  cancel_requested_at: string | null;
}

/** Instants inside the lists are in the form of JSON, not of columns. */
export interface HarnessContextRow {
  horizon: number;
  tenant: { id: string; slug: string; name: string };
  principal: {
    id: string;
    kind: 'human' | 'agent' | 'service';
    display_name: string;
    status: 'active' | 'paused' | 'disabled';
  };
  session: SessionSummaryRow | null;
  active_sessions: SessionSummaryRow[];
  active_claims: HeldClaimRow[];
  active_runs: OwnRunRow[];
  suspended_runs: OwnRunRow[];
}

/**
 * All that a harness finds again after a restart, in one statement: one snapshot, so a run is never shown without the
 * claim that it has, and the horizon of the journal belongs to exactly this state.
 * A claim is listed while it protects its task, which takes a live session too. The common tables are written into each
 * list (`not materialized`), or every ended session and run of a busy agent would be read.
 */
export function readHarnessContext(of: {
  tenantId: string;
  principalId: string;
  sessionId: string | null;
  listMax: number;
  suspendedMax: number;
}) {
  return sql<HarnessContextRow>`
    with own_sessions as not materialized (
      select id, status, client_name, client_version, harness_type, harness_version, control_level, protocol_version,
        harness_capabilities, started_at, expires_at
      from sessions where tenant_id = ${of.tenantId} and principal_id = ${of.principalId}
    ), own_runs as not materialized (
      select id, task_id, claim_id, session_id, status, attempt, fencing_token, started_at, finished_at, cancel_requested_at
      from runs where tenant_id = ${of.tenantId} and principal_id = ${of.principalId}
    )
    select journal_horizon() as horizon,
      (select row_to_json(x) from (select id, slug, name from tenants where id = ${of.tenantId}) x) as tenant,
      (select row_to_json(x) from (
        select id, kind, display_name, status from principals
        where id = ${of.principalId} and tenant_id = ${of.tenantId}) x) as principal,
      (select row_to_json(x) from (select * from own_sessions where id = ${of.sessionId}::uuid) x) as session,
      coalesce((select json_agg(x order by x.started_at desc, x.id desc) from (
        select * from own_sessions where status = 'active' and expires_at > now()
        order by started_at desc, id desc limit ${of.listMax}) x), '[]') as active_sessions,
      coalesce((select json_agg(x order by x.acquired_at desc, x.id desc) from (
        select c.id, c.task_id, t.public_id, t.title, t.status as task_status, c.session_id, c.fencing_token, c.expires_at,
          c.acquired_at
        from claims c join sessions s on s.id = c.session_id join tasks t on t.id = c.task_id
        where c.tenant_id = ${of.tenantId} and c.holder_id = ${of.principalId} and c.status = 'active'
          and c.expires_at > now() and s.status = 'active' and s.expires_at > now()
        order by c.acquired_at desc, c.id desc limit ${of.listMax}) x), '[]') as active_claims,
      coalesce((select json_agg(x order by x.started_at desc, x.id desc) from (
        select * from own_runs where status = 'running'
        order by started_at desc, id desc limit ${of.listMax}) x), '[]') as active_runs,
      coalesce((select json_agg(x order by x.started_at desc, x.id desc) from (
        select * from own_runs where status = 'suspended'
        order by started_at desc, id desc limit ${of.suspendedMax}) x), '[]') as suspended_runs`;
}
