import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import type { Answer, TestIdentity } from '../../../testing/identity.ts';
import { made } from '../../../testing/objects.ts';
import { ask, type Person } from '../../passkeys/testing/people.ts';

/** A public OAuth client, and the browser that it opens, over HTTP. */

export const resource = 'https://baton.example/mcp';
export const scope = 'control-plane:read control-plane:write';

/** The settings that OAuth clients need. */
export const oauthSettings = { IAM_RESOURCES: JSON.stringify({ [resource]: 'control-plane' }) };

export const loopback = 'http://127.0.0.1:53682/callback';

export interface Pkce {
  readonly verifier: string;
  readonly challenge: string;
}

export function makePkce(): Pkce {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** The parameters of a valid request from the command line. */
export function requestOf({ challenge }: Pkce, more: Record<string, string | undefined> = {}) {
  return {
    response_type: 'code',
    client_id: 'baton-cli',
    redirect_uri: loopback,
    scope,
    state: 'state-of-the-client',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    resource,
    ...more,
  };
}

/** Opens an address without following its redirect. */
export async function open(
  identity: TestIdentity,
  address: string,
  cookie?: string,
): Promise<{ status: number; location: URL | undefined; cookie: string; body: string; headers: Headers }> {
  const { pathname, search } = new URL(address, 'http://any');
  const response = await fetch(`${identity.url}${pathname}${search}`, {
    redirect: 'manual',
    headers: cookie === undefined ? {} : { cookie },
  });
  const location = response.headers.get('location');
  return {
    status: response.status,
    location: location === null ? undefined : new URL(location),
    cookie: (response.headers.get('set-cookie') ?? '').split(';', 1)[0] as string,
    body: await response.text(),
    headers: response.headers,
  };
}

export function authorize(
  identity: TestIdentity,
  params: Record<string, string | undefined>,
  path = '/oauth2/authorize',
) {
  const given = Object.entries(params).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return open(identity, `${path}?${new URLSearchParams(given)}`);
}

/** A request that has begun: the values that the page and the browser hold. */
export interface Begun {
  readonly request: string;
  readonly cookie: string;
}

export async function begin(
  identity: TestIdentity,
  params: Record<string, string | undefined>,
): Promise<Begun> {
  const { status, location, cookie, body } = await authorize(identity, params);
  assert.equal(status, 303, body);
  const request = new URLSearchParams(location?.hash.slice(1)).get('request');
  assert.ok(request, String(location));
  return { request, cookie };
}

export const read = (identity: TestIdentity, { token }: Pick<Person, 'token'>, asked: object) =>
  ask(identity, '/oauth-requests:read', { token, ...asked });

export const decide = (identity: TestIdentity, { token }: Pick<Person, 'token'>, asked: object) =>
  ask(identity, '/oauth-requests:decide', { token, decision: 'allow', ...asked });

/** Lets a person allow a request. @returns the address at which the browser returns to the client */
export async function allow(
  identity: TestIdentity,
  person: Pick<Person, 'token'>,
  { request, cookie }: Begun,
  more: object = {},
): Promise<URL> {
  const { redirectTo } = await made(decide(identity, person, { request, ...more }));
  const { status, location, body } = await open(identity, redirectTo, cookie);
  assert.equal(status, 303, body);
  return location as URL;
}

export async function sendTokenForm(
  identity: TestIdentity,
  form: Record<string, string | undefined>,
): Promise<Answer> {
  const given = Object.entries(form).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const answer = await identity.request('POST', '/oauth2/token', {
    body: new URLSearchParams(given).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  if (answer.status === 200 && answer.body.refresh_token !== undefined)
    keepSecret('refresh token', answer.body.refresh_token);
  return answer;
}

export const redeem = (identity: TestIdentity, code: string, { verifier }: Pkce, more: object = {}) =>
  sendTokenForm(identity, {
    grant_type: 'authorization_code',
    client_id: 'baton-cli',
    code,
    code_verifier: verifier,
    redirect_uri: loopback,
    ...more,
  });

export const refresh = (identity: TestIdentity, refreshToken: string, more: object = {}) =>
  sendTokenForm(identity, {
    grant_type: 'refresh_token',
    client_id: 'baton-cli',
    refresh_token: refreshToken,
    ...more,
  });

/** The whole flow. @returns the tokens of the client */
export async function connect(
  identity: TestIdentity,
  person: Pick<Person, 'token'>,
  more: Record<string, string | undefined> = {},
  decision: object = {},
): Promise<{ access_token: string; refresh_token: string; scope: string; expires_in: number }> {
  const pkce = makePkce();
  const begun = await begin(identity, requestOf(pkce, more));
  const back = await allow(identity, person, begun, decision);
  const { client_id, redirect_uri = loopback } = more;
  const code = back.searchParams.get('code') as string;
  return made(redeem(identity, code, pkce, { ...(client_id && { client_id }), redirect_uri }));
}
