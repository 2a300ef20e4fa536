import type { BatonClient } from '../baton.ts';
import type { CallOptions } from '../call.ts';
import { BatonError } from '../errors.ts';
import type { Agent } from '../generated/coordination-types.ts';
import type { PlatformAccessToken } from '../generated/identity-types.ts';
import { agentKeyOf, permissionsForAgent, requireAdministrator } from './agent-access.ts';
import { ConnectRefusal } from './connect-refusal.ts';
import { readCalls } from './first-call.ts';
import type { IssuedConnection } from './issued-connection.ts';
import type { ConnectClient } from './snippets.ts';

/** The clients of the two services, with the credential of the person who connects an agent. */
export interface ConnectServices {
  readonly baton: BatonClient;
  /** Identity's administration of the tenant. */
  readonly administration: {
    readonly identity: BatonClient['identity'];
    readonly tenantId: string;
    readonly issuer: string;
  };
}

export interface ConnectRequest {
  readonly client: ConnectClient;
  /** The name that people see. */
  readonly name: string;
  /** The agent's key in the registry; derived from the name by default. */
  readonly key?: string | undefined;
  /** The key of an access role. Decisions aren't granted to agents. */
  readonly accessRole: string;
  /** The id of the workspace that the agent works in; any workspace by default. */
  readonly workspaceId?: string | undefined;
  /** The lifetime of the token. */
  readonly lifetimeSeconds: number;
  /** Revokes the token of an agent that is already connected, and issues a new one. */
  readonly replaces?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The revisions that `connectAgent` publishes contain the client in `executor.params`. */
const marker = 'connectedBy';
const tokenPrefix = 'connect ';
const audience = 'control-plane';
const scopes = ['control-plane:read', 'control-plane:write'];

/**
 * Registers an agent, links its identity, and issues its token. Repeating the call continues where an earlier attempt
 * stopped, and revokes the token of that attempt: an agent has at most one token that was issued here.
 * @throws ConnectRefusal for a request that can't succeed; BatonError if a service rejects a call
 */
export async function connectAgent(
  services: ConnectServices,
  request: ConnectRequest,
): Promise<IssuedConnection> {
  const call = request.signal === undefined ? {} : { signal: request.signal };
  const { baton } = services;
  await requireAdministrator(baton, call);
  const permissions = await permissionsForAgent(baton, request.accessRole, call);
  const key = request.key ?? agentKeyOf(request.name);
  const found = await findConnected(baton, key, call);
  const earlier = await earlierTokens(services, found, call);
  if (request.replaces !== true) refuseUsed(earlier, key);
  const agent = await publish(baton, key, request, permissions, call);
  const linked = await link(services, agent, call);
  for (const { id } of earlier.live) await revoke(services, id, 'replaced', call);
  const before = await readCalls(baton, linked.principalId, call);
  request.signal?.throwIfAborted();
  const issued = await issue(services, linked, request, earlier.lastId);
  return {
    key,
    displayName: agent.displayName,
    revision: agent.currentRevision,
    principalId: linked.principalId,
    credentialId: issued.id,
    token: issued.token,
    expiresAt: issued.expiresAt,
    lifetimeSeconds: request.lifetimeSeconds,
    opensSessions: permissions.includes('sessions.open'),
    before,
  };
}

/**
 * Undoes a connection before its first call: its token is revoked. The agent remains registered, without a credential;
 * `connectAgent` with the same name continues with it.
 */
export async function cancelConnection(
  services: ConnectServices,
  { credentialId }: Pick<IssuedConnection, 'credentialId'>,
): Promise<void> {
  await revoke(services, credentialId, 'connect_cancelled', { deadlineMs: 15_000 });
}

/** @throws ConnectRefusal if the key belongs to an agent that was not connected here, or is retired */
async function findConnected(baton: BatonClient, key: string, call: CallOptions): Promise<Agent | undefined> {
  const agent = await baton.agents.get(key, call).catch((error: unknown) => {
    if (error instanceof BatonError && error.status === 404) return undefined;
    throw error;
  });
  if (agent?.status === 'retired')
    throw new ConnectRefusal(
      'agent_retired',
      `The agent ${key} is retired, and its key is never used again: choose another name.`,
    );
  if (agent !== undefined && agent.revision.spec.executor?.params?.[marker] === undefined)
    throw new ConnectRefusal(
      'agent_exists',
      `The registry already has an agent ${key} that was not connected here: choose another name.`,
    );
  return agent;
}

interface EarlierTokens {
  /** Tokens that were issued here and have not been revoked. */
  readonly live: readonly PlatformAccessToken[];
  /** The newest token of the identity, even if it is revoked. */
  readonly lastId: string | undefined;
}

async function earlierTokens(
  services: ConnectServices,
  agent: Agent | undefined,
  call: CallOptions,
): Promise<EarlierTokens> {
  const { identity, tenantId } = services.administration;
  const principalId = agent && (await findIdentity(services, agent, call));
  if (principalId === undefined) return { live: [], lastId: undefined };
  const query = { principalId, includeRevoked: true };
  const tokens = await identity.platformAccessTokens.list(tenantId, query, call);
  const live = tokens.filter(({ revokedAt, name }) => revokedAt === null && name.startsWith(tokenPrefix));
  return { live, lastId: tokens.at(-1)?.id };
}

/**
 * @throws ConnectRefusal if the agent has used an earlier token
 */
function refuseUsed({ live }: EarlierTokens, key: string): void {
  const used = live.find(
    ({ lastUsedAt, expiresAt }) => lastUsedAt !== null && Date.parse(expiresAt) > Date.now(),
  );
  if (used !== undefined)
    throw new ConnectRefusal(
      'agent_connected',
      `The agent ${key} is connected, and used its token at ${used.lastUsedAt}: replace that token, or choose another name.`,
    );
}

function publish(
  baton: BatonClient,
  key: string,
  { client, name, workspaceId }: ConnectRequest,
  permissions: readonly string[],
  call: CallOptions,
): Promise<Agent> {
  const spec = {
    displayName: name,
    identity: { kind: 'agent' as const, permissions: [...permissions] },
    work: { onlyAssigned: false, ...(workspaceId !== undefined && { workspace: workspaceId }) },
    executor: { kind: client, params: { [marker]: client } },
  };
  return baton.agents.publish({ key, spec }, call);
}

interface Linked {
  readonly principalId: string;
  readonly iamPrincipalId: string;
  readonly agentId: string;
}

/** Links the identity of an earlier attempt again, or a new identity. */
async function link(services: ConnectServices, agent: Agent, call: CallOptions): Promise<Linked> {
  const known = await findIdentity(services, agent, call);
  if (known !== undefined) return linkIdentity(services, agent, known, call);
  const { identity, tenantId } = services.administration;
  const wanted = { kind: 'agent' as const, displayName: agent.displayName };
  const { id } = await identity.principals.create(tenantId, wanted, call);
  try {
    return await linkIdentity(services, agent, id, call);
  } catch (error) {
    await identity.principals.disable(tenantId, id, { reason: 'connect_not_linked' });
    if (!(error instanceof BatonError) || error.code !== 'agent_identity_conflict') throw error;
    // A concurrent attempt has linked its identity first.
    const linked = await services.baton.agents.get(agent.key, call);
    const theirs = await findIdentity(services, linked, call);
    if (theirs === undefined) throw error;
    return linkIdentity(services, agent, theirs, call);
  }
}

/** The identity's principal that an agent is linked to, even if the link was revoked. */
async function findIdentity(
  { baton, administration: { tenantId, issuer } }: ConnectServices,
  { principalId }: Pick<Agent, 'principalId'>,
  call: CallOptions,
): Promise<string | undefined> {
  if (principalId === null) return undefined;
  const { items } = await baton.principals.listIamBindings(principalId, call);
  return items.find((one) => one.issuer === issuer && one.iamTenantId === tenantId)?.iamPrincipalId;
}

async function linkIdentity(
  { baton, administration: { tenantId, issuer } }: ConnectServices,
  { id: agentId, key }: Agent,
  iamPrincipalId: string,
  call: CallOptions,
): Promise<Linked> {
  const wanted = { issuer, iamTenantId: tenantId, iamPrincipalId };
  const { principalId } = await baton.agents.linkIdentity(key, wanted, call);
  if (principalId === null) throw new Error(`the agent ${key} has no principal`);
  return { principalId, iamPrincipalId, agentId };
}

/**
 * Two concurrent attempts have the same Idempotency-Key, so that only one gets a token. The request isn't aborted,
 * because the caller couldn't revoke a token whose id it doesn't know.
 * @throws ConnectRefusal for the other attempt, and if the response with the secret was lost
 */
async function issue(
  { administration: { identity, tenantId } }: ConnectServices,
  { iamPrincipalId, agentId }: Linked,
  { client, lifetimeSeconds }: ConnectRequest,
  lastId: string | undefined,
): Promise<{ readonly id: string; readonly token: string; readonly expiresAt: string }> {
  const body = {
    name: `${tokenPrefix}${client}`,
    audiences: [audience],
    scopeCeiling: [...scopes],
    expiresInSeconds: lifetimeSeconds,
  };
  const idempotencyKey = `connect-${agentId}-after-${lastId ?? 'none'}`;
  const { credential, token } = await identity.principals
    .createToken(tenantId, iamPrincipalId, body, { idempotencyKey })
    .catch((error: unknown) => {
      if (error instanceof BatonError && error.code === 'idempotency_key_reused') throw atTheSameTime();
      throw error;
    });
  if (token === null) throw atTheSameTime();
  return { id: credential.id, token, expiresAt: credential.expiresAt };
}

const atTheSameTime = () =>
  new ConnectRefusal(
    'connect_interrupted',
    'Somebody else connects this agent at the same time, or the response with its token was lost. Connect it again: that revokes a token which was not used.',
  );

async function revoke(
  { administration: { identity, tenantId } }: ConnectServices,
  credentialId: string,
  reason: string,
  call: CallOptions,
): Promise<void> {
  await identity.platformAccessTokens.revoke(tenantId, credentialId, { reason }, call);
}
