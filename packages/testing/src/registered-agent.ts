import { agentPermissions, allScopes } from './participant.ts';
import type { RunningBaton } from './running-baton.ts';

/** An agent of the registry with its own token. */
export interface RegisteredAgent {
  readonly key: string;
  readonly token: string;
  readonly principalId: string;
  /** Publishes the agent's next revision. @returns the id of the revision */
  publish(instructions: string): Promise<string>;
}

/** Registers an agent as docs/agents.md does: it gets a revision, an identity, and a token of that identity. */
export async function registerAgent({
  admin,
  connection: { tenantId, issuer },
}: Pick<RunningBaton, 'admin' | 'connection'>): Promise<RegisteredAgent> {
  const key = `agent-${crypto.randomUUID().slice(0, 8)}`;
  const displayName = 'a test';
  const publish = async (instructions: string) => {
    const spec = {
      displayName,
      identity: { kind: 'agent' as const, permissions: [...agentPermissions] },
      work: { onlyAssigned: false },
      executor: { kind: 'llm', instructions },
    };
    return (await admin.agents.publish({ key, spec })).revision.id;
  };
  await publish('Wait.');
  const made = await admin.identity.principals.create(tenantId, { kind: 'agent', displayName });
  const identity = { issuer, iamTenantId: tenantId, iamPrincipalId: made.id };
  const { principalId } = await admin.agents.linkIdentity(key, identity);
  const { token } = await admin.identity.principals.createToken(tenantId, made.id, {
    name: 'test',
    audiences: ['control-plane'],
    scopeCeiling: [...allScopes],
    expiresInSeconds: 3600,
  });
  if (token === null || principalId === null) throw new Error('the agent has no token or no principal');
  return { key, token, principalId, publish };
}
