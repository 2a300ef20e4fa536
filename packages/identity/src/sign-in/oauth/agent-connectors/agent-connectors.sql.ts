import { sql } from '@baton/kernel/database/sql';
import type { AgentConnectorRow } from './agent-connector.ts';

export function insertConnector(made: { agentId: string; personId: string; tenantId: string }) {
  return sql<{ inserted: boolean }>`
    insert into agent_connectors (agent_id, person_id, tenant_id)
    values (${made.agentId}, ${made.personId}, ${made.tenantId})
    on conflict do nothing returning true as inserted`;
}

export function findConnectors(tenantId: string, agentId: string) {
  return sql<AgentConnectorRow>`
    select a.person_id, p.display_name, a.created_at
    from agent_connectors a join principals p on p.id = a.person_id
    where a.tenant_id = ${tenantId} and a.agent_id = ${agentId} order by a.created_at, a.person_id`;
}

export function deleteConnector(tenantId: string, agentId: string, personId: string) {
  return sql<{ deleted: boolean }>`
    delete from agent_connectors where tenant_id = ${tenantId} and agent_id = ${agentId} and person_id = ${personId}
    returning true as deleted`;
}

/** The live grants with which a person has connected clients as an agent. */
export function findGrantsAs(tenantId: string, agentId: string, personId: string) {
  return sql<{ credential_id: string }>`
    select g.credential_id from oauth_grants g join platform_access_tokens c on c.id = g.credential_id
    where g.tenant_id = ${tenantId} and g.granted_by = ${personId} and c.principal_id = ${agentId}
      and c.revoked_at is null`;
}
