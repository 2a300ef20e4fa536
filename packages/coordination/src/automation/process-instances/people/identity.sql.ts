import { sql } from '@baton/kernel/sql';

/** The principal of an agent and the binding that it acts under. */
export interface AgentIdentityRow {
  principal_id: string;
  binding_id: string;
  iam_principal_id: string | null;
  permissions: string[];
}

/** No row for an agent that is unknown, retired, or not linked to an identity. */
export function findAgentIdentity(tenantId: string, agentKey: string) {
  return sql<AgentIdentityRow>`
    select a.principal_id, a.binding_id, b.iam_principal_id, b.permissions
    from agents a join iam_bindings b on b.id = a.binding_id
    where a.tenant_id = ${tenantId} and a.key = ${agentKey} and a.status = 'active' and b.status = 'active'`;
}
