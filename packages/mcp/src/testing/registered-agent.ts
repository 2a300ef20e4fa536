import { randomUUID } from 'node:crypto';
import { agentPermissions, type RunningBaton } from '@baton/testing/running-baton';

export interface RegisteredAgent {
  readonly key: string;
  readonly principalId: string;
  readonly token: string;
  /** Publishes another revision. */
  publish(instructions: string): Promise<void>;
}

/** An agent of the registry with a token of its own, made as docs/agents.md says. */
export async function registerAgent({ admin, connection }: RunningBaton): Promise<RegisteredAgent> {
  const key = `a${randomUUID()}`;
  const publish = async (instructions: string) => {
    const identity = { kind: 'agent' as const, permissions: [...agentPermissions] };
    await admin.agents.publish({
      key,
      spec: { displayName: 'Helper', identity, executor: { kind: 'llm', instructions } },
    });
  };
  await publish('Count.');
  const { tenantId: iamTenantId, issuer } = connection;
  const made = await admin.identity.principals.create(iamTenantId, { kind: 'agent', displayName: 'Helper' });
  const identity = { issuer, iamTenantId, iamPrincipalId: made.id };
  const { principalId } = await admin.agents.linkIdentity(key, identity);
  const { token } = await admin.identity.principals.createToken(iamTenantId, made.id, {
    name: 'test',
    audiences: ['control-plane'],
    scopeCeiling: ['control-plane:read', 'control-plane:write'],
    expiresInSeconds: 3600,
  });
  if (principalId === null || token === null) throw new Error('the agent has no principal or no token');
  return { key, principalId, token, publish };
}
