import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';

type KeyRow = RowOf<Tables['api_keys']>;
type PrincipalRow = RowOf<Tables['principals']>;

/** An API key with the state of its principal; instants are compared by the database's clock. */
export type KeyEntryRow = Pick<KeyRow, 'id' | 'tenant_id' | 'principal_id' | 'key_hash' | 'permissions'> &
  Pick<PrincipalRow, 'kind' | 'agent_id'> & {
    principal_status: PrincipalRow['status'];
    is_revoked: boolean;
    is_over: boolean;
    /** The lifetime from creation to expiry; null for a key that doesn't expire. */
    life_seconds: number | null;
    /** Whether the recorded last use must be updated. */
    use_is_due: boolean;
  };

export function findKey(prefix: string, lastUsedRefreshSeconds: number) {
  return sql<KeyEntryRow>`
    select k.id, k.tenant_id, k.principal_id, k.key_hash, k.permissions, k.revoked_at is not null as is_revoked,
      coalesce(k.expires_at <= now(), false) as is_over, extract(epoch from k.expires_at - k.created_at) as life_seconds,
      coalesce(k.last_used_at <= now() - make_interval(secs => ${lastUsedRefreshSeconds}), true) as use_is_due,
      p.kind, p.agent_id, p.status as principal_status
    from api_keys k join principals p on p.id = k.principal_id
    where k.key_prefix = ${prefix}`;
}

/** Records a use, unless another request just did; it doesn't wait for a command that revokes the key. */
export function updateLastUse(tenantId: string, keyId: string, lastUsedRefreshSeconds: number) {
  return sql`
    update api_keys set last_used_at = now()
    where id = (
      select id from api_keys
      where id = ${keyId} and tenant_id = ${tenantId}
        and coalesce(last_used_at <= now() - make_interval(secs => ${lastUsedRefreshSeconds}), true)
      for no key update skip locked)`;
}
