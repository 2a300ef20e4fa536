import { sql } from '../database/sql.ts';

/** A command with an Idempotency-Key. */
export interface KeyedCall {
  tenantId: string;
  key: string;
  fingerprint: string;
}

/**
 * Acquires the key, even if an expired response is stored under it; changes no row if another request holds the key.
 * The wait for a duplicate has its own lock timeout; the last step of the statement restores the usual one.
 */
export function insertKey({ tenantId, key, fingerprint }: KeyedCall, storedSeconds: number, waitMs: number) {
  return sql`
    with bound as (
      select current_setting('lock_timeout') as usual, set_config('lock_timeout', ${`${waitMs}`}, true)
    )
    insert into idempotency_keys (tenant_id, key, fingerprint, expires_at)
    select ${tenantId}, ${key}, ${fingerprint}, now() + make_interval(secs => ${storedSeconds})
    from bound
    on conflict (tenant_id, key) do update
      set fingerprint = excluded.fingerprint, expires_at = excluded.expires_at, status = null, body = null
      where idempotency_keys.expires_at <= now()
    returning set_config('lock_timeout', (select usual from bound), true)`;
}

export function findKey({ tenantId, key }: KeyedCall) {
  return sql<{ fingerprint: string; status: number; body: unknown }>`
    select fingerprint, status, body from idempotency_keys where tenant_id = ${tenantId} and key = ${key}`;
}

export function findLiveKey({ tenantId, key }: KeyedCall) {
  return sql<{ fingerprint: string; status: number; body: unknown }>`
    select fingerprint, status, body from idempotency_keys
    where tenant_id = ${tenantId} and key = ${key} and expires_at > now() and status is not null`;
}

export function updateKey({ tenantId, key }: KeyedCall, status: number, body: string | null) {
  return sql`
    update idempotency_keys set status = ${status}, body = ${body} where tenant_id = ${tenantId} and key = ${key}`;
}

export function deleteKey({ tenantId, key }: KeyedCall) {
  return sql`delete from idempotency_keys where tenant_id = ${tenantId} and key = ${key}`;
}

export function deleteDueKeys(rowsMax: number) {
  return sql`
    delete from idempotency_keys where ctid in (
      select ctid from idempotency_keys where expires_at <= now() limit ${rowsMax})`;
}
