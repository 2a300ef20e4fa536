import { queryBuilder } from '@baton/kernel/db';
import { decodeCursor, type Page } from '@baton/kernel/paging';
import { compiled, sql } from '@baton/kernel/sql';
import type { JsonObject } from '@baton/kernel/wire';
import type { PrincipalRow, Profile } from './principal.ts';

export interface NewPrincipal {
  id: string;
  tenantId: string;
  kind: string;
  displayName: string;
  status: string;
  metadata: JsonObject;
}

export function insertPrincipal(principal: NewPrincipal) {
  return sql<PrincipalRow>`
    insert into principals (id, tenant_id, kind, display_name, status, metadata)
    values (${principal.id}, ${principal.tenantId}, ${principal.kind}, ${principal.displayName}, ${principal.status},
      ${JSON.stringify(principal.metadata)})
    returning *`;
}

export function principalById(tenantId: string, principalId: string) {
  return sql<PrincipalRow>`select * from principals where id = ${principalId} and tenant_id = ${tenantId}`;
}

/** Locks a principal against other changes of its record; commands of the principal go on. */
export function lockForChange(tenantId: string, principalId: string) {
  return sql<PrincipalRow>`
    select * from principals where id = ${principalId} and tenant_id = ${tenantId}
    for no key update`;
}

/** Locks a principal against everything: waits for its commands under way, and later ones see what was done. */
export function lockAlone(tenantId: string, principalId: string) {
  return sql<PrincipalRow>`
    select * from principals where id = ${principalId} and tenant_id = ${tenantId}
    for update`;
}

export interface PrincipalValues {
  displayName: string;
  profile: Profile;
  metadata: JsonObject;
}

export function updatePrincipal(tenantId: string, principalId: string, values: PrincipalValues) {
  return sql<PrincipalRow>`
    update principals
    set display_name = ${values.displayName}, profile = ${JSON.stringify(values.profile)},
      metadata = ${JSON.stringify(values.metadata)}, version = version + 1, updated_at = now()
    where id = ${principalId} and tenant_id = ${tenantId}
    returning *`;
}

export function updateStatus(tenantId: string, principalId: string, status: PrincipalRow['status']) {
  return sql<PrincipalRow>`
    update principals set status = ${status}, version = version + 1, updated_at = now()
    where id = ${principalId} and tenant_id = ${tenantId}
    returning *`;
}

/** Locks the open sessions of a principal and those opened on its behalf, so that nothing is claimed in them. */
export function lockOpenSessionsOf(tenantId: string, principalId: string) {
  return sql<{ id: string }>`
    select id from sessions
    where tenant_id = ${tenantId} and status <> 'closed'
      and (principal_id = ${principalId} or on_behalf_of_id = ${principalId})
    order by id
    for no key update`;
}

/** The active claims that a principal holds, and those made in the sessions named. */
export function activeClaimsOf(tenantId: string, principalId: string, sessionIds: readonly string[]) {
  return sql<{ id: string }>`
    select id from claims
    where tenant_id = ${tenantId} and status = 'active'
      and (holder_id = ${principalId} or session_id = any (${sessionIds}::uuid[]))`;
}

const build = queryBuilder<{ principals: PrincipalRow }>();
export const principalsNewestFirst = 'principals';

/** One page and one row more, newest first. */
export function listPrincipals(tenantId: string, kind: PrincipalRow['kind'] | undefined, page: Page) {
  let query = build
    .selectFrom('principals')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit + 1);
  if (kind !== undefined) query = query.where('kind', '=', kind);
  if (page.cursor !== undefined) {
    const [createdAt, id] = decodeCursor(principalsNewestFirst, page.cursor, ['timestamp', 'uuid']);
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('created_at', 'id'), '<', tuple(createdAt as string, id as string)),
    );
  }
  return compiled(query);
}
