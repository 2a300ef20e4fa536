import { sql } from '@baton/kernel/database/sql';

/** Lets only one process remove records at a time. */
export function lockRemoving() {
  return sql<{ held: boolean }>`select pg_try_advisory_xact_lock(19025::bigint << 48) as held`;
}

/** Allows this transaction to remove older rows; the table's trigger checks it. */
export function setRemovalAllowed(keptSince: string) {
  return sql`select set_config('baton.audit_kept_since', ${keptSince}, true)`;
}

export function findInstantBefore(days: number) {
  return sql<{ kept_since: string }>`select now() - ${days} * interval '1 day' as kept_since`;
}

/** Whether any record was ever sealed; if so, nothing is removed without the key. */
export function findAnySeal() {
  return sql<{ is_sealed: boolean }>`select exists (select from audit_seals) as is_sealed`;
}

export function deleteSealed(tenantId: string, after: number, through: number) {
  return sql`
    delete from audit_records where tenant_id = ${tenantId} and sequence > ${after} and sequence <= ${through}`;
}

/** The oldest records, if none is sealed. @param tenantId null for all tenants */
export function deleteUnsealed(keptSince: string, recordsMax: number, tenantId: string | null) {
  return sql`
    delete from audit_records where sequence in (
      select sequence from audit_records
      where occurred_at < ${keptSince} and (${tenantId}::uuid is null or tenant_id = ${tenantId}::uuid)
        and sequence <= audit_number_before(${keptSince}::timestamptz + interval '1 minute')
      order by sequence limit ${recordsMax})`;
}

export function insertRemoval(removal: { tenantId: string; position: number; hmac: string; keyId: string }) {
  return sql`
    insert into audit_removals (tenant_id, position, hmac, key_id)
    values (${removal.tenantId}, ${removal.position}, decode(${removal.hmac}, 'hex'), ${removal.keyId})`;
}
