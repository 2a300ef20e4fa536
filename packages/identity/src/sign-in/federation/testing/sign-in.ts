import { randomUUID } from 'node:crypto';
import { type Answer, startIdentity, type TestIdentity, testSigningKey } from '../../../testing/identity.ts';
import { made, makeAudience, makeTenant } from '../../../testing/objects.ts';
import { startUpstream, type Upstream, upstreamAudience } from './upstream.ts';

/** Starts identity and a local identity provider that its settings allow. */
export async function startFederation(
  settings: Record<string, string> = {},
): Promise<{ identity: TestIdentity; upstream: Upstream }> {
  const identity = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_OUTBOUND_ALLOWED_HOSTS: '["127.0.0.1"]',
    ...settings,
  });
  return { identity, upstream: await startUpstream() };
}

/** The routes that respond with the sign-in; a test runs on both unless it specifies one. */
export const routes = ['authenticate', 'exchange'] as const;

/** The third route begins a browser session. It has the same rules, but a different response. */
export const everyRoute = [...routes, 'start-session'] as const;
export type Route = (typeof everyRoute)[number];

/** A tenant and its identity provider, where users sign in. */
export interface Realm {
  readonly tenantId: string;
  readonly providerId: string;
  readonly key: string;
}

/** A tenant with an audience and one identity provider. */
export async function makeRealm(
  identity: TestIdentity,
  upstream: Pick<Upstream, 'issuer'>,
  changes: object = {},
): Promise<Realm> {
  const tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId);
  const key = `idp-${randomUUID().slice(0, 8)}`;
  const wanted = { key, issuer: upstream.issuer, audience: upstreamAudience, ...changes };
  const { id } = await made(identity.post(`/tenants/${tenantId}/identity-providers`, wanted));
  return { tenantId, providerId: id, key };
}

export function signInBy(
  identity: TestIdentity,
  { tenantId, key }: Realm,
  token: string,
  route: Route = 'authenticate',
  more: object = {},
): Promise<Answer> {
  const exchange = route === 'exchange' ? { audience: 'control-plane' } : {};
  return identity.request('POST', `/api/v1/tenants/${tenantId}/federation:${route}`, {
    body: { identityProvider: key, token, ...exchange, ...more },
  });
}

export const newSubject = () => `subject-${randomUUID()}`;
