import { type BatonClient, createClient, type Transport } from '@baton/sdk';
import type { Connection } from '@baton/sdk/node';
import { forEachConcurrently } from '@baton/values/concurrently';
import { type AgentProgram, startProgram } from './agent-program.ts';
import { type RemovedDemo, removeDemo } from './demo-removal.ts';
import { createDemoWorkspace, type DemoWorkspace } from './demo-workspace.ts';
import { canDebug, prepareSpecialties } from './specialties.ts';

/** Sends requests over persistent connections, which `close` ends. */
export interface HttpTransport {
  readonly send: Transport;
  close(): void;
}

/** A principal in both services, with a client that uses its own personal access token. */
export interface Participant {
  readonly name: string;
  readonly baton: BatonClient;
  readonly principalId: string;
  /** Starts a program of this participant, which has its own client. */
  start(): AgentProgram;
  /** The number of access tokens exchanged so far, by this client and those of its programs. */
  exchanges(): number;
}

export interface Participants {
  readonly operator: Participant;
  readonly agents: readonly Participant[];
  /** The person who approves. */
  readonly reviewer: Participant;
  /** The agents that may take bugs. */
  readonly debuggerIds: ReadonlySet<string>;
  /** The workspace of all the demo's tasks. */
  readonly workspace: DemoWorkspace;
  /** The type of features. */
  readonly featureTypeId: string;
  exchanges(): number;
  /** Removes the demo: disables the principals, archives the workspace, and closes the connections. */
  remove(): Promise<RemovedDemo>;
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

/** Creates participants as the administrator of both services. */
export interface Access {
  /** A client that acts as the administrator of both services. */
  readonly baton: BatonClient;
  /** Creates a participant of a demo. An agent gets the role that the tasks of the demo require. */
  create(
    name: string,
    kind: 'human' | 'agent',
    permissions: readonly string[],
    workspace: DemoWorkspace,
  ): Promise<Participant>;
  /** Closes the connections. */
  close(): void;
  /** Disables the principals in both services, which revokes their tokens, and closes the connections. */
  revoke(): Promise<void>;
}

export function openAccess(
  { identityUrl, coordinationUrl, ...connection }: Connection,
  { send: transport, close }: HttpTransport,
): Access {
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
  const created: { readonly principalId: string; readonly iamPrincipalId: string }[] = [];
  return {
    baton,
    async create(name, kind, permissions, { id: workspaceId, slug, roleId }) {
      const { id: iamPrincipalId } = await baton.identity.principals.create(tenantId, {
        kind,
        displayName: name,
      });
      // Identity issues a token to a human only soon after a sign-in, which the administrator records here.
      if (kind === 'human')
        await baton.identity.principals.recordAuthenticationContext(tenantId, iamPrincipalId, { issuer });
      const { token } = await baton.identity.principals.createToken(tenantId, iamPrincipalId, {
        name: 'baton demo',
        audiences: [audience],
        scopeCeiling: [...scopes],
        expiresInSeconds: tokenSeconds,
      });
      if (token === null) throw new Error('the response of a new token contains no token');
      // `baton demo remove` finds the principal by its metadata.
      const { id } = await baton.principals.create({ kind, displayName: name, metadata: { demo: slug } });
      created.push({ principalId: id, iamPrincipalId });
      if (kind === 'agent') await baton.principals.assignRole(id, { roleId, workspaceId });
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
      await forEachConcurrently(created, 8, async ({ principalId, iamPrincipalId }) => {
        await baton.principals.disable(principalId, { reason: 'demo_over' });
        await baton.identity.principals.disable(tenantId, iamPrincipalId, { reason: 'demo_over' });
      });
      close();
    },
  };
}

/** Creates the workspace of a backlog demo, an operator, a reviewer and `size` agents. */
export async function createParticipants(
  connection: Connection,
  http: HttpTransport,
  size: number,
): Promise<Participants> {
  const access = openAccess(connection, http);
  const workspace = await createDemoWorkspace(access.baton, 'backlog');
  const remove = async () => {
    try {
      return await removeDemo(access.baton, workspace, connection.tenantId);
    } finally {
      access.close();
    }
  };
  try {
    const cast = await createCast(access, size, workspace);
    const { operator, reviewer, agents } = cast;
    const exchanges = () => [operator, reviewer, ...agents].reduce((sum, one) => sum + one.exchanges(), 0);
    return { ...cast, workspace, exchanges, remove };
  } catch (error) {
    await remove().catch(() => undefined);
    throw error;
  }
}

async function createCast(
  { baton: administrator, create }: Access,
  size: number,
  workspace: DemoWorkspace,
): Promise<Omit<Participants, 'workspace' | 'exchanges' | 'remove'>> {
  const names = Array.from({ length: size }, (_, index) => `demo agent ${index + 1}`);
  const [operator, reviewer, { featureTypeId, debuggerRoleId: roleId }] = await Promise.all([
    create('demo operator', 'human', operatorPermissions, workspace),
    create('demo reviewer', 'human', reviewerPermissions, workspace),
    prepareSpecialties(administrator, workspace.id),
  ]);
  const agents: Participant[] = [];
  await forEachConcurrently([...names.entries()], 8, async ([index, name]) => {
    const agent = await create(name, 'agent', agentPermissions, workspace);
    agents[index] = agent;
    if (canDebug(index))
      await administrator.principals.assignRole(agent.principalId, { roleId, workspaceId: workspace.id });
  });
  const debuggers = agents.filter((_, index) => canDebug(index));
  const debuggerIds = new Set(debuggers.map(({ principalId }) => principalId));
  return { operator, reviewer, agents, featureTypeId, debuggerIds };
}
