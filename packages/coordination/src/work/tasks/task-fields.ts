import { findAgentPrincipal } from '../../access/principals/managed-principals.ts';
import { findStatus, type LifecycleStatus } from '../../definitions/task-types/lifecycle.ts';
import type { TypeRules } from '../../definitions/task-types/type-rules.ts';
import { getProjectRow } from '../../organisation/projects/projects.ts';
import { enterWorkspace, getWorkspaceRow } from '../../organisation/workspaces/workspaces.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type Priority, priorities } from './task.ts';
import { findPrincipalIds } from './tasks.sql.ts';

/**
 * @throws Refusal `invalid_title` for a blank title
 */
export function requireTitle(title: string): void {
  if (title.trim() === '') fail('invalid_title');
}

/** The rank of a priority; work is done in this order. @throws Refusal `invalid_priority` */
export function priorityIndex(priority: string): number {
  const index = priorities.indexOf(priority as Priority);
  return index < 0 ? fail('invalid_priority', { known: priorities }) : index;
}

/** @throws Refusal `status_not_in_lifecycle` */
export function requireStatus(
  { lifecycle }: Pick<TypeRules, 'lifecycle'>,
  statusKey: string,
): LifecycleStatus {
  const known = lifecycle.statuses.map(({ key }) => key);
  return findStatus(lifecycle, statusKey) ?? fail('status_not_in_lifecycle', { statusKey, known });
}

/** @throws Refusal `invalid_planned_dates` */
export function requireDatesInOrder(startDate: string | null, dueDate: string | null): void {
  // Both dates have the same wire format, in which string order is time order.
  if (startDate !== null && dueDate !== null && dueDate < startDate)
    fail('invalid_planned_dates', { startDate, dueDate });
}

/**
 * Looks up owner and assignee; `agent:<key>` is the principal of that registered agent.
 * @returns an id for each given one, null to clear, undefined if absent
 * @throws Refusal `unknown_agent`, `not_found`
 */
export async function requirePrincipals(
  context: Context,
  { ownerId, assigneeId }: { ownerId?: string | null | undefined; assigneeId?: string | null | undefined },
): Promise<{ ownerId: string | null | undefined; assigneeId: string | null | undefined }> {
  if (assigneeId?.startsWith('agent:')) {
    const agentId = await requireAgent(context, assigneeId.slice('agent:'.length));
    return requirePrincipals(context, { ownerId, assigneeId: agentId });
  }
  const asked = [...new Set([ownerId, assigneeId])].filter((id) => id != null);
  if (asked.length === 0) return { ownerId, assigneeId };
  const found = new Set(
    (await context.db.rows(findPrincipalIds(context.tenantId, asked))).map(({ id }) => id),
  );
  if (ownerId != null && !found.has(ownerId)) fail('not_found', { ownerId });
  if (assigneeId != null && !found.has(assigneeId)) fail('not_found', { assigneeId });
  return { ownerId, assigneeId };
}

/** @throws Refusal `unknown_agent` for an agent without a linked identity and for a retired one */
async function requireAgent(context: Context, agentKey: string): Promise<string> {
  const agent = await findAgentPrincipal(context, agentKey);
  const principalId = agent?.isRetired === false ? agent.principalId : null;
  return principalId ?? fail('unknown_agent', { agentKey });
}

/**
 * The workspace for a task of this type; null and undefined are returned unchanged.
 * @throws Refusal `not_found`, `workspace_archived`, `task_type_not_allowed`
 */
export async function requireWorkspace(
  context: Context,
  workspaceId: string | null | undefined,
  typeKey: string,
): Promise<void> {
  if (workspaceId == null) return;
  const { effective_task_types: allowed } = await enterWorkspace(context, workspaceId);
  if (allowed !== null && !allowed.includes(typeKey)) fail('task_type_not_allowed', { workspaceId, typeKey });
}

/** The workspaces that filter a list. */
export interface WorkspaceScope {
  /** Each of these roots is the workspace itself or one of its ancestors. */
  readonly within: readonly string[];
  /** Only this workspace; null means that workspaces below it are included. */
  readonly itself: string | null;
  /** Only workspaces of this project; null means that those of projects below it are included. */
  readonly projectId: string | null;
}

export interface ScopeQuery {
  readonly workspaceId?: string | undefined;
  readonly includeDescendants?: boolean | undefined;
  readonly projectId?: string | undefined;
  readonly includeSubprojects?: boolean | undefined;
}

/**
 * The workspaces of a query that specifies a workspace, a project or both; undefined if it specifies neither.
 * Archived workspaces are included.
 * @throws Refusal `not_found`
 */
export async function workspaceScopeOf(
  context: Context,
  { workspaceId, includeDescendants, projectId, includeSubprojects }: ScopeQuery,
): Promise<WorkspaceScope | undefined> {
  if (workspaceId !== undefined) await getWorkspaceRow(context, workspaceId);
  const project = projectId === undefined ? undefined : await getProjectRow(context, projectId);
  if (workspaceId === undefined && project === undefined) return undefined;
  return {
    within: [workspaceId, project?.workspace_id].filter((id) => id !== undefined),
    itself: workspaceId === undefined || includeDescendants === true ? null : workspaceId,
    projectId: project === undefined || includeSubprojects === true ? null : project.id,
  };
}
