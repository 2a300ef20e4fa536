import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { DelegationRow } from './delegation.ts';

export interface NewDelegation {
  id: string;
  tenantId: string;
  humanPrincipalId: string;
  agentPrincipalId: string;
  permissions: readonly string[];
  startsAt: string;
  expiresAt: string | null;
}

/** When the command started, by the database's clock. */
export function findNow() {
  return sql<{ now: string }>`select now()::timestamptz(3) as now`;
}

export function insertDelegation(delegation: NewDelegation) {
  return sql<DelegationRow>`
    insert into delegations (id, tenant_id, human_principal_id, agent_principal_id, permissions, starts_at, expires_at)
    values (${delegation.id}, ${delegation.tenantId}, ${delegation.humanPrincipalId}, ${delegation.agentPrincipalId},
      ${delegation.permissions}, ${delegation.startsAt}, ${delegation.expiresAt})
    returning *`;
}

export function findDelegation(tenantId: string, delegationId: string) {
  return sql<DelegationRow>`select * from delegations where id = ${delegationId} and tenant_id = ${tenantId}`;
}

/** Returns no row for a delegation that is already revoked. */
export function updateDelegationToRevoked(tenantId: string, delegationId: string) {
  return sql<DelegationRow>`
    update delegations set revoked_at = now()
    where id = ${delegationId} and tenant_id = ${tenantId} and revoked_at is null
    returning *`;
}

/** Revokes the delegations from and to a principal; the rows are in the order of creation. */
export function updateDelegationsToRevoked(tenantId: string, principalId: string) {
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

const newestFirst: ListOrder<DelegationRow> = {
  cursor: 'delegations',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export function findDelegations(tenantId: string, page: Page) {
  const query = build.selectFrom('delegations').selectAll().where('tenant_id', '=', tenantId);
  return pageQuery(query, newestFirst, page);
}
