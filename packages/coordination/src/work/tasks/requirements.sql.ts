import { createHash } from 'node:crypto';
import { sql } from '@baton/kernel/database/sql';

export interface RequirementItem {
  kind: 'role' | 'capability' | 'skill';
  subjectId: string;
  /** The name of a skill that is required in any version. */
  anyVersionOf: string | null;
}

/** The ids for these names, in the order of the names; null for an unknown name. */
export function findSubjects(
  tenantId: string,
  workspaceId: string | null,
  asked: readonly { kind: string; name: string; version: string | null }[],
) {
  const kinds = asked.map(({ kind }) => kind);
  const names = asked.map(({ name }) => name);
  const versions = asked.map(({ version }) => version);
  return sql<{ subject_id: string | null }>`
    with place as materialized (
      select (select path from workspaces where id = ${workspaceId}::uuid and tenant_id = ${tenantId}) as path
    )
    select case a.kind
      when 'role' then (
        select r.id from roles r
        where r.tenant_id = ${tenantId} and r.slug = a.name
          and (r.workspace_id is null or r.workspace_id = any (place.path))
        order by array_position(place.path, r.workspace_id) desc nulls last limit 1)
      when 'capability' then (select c.id from capabilities c where c.tenant_id = ${tenantId} and c.name = a.name)
      else (
        select s.id from skills s
        where s.tenant_id = ${tenantId} and s.name = a.name and s.status <> 'disabled'
          and (a.version is null or s.version = a.version)
        order by s.status = 'active' desc, s.created_at desc, s.id desc limit 1)
      end as subject_id
    from unnest(${kinds}::text[], ${names}::text[], ${versions}::text[]) with ordinality as a (kind, name, version, n), place
    order by a.n`;
}

/** Finds or stores the set with these items; returns no row if a concurrent command has stored it but not committed. */
export function upsertRequirementSet(set: {
  id: string;
  tenantId: string;
  workspaceId: string | null;
  items: readonly RequirementItem[];
}) {
  const kinds = set.items.map(({ kind }) => kind);
  const subjects = set.items.map(({ subjectId }) => subjectId);
  const names = set.items.map(({ anyVersionOf }) => anyVersionOf);
  const text = JSON.stringify([set.workspaceId, kinds, subjects, names]);
  const digest = createHash('sha256').update(text).digest('hex');
  return sql<{ id: string }>`
    with made as (
      insert into requirement_sets (id, tenant_id, workspace_id, digest, items)
      values (${set.id}, ${set.tenantId}, ${set.workspaceId}, ${digest}, ${set.items.length})
      on conflict (tenant_id, digest) do nothing
      returning id
    ), listed as (
      insert into requirement_items (set_id, tenant_id, position, kind, subject_id, any_version_of)
      select made.id, ${set.tenantId}, i.n, i.kind, i.subject_id, i.any_version_of
      from made, unnest(${kinds}::text[], ${subjects}::uuid[], ${names}::text[]) with ordinality
        as i (kind, subject_id, any_version_of, n)
    )
    select id from made
    union all
    select id from requirement_sets where tenant_id = ${set.tenantId} and digest = ${digest}`;
}

/** An item, with the current name of the object that it refers to. */
export interface RequirementItemRow {
  kind: 'role' | 'capability' | 'skill';
  subject_id: string;
  /** The slug of a role, or the name of a capability or skill. */
  name: string;
  /** For skills only. */
  version: string | null;
  any_version: boolean;
}

/** @param lackedBy only those that this principal lacks; null for all */
export function findRequirementItems(tenantId: string, setId: string, lackedBy: string | null) {
  return sql<RequirementItemRow>`
    select i.kind, i.subject_id, coalesce(r.slug, c.name, s.name) as name, s.version,
      i.any_version_of is not null as any_version
    from requirement_items i
    left join roles r on r.id = i.subject_id and i.kind = 'role'
    left join capabilities c on c.id = i.subject_id and i.kind = 'capability'
    left join skills s on s.id = i.subject_id and i.kind = 'skill'
    where i.set_id = ${setId} and i.tenant_id = ${tenantId} and (${lackedBy}::uuid is null
      or i.position in (select missing_items(${tenantId}, ${setId}, ${lackedBy})))
    order by i.position`;
}
