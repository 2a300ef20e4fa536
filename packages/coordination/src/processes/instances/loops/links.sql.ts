import { sql } from '@baton/kernel/database/sql';

/**
 * The number of links that led to an instance's actions: those of the input that caused them or, if no event did, those
 * of its start, unless that was too long ago. Returns no row if the instance doesn't exist.
 */
export function findLinks(
  tenantId: string,
  by: { instanceId: string; source: string | null; at: string; linkSecondsMax: number },
) {
  return sql<{ links: number }>`
    select coalesce(
      (select p.links from process_inputs p where p.instance_id = i.id and p.source_ref = ${by.source}::text),
      case when ${by.at}::timestamptz <= i.started_at + make_interval(secs => ${by.linkSecondsMax}::integer)
        then (i.state ->> 'links')::integer end,
      0) as links
    from process_instances i where i.id = ${by.instanceId} and i.tenant_id = ${tenantId}`;
}
