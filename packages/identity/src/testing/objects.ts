import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestIdentity } from './identity.ts';

/** Objects that tests need, created through the endpoints. */

export const readScope = 'control-plane:read';
export const writeScope = 'control-plane:write';
export const adminScope = 'control-plane:admin';

export async function made<T>(answer: Promise<{ status: number; body: T }>): Promise<T> {
  const { status, body } = await answer;
  assert.ok(status === 200 || status === 201, `${status} ${JSON.stringify(body)}`);
  return body;
}

export async function makeTenant(identity: TestIdentity): Promise<string> {
  const slug = `t-${randomUUID()}`;
  return (await made(identity.post('/tenants', { slug, name: 'A tenant' }))).id;
}

export async function makePrincipal(
  identity: TestIdentity,
  tenantId: string,
  kind = 'agent',
): Promise<string> {
  return (await made(identity.post(`/tenants/${tenantId}/principals`, { kind, displayName: `A ${kind}` })))
    .id;
}

export async function makeAudience(
  identity: TestIdentity,
  tenantId: string,
  key = 'control-plane',
  allowedScopes: string[] = [readScope, writeScope, adminScope],
): Promise<void> {
  await made(identity.post(`/tenants/${tenantId}/audiences`, { key, allowedScopes }));
}

export async function signIn(
  identity: TestIdentity,
  tenantId: string,
  principalId: string,
  context: object = {},
): Promise<void> {
  const path = `/tenants/${tenantId}/principals/${principalId}/authentication-contexts`;
  await made(identity.post(path, { issuer: 'https://login.example.com', ...context }));
}

export interface MadeToken {
  token: string;
  // biome-ignore lint/suspicious/noExplicitAny: the tests check the types of responses
  credential: any;
}

export async function makeToken(
  identity: TestIdentity,
  tenantId: string,
  principalId: string,
  body: object = {},
): Promise<MadeToken> {
  const path = `/tenants/${tenantId}/principals/${principalId}/platform-access-tokens`;
  const wanted = {
    name: 'a token',
    audiences: ['control-plane'],
    scopeCeiling: [readScope, writeScope],
    ...body,
  };
  return made(identity.post(path, wanted, { 'idempotency-key': randomUUID() }));
}

/** A tenant with an audience, an agent in it, and the agent's token. */
export async function makeBearer(identity: TestIdentity, body: object = {}) {
  const tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId);
  const principalId = await makePrincipal(identity, tenantId);
  return { tenantId, principalId, ...(await makeToken(identity, tenantId, principalId, body)) };
}

export async function makeServiceAccount(
  identity: TestIdentity,
  tenantId: string,
  body: object = {},
): Promise<{ principalId: string; clientId: string; clientSecret: string }> {
  const wanted = {
    displayName: 'A service',
    audiences: ['control-plane'],
    scopeCeiling: [readScope],
    ...body,
  };
  return made(identity.post(`/tenants/${tenantId}/service-accounts`, wanted));
}
