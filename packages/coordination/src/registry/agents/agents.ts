import { type ItemPage, itemsOf } from '@baton/kernel/database/list';
import { decodeCursor, encodeCursor, type Page } from '@baton/kernel/http/paging';
import { findSeenRows } from '../../service/sight/seen-list.ts';
import { requireSight, viewerOf } from '../../service/sight/sight.ts';
import { parseAgentRef } from '../agent-keys.ts';
import { findAgentStatuses } from '../agent-status/agent-statuses.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findSettingsForAgent } from '../package-settings/settings-of-packages.ts';
import {
  type Agent,
  type AgentRow,
  agentOf,
  agentStatuses,
  type ListedAgent,
  type ListedRevision,
  listedAgentOf,
  listedRevisionOf,
  type OwnAgent,
  type RevisionRow,
} from './agent.ts';
import { agentStates } from './agent-spec.ts';
import {
  findAgent,
  findAgentById,
  findRevision,
  findRevisions,
  listOfAgents,
  lockAgent,
} from './agents.sql.ts';

/** The maximum total size of the specs on one page of revisions; beyond it, the page ends early. */
const revisionPageBytesMax = 4_194_304;

/** The query of `GET /agents`. */
export interface AgentQuery {
  status?: string | undefined;
  state?: string | undefined;
  workspaceId?: string | undefined;
  include?: 'status' | undefined;
  package?: string | undefined;
}

/** @throws Refusal `invalid_status`, `invalid_cursor` */
export async function listAgents(
  context: Context,
  { status, state, workspaceId, include, package: packageKey }: AgentQuery,
  page: Page,
): Promise<ItemPage<ListedAgent>> {
  requireOneOf(agentStatuses, status);
  requireOneOf(agentStates, state);
  const list = listOfAgents(context.tenantId, {
    status,
    state,
    workspace_id: workspaceId,
    package_key: packageKey,
  });
  const rows = await findSeenRows(context.db, await viewerOf(context), list, page);
  const shown = include === undefined ? [] : rows.slice(0, page.limit).map(({ key }) => key);
  const statuses = shown.length === 0 ? undefined : await findAgentStatuses(context, shown);
  return itemsOf(rows, list.all(page), (row) => listedAgentOf(row, statuses?.get(row.key)));
}

function requireOneOf(allowed: readonly string[], given: string | undefined): void {
  if (given !== undefined && !allowed.includes(given)) fail('invalid_status', { allowed });
}

export async function findAgentRow({ db, tenantId }: Context, key: string): Promise<AgentRow | undefined> {
  return db.row(findAgent(tenantId, key));
}

/** @throws Refusal `not_found` */
export async function getAgentRow(context: Context, key: string): Promise<AgentRow> {
  return (await findAgentRow(context, key)) ?? fail('not_found', { agent: key });
}

/** Locks the agent against changes until the commit. @throws Refusal `not_found` */
export async function lockAgentRow({ db, tenantId }: Context, key: string): Promise<AgentRow> {
  return (await db.row(lockAgent(tenantId, key))) ?? fail('not_found', { agent: key });
}

/** @throws Refusal `not_found` for an agent that is missing or not visible to the caller */
export async function getSeenAgent(context: Context, key: string): Promise<AgentRow> {
  const row = await getAgentRow(context, key);
  await requireSight(context, row.workspace_id, { agent: key });
  return row;
}

/** @param ref the key, or key@revision @throws Refusal `not_found` */
export async function getAgent(context: Context, ref: string): Promise<Agent> {
  const asked = parseAgentRef(ref) ?? fail('not_found', { agent: ref });
  const row = await context.db.row(findAgent(context.tenantId, asked.key));
  if (row === undefined) return fail('not_found', { agent: ref });
  const revision = await findRevisionRow(context, row, asked.revision ?? row.current_revision);
  return agentOf(row, revision ?? fail('not_found', { agent: ref }));
}

/** The agent with its current revision. */
export async function showAgent(context: Context, row: AgentRow): Promise<Agent> {
  return agentOf(row, await getCurrentRevision(context, row));
}

/** Every agent has a current revision. */
export async function getCurrentRevision(context: Context, row: AgentRow): Promise<RevisionRow> {
  return (await findRevisionRow(context, row, row.current_revision)) as RevisionRow;
}

function findRevisionRow({ db, tenantId }: Context, { id }: AgentRow, revision: number) {
  return db.row(findRevision(tenantId, id, revision));
}

/** The calling agent. @throws Refusal `not_found` if the caller is not an agent */
export async function getOwnAgent(context: Context): Promise<OwnAgent> {
  const { db, tenantId, caller } = context;
  const row = caller.agentId == null ? undefined : await db.row(findAgentById(tenantId, caller.agentId));
  if (row === undefined) return fail('not_found', { principalId: caller.principalId });
  const packageSettings = row.package && (await findSettingsForAgent(context, row.package.key));
  return { ...(await showAgent(context, row)), packageSettings };
}

/**
 * The revisions of an agent, newest first. A page ends early once its specs reach 4 MiB; `nextCursor` continues it.
 * @throws Refusal `not_found`, `invalid_cursor`
 */
export async function listAgentRevisions(
  context: Context,
  key: string,
  { limit, cursor }: Page,
): Promise<ItemPage<ListedRevision>> {
  const { db, tenantId } = context;
  const agent = await getAgentRow(context, key);
  const name = `agent_revisions:${agent.id}`;
  const [before] =
    cursor === undefined ? [agent.current_revision + 1] : decodeCursor(name, cursor, ['integer']);
  const slice = {
    before: Math.min(before as number, agent.current_revision + 1),
    rowsMax: limit,
    bytesMax: revisionPageBytesMax,
  };
  const rows = await db.rows(findRevisions(tenantId, agent.id, slice));
  const last = rows.at(-1)?.revision ?? 1;
  return {
    items: rows.map((row) => listedRevisionOf(row, agent.current_revision)),
    nextCursor: last > 1 ? encodeCursor(name, [last]) : null,
  };
}
