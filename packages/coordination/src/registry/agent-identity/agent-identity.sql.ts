import { sql } from '@baton/kernel/database/sql';

/** Sets the principal and the identity of an agent. */
export function updateAgentLink(tenantId: string, agentId: string, principalId: string, bindingId: string) {
  return sql`
    update agents set principal_id = ${principalId}, binding_id = ${bindingId}, version = version + 1, updated_at = now()
    where id = ${agentId} and tenant_id = ${tenantId}`;
}
