import { sql } from '@baton/kernel/database/sql';
import type { QueuePosition } from '../../../service/queue-walk.ts';

export type OldInstanceRow = { id: string; tenant_id: string; completed_at: string };

/** Instances of all tenants that ended before the start of the retention period and have no unclosed objects. */
export function findOldInstances([completedAt, id]: QueuePosition, ageSeconds: number, rowsMax: number) {
  return sql<OldInstanceRow>`
    select id, tenant_id, completed_at from process_instances
    where completed_at < now() - make_interval(secs => ${ageSeconds}::integer) and attend_at is null
      and (completed_at, id) > (${completedAt}::timestamptz, ${id}::uuid)
    order by completed_at, id limit ${rowsMax}`;
}

/**
 * Locks an instance that may be deleted. It is kept if an open instance called it, or if it has processed an event that
 * the tenant's processes may read again: a turn that ended in the middle of an event reads that event again, among the
 * next `nextEventsMax` after the cursor.
 */
export function lockDeletable(tenantId: string, id: string, consumer: string, nextEventsMax: number) {
  return sql<{ id: string }>`
    select i.id from process_instances i
    where i.id = ${id} and i.tenant_id = ${tenantId} and i.completed_at is not null
      and not exists (
        select from process_instances p where p.id = i.parent_id and p.status in ('running', 'suspended'))
      and not exists (
        select from event_consumers c cross join lateral (
          select e.id from events e
          where e.tenant_id = c.tenant_id and (e.position, e.sequence) > (c.position, c.sequence)
          order by e.position, e.sequence limit ${nextEventsMax}
        ) next join process_inputs t on t.instance_id = ${id} and t.source_ref = 'event:' || next.id
        where c.tenant_id = ${tenantId} and c.consumer = ${consumer})
    for update of i skip locked`;
}

/** Deletes some rows of an instance, and the instance itself together with the last of them. */
export function deleteSome(tenantId: string, id: string, rowsMax: number) {
  return sql<{ rows: number }>`
    with lines as (
      delete from process_instance_journal where instance_id = ${id} and tenant_id = ${tenantId} and seq <= (
        select max(seq) from (
          select seq from process_instance_journal where instance_id = ${id} order by seq limit ${rowsMax}) first)
      returning seq
    ), inputs as (
      delete from process_inputs where instance_id = ${id} and tenant_id = ${tenantId} and source_ref in (
        select source_ref from process_inputs where instance_id = ${id} order by source_ref limit ${rowsMax})
      returning number
    )
    select greatest((select count(*) from lines), (select count(*) from inputs))::integer as rows`;
}

export function deleteInstance(tenantId: string, id: string) {
  return sql`delete from process_instances where id = ${id} and tenant_id = ${tenantId}`;
}
