import { sql } from '@baton/kernel/database/sql';
import type { JsonObject } from '@baton/values/wire';
import type { ObjectKind } from '../source/package-source.ts';

/** The current state of an object that a package refers to or owns; nulls if it doesn't exist. */
export interface WorldRow {
  kind: ObjectKind;
  key: string;
  /** The package that owns the object, and that package's document. */
  package_key: string | null;
  applied_by: 'installer' | 'apply' | null;
  said: JsonObject | null;
  was: JsonObject | null;
  retired_by_package_at: string | null;
  id: string | null;
  version: number | null;
  status: 'active' | 'retired' | null;
  workspace_id: string | null;
  retired_at: string | null;
  /** The body of the POST that would create the object; null if its `bytes` exceed `stateBytesMax`. */
  state: JsonObject | null;
  bytes: number | null;
  state_hash: string | null;
  /** For a task type, its newest active versions, at most `versionsMax` plus one. */
  versions: number[] | null;
  version_ids: string[] | null;
}

/** The maximum size of all objects that one plan compares. */
export const stateBytesMax = 8_388_608;
/** The maximum number of active versions of a task type that a package deprecates at once. */
export const versionsMax = 100;

/**
 * The objects of these kinds and keys, and those that a package owns, in one snapshot.
 * @param named as parallel lists
 */
export function findWorld(
  tenantId: string,
  packageKey: string,
  { kinds, keys }: { kinds: readonly string[]; keys: readonly string[] },
) {
  return sql<WorldRow>`
    with named as (
      select kind, key from unnest(${kinds}::text[], ${keys}::text[]) as given (kind, key)
      union
      select kind, key from package_objects
      where tenant_id = ${tenantId} and package_key = ${packageKey}
        and kind in ('TaskType', 'Agent', 'Calendar', 'Process', 'WorkRule', 'View')
    ), found as (
      select n.kind, n.key, o.package_key, o.applied_by, o.said, o.was, o.retired_at as retired_by_package_at, x.*,
        octet_length(x.state::text) + coalesce(octet_length(o.said::text) + octet_length(o.was::text), 0) as bytes
      from named n
      left join package_objects o on o.tenant_id = ${tenantId} and o.kind = n.kind and o.key = n.key
      left join lateral (
        (select t.id, t.version, case t.status when 'active' then 'active' else 'retired' end as status,
          null::uuid as workspace_id, null::timestamptz as retired_at,
          jsonb_build_object('displayName', t.display_name, 'description', t.description, 'fieldSchema', t.field_schema,
            'lifecycleSchema', t.lifecycle_schema, 'execution', t.execution, 'approvalSchema', t.approval_schema,
            'contextSchema', t.context_schema, 'completionSchema', t.completion_schema,
            'artifactSchema', t.artifact_schema, 'instructions', t.instructions, 'acceptance', t.acceptance) as state,
          array(
            select a.version from task_types a
            where a.tenant_id = ${tenantId} and a.key = n.key and a.status = 'active'
            order by a.version desc limit ${versionsMax}::integer + 1) as versions,
          array(
            select a.id from task_types a
            where a.tenant_id = ${tenantId} and a.key = n.key and a.status = 'active'
            order by a.version desc limit ${versionsMax}::integer + 1) as version_ids
        from task_types t
        where n.kind = 'TaskType' and t.tenant_id = ${tenantId} and t.key = n.key
        order by t.status = 'active' desc, t.version desc limit 1)
        union all
        (select a.id, a.current_revision, a.status, a.workspace_id, a.retired_at,
          r.spec || jsonb_build_object('state', a.state)
            || case when jsonb_typeof(r.spec -> 'placement') = 'object'
              then jsonb_build_object('placement', r.spec -> 'placement' || jsonb_build_object('replicas', a.replicas))
              else '{}' end, null, null
        from agents a join agent_revisions r on r.agent_id = a.id and r.revision = a.current_revision
        where n.kind = 'Agent' and a.tenant_id = ${tenantId} and a.key = n.key)
        union all
        (select c.id, c.version, c.status, null, c.retired_at, v.spec, null, null
        from calendars c join calendar_versions v on v.id = c.id
        where n.kind = 'Calendar' and c.tenant_id = ${tenantId} and c.key = n.key)
        union all
        (select d.id, d.version, d.status, d.workspace_id, d.retired_at, d.spec, null, null
        from process_definitions d
        where n.kind = 'Process' and d.tenant_id = ${tenantId} and d.key = n.key and d.is_latest)
        union all
        (select r.id, r.version, 'active', r.workspace_id, null,
          jsonb_build_object('description', r.description, 'trigger', r.trigger, 'condition', r.condition,
            'interpretation', r.interpretation, 'action', r.action, 'workspaceId', r.workspace_id,
            'goalId', r.goal_id, 'status', r.status)
            || case when r.identity_agent is null then '{}'
              else jsonb_build_object('identity', jsonb_build_object('agent', r.identity_agent)) end, null, null
        from rules r
        where n.kind = 'WorkRule' and r.tenant_id = ${tenantId} and r.key = n.key and r.status <> 'archived')
        union all
        (select v.id, v.version, v.status, null, null, v.spec::jsonb, null, null
        from views v
        where n.kind = 'View' and v.tenant_id = ${tenantId} and v.key = n.key)
      ) as x on true
    ), summed as (
      select f.*, sum(coalesce(f.bytes, 0)) over (order by f.kind, f.key) as bytes_so_far from found f
    )
    select kind, key, package_key, applied_by,
      case when bytes_so_far <= ${stateBytesMax}::bigint then said end as said,
      case when bytes_so_far <= ${stateBytesMax}::bigint then was end as was,
      retired_by_package_at, id, version, status, workspace_id, retired_at,
      case when bytes_so_far <= ${stateBytesMax}::bigint then state end as state, bytes, md5(state::text) as state_hash, versions, version_ids
    from summed order by kind, key`;
}

export interface InstalledRow {
  version: string;
  settings_title: string | null;
  settings_schema: JsonObject | null;
  settings_uischema: JsonObject | null;
  settings_values: JsonObject;
  settings_schema_hash: string | null;
}

export function findInstalled(tenantId: string, key: string) {
  return sql<InstalledRow>`
    select version, settings_title, settings_schema, settings_uischema, settings_values, settings_schema_hash
    from packages where tenant_id = ${tenantId} and key = ${key}`;
}

/** Objects of a package that an installer created; the first `rowsMax`. */
export function findOutside(tenantId: string, packageKey: string, rowsMax: number) {
  return sql<{ kind: string; key: string }>`
    select kind, key from package_objects
    where tenant_id = ${tenantId} and package_key = ${packageKey} and applied_by = 'installer'
    order by kind, key limit ${rowsMax}`;
}
