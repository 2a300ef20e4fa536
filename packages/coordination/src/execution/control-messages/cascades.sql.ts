import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { QueuePosition } from '../../service/queue-walk.ts';
import type { Tables } from '../../service/schema.ts';
import type { CascadeRoot } from './control-message.ts';

/** Leaves the rest of a cancellation to the worker. */
export function insertCascade(tenantId: string, messageId: string, followsRelations: boolean) {
  return sql<object>`
    insert into run_cascades (message_id, tenant_id, follows_relations)
    values (${messageId}, ${tenantId}, ${followsRelations})`;
}

export type CascadeRow = Pick<RowOf<Tables['run_cascades']>, 'message_id' | 'tenant_id' | 'created_at'>;

/** Lists unfinished cancellations, oldest first; each is locked before it is processed. */
export function findCascades([createdAt, id]: QueuePosition, rowsMax: number) {
  return sql<CascadeRow>`
    select message_id, tenant_id, created_at from run_cascades
    where (created_at, message_id) > (${createdAt}::timestamptz, ${id}::uuid)
    order by created_at, message_id limit ${rowsMax}`;
}

/**
 * Locks the message with which an unfinished cancellation began; returns no row if another worker holds it or it is
 * done.
 */
export function tryLockCascade(tenantId: string, messageId: string) {
  return sql<CascadeRoot>`
    with cascade as materialized (
      select message_id, follows_relations from run_cascades
      where message_id = ${messageId} and tenant_id = ${tenantId}
      for update skip locked
    )
    select m.*, cascade.follows_relations from cascade join run_control_messages m on m.id = cascade.message_id`;
}

export function deleteCascade(tenantId: string, messageId: string) {
  return sql<object>`delete from run_cascades where message_id = ${messageId} and tenant_id = ${tenantId}`;
}

/** Running runs that a run launched with a cascading policy and that have no open cancel request. */
export function findChildrenToCancel(
  tenantId: string,
  {
    parentRunId,
    key,
    rowsMax,
    except,
  }: { parentRunId: string; key: string; rowsMax: number; except: readonly string[] },
) {
  return sql<{ id: string }>`
    select r.id from child_handles h join runs r on r.id = h.child_run_id and r.status = 'running'
    where h.parent_run_id = ${parentRunId} and h.tenant_id = ${tenantId} and h.cancellation_policy = 'cascade_cooperative'
      and r.id <> all (${except}::uuid[]) and not exists (
        select from run_control_messages m where m.run_id = r.id
          and (m.idempotency_key = ${key} or (m.status = 'accepted' and m.operation = 'request_cancel')))
    order by r.id limit ${rowsMax}`;
}

/** The ids of handles with their correlation ids. */
export function findHandles(tenantId: string, handleIds: readonly string[]) {
  return sql<{ id: string; correlation_id: string }>`
    select id, correlation_id from child_handles where id = any (${handleIds}::uuid[]) and tenant_id = ${tenantId}`;
}
