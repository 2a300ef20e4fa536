import { randomBytes } from 'node:crypto';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { newId } from '@baton/values/ids';
import type { Permission } from '../../service/permissions.ts';
import type { Actor, TestCoordination } from '../coordination.ts';
import { done } from '../leases.ts';

export const agentPermissions: readonly Permission[] = ['sessions.open', 'tasks.claim', 'tasks.read'];

/** A valid spec, with some sections replaced. */
export function agentSpec(sections: { readonly identity?: object } | object = {}) {
  const { identity = {}, ...more } = sections as { identity?: object };
  return {
    displayName: 'Builder',
    identity: { kind: 'agent', permissions: agentPermissions, ...identity },
    ...more,
  };
}

/** A unique key. */
export const agentKey = () => `a${newId()}`;

/** Publishes the first revision of an agent. */
export async function publishAgent(actor: Actor, spec: object = agentSpec(), key = agentKey()) {
  return done(actor.post('/agents', { key, spec }), 201);
}

/** An identity that no tenant has bound. */
export function newIdentity(baton: TestCoordination) {
  return { issuer: baton.issuer.issuer, iamTenantId: baton.tenantId, iamPrincipalId: newId() };
}

/** Links a new identity to an agent, and returns the agent as an actor. */
export async function linkAgent(baton: TestCoordination, key: string): Promise<Actor> {
  const identity = newIdentity(baton);
  const { principalId } = await done(baton.admin.put(`/agents/${key}/identity`, identity));
  return actorOf(baton, { ...identity, principalId });
}

/** An actor with an identity that is already bound. */
export async function actorOf(
  baton: TestCoordination,
  { iamPrincipalId, principalId }: { iamPrincipalId: string; principalId: string },
): Promise<Actor> {
  const scope = ['control-plane:read', 'control-plane:write'];
  const token = await baton.issuer.sign({ sub: iamPrincipalId, tenant_id: baton.tenantId, scope });
  const call =
    (method: string) =>
    (path: string, body?: unknown, headers: Record<string, string> = {}) =>
      baton.request(method, `/api/v1${path}`, { token, headers, ...(body === undefined ? {} : { body }) });
  return {
    principalId,
    iamPrincipalId,
    tenantId: baton.tenantId,
    token,
    get: (path, headers) => call('GET')(path, undefined, headers),
    post: call('POST'),
    put: call('PUT'),
    patch: call('PATCH'),
    delete: (path, headers) => call('DELETE')(path, undefined, headers),
  };
}

/** A unique value that must not appear anywhere. */
export function newSecretValue(): string {
  const value = randomBytes(24).toString('base64url');
  keepSecret('secret of an agent', value);
  return value;
}

/** Sets a secret of an agent. @returns its name */
export async function putAgentSecret(actor: Actor, key: string, value = newSecretValue()): Promise<string> {
  const name = `s-${newId()}`;
  await done(actor.put(`/agents/${key}/secrets/${name}`, { value }), 201);
  return name;
}
