import { randomUUID } from 'node:crypto';
import { AccessToken } from '../access-token.ts';
import { apiErrorOf } from '../api-error.ts';
import type { Connection } from '../connection.ts';
import { CoordinationClient } from '../coordination-client.ts';
import { HttpClient } from '../http-client.ts';
import { forEachConcurrently } from './concurrently.ts';
import { canDebug, prepareSpecialties } from './specialties.ts';

/** A principal in both services, with a client that uses its own personal access token. */
export interface Participant {
  readonly name: string;
  readonly client: CoordinationClient;
  readonly principalId: string;
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
  readonly administrator: CoordinationClient;
  create(name: string, kind: 'human' | 'agent', permissions: readonly string[]): Promise<Participant>;
  /** Disables the principals, which revokes their tokens, and closes the connections. */
  revoke(): Promise<void>;
}

export function openAccess(connection: Connection): Access {
  const identity = new HttpClient(connection.identityUrl);
  const coordination = new HttpClient(connection.coordinationUrl);
  const administrator = new CoordinationClient(
    coordination,
    new AccessToken(identity, connection.adminToken),
  );
  const iam = new IdentityAdministration(identity, connection);
  const created: string[] = [];
  return {
    administrator,
    async create(name, kind, permissions) {
      const iamPrincipalId = await iam.createPrincipal(kind, name);
      created.push(iamPrincipalId);
      const personalToken = await iam.issueToken(iamPrincipalId, kind);
      const { id } = await administrator.call<{ id: string }>('POST', '/principals', {
        kind,
        displayName: name,
      });
      await administrator.call('POST', `/principals/${id}/iam-bindings`, {
        issuer: connection.issuer,
        iamTenantId: connection.tenantId,
        iamPrincipalId,
        permissions,
      });
      const client = new CoordinationClient(coordination, new AccessToken(identity, personalToken));
      return { name, client, principalId: id };
    },
    async revoke() {
      await forEachConcurrently(created, 8, (principalId) => iam.disablePrincipal(principalId));
      identity.close();
      coordination.close();
    },
  };
}

/** Creates an operator and `size` agents in both services. */
export async function createParticipants(connection: Connection, size: number): Promise<Participants> {
  const access = openAccess(connection);
  const { administrator } = access;
  const names = Array.from({ length: size }, (_, index) => `demo agent ${index + 1}`);
  const [operator, reviewer, queue, capabilityId] = await Promise.all([
    access.create('demo operator', 'human', operatorPermissions),
    access.create('demo reviewer', 'human', reviewerPermissions),
    administrator.call<{ id: string }>('POST', '/principals', { kind: 'agent', displayName: 'demo queue' }),
    prepareSpecialties(administrator),
  ]);
  const agents: Participant[] = [];
  await forEachConcurrently([...names.entries()], 8, async ([index, name]) => {
    const agent = await access.create(name, 'agent', agentPermissions);
    agents[index] = agent;
    if (canDebug(index))
      await administrator.call('POST', `/principals/${agent.principalId}/capabilities`, { capabilityId });
  });
  return {
    operator,
    reviewer,
    agents,
    debuggerIds: new Set(agents.filter((_, index) => canDebug(index)).map(({ principalId }) => principalId)),
    queueId: queue.id,
    exchanges: () =>
      [operator, reviewer, ...agents].reduce((sum, { client }) => sum + client.access.exchanges, 0),
    revokeAccess: () => access.revoke(),
  };
}

/** The administrator's calls to identity. */
class IdentityAdministration {
  readonly #identity: HttpClient;
  readonly #connection: Connection;

  constructor(identity: HttpClient, connection: Connection) {
    this.#identity = identity;
    this.#connection = connection;
  }

  async createPrincipal(kind: string, displayName: string): Promise<string> {
    const { id } = await this.#call<{ id: string }>('/principals', { kind, displayName });
    return id;
  }

  async issueToken(principalId: string, kind: 'human' | 'agent'): Promise<string> {
    const path = `/principals/${principalId}`;
    // Identity issues a token to a human only soon after a sign-in, which the administrator records here.
    if (kind === 'human')
      await this.#call(`${path}/authentication-contexts`, { issuer: this.#connection.issuer });
    const { token } = await this.#call<{ token: string }>(`${path}/platform-access-tokens`, {
      name: 'baton demo',
      audiences: [audience],
      scopeCeiling: scopes,
      expiresInSeconds: tokenSeconds,
    });
    return token;
  }

  async disablePrincipal(principalId: string): Promise<void> {
    await this.#call(`/principals/${principalId}:disable?reason=demo_over`);
  }

  async #call<Body>(path: string, body?: unknown): Promise<Body> {
    const { iamBootstrapToken, tenantId } = this.#connection;
    const headers = { 'x-iam-bootstrap-token': iamBootstrapToken, 'idempotency-key': randomUUID() };
    const answer = await this.#identity.send('POST', `/api/v1/tenants/${tenantId}${path}`, { body, headers });
    if (answer.status >= 300) throw apiErrorOf(answer.status, answer.body, answer.headers['retry-after']);
    return answer.body as Body;
  }
}
