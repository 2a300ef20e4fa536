import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, type PageQuery, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { AgentSecretRow } from './agent-secret.ts';

export function findSecretOfAgent(tenantId: string, agentId: string, name: string) {
  return sql<AgentSecretRow>`
    select * from agent_secrets where agent_id = ${agentId} and name = ${name} and tenant_id = ${tenantId}`;
}

export function countSecrets(tenantId: string, agentId: string) {
  return sql<{ secrets: number }>`
    select count(*)::integer as secrets from agent_secrets where agent_id = ${agentId} and tenant_id = ${tenantId}`;
}

export function upsertSecret(tenantId: string, agentId: string, name: string, by: string) {
  return sql<AgentSecretRow>`
    insert into agent_secrets (agent_id, name, tenant_id, updated_by)
    values (${agentId}, ${name}, ${tenantId}, ${by})
    on conflict (agent_id, name) do update set updated_at = now(), updated_by = excluded.updated_by
    returning *`;
}

export function deleteSecretOfAgent(tenantId: string, agentId: string, name: string) {
  return sql`
    delete from agent_secrets where agent_id = ${agentId} and name = ${name} and tenant_id = ${tenantId}`;
}

/** All secrets, ordered by name. */
export function deleteSecretsOfAgent(tenantId: string, agentId: string) {
  return sql<{ name: string }>`
    with gone as (
      delete from agent_secrets where agent_id = ${agentId} and tenant_id = ${tenantId} returning name
    )
    select name from gone order by name`;
}

const build = queryBuilder<{ agent_secrets: AgentSecretRow }>();

const byName: ListOrder<AgentSecretRow> = {
  cursor: 'agent-secrets',
  columns: { name: 'slug' },
  direction: 'asc',
};

/** @throws Refusal `invalid_cursor` */
export function findSecrets(tenantId: string, agentId: string, page: Page): PageQuery<AgentSecretRow> {
  const query = build
    .selectFrom('agent_secrets')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('tenant_id', '=', tenantId);
  return pageQuery(query, byName, page);
}
