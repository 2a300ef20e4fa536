import { sql } from '@baton/kernel/database/sql';

/** An agent's principal, and the binding that it acts under. */
export interface ActingAgentRow {
  kind: 'agent' | 'service';
  principal_id: string;
  binding_id: string;
  iam_principal_id: string | null;
  permissions: string[];
}

/** Returns no row for an agent that is unknown, retired, or not linked to an identity. */
export function findActingAgent(tenantId: string, agentKey: string) {
  return sql<ActingAgentRow>`
    select a.kind, a.principal_id, a.binding_id, b.iam_principal_id, b.permissions
    from agents a join iam_bindings b on b.id = a.binding_id
    where a.tenant_id = ${tenantId} and a.key = ${agentKey} and a.status = 'active' and b.status = 'active'`;
}

/**
 * @param viewerId a viewer who is restricted to their own workspaces; null sees everything
 */
export function findActiveAgents(tenantId: string, viewerId: string | null, keys: readonly string[]) {
  return sql<{ key: string }>`
    select key from agents
    where tenant_id = ${tenantId} and key = any (${keys}) and status = 'active'
      and (${viewerId}::uuid is null or sees_workspace(${viewerId}, workspace_id))`;
}
