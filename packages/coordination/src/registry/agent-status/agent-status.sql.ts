import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';
import type { AgentReason, AgentStatusReport, AgentStatusRow, SeenAgentRow } from './agent-status.ts';

export function findReportedAgent(tenantId: string, key: string) {
  return sql<Pick<RowOf<Tables['agents']>, 'id' | 'workspace_id'>>`
    select id, workspace_id from agents where tenant_id = ${tenantId} and key = ${key}`;
}

export interface NewReport extends Pick<AgentStatusReport, 'phase' | 'instances' | 'observedAt'> {
  readonly agentId: string;
  readonly tenantId: string;
  readonly reason: AgentReason | null;
  readonly observedRevision: number | null;
  readonly node: string | null;
  readonly reportedBy: string;
}

const jsonOf = (document: object | null) => (document === null ? null : JSON.stringify(document));

/** Writes the first report; returns no row if one already exists, even from a concurrent request. */
export function insertReport(report: NewReport) {
  return sql<AgentStatusRow>`
    insert into agent_statuses (agent_id, tenant_id, phase, reason, observed_revision, node, instances, observed_at,
      reported_by)
    values (${report.agentId}, ${report.tenantId}, ${report.phase}, ${jsonOf(report.reason)}, ${report.observedRevision},
      ${report.node}, ${JSON.stringify(report.instances)}, least(${report.observedAt}::timestamptz, clock_timestamp()),
      ${report.reportedBy})
    on conflict (agent_id) do nothing
    returning *`;
}

export function lockReport(tenantId: string, agentId: string) {
  return sql<AgentStatusRow>`
    select * from agent_statuses where agent_id = ${agentId} and tenant_id = ${tenantId} for no key update`;
}

/** Replaces a report and locks it; returns no row if the stored one was observed later. */
export function updateReport(report: NewReport) {
  return sql<AgentStatusRow>`
    update agent_statuses
    set phase = ${report.phase}, reason = ${jsonOf(report.reason)}, observed_revision = ${report.observedRevision},
      node = ${report.node}, instances = ${JSON.stringify(report.instances)},
      observed_at = least(${report.observedAt}::timestamptz(3), clock_timestamp()), reported_at = clock_timestamp(),
      reported_by = ${report.reportedBy}
    where agent_id = ${report.agentId} and tenant_id = ${report.tenantId}
      and observed_at <= least(${report.observedAt}::timestamptz(3), clock_timestamp()::timestamptz(3))
    returning *`;
}

/** The statuses of agents, by their keys. */
export function findStatuses(tenantId: string, keys: readonly string[]) {
  return sql<SeenAgentRow & { key: string }>`
    select a.key, s.phase, s.reason, s.observed_revision, s.node, s.instances, s.observed_at, s.reported_at, s.reported_by,
      greatest(s.reported_at, beat.heartbeat_at) as last_seen_at
    from agents a left join agent_statuses s on s.agent_id = a.id
    left join lateral (
      select max(heartbeat_at) as heartbeat_at from sessions where principal_id = a.principal_id and status <> 'closed'
    ) beat on true
    where a.tenant_id = ${tenantId} and a.key = any (${keys}::text[])`;
}
