import { queryBuilder } from '@baton/kernel/database/db';
import { condition, type ListOrder, type PageQuery, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { SkillRow } from '../../organisation/skills/skill.ts';
import type { ToolDetailRow, ToolRow } from './tool.ts';

/** The data that determines a caller's tools, except the projects above a run. */
export interface ToolPolicyRow {
  /** Hash over id, version and status of every skill of the tenant. */
  catalog_hash: string;
  /** Hash over the ids of the caller's skills. */
  assigned_hash: string;
  /** Null if the run is not the caller's. */
  task_id: string | null;
  workspace_id: string | null;
  /** `name@version` each; null if the run was not launched by a principal. */
  granted: string[] | null;
  harness_protocols: string[];
}

/** The maximum number of live sessions whose protocols are read; a caller has a few. */
const sessionsMax = 200;

/**
 * Reads everything that a view of the catalog depends on in one statement, so that an unchanged page needs no other.
 * The protocols are those of the run's session or, without a run, those of the caller's live sessions, of which at most
 * 200 are read.
 */
export function findToolPolicy(tenantId: string, principalId: string, runId: string | null) {
  return sql<ToolPolicyRow>`
    with run as (
      select r.task_id, r.session_id, t.workspace_id, h.skills as granted
      from runs r join tasks t on t.id = r.task_id left join child_handles h on h.id = r.child_handle_id
      where r.id = ${runId}::uuid and r.tenant_id = ${tenantId} and r.principal_id = ${principalId}
    ), session as (
      select harness_capabilities from sessions where id = (select session_id from run)
      union all (
        select harness_capabilities from sessions
        where ${runId}::uuid is null and principal_id = ${principalId} and tenant_id = ${tenantId}
          and status = 'active' and expires_at > now()
        limit ${sessionsMax})
    )
    select
      encode(sha256(convert_to(coalesce((
        select string_agg(id || ' ' || row_version || ' ' || status, ',' order by id)
        from skills where tenant_id = ${tenantId}), ''), 'UTF8')), 'hex') as catalog_hash,
      encode(sha256(convert_to(coalesce((
        select string_agg(skill_id::text, ',' order by skill_id)
        from skill_assignments where principal_id = ${principalId} and tenant_id = ${tenantId}), ''), 'UTF8')), 'hex')
        as assigned_hash,
      run.task_id, run.workspace_id, run.granted,
      array(
        select distinct substr(named.capability, length('skills.protocol.') + 1) as protocol
        from session, unnest(session.harness_capabilities) as named (capability)
        where starts_with(named.capability, 'skills.protocol.') order by protocol) as harness_protocols
    from (select) as always left join run on true`;
}

/** The skills that are the caller's tools. */
export interface ToolFilter {
  readonly tenantId: string;
  readonly principalId: string;
  /** Null for all. */
  readonly protocols: readonly string[] | null;
  /** `name@version` each; null for all. */
  readonly granted: readonly string[] | null;
}

const build = queryBuilder<{ skills: SkillRow }>();

const newestFirst: ListOrder<ToolRow> = {
  cursor: 'tools',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

function toolsOf({ tenantId, principalId, protocols, granted }: ToolFilter) {
  return build
    .selectFrom('skills')
    .select(['id', 'name', 'version', 'protocol', 'status', 'description', 'created_at'])
    .where('tenant_id', '=', tenantId)
    .where('status', '<>', 'disabled')
    .where(
      condition`id in (
        select skill_id from skill_assignments where principal_id = ${principalId} and tenant_id = ${tenantId})`,
    )
    .where(condition`(${protocols}::text[] is null or protocol = any (${protocols}::text[]))`)
    .where(condition`(${granted}::text[] is null or name || '@' || version = any (${granted}::text[]))`);
}

/**
 * A page of the tools whose name or description contains every term, ignoring case. It takes one query, regardless of
 * the number of tools.
 * @throws Refusal `invalid_cursor`
 */
export function findTools(filter: ToolFilter, terms: readonly string[], page: Page): PageQuery<ToolRow> {
  let query = toolsOf(filter);
  for (const term of terms)
    query = query.where(
      condition`(strpos(lower(name), lower(${term})) > 0 or strpos(lower(description), lower(${term})) > 0)`,
    );
  return pageQuery(query, newestFirst, page);
}

/**
 * Finds a tool by its id, by name and version, or by name: the newest active version, or, if none is active, the
 * newest.
 */
export function findTool(
  { tenantId, principalId, protocols, granted }: ToolFilter,
  { id, name, version }: { id: string | null; name: string | null; version: string | null },
) {
  return sql<ToolDetailRow>`
    select id, name, version, protocol, status, description, created_at,
      case when contract is null then input_schema else contract -> 'inputs' end as input_schema
    from skills
    where tenant_id = ${tenantId} and status <> 'disabled'
      and id in (
        select skill_id from skill_assignments where principal_id = ${principalId} and tenant_id = ${tenantId})
      and (${protocols}::text[] is null or protocol = any (${protocols}::text[]))
      and (${granted}::text[] is null or name || '@' || version = any (${granted}::text[]))
      and (id = ${id}::uuid or (name = ${name} and version = coalesce(${version}, version)))
    order by status = 'active' desc, created_at desc, id desc limit 1`;
}
