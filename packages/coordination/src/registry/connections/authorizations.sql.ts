import { sql } from '@baton/kernel/database/sql';
import type { CredentialSnapshot } from '../../access/authn/credential-snapshot.ts';

export interface NewAuthorization {
  tenantId: string;
  connectionId: string;
  stateHash: string;
  initiatedBy: CredentialSnapshot;
  /** The application that the request was made for. */
  secretName: string;
  lifeSeconds: number;
}

/** Voids the authorization in progress. */
export function updateAuthorizationEpoch(tenantId: string, connectionId: string) {
  return sql<{ epoch: number }>`
    update connections set authorization_epoch = authorization_epoch + 1
    where id = ${connectionId} and tenant_id = ${tenantId}
    returning authorization_epoch as epoch`;
}

/** Replaces an earlier authorization. */
export function upsertAuthorization(made: NewAuthorization & { epoch: number }) {
  return sql<{ expires_at: string }>`
    insert into connection_authorizations (connection_id, tenant_id, state_hash, epoch, initiated_by, secret_name,
      expires_at)
    values (${made.connectionId}, ${made.tenantId}, ${made.stateHash}, ${made.epoch},
      ${JSON.stringify(made.initiatedBy)}, ${made.secretName},
      clock_timestamp() + make_interval(secs => ${made.lifeSeconds}))
    on conflict (connection_id) do update
      set state_hash = excluded.state_hash, epoch = excluded.epoch, initiated_by = excluded.initiated_by,
        secret_name = excluded.secret_name, expires_at = excluded.expires_at
    returning expires_at`;
}

export interface ConsumedRow {
  tenant_id: string;
  connection_id: string;
  epoch: number;
  initiated_by: CredentialSnapshot;
  secret_name: string;
  /** Whether the authorization had not expired. */
  is_live: boolean;
}

/**
 * Searches all tenants, because only the state identifies the tenant. Of two concurrent requests, only one gets the
 * authorization.
 */
export function deleteAuthorization(stateHash: string) {
  return sql<ConsumedRow>`
    delete from connection_authorizations where state_hash = ${stateHash}
    returning tenant_id, connection_id, epoch, initiated_by, secret_name, expires_at > clock_timestamp() as is_live`;
}
