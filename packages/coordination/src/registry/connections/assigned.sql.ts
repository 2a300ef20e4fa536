import { sql } from '@baton/kernel/database/sql';
import type { ConnectionRow } from './connection.ts';

export function findKeys(tenantId: string, keys: readonly string[]) {
  return sql<{ key: string }>`
    select key from connections where tenant_id = ${tenantId} and key = any (${keys}::text[])`;
}

/** Replaces the connections of an agent. */
export function replaceAssigned(tenantId: string, agentId: string, keys: readonly string[]) {
  return sql`
    with gone as (
      delete from agent_connections
      where agent_id = ${agentId} and tenant_id = ${tenantId} and connection_key <> all (${keys}::text[])
    )
    insert into agent_connections (agent_id, tenant_id, connection_key)
    select ${agentId}::uuid, ${tenantId}::uuid, key from unnest(${keys}::text[]) as key
    on conflict do nothing`;
}

/** The keys of the active agents that have a connection, in order. */
export function findAgentsOf(tenantId: string, key: string, rowsMax: number) {
  return sql<{ key: string }>`
    select a.key from agent_connections c join agents a on a.id = c.agent_id
    where c.tenant_id = ${tenantId} and c.connection_key = ${key} and a.status = 'active'
    order by a.key limit ${rowsMax}`;
}

/** The connections of an agent, ordered by key: at most 20. */
export function findConnectionsOfAgent(tenantId: string, agentId: string) {
  return sql<ConnectionRow>`
    select c.* from agent_connections a
    join connections c on c.tenant_id = a.tenant_id and c.key = a.connection_key
    where a.agent_id = ${agentId} and a.tenant_id = ${tenantId} order by c.key`;
}

export function findConnectionOfAgent(tenantId: string, agentId: string, key: string) {
  return sql<ConnectionRow>`
    select c.* from agent_connections a
    join connections c on c.tenant_id = a.tenant_id and c.key = a.connection_key
    where a.agent_id = ${agentId} and a.tenant_id = ${tenantId} and a.connection_key = ${key}`;
}
