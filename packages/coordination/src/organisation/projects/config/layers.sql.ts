import { sql } from '@baton/kernel/database/sql';
import type { JsonObject } from '@baton/values/wire';
import type { LayerRow } from './layer.ts';

/**
 * The configuration layers of the projects at a workspace and above it, from the root down: one index scan by the
 * workspace's path, at any depth up to 64 levels.
 * @param place a workspace, or a project that represents its workspace
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

/** The parts of a project's configuration that can conflict with its ancestors. */
export interface OwnRulesRow {
  id: string;
  governance: JsonObject;
  /** The keys of the project's settings, from the active revision and the profile. */
  setting_keys: string[];
}

/**
 * The projects of a workspace and its descendants that have their own governance or settings, by id.
 * @param after the last project of the previous batch
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
