import { part, type SqlPart } from '@baton/kernel/database/sql';
import type { FigureScope } from './range.ts';

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

/** Whether figures of this workspace are counted; null is the tenant itself, which everybody sees. */
export function isCounted({ viewerId, scope }: FigureScope, workspaceId: SqlPart): SqlPart {
  return part`
    ((${scope === undefined} and (${viewerId}::uuid is null or ${workspaceId} is null))
      or ${workspaceId} in (select id from places))`;
}
