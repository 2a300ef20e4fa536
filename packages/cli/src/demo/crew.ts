import { randomUUID } from 'node:crypto';
import { AccessToken } from '../access-token.ts';
import { apiErrorOf } from '../api-error.ts';
import type { Connection } from '../connection.ts';
import { CoordinationClient } from '../coordination-client.ts';
import { HttpClient } from '../http-client.ts';
import { eachOf } from './parallel.ts';

/** Somebody with a principal in both services, and a personal access token of its own. */
export interface Member {
  readonly name: string;
  readonly client: CoordinationClient;
  readonly principalId: string;
}

export interface Crew {
  readonly operator: Member;
  readonly agents: readonly Member[];
  /** The principal to which the tasks are assigned, so that the crew finds its own work among everybody's. */
  readonly queueId: string;
  exchanges(): number;
  /** Takes the access away again: principals disabled, tokens revoked. */
  dismiss(): Promise<void>;
}

const audience = 'control-plane';
const scopes = ['control-plane:read', 'control-plane:write'];
const tokenSeconds = 24 * 60 * 60;
const operatorPermissions = ['tasks.read', 'tasks.write', 'task_types.read', 'events.read', 'sessions.open'];
const agentPermissions = [
  'tasks.read',
  'tasks.write',
  'tasks.claim',
  'task_types.read',
  'sessions.open',
  'events.read',
];

/** Makes an operator and `size` agents in both services. */
export async function hireCrew(connection: Connection, size: number): Promise<Crew> {
  const identity = new HttpClient(connection.identityUrl);
  const coordination = new HttpClient(connection.coordinationUrl);
  const administrator = new CoordinationClient(
    coordination,
    new AccessToken(identity, connection.adminToken),
  );
  const iam = new IdentityAdministration(identity, connection);
  const hired: string[] = [];

  async function hire(
    name: string,
    kind: 'human' | 'agent',
    permissions: readonly string[],
  ): Promise<Member> {
    const iamPrincipalId = await iam.createPrincipal(kind, name);
    hired.push(iamPrincipalId);
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
  }

  const names = Array.from({ length: size }, (_, index) => `demo agent ${index + 1}`);
  const [operator, queue] = await Promise.all([
    hire('demo operator', 'human', operatorPermissions),
    administrator.call<{ id: string }>('POST', '/principals', { kind: 'agent', displayName: 'demo queue' }),
  ]);
  const agents: Member[] = [];
  await eachOf([...names.entries()], 8, async ([index, name]) => {
    agents[index] = await hire(name, 'agent', agentPermissions);
  });
  return {
    operator,
    agents,
    queueId: queue.id,
    exchanges: () => [operator, ...agents].reduce((sum, { client }) => sum + client.access.exchanges, 0),
    async dismiss() {
      await eachOf(hired, 8, (principalId) => iam.disablePrincipal(principalId));
      identity.close();
      coordination.close();
    },
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
    // A person's token is issued only shortly after a sign-in; the administrator vouches for this one.
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
