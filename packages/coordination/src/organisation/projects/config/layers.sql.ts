import { sql } from '@baton/kernel/database/sql';
import type { JsonObject } from '@baton/values/wire';
import type { LayerRow } from './layer.ts';

/**
 * The projects that stand at a workspace or above it, the topmost first, each with what it says: one index scan by the
 * workspace's path, however deep it is (64 levels at most).
 * @param place a workspace, or a project for its own
 */
export function findLayers(
  tenantId: string,
  viewerId: string | null,
  place: { readonly workspaceId: string } | { readonly projectId: string },
) {
  const workspaceId = 'workspaceId' in place ? place.workspaceId : null;
  const projectId = 'projectId' in place ? place.projectId : null;
  return sql<LayerRow>`
    select p.id as project_id, p.workspace_id, p.version, p.status, p.template_id, p.template_key, p.template_version,
      t.default_config, t.default_views, t.memory_defaults, r.id as revision_id, r.revision, r.config, p.settings,
      sees_workspace(${viewerId}, p.workspace_id) as is_seen
    from workspaces w
    join projects p on p.workspace_id = any (w.path)
    join project_templates t on t.id = p.template_id
    left join project_config_revisions r on r.id = p.active_config_revision_id
    where w.tenant_id = ${tenantId}
      and w.id = coalesce(${workspaceId}::uuid, (
        select workspace_id from projects where id = ${projectId}::uuid and tenant_id = ${tenantId}))
    order by array_position(w.path, p.workspace_id)`;
}

/** What a project itself says that can be in the way of its place. */
export interface OwnRulesRow {
  id: string;
  governance: JsonObject;
  /** Keys of its settings, those of the active revision and of the profile. */
  setting_keys: string[];
}

/**
 * The projects of a workspace and of those below it that have rules or settings of their own, by their ids.
 * @param after the last one of the batch before
 */
export function findOwnRules(tenantId: string, workspaceId: string, after: string, rowsMax: number) {
  return sql<OwnRulesRow>`
    select p.id, coalesce(r.config -> 'governance', '{}') as governance,
      array(
        select jsonb_object_keys(p.settings)
        union select jsonb_object_keys(coalesce(r.config -> 'settings', '{}'))) as setting_keys
    from workspaces w join projects p on p.workspace_id = w.id
    left join project_config_revisions r on r.id = p.active_config_revision_id
    where w.tenant_id = ${tenantId} and w.path @> array[${workspaceId}::uuid] and p.id > ${after}
    order by p.id limit ${rowsMax}`;
}
