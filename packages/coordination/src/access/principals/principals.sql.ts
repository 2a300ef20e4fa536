import { queryBuilder } from '@baton/kernel/database/db';
import { condition, type ListOrder, matching, pageQuery } from '@baton/kernel/database/list';
import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { Tables } from '../../service/schema.ts';
import type { Principal, PrincipalRow } from './principal.ts';

export type NewPrincipal = Pick<
  Principal,
  'id' | 'tenantId' | 'kind' | 'displayName' | 'status' | 'metadata'
> & {
  /** The principal's agent in the registry. */
  agentId: string | null;
};

export function insertPrincipal(principal: NewPrincipal) {
  return sql<PrincipalRow>`
    insert into principals (id, tenant_id, kind, display_name, status, metadata, agent_id)
    values (${principal.id}, ${principal.tenantId}, ${principal.kind}, ${principal.displayName}, ${principal.status},
      ${JSON.stringify(principal.metadata)}, ${principal.agentId})
    returning *`;
}

/** The columns of an agent that the response for its principal needs. */
export type AgentOfPrincipal = Pick<
  RowOf<Tables['agents'], { status: 'active' | 'retired' }>,
  'key' | 'status' | 'principal_id' | 'workspace_id'
>;

export function findAgentOf(tenantId: string, agentId: string) {
  return sql<AgentOfPrincipal>`
    select key, status, principal_id, workspace_id from agents where id = ${agentId} and tenant_id = ${tenantId}`;
}

export function findAgentOfKey(tenantId: string, key: string) {
  return sql<AgentOfPrincipal>`
    select key, status, principal_id, workspace_id from agents where tenant_id = ${tenantId} and key = ${key}`;
}

/** The principals that are registry agents, with the agents' keys. */
export function findAgentKeys(tenantId: string, principalIds: readonly string[]) {
  return sql<{ id: string; key: string }>`
    select p.id, a.key from principals p join agents a on a.id = p.agent_id and a.tenant_id = p.tenant_id
    where p.tenant_id = ${tenantId} and p.id = any (${principalIds}::uuid[])`;
}

/** Returns no row if the principal already has that name. */
export function updateDisplayName(tenantId: string, principalId: string, displayName: string) {
  return sql<PrincipalRow>`
    update principals set display_name = ${displayName}, version = version + 1, updated_at = now()
    where id = ${principalId} and tenant_id = ${tenantId} and display_name <> ${displayName}
    returning *`;
}

export function findPrincipal(tenantId: string, principalId: string) {
  return sql<PrincipalRow>`select * from principals where id = ${principalId} and tenant_id = ${tenantId}`;
}

/** Returns those of the ids that belong to active people. */
export function findActivePeople(tenantId: string, ids: readonly string[]) {
  return sql<{ id: string }>`
    select id from principals
    where id = any (${ids}::uuid[]) and tenant_id = ${tenantId} and kind = 'human' and status = 'active'`;
}

export function findCorePrincipal(tenantId: string) {
  return sql<{ id: string }>`select core_principal_id as id from tenants where id = ${tenantId}`;
}

/** Returns those of the ids that don't belong to principals of the tenant. */
export function findUnknownPrincipals(tenantId: string, ids: readonly string[]) {
  return sql<{ id: string }>`
    select asked.id from unnest(${ids}::uuid[]) as asked (id)
    where not exists (select from principals p where p.id = asked.id and p.tenant_id = ${tenantId})`;
}

/** Locks a principal against other changes to its record, but not against its own commands. */
export function lockPrincipalForChange(tenantId: string, principalId: string) {
  return sql<PrincipalRow>`
    select * from principals where id = ${principalId} and tenant_id = ${tenantId}
    for no key update`;
}

/**
 * Locks a principal exclusively: waits for its running commands, at most a second; later ones see the change. The next
 * statement (`lockPrincipalForChange`) locks the row.
 */
export function takePrincipalLock(principalId: string) {
  return sql`select take_lock(principal_lock(${principalId}))`;
}

export type PrincipalValues = Pick<Principal, 'displayName' | 'profile' | 'metadata'>;

export function updatePrincipalValues(tenantId: string, principalId: string, values: PrincipalValues) {
  return sql<PrincipalRow>`
    update principals
    set display_name = ${values.displayName}, profile = ${JSON.stringify(values.profile)},
      metadata = ${JSON.stringify(values.metadata)}, version = version + 1, updated_at = now()
    where id = ${principalId} and tenant_id = ${tenantId}
    returning *`;
}

export function updatePrincipalStatus(tenantId: string, principalId: string, status: PrincipalRow['status']) {
  return sql<PrincipalRow>`
    update principals set status = ${status}, version = version + 1, updated_at = now()
    where id = ${principalId} and tenant_id = ${tenantId}
    returning *`;
}

const build = queryBuilder<{ principals: PrincipalRow }>();

const newestFirst: ListOrder<PrincipalRow> = {
  cursor: 'principals',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

/** Uses the index `principals_words`. */
function hasWords(tenantId: string, search: string) {
  return condition`
    principal_words(tenant_id, display_name, profile ->> 'email')
      @@ principal_query(${tenantId}::uuid, ${search}::text)`;
}

export interface PrincipalFilter {
  kind: PrincipalRow['kind'] | undefined;
  search: string | undefined;
  /** The key of an access role that a live binding names. */
  accessRole?: string | undefined;
  /** Ids in identity that a binding names, including revoked bindings. */
  iamPrincipalIds?: readonly string[] | undefined;
}

/** Uses the index `iam_bindings_of_access_role`. */
function hasAccessRole(tenantId: string, key: string) {
  return condition`
    id in (
      select principal_id from iam_bindings
      where tenant_id = ${tenantId} and access_role = ${key} and status <> 'revoked')`;
}

/** Uses the index `iam_bindings_of_identity`. */
function hasIdentity(tenantId: string, iamPrincipalIds: readonly string[]) {
  return condition`
    id in (
      select principal_id from iam_bindings
      where tenant_id = ${tenantId} and iam_principal_id = any (${iamPrincipalIds}::uuid[]))`;
}

export function findPrincipals(
  tenantId: string,
  { kind, search, accessRole, iamPrincipalIds }: PrincipalFilter,
  page: Page,
) {
  const all = matching(build.selectFrom('principals').selectAll().where('tenant_id', '=', tenantId), {
    kind,
  });
  const found = search === undefined ? all : all.where(hasWords(tenantId, search));
  const allowed = accessRole === undefined ? found : found.where(hasAccessRole(tenantId, accessRole));
  const query =
    iamPrincipalIds === undefined ? allowed : allowed.where(hasIdentity(tenantId, iamPrincipalIds));
  return pageQuery(query, newestFirst, page);
}
