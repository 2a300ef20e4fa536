import { sql } from '@baton/kernel/database/sql';
import type { JsonObject } from '@baton/values/wire';

/** Finds the objects that definitions refer to, by name. */

/** Returns those of the given keys that belong to task types that tasks can use. */
export function findActiveTaskTypes(tenantId: string, keys: readonly string[]) {
  return sql<{ key: string }>`
    select distinct key from task_types where tenant_id = ${tenantId} and key = any (${keys}) and status = 'active'`;
}

/** Returns those of the given keys that belong to processes that a person sees. */
export function findSeenProcesses(tenantId: string, viewerId: string, keys: readonly string[]) {
  return sql<{ key: string }>`
    select key from process_definitions
    where tenant_id = ${tenantId} and key = any (${keys}) and is_latest and sees_workspace(${viewerId}, workspace_id)`;
}

/** The calendars with these keys, in their current state. */
export function findCalendarsOfKeys(tenantId: string, keys: readonly string[]) {
  return sql<{ key: string; is_retired: boolean; has_hours: boolean }>`
    select c.key, c.status = 'retired' as is_retired, jsonb_typeof(v.spec -> 'workingHours') = 'object' as has_hours
    from calendars c join calendar_versions v on v.id = c.id
    where c.tenant_id = ${tenantId} and c.key = any (${keys})`;
}

/** The outputs that the contracts of these skills declare, by `name@version`. */
export function findOutputSchemas(tenantId: string, names: readonly string[], versions: readonly string[]) {
  return sql<{ name: string; version: string; outputs: JsonObject }>`
    select s.name, s.version, s.contract -> 'outputs' as outputs
    from unnest(${names}::text[], ${versions}::text[]) as asked (name, version)
    join skills s on s.tenant_id = ${tenantId} and s.name = asked.name and s.version = asked.version
    where jsonb_typeof(s.contract -> 'outputs') = 'object'`;
}

/** The inputs that the contracts of these skills require, by `name@version`. */
export function findWantedInputs(tenantId: string, names: readonly string[], versions: readonly string[]) {
  return sql<{ name: string; version: string; wanted: string[] | null }>`
    select s.name, s.version, array(
      select jsonb_array_elements_text(case when jsonb_typeof(s.contract #> '{inputs,required}') = 'array'
        then s.contract #> '{inputs,required}' else '[]' end)) as wanted
    from unnest(${names}::text[], ${versions}::text[]) as asked (name, version)
    join skills s on s.tenant_id = ${tenantId} and s.name = asked.name and s.version = asked.version`;
}
