import { sql } from '@baton/kernel/database/sql';
import type { SecretName } from './secret-store.ts';

export function insertLeftover({ tenantId, folder, name }: SecretName, dueInSeconds: number) {
  return sql`
    insert into secret_leftovers (tenant_id, folder, name, due_at)
    values (${tenantId}, ${folder}, ${name}, clock_timestamp() + make_interval(secs => ${dueInSeconds}))
    on conflict (tenant_id, folder, name) do nothing`;
}

/** Changes no row if the entry is due: the worker may be deleting the secret. */
export function deleteLeftoverInTime({ tenantId, folder, name }: SecretName) {
  return sql`
    delete from secret_leftovers
    where tenant_id = ${tenantId} and folder = ${folder} and name = ${name} and due_at > clock_timestamp()`;
}

export function deleteLeftover({ tenantId, folder, name }: SecretName) {
  return sql`
    delete from secret_leftovers where tenant_id = ${tenantId} and folder = ${folder} and name = ${name}`;
}

/**
 * Reserves a path for one write; returns no row while another write has it. Until `updateKept` releases it, nothing is
 * deleted there.
 */
export function insertUse({ tenantId, folder, name }: SecretName, dueInSeconds: number) {
  return sql<{ due_at: string }>`
    insert into secret_leftovers (tenant_id, folder, name, due_at, is_kept)
    values (${tenantId}, ${folder}, ${name}, clock_timestamp() + make_interval(secs => ${dueInSeconds}), true)
    on conflict (tenant_id, folder, name) do nothing
    returning due_at`;
}

/** Records whether a row refers to the path. Returns no row if the entry was taken over or is due. */
export function updateKept({ tenantId, folder, name }: SecretName, dueAt: string, isKept: boolean) {
  return sql<{ name: string }>`
    update secret_leftovers set is_kept = ${isKept}
    where tenant_id = ${tenantId} and folder = ${folder} and name = ${name} and due_at = ${dueAt}
      and due_at > clock_timestamp()
    returning name`;
}

/** Records that no row refers to the path, so that its current writer or the worker deletes the secret. */
export function upsertUnkept({ tenantId, folder, name }: SecretName) {
  return sql`
    insert into secret_leftovers (tenant_id, folder, name, due_at, is_kept)
    values (${tenantId}, ${folder}, ${name}, clock_timestamp(), false)
    on conflict (tenant_id, folder, name) do update set is_kept = false`;
}

/** Changes no row if the referring row was deleted in the meantime. */
export function deleteKeptLeftover({ tenantId, folder, name }: SecretName) {
  return sql`
    delete from secret_leftovers
    where tenant_id = ${tenantId} and folder = ${folder} and name = ${name} and is_kept`;
}

/** Takes over an entry that hasn't changed since it was read. */
export function takeLeftover({ tenantId, folder, name }: SecretName, dueAt: string, dueInSeconds: number) {
  return sql<{ is_kept: boolean }>`
    update secret_leftovers set due_at = clock_timestamp() + make_interval(secs => ${dueInSeconds})
    where tenant_id = ${tenantId} and folder = ${folder} and name = ${name} and due_at = ${dueAt}
    returning is_kept`;
}

export interface LeftoverRow {
  tenant_id: string;
  folder: string;
  name: string;
  due_at: string;
}

export function findDueLeftovers(after: readonly [at: string, name: string], rowsMax: number) {
  const [at, name] = after;
  return sql<LeftoverRow>`
    select tenant_id, folder, name, due_at from secret_leftovers
    where due_at <= clock_timestamp() and (due_at, name) > (${at}, ${name})
    order by due_at, name
    limit ${rowsMax}`;
}
