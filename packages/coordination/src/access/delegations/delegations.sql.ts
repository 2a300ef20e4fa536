import { queryBuilder } from '@baton/kernel/db';
import { decodeCursor, type Page } from '@baton/kernel/paging';
import { compiled, sql } from '@baton/kernel/sql';

export interface DelegationRow {
  id: string;
  tenant_id: string;
  human_principal_id: string;
  agent_principal_id: string;
  permissions: string[];
  starts_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  created_at: string;
}

export interface NewDelegation {
  id: string;
  tenantId: string;
  humanPrincipalId: string;
  agentPrincipalId: string;
  permissions: readonly string[];
  startsAt: string;
  expiresAt: string | null;
}

/** The instant at which the command runs, as the store has it. */
export function readNow() {
  return sql<{ now: string }>`select now()::timestamptz(3) as now`;
}

export function insertDelegation(delegation: NewDelegation) {
  return sql<DelegationRow>`
    insert into delegations (id, tenant_id, human_principal_id, agent_principal_id, permissions, starts_at, expires_at)
    values (${delegation.id}, ${delegation.tenantId}, ${delegation.humanPrincipalId}, ${delegation.agentPrincipalId},
      ${delegation.permissions}, ${delegation.startsAt}, ${delegation.expiresAt})
    returning *`;
}

export function delegationById(tenantId: string, delegationId: string) {
  return sql<DelegationRow>`select * from delegations where id = ${delegationId} and tenant_id = ${tenantId}`;
}

/** Returns no row for a delegation that is revoked already. */
export function revokeLiveDelegation(tenantId: string, delegationId: string) {
  return sql<DelegationRow>`
    update delegations set revoked_at = now()
    where id = ${delegationId} and tenant_id = ${tenantId} and revoked_at is null
    returning *`;
}

/** Revokes what a principal gave and what it was given, in the order in which it was made. */
export function revokeDelegationsOf(tenantId: string, principalId: string) {
  return sql<{ id: string }>`
    with revoked as (
      update delegations set revoked_at = now()
      where tenant_id = ${tenantId} and revoked_at is null
        and (human_principal_id = ${principalId} or agent_principal_id = ${principalId})
      returning id, created_at
    )
    select id from revoked order by created_at, id`;
}

const build = queryBuilder<{ delegations: DelegationRow }>();
export const delegationsNewestFirst = 'delegations';

/** One page and one row more, newest first. */
export function listDelegations(tenantId: string, page: Page) {
  let query = build
    .selectFrom('delegations')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit + 1);
  if (page.cursor !== undefined) {
    const [createdAt, id] = decodeCursor(delegationsNewestFirst, page.cursor, ['timestamp', 'uuid']);
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('created_at', 'id'), '<', tuple(createdAt as string, id as string)),
    );
  }
  return compiled(query);
}
