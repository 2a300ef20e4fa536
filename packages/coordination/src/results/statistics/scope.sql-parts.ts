import { part, type SqlPart } from '@baton/kernel/database/sql';
import type { DayRange, FigureScope } from './range.ts';

/** The bounds of the days of a range. */
export const boundsOf = ({ bounds }: DayRange) => part`${bounds}::timestamptz[]`;
export const beginOf = ({ bounds }: DayRange) => part`${bounds[0]}::timestamptz`;
export const endOf = ({ bounds }: DayRange) => part`${bounds.at(-1)}::timestamptz`;

/**
 * A common table expression `places (id)` with the workspaces of a scope or, without a scope, those that the viewer
 * sees. It is empty, and isn't read, for a caller that sees everything.
 */
export function placesOf({ tenantId, viewerId, scope }: FigureScope): SqlPart {
  const within = scope?.within ?? null;
  const itself = scope?.itself ?? null;
  const projectId = scope?.projectId ?? null;
  return part`
    places as materialized (
      select id from workspaces
      where ${within}::uuid[] is not null and tenant_id = ${tenantId} and path @> ${within}::uuid[]
        and (${itself}::uuid is null or id = ${itself}::uuid)
        and (${projectId}::uuid is null or project_id = ${projectId}::uuid)
      union all
      select seen.id from workspaces_seen_by(${viewerId}::uuid) as seen (id)
      where ${within}::uuid[] is null and ${viewerId}::uuid is not null
    )`;
}

/** Whether figures of the task `t` are counted. Everybody sees tasks without a workspace, but no scope has them. */
export function isTaskCounted({ viewerId, scope }: FigureScope): SqlPart {
  return part`
    ((${scope === undefined} and (${viewerId}::uuid is null or t.workspace_id is null))
      or t.workspace_id in (select id from places))`;
}

/** Whether the approval `a` is counted: by its task `t` or, without a task, by its own workspace. */
export function isApprovalCounted({ viewerId, scope }: FigureScope): SqlPart {
  return part`
    ((${scope === undefined} and (
        ${viewerId}::uuid is null or case when a.task_id is null then a.workspace_id else t.workspace_id end is null))
      or case when a.task_id is null then a.workspace_id else t.workspace_id end in (select id from places))`;
}

/** Whether the refused writes `w` are counted. */
export function areWritesCounted({ viewerId, scope }: FigureScope): SqlPart {
  return part`
    ((${scope === undefined} and (${viewerId}::uuid is null or w.workspace_id is null))
      or w.workspace_id in (select id from places))`;
}
