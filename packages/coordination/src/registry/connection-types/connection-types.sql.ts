import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { ConnectionTypeRef, ConnectionTypeRow, OauthAppRow, typeStatuses } from './connection-type.ts';
import type { ConnectionTypeSpec } from './type-spec.ts';

export interface NewType {
  id: string;
  tenantId: string;
  key: string;
  version: number;
  spec: ConnectionTypeSpec;
  specHash: string;
  createdBy: string;
}

/** Returns no row when the tenant already has this version. */
export function insertType(made: NewType) {
  return sql<ConnectionTypeRow>`
    insert into connection_types (id, tenant_id, key, version, spec, spec_hash, created_by)
    values (${made.id}, ${made.tenantId}, ${made.key}, ${made.version}, ${JSON.stringify(made.spec)},
      ${made.specHash}, ${made.createdBy})
    on conflict (tenant_id, key, version) do nothing
    returning *`;
}

/** The requested version, or the newest one. */
export function findType(tenantId: string, { key, version }: ConnectionTypeRef) {
  return sql<ConnectionTypeRow>`
    select * from connection_types
    where tenant_id = ${tenantId} and key = ${key} and (${version}::integer is null or version = ${version})
    order by version desc
    limit 1`;
}

/** The newest version that accepts new connections. */
export function findActiveType(tenantId: string, key: string) {
  return sql<ConnectionTypeRow>`
    select * from connection_types
    where tenant_id = ${tenantId} and key = ${key} and status = 'active'
    order by version desc
    limit 1`;
}

export function lockType(tenantId: string, { key, version }: ConnectionTypeRef) {
  return sql<ConnectionTypeRow>`
    select * from connection_types
    where tenant_id = ${tenantId} and key = ${key} and version = ${version}
    for no key update`;
}

export function updateTypeStatus(tenantId: string, id: string, status: (typeof typeStatuses)[number]) {
  return sql<ConnectionTypeRow>`
    update connection_types set status = ${status}, row_version = row_version + 1
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

const build = queryBuilder<{ connection_types: ConnectionTypeRow }>();

const newestFirst: ListOrder<ConnectionTypeRow> = {
  cursor: 'connection_types',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export interface TypeFilter {
  key?: string | undefined;
  status?: (typeof typeStatuses)[number] | undefined;
  packageKey?: string | undefined;
}

export function findTypes(tenantId: string, { key, status, packageKey }: TypeFilter, page: Page) {
  let query = build.selectFrom('connection_types').selectAll().where('tenant_id', '=', tenantId);
  if (key !== undefined) query = query.where('key', '=', key);
  if (status !== undefined) query = query.where('status', '=', status);
  if (packageKey !== undefined) query = query.where('package_key', '=', packageKey);
  return pageQuery(query, newestFirst, page);
}

export function findOauthApp(tenantId: string, typeKey: string) {
  return sql<OauthAppRow>`
    select * from connection_oauth_apps where tenant_id = ${tenantId} and type_key = ${typeKey}`;
}

export interface NewApp {
  tenantId: string;
  typeKey: string;
  clientId: string;
  secretName: string;
  /** The version whose token address the secret was entered for. */
  typeVersion: number;
  /** The version number that was read before; 0 if none existed. */
  versionBefore: number;
}

/** Returns no row if a concurrent request changed the row first. */
export function insertOauthApp({ tenantId, typeKey, clientId, secretName, typeVersion }: NewApp) {
  return sql<OauthAppRow>`
    insert into connection_oauth_apps (tenant_id, type_key, client_id, secret_name, type_version)
    values (${tenantId}, ${typeKey}, ${clientId}, ${secretName}, ${typeVersion})
    on conflict (tenant_id, type_key) do nothing
    returning *`;
}

/** Returns no row if a concurrent request changed the row first. */
export function updateOauthApp(app: NewApp) {
  return sql<OauthAppRow>`
    update connection_oauth_apps
    set client_id = ${app.clientId}, secret_name = ${app.secretName}, type_version = ${app.typeVersion},
      version = version + 1, updated_at = now()
    where tenant_id = ${app.tenantId} and type_key = ${app.typeKey} and version = ${app.versionBefore}
    returning *`;
}
