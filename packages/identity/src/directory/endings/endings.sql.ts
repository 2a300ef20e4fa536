import { sql } from '@baton/kernel/database/sql';
import type { EndingRow } from './ending.ts';

export function insertEnding(ending: Omit<EndingRow, 'acknowledged_at'>) {
  return sql`
    insert into endings (id, tenant_id, principal_id, token_generation, group_id, provisioning_source, reason, actor_ref,
      request_id)
    values (${ending.id}, ${ending.tenant_id}, ${ending.principal_id}, ${ending.token_generation}, ${ending.group_id},
      ${ending.provisioning_source}, ${ending.reason}, ${ending.actor_ref}, ${ending.request_id})`;
}

/** The oldest ones. */
export function findEndings(rowsMax: number) {
  return sql<Pick<EndingRow, 'id'>>`
    select id from endings order by acknowledged_at, id limit ${rowsMax}`;
}

/** Returns no row if another process is processing the ending or has finished it. */
export function tryLockEnding(id: string) {
  return sql<EndingRow>`
    select id, tenant_id, principal_id, token_generation, group_id, provisioning_source, reason, actor_ref, request_id,
      acknowledged_at
    from endings where id = ${id}
    for update skip locked`;
}

export function deleteEnding(id: string) {
  return sql`delete from endings where id = ${id}`;
}
