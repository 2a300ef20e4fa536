import { randomBytes } from 'node:crypto';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { newId } from '@baton/values/ids';
import type { Actor } from '../coordination.ts';
import { done } from '../leases.ts';
import type { TestProvider } from './oauth-provider.ts';

export const tokenSpec = { displayName: 'Tracker', auth: ['token'] };

/** Publishes a type. @returns its key */
export async function makeType(actor: Actor, spec: object = tokenSpec): Promise<string> {
  const key = `t${newId()}`;
  await done(actor.post('/connection-types', { key, version: 1, spec }), 201);
  return key;
}

/** A pending connection, of a new type by default. @returns its record */
export async function makeConnection(actor: Actor, type?: string, more: object = {}) {
  return done(
    actor.post('/connections', { type: type ?? (await makeType(actor)), key: `c${newId()}`, ...more }),
    201,
  );
}

/** A type of the provider with its application, and a pending connection. @returns the connection's record */
export async function makeOauthConnection(actor: Actor, provider: TestProvider, spec: object = {}) {
  const type = await makeType(actor, provider.spec(spec));
  const { clientId, clientSecret } = provider;
  await done(actor.put(`/connection-types/${type}/oauth-app`, { clientId, clientSecret }));
  return makeConnection(actor, type);
}

export function newToken(): string {
  const token = randomBytes(24).toString('base64url');
  keepSecret('token of a connection', token);
  return token;
}
