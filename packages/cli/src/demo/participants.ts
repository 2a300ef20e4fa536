import { type BatonClient, createClient, type Transport } from '@baton/sdk';
import { forEachConcurrently } from '../concurrently.ts';
import type { Connection } from '../connection.ts';
import { httpTransport } from '../http-transport.ts';
import { type AgentProgram, startProgram } from './agent-program.ts';
import { canDebug, prepareSpecialties } from './specialties.ts';

/** A principal in both services, with a client that uses its own personal access token. */
export interface Participant {
  readonly name: string;
  readonly baton: BatonClient;
  readonly principalId: string;
  /** Starts a program of this participant, which has a client of its own. */
  start(): AgentProgram;
  /** How many access tokens were exchanged so far, by this client and those of its programs. */
  exchanges(): number;
}

export interface Participants {
  readonly operator: Participant;
  readonly agents: readonly Participant[];
  /** The person who approves. */
  readonly reviewer: Participant;
  /** The agents that may take bugs. */
  readonly debuggerIds: ReadonlySet<string>;
  /** The principal to which the demo's tasks are assigned, so that agents find them among other tasks. */
  readonly queueId: string;
  exchanges(): number;
  /** Disables the principals, which revokes their tokens, and closes the connections. */
  revokeAccess(): Promise<void>;
}

const audience = 'control-plane';
const scopes = ['control-plane:read', 'control-plane:write'];
const tokenSeconds = 24 * 60 * 60;
const operatorPermissions = [
  'tasks.read',
  'tasks.write',
  'task_types.read',
  'events.read',
  'sessions.open',
  'approvals.manage',
];
const reviewerPermissions = ['approvals.read', 'approvals.decide'];
const agentPermissions = [
  'tasks.read',
  'tasks.write',
  'tasks.claim',
  'task_types.read',
  'sessions.open',
  'events.read',
];

/** Who makes participants, as the administrator of both services. */
export interface Access {
  /** As the administrator of both services. */
  readonly baton: BatonClient;
  create(name: string, kind: 'human' | 'agent', permissions: readonly string[]): Promise<Participant>;
  /** Closes the connections. */
  close(): void;
  /** Disables the principals, which revokes their tokens, and closes the connections. */
  revoke(): Promise<void>;
}

export function openAccess({ identityUrl, coordinationUrl, ...connection }: Connection): Access {
  const { send: transport, close } = httpTransport();
  const clientOf = (token: string, over: Transport = transport): BatonClient =>
    createClient({
      identityUrl,
      coordinationUrl,
      transport: over,
      credential: { token },
      adminSecret: connection.iamBootstrapToken,
    });
  const baton = clientOf(connection.adminToken);
  const { tenantId, issuer } = connection;
  const created: string[] = [];
  return {
    baton,
    async create(name, kind, permissions) {
      const { id: iamPrincipalId } = await baton.identity.principals.create(tenantId, {
        kind,
        displayName: name,
      });
      created.push(iamPrincipalId);
      // Identity issues a token to a human only soon after a sign-in, which the administrator records here.
      if (kind === 'human')
        await baton.identity.principals.recordAuthenticationContext(tenantId, iamPrincipalId, { issuer });
      const { token } = await baton.identity.principals.createToken(tenantId, iamPrincipalId, {
        name: 'baton demo',
        audiences: [audience],
        scopeCeiling: [...scopes],
        expiresInSeconds: tokenSeconds,
      });
      if (token === null) throw new Error('the answer of a new token holds no token');
      const { id } = await baton.principals.create({ kind, displayName: name });
      const identity = { issuer, iamTenantId: tenantId, iamPrincipalId };
      await baton.principals.createIamBinding(id, { ...identity, permissions: [...permissions] });
      const clients = [clientOf(token)] as [BatonClient, ...BatonClient[]];
      return {
        name,
        baton: clients[0],
        principalId: id,
        start: () =>
          startProgram(transport, (own) => {
            const client = clientOf(token, own);
            clients.push(client);
            return client;
          }),
        exchanges: () => clients.reduce((sum, { accessToken }) => sum + (accessToken?.exchanges ?? 0), 0),
      };
    },
    close,
    async revoke() {
      await forEachConcurrently(created, 8, async (id) => {
        await baton.identity.principals.disable(tenantId, id, { reason: 'demo_over' });
      });
      close();
    },
  };
}

/** Creates an operator and `size` agents in both services. */
export async function createParticipants(connection: Connection, size: number): Promise<Participants> {
  const access = openAccess(connection);
  const { baton: administrator } = access;
  const names = Array.from({ length: size }, (_, index) => `demo agent ${index + 1}`);
  const [operator, reviewer, queue, capabilityId] = await Promise.all([
    access.create('demo operator', 'human', operatorPermissions),
    access.create('demo reviewer', 'human', reviewerPermissions),
    administrator.principals.create({ kind: 'agent', displayName: 'demo queue' }),
    prepareSpecialties(administrator),
  ]);
  const agents: Participant[] = [];
  await forEachConcurrently([...names.entries()], 8, async ([index, name]) => {
    const agent = await access.create(name, 'agent', agentPermissions);
    agents[index] = agent;
    if (canDebug(index)) await administrator.principals.assignCapability(agent.principalId, { capabilityId });
  });
  return {
    operator,
    reviewer,
    agents,
    debuggerIds: new Set(agents.filter((_, index) => canDebug(index)).map(({ principalId }) => principalId)),
    queueId: queue.id,
    exchanges: () => [operator, reviewer, ...agents].reduce((sum, one) => sum + one.exchanges(), 0),
    revokeAccess: () => access.revoke(),
  };
}
