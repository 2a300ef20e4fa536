import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { JsonObject } from '@baton/values/wire';
import type { QueuePosition } from '../../service/queue-walk.ts';
import type { ConnectionRow, ConnectionStatus } from './connection.ts';

export interface NewConnection {
  id: string;
  tenantId: string;
  key: string;
  typeKey: string;
  typeVersion: number;
  displayName: string;
  settings: JsonObject;
  createdBy: string;
}

/** Returns no row when the tenant has a connection with this key. */
export function insertConnection(made: NewConnection) {
  return sql<ConnectionRow>`
    insert into connections (id, tenant_id, key, type_key, type_version, display_name, settings, created_by)
    values (${made.id}, ${made.tenantId}, ${made.key}, ${made.typeKey}, ${made.typeVersion}, ${made.displayName},
      ${JSON.stringify(made.settings)}, ${made.createdBy})
    on conflict (tenant_id, key) do nothing
    returning *`;
}

export function findConnection(tenantId: string, key: string) {
  return sql<ConnectionRow>`select * from connections where tenant_id = ${tenantId} and key = ${key}`;
}

export function findConnectionById(tenantId: string, id: string) {
  return sql<ConnectionRow>`select * from connections where id = ${id} and tenant_id = ${tenantId}`;
}

export function lockConnection(tenantId: string, key: string) {
  return sql<ConnectionRow>`
    select * from connections where tenant_id = ${tenantId} and key = ${key} for no key update`;
}

export function updateConnectionValues(
  tenantId: string,
  id: string,
  values: { displayName: string; settings: JsonObject; typeVersion: number },
) {
  return sql<ConnectionRow>`
    update connections
    set display_name = ${values.displayName}, settings = ${JSON.stringify(values.settings)},
      type_version = ${values.typeVersion}, version = version + 1, updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

export interface NewCredential {
  auth: 'oauth2' | 'token';
  account: string | null;
  secretName: string;
  expiresAt: string | null;
  connectedBy: string;
}

/** Stores a credential and voids the authorization in progress. */
export function updateToActive(tenantId: string, id: string, made: NewCredential) {
  return sql<ConnectionRow>`
    update connections
    set status = 'active', status_reason = null, status_message = null, auth = ${made.auth}, account = ${made.account},
      secret_name = ${made.secretName}, expires_at = ${made.expiresAt}, connected_by = ${made.connectedBy},
      connected_at = now(), last_checked_at = null, authorization_epoch = authorization_epoch + 1,
      version = version + 1, updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

export function updateToRevoked(tenantId: string, id: string, message: string | null) {
  return sql<ConnectionRow>`
    update connections
    set status = 'revoked', status_reason = null, status_message = ${message}, secret_name = null, expires_at = null,
      authorization_epoch = authorization_epoch + 1, version = version + 1, updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

/** Changes no row if a concurrent change committed first. */
export function updateToExpired(tenantId: string, id: string) {
  return sql<ConnectionRow>`
    update connections
    set status = 'expired', status_reason = 'expired_by_time', status_message = null, version = version + 1,
      updated_at = now()
    where id = ${id} and tenant_id = ${tenantId} and status = 'active' and expires_at <= clock_timestamp()
    returning *`;
}

/** Whether a check is older than the last one, or older than the credential. */
export function isStaleCheck(tenantId: string, id: string, checkedAt: string) {
  return sql<{ is_stale: boolean }>`
    select coalesce(${checkedAt}::timestamptz(3) < greatest(last_checked_at, connected_at), false) as is_stale
    from connections where id = ${id} and tenant_id = ${tenantId}`;
}

/** Records a check that confirmed the stored status. */
export function updateToChecked(tenantId: string, id: string, checkedAt: string) {
  return sql<ConnectionRow>`
    update connections set last_checked_at = least(${checkedAt}::timestamptz, clock_timestamp())
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

/** Records that the other system no longer accepts the credential. */
export function updateToLost(
  tenantId: string,
  id: string,
  { reason, message, checkedAt }: { reason: string; message: string | null; checkedAt: string },
) {
  return sql<ConnectionRow>`
    update connections
    set status = 'expired', status_reason = ${reason}, status_message = ${message},
      last_checked_at = least(${checkedAt}::timestamptz, clock_timestamp()), version = version + 1, updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

export interface ExpiringRow {
  id: string;
  tenant_id: string;
  expires_at: string;
}

export function findExpired([at, id]: QueuePosition, rowsMax: number) {
  return sql<ExpiringRow>`
    select id, tenant_id, expires_at from connections
    where status = 'active' and expires_at <= clock_timestamp() and (expires_at, id) > (${at}, ${id})
    order by expires_at, id
    limit ${rowsMax}`;
}

const build = queryBuilder<{ connections: ConnectionRow }>();

const newestFirst: ListOrder<ConnectionRow> = {
  cursor: 'connections',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export interface ConnectionFilter {
  type?: string | undefined;
  status?: ConnectionStatus | undefined;
}

export function findConnections(tenantId: string, { type, status }: ConnectionFilter, page: Page) {
  let query = build.selectFrom('connections').selectAll().where('tenant_id', '=', tenantId);
  if (type !== undefined) query = query.where('type_key', '=', type);
  if (status !== undefined) query = query.where('status', '=', status);
  return pageQuery(query, newestFirst, page);
}
