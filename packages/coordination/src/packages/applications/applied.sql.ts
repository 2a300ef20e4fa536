import { sql } from '@baton/kernel/database/sql';
import type { JsonObject } from '@baton/values/wire';

/** The stored record of an applied object. */
export interface AppliedObject {
  readonly kind: string;
  readonly key: string;
  readonly said: JsonObject;
  readonly was: JsonObject;
}

/**
 * Stores a package's documents for its objects; unchanged ones are not written. The caller holds the lock on packages.
 */
export function insertAppliedObjects(
  tenantId: string,
  { key, version, installHash }: { key: string; version: string; installHash: string },
  objects: readonly AppliedObject[],
) {
  const textsOf = (name: 'said' | 'was') => objects.map((one) => JSON.stringify(one[name]));
  const [kinds, keys] = [objects.map(({ kind }) => kind), objects.map((one) => one.key)];
  return sql`
    insert into package_objects (tenant_id, kind, key, package_key, version, install_hash, applied_by, said, was)
    select ${tenantId}, kind, key, ${key}, ${version}, ${installHash}, 'apply', said::jsonb, was::jsonb
    from unnest(${kinds}::text[], ${keys}::text[], ${textsOf('said')}::text[], ${textsOf('was')}::text[])
      as applied (kind, key, said, was)
    on conflict (tenant_id, kind, key) do update
    set package_key = excluded.package_key, version = excluded.version, install_hash = excluded.install_hash,
      applied_by = excluded.applied_by, said = excluded.said, was = excluded.was, retired_at = null, installed_at = now()
    where (package_objects.package_key, package_objects.version, package_objects.applied_by, package_objects.said,
        package_objects.was, package_objects.retired_at)
      is distinct from (excluded.package_key, excluded.version, excluded.applied_by, excluded.said, excluded.was, null)`;
}

/** Records when the package has retired these objects. */
export function updateObjectsToRetired(tenantId: string, kinds: readonly string[], keys: readonly string[]) {
  return sql`
    update package_objects set retired_at = now()
    where tenant_id = ${tenantId} and (kind, key) in (select kind, key from unnest(${kinds}::text[], ${keys}::text[]) as gone (kind, key))`;
}

/** Removes the package links of former keys. */
export function deleteObjects(tenantId: string, kinds: readonly string[], keys: readonly string[]) {
  return sql`
    delete from package_objects
    where tenant_id = ${tenantId} and (kind, key) in (select kind, key from unnest(${kinds}::text[], ${keys}::text[]) as gone (kind, key))`;
}
