import { sql } from '@baton/kernel/database/sql';
import type { SealedValue, SecretName } from './secret-store.ts';

export function upsertSecret({ tenantId, folder, name }: SecretName, { keyId, sealed }: SealedValue) {
  return sql`
    insert into sealed_secrets (tenant_id, folder, name, key_id, sealed)
    values (${tenantId}, ${folder}, ${name}, ${keyId}, ${sealed})
    on conflict (tenant_id, folder, name) do update
      set key_id = excluded.key_id, sealed = excluded.sealed, updated_at = now()`;
}

/** Changes no row if the secret already exists. */
export function insertSecret({ tenantId, folder, name }: SecretName, { keyId, sealed }: SealedValue) {
  return sql`
    insert into sealed_secrets (tenant_id, folder, name, key_id, sealed)
    values (${tenantId}, ${folder}, ${name}, ${keyId}, ${sealed})
    on conflict (tenant_id, folder, name) do nothing`;
}

export function deleteSecret({ tenantId, folder, name }: SecretName) {
  return sql`
    delete from sealed_secrets where tenant_id = ${tenantId} and folder = ${folder} and name = ${name}`;
}

export function findSecret({ tenantId, folder, name }: SecretName) {
  return sql<{ key_id: string; sealed: Buffer }>`
    select key_id, sealed from sealed_secrets
    where tenant_id = ${tenantId} and folder = ${folder} and name = ${name}`;
}

export interface SealedRow {
  tenant_id: string;
  folder: string;
  name: string;
  key_id: string;
  sealed: Buffer;
}

/** Secrets of all tenants that are encrypted with another key, after the last processed one. */
export function lockSecretsOfOtherKeys(keyId: string, after: SecretName, rowsMax: number) {
  return sql<SealedRow>`
    select tenant_id, folder, name, key_id, sealed from sealed_secrets
    where key_id <> ${keyId}
      and (tenant_id, folder, name) > (${after.tenantId}, ${after.folder}, ${after.name})
    order by tenant_id, folder, name
    limit ${rowsMax}
    for update`;
}

export function updateSealed({ tenantId, folder, name }: SecretName, { keyId, sealed }: SealedValue) {
  return sql`
    update sealed_secrets set key_id = ${keyId}, sealed = ${sealed}
    where tenant_id = ${tenantId} and folder = ${folder} and name = ${name}`;
}
