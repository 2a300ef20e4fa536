import { isDeepStrictEqual } from 'node:util';
import { eventText } from '@baton/values/event-text';
import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { agentStatusChanged } from './agent-status.events.ts';
import {
  findReportedAgent,
  findStatuses,
  insertReport,
  lockReport,
  type NewReport,
  updateReport,
} from './agent-status.sql.ts';
import {
  type AgentStatus,
  type AgentStatusReport,
  type AgentStatusRow,
  agentStatusOf,
} from './agent-status.ts';

/**
 * Records the status of an agent. The report with the later observation wins, regardless of the order of arrival.
 * Reports about a retired agent are also accepted, since they show when it stopped.
 * @throws Refusal `not_found`, `stale_status_report`
 */
export async function reportAgentStatus(
  context: Context,
  key: string,
  { reason, observedRevision = null, node = null, ...sent }: AgentStatusReport,
): Promise<AgentStatus> {
  const { db, tenantId, caller } = context;
  const agent = (await db.row(findReportedAgent(tenantId, key))) ?? fail('not_found', { agent: key });
  const message = reason?.message === undefined ? null : eventText(reason.message);
  const report: NewReport = {
    ...sent,
    agentId: agent.id,
    tenantId,
    reason: reason == null ? null : { code: eventText(reason.code), message },
    observedRevision,
    node,
    reportedBy: caller.principalId,
  };
  const first = await db.row(insertReport(report));
  const before = first === undefined ? await db.row(lockReport(tenantId, agent.id)) : undefined;
  const row = first ?? (await db.row(updateReport(report)));
  if (row === undefined)
    return fail('stale_status_report', { agent: key, storedObservedAt: before?.observed_at });
  if (before === undefined || hasMoved(before, row)) {
    const { phase, reason: why, observed_revision: revision } = row;
    const payload = { key, phase, node: row.node, reason: why, observedRevision: revision };
    emit(context, agentStatusChanged, { entityId: agent.id, workspaceId: agent.workspace_id }, payload);
  }
  return getAgentStatus(context, key);
}

/** False if only the instance counts or the times have changed. */
function hasMoved(before: AgentStatusRow, after: AgentStatusRow): boolean {
  const told = ({ phase, reason, node, observed_revision }: AgentStatusRow) => ({
    phase,
    reason,
    node,
    observed_revision,
  });
  return !isDeepStrictEqual(told(before), told(after));
}

/** @throws Refusal `not_found` */
export async function getAgentStatus(context: Context, key: string): Promise<AgentStatus> {
  return (await findAgentStatuses(context, [key])).get(key) ?? fail('not_found', { agent: key });
}

/** The statuses of the tenant's agents with these keys, by key. */
export async function findAgentStatuses(
  { db, tenantId }: Context,
  keys: readonly string[],
): Promise<ReadonlyMap<string, AgentStatus>> {
  const rows = await db.rows(findStatuses(tenantId, keys));
  return new Map(rows.map((row) => [row.key, agentStatusOf(row)]));
}
