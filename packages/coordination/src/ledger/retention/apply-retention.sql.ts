import { sql } from '@baton/kernel/database/sql';
import type { QueuePosition } from '../../service/queue-walk.ts';

/** Moves a batch of the tenant's archived rows, in its own transaction. */
export function moveToArchive(tenantId: string, rowsMax: number) {
  return sql<{ events: number }>`select move_to_archive(${tenantId}, ${rowsMax}) as events`;
}

/** Deletes a batch of the tenant's pruned rows, in its own transaction. */
export function deleteFromArchive(tenantId: string, rowsMax: number) {
  return sql<{ events: number }>`select delete_from_archive(${tenantId}, ${rowsMax}) as events`;
}

/** Tenants with rows to move or delete, ordered by id. */
export function findUnsettled([, afterId]: QueuePosition, rowsMax: number) {
  return sql<{ tenant_id: string }>`
    select tenant_id from journal_floors
    where ((moved_position, moved_sequence) < (archive_position, archive_sequence)
        or (deleted_position, deleted_sequence) < (floor_position, floor_sequence))
      and tenant_id > ${afterId}
    order by tenant_id limit ${rowsMax}`;
}

/** Moves or deletes a batch of one tenant's rows; returns no row while another worker or a request is doing so. */
export function settleFree(tenantId: string, rowsMax: number) {
  return sql<{ events: number }>`
    with free as materialized (
      select tenant_id from journal_floors where tenant_id = ${tenantId} for update skip locked
    )
    select move_to_archive(tenant_id, ${rowsMax}) + delete_from_archive(tenant_id, ${rowsMax}) as events from free`;
}

export interface DueTenantRow {
  tenant_id: string;
  due_at: string;
}

/** Tenants whose scheduled archiving is due, longest due first. */
export function findDueTenants([dueAt, id]: QueuePosition, rowsMax: number) {
  return sql<DueTenantRow>`
    select tenant_id, archive_due_at::text as due_at from journal_floors
    where archive_due_at <= now() and (archive_due_at, tenant_id) > (${dueAt}::timestamptz, ${id}::uuid)
    order by archive_due_at, tenant_id limit ${rowsMax}`;
}

/**
 * Reserves a due tenant for this transaction and schedules its next turn; returns no row if another worker was faster.
 * Doesn't wait for locks.
 */
export function updateDueTenant(tenantId: string, intervalSeconds: number) {
  return sql<{ tenant_id: string }>`
    with due as materialized (
      select tenant_id from journal_floors where tenant_id = ${tenantId} and archive_due_at <= now()
      for update skip locked
    )
    update journal_floors f set archive_due_at = now() + make_interval(secs => ${intervalSeconds})
    from due where f.tenant_id = due.tenant_id
    returning f.tenant_id`;
}

/** If more remains to be archived, the tenant's next turn comes after the tenants that are already due. */
export function updateTenantToDue(tenantId: string) {
  return sql`update journal_floors set archive_due_at = now() where tenant_id = ${tenantId}`;
}
