import { sql } from '@baton/kernel/database/sql';
import type { HarnessContextRow } from './harness-context.ts';

/**
 * Reads everything that a harness needs after a restart in one statement. With one snapshot, a run is never returned
 * without its claim, and the journal horizon belongs to exactly this state. A claim is listed while it protects its
 * task, which also requires a live session. The common tables are inlined into each list (`not materialized`);
 * otherwise every ended session and run of a busy agent would be read.
 */
export function findHarnessContext(of: {
  tenantId: string;
  principalId: string;
  sessionId: string | null;
  listMax: number;
  suspendedMax: number;
  approvalsMax: number;
  /** Whether the caller is a person who may decide approvals. */
  decides: boolean;
  /** Restricts the result to the viewer's workspaces; null for unrestricted. */
  viewerId: string | null;
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
        select c.id, c.task_id, t.public_id as task_public_id, t.title as task_title, t.status as task_status,
          c.session_id, c.fencing_token, c.expires_at, c.acquired_at
        from claims c join sessions s on s.id = c.session_id join tasks t on t.id = c.task_id
        where c.tenant_id = ${of.tenantId} and c.holder_id = ${of.principalId} and c.status = 'active'
          and c.expires_at > now() and s.status = 'active' and s.expires_at > now()
        order by c.acquired_at desc, c.id desc limit ${of.listMax}) x), '[]') as active_claims,
      coalesce((select json_agg(x order by x.started_at desc, x.id desc) from (
        select * from own_runs where status = 'running'
        order by started_at desc, id desc limit ${of.listMax}) x), '[]') as active_runs,
      coalesce((select json_agg(x order by x.started_at desc, x.id desc) from (
        select * from own_runs where status = 'suspended'
        order by started_at desc, id desc limit ${of.suspendedMax}) x), '[]') as suspended_runs,
      coalesce((select json_agg(x order by x.slug, x.id, x."workspaceId") from (
        select r.id, r.slug, r.name, a.workspace_id as "workspaceId"
        from role_assignments a join roles r on r.id = a.role_id
        where a.principal_id = ${of.principalId} and a.tenant_id = ${of.tenantId}
        order by a.created_at desc, a.id desc limit ${of.listMax}) x), '[]') as roles,
      coalesce((select json_agg(x order by x.name) from (
        select c.id, c.name, c.description
        from capability_assignments a join capabilities c on c.id = a.capability_id
        where a.principal_id = ${of.principalId} and a.tenant_id = ${of.tenantId}
        order by a.created_at desc, a.id desc limit ${of.listMax}) x), '[]') as capabilities,
      coalesce((select json_agg(x order by x.name, x.version) from (
        select s.id, s.name, s.version, s.protocol, s.status,
          s.status <> 'disabled' and s.contract is not null as executable
        from skill_assignments a join skills s on s.id = a.skill_id
        where a.principal_id = ${of.principalId} and a.tenant_id = ${of.tenantId}
        order by a.created_at desc, a.id desc limit ${of.listMax}) x), '[]') as skills,
      coalesce((select json_agg(x order by x."createdAt" desc, x.id desc) from (
        select a.id, a.task_id as "taskId", a.artifact_id as "artifactId", a.requested_by_principal_id as "requestedBy",
          a.gate, a.comment, a.created_at as "createdAt"
        from (
          -- Approvals that the person can't decide or see are filtered before the limit, so that they don't displace
          -- others.
          (select a.* from approvals a
            where a.assigned_principal_id = ${of.principalId} and a.status = 'pending'
              and a.tenant_id = ${of.tenantId}
              and not ${of.principalId}::uuid = any (a.excluded_principals)
              and (${of.viewerId}::uuid is null or case when a.task_id is null then sees_workspace(${of.viewerId}, a.workspace_id)
                else sees_task(${of.viewerId}, a.task_id) end)
            order by a.created_at desc, a.id desc limit ${of.approvalsMax})
          union
          select held.* from role_assignments g cross join lateral (
            select a.* from approvals a left join workspaces w on w.id = a.workspace_id
            where a.required_role_id = g.role_id and a.status = 'pending'
              and (g.workspace_id is null or g.workspace_id = any (w.path))
              and a.tenant_id = ${of.tenantId}
              and not ${of.principalId}::uuid = any (a.excluded_principals)
              and (${of.viewerId}::uuid is null or case when a.task_id is null then sees_workspace(${of.viewerId}, a.workspace_id)
                else sees_task(${of.viewerId}, a.task_id) end)
            order by a.created_at desc, a.id desc limit ${of.approvalsMax}) held
          where g.principal_id = ${of.principalId} and g.tenant_id = ${of.tenantId}
        ) a
        where ${of.decides}
        order by a.created_at desc, a.id desc limit ${of.approvalsMax}) x), '[]') as pending_approvals`;
}
