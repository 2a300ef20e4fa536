import assert from 'node:assert/strict';
import { createSign, generateKeyPairSync, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { createClient } from '@baton/sdk';
import { byDepth } from '@baton/testing/depth';
import { privateFolder } from '../testing/private-folder.ts';
import { type SeparateServices, startSeparateServices } from '../testing/separate-services.ts';
import { type ConsoleService, startConsoleService } from './console-service.ts';

// Anyone can start a sign-in. These tests cover attacks by strangers on other people's sign-ins.

const strangers = byDepth(1100, 5000);
const clientSecret = 'the-secret-of-the-console-at-its-provider';
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const folder = privateFolder();
const asked: Record<string, number> = {};
const nonces = new Map<string, string>();
const provider = createServer((req, res) => {
  if (isRefusing && req.url === '/token') res.statusCode = 401;
  void answer(req).then((body) => res.end(JSON.stringify(body)));
});
let issuer: string;
/** Nothing listens there. */
let unreachableIssuer: string;
let services: SeparateServices;
let page: ConsoleService;
const said: string[] = [];
/** Who signs in at the provider. */
let subject = 'ada';
/** Whether the provider rejects token requests, as it would for a wrong client secret. */
let isRefusing = false;

before(async () => {
  await new Promise<void>((done) => provider.listen(0, '127.0.0.1', done));
  issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  keepSecret('client secret', clientSecret);
  const port = await freePort();
  unreachableIssuer = `http://127.0.0.1:${await freePort()}`;
  const allowed = { IAM_OUTBOUND_ALLOWED_HOSTS: '["127.0.0.1"]' };
  services = await startSeparateServices(`http://127.0.0.1:${port}`, allowed);
  const { tenantId, adminSecret, identityPort, coordinationPort } = services;
  const identityUrl = `http://127.0.0.1:${identityPort}`;
  const { identity } = createClient({ coordinationUrl: identityUrl, identityUrl, adminSecret });
  for (const key of ['corporate', 'moved', 'unreachable'])
    await identity.identityProviders.create(tenantId, {
      key,
      issuer: { corporate: issuer, moved: `${issuer}/moved`, unreachable: unreachableIssuer }[key] as string,
      audience: 'console',
      jwksUri: `${issuer}/keys`,
    });
  const secrets = join(folder.path, 'secrets');
  const lines = [`corporate ${issuer} ${clientSecret}`, `moved https://login.example.com ${clientSecret}`];
  writeFileSync(secrets, lines.join('\n'), { mode: 0o600 });
  page = await startConsoleService(
    {
      PORT: port,
      BATON_HOME: folder.path,
      BATON_COORDINATION_URL: `http://127.0.0.1:${coordinationPort}`,
      BATON_IDENTITY_URL: identityUrl,
      BATON_CONSOLE_TRUSTED_PROXIES: '["127.0.0.1"]',
      BATON_CONSOLE_PROVIDERS: '["corporate","moved","unreachable"]',
      BATON_CONSOLE_SECRETS_FILE: secrets,
      BATON_CONSOLE_TENANT_ID: tenantId,
      IAM_BOOTSTRAP_TOKEN: adminSecret,
      ...allowed,
    },
    (line) => said.push(line),
  );
});
after(async () => {
  await page?.close();
  await services?.close();
  provider.closeAllConnections();
  provider.close();
  await folder.remove();
});

/** A minimal provider: the code is the state, and each code yields a token of the same person. */
async function answer(req: IncomingMessage): Promise<object> {
  const { pathname } = new URL(req.url ?? '/', issuer);
  asked[pathname] = (asked[pathname] ?? 0) + 1;
  if (pathname === '/keys')
    return { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256' }] };
  if (pathname !== '/token') {
    const own = pathname.replace(/\/\.well-known\/openid-configuration$/, '');
    return {
      issuer: issuer + own,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
    };
  }
  let form = '';
  for await (const chunk of req) form += chunk;
  const nonce = nonces.get(new URLSearchParams(form).get('code') ?? '');
  const nowSeconds = Math.floor(Date.now() / 1000);
  const claims = { iss: issuer, aud: 'console', sub: subject, iat: nowSeconds, exp: nowSeconds + 300, nonce };
  const [head, payload] = [{ alg: 'RS256', kid: 'one', typ: 'JWT' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signature = createSign('sha256').update(`${head}.${payload}`).sign(privateKey, 'base64url');
  return { id_token: `${head}.${payload}.${signature}`, token_type: 'Bearer' };
}

/** The key of the page that signs in. */
const pageKey = 'p'.repeat(43);

async function begin(from: string, key = 'corporate', more: { invitation?: string } = {}) {
  const response = await fetch(`${page.url}/console/provider-sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'baton-console-key': pageKey, 'x-forwarded-for': from },
    body: JSON.stringify({ provider: key, next: '/inbox', ...more }),
  });
  const body = (await response.json()) as { url?: string; error?: { code: string; message: string } };
  const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';', 1);
  return { status: response.status, body, cookie };
}

/** Returns from the provider as after the person's consent. @returns the console's redirect, with its cookies */
async function comeBack({ body, cookie }: Awaited<ReturnType<typeof begin>>, from: string) {
  const { searchParams } = new URL(body.url ?? '');
  const state = searchParams.get('state') ?? '';
  nonces.set(state, searchParams.get('nonce') ?? '');
  const response = await fetch(`${page.url}/console/callback?state=${state}&code=${state}`, {
    headers: { cookie, 'x-forwarded-for': from },
    redirect: 'manual',
  });
  return { location: response.headers.get('location'), cookies: response.headers.getSetCookie() };
}

const finish = async (begun: Awaited<ReturnType<typeof begin>>, from: string) =>
  (await comeBack(begun, from)).location;

const addressOf = (n: number) => `198.51.${100 + Math.floor(n / 250)}.${n % 250}`;

test(`${strangers} strangers start sign-ins; a person who started before can finish, and the provider was read once`, async () => {
  const person = await begin('203.0.113.1');
  assert.equal(person.status, 200, JSON.stringify(person.body));
  for (let n = 0; n < strangers; n += 50)
    await Promise.all(
      Array.from({ length: 50 }, async (_, at) => {
        assert.equal((await begin(addressOf(n + at))).status, 200);
      }),
    );
  assert.equal(asked['/.well-known/openid-configuration'], 1);
  assert.equal(await finish(person, '203.0.113.1'), '/inbox');
  assert.equal(await finish(person, '203.0.113.1'), '/sign-in?problem=sign_in_expired');
});

test('one address begins and finishes so often a minute; others are not held up by it', async () => {
  const statuses: number[] = [];
  for (let n = 0; n < 20; n += 1)
    statuses.push(
      ...(await Promise.all(Array.from({ length: 10 }, (_, at) => begin(`2001:db8:1:2::${n}${at}`)))).map(
        ({ status }) => status,
      ),
    );
  assert.deepEqual([...new Set(statuses)].sort(), [200, 429]);
  assert.ok(statuses.filter((status) => status === 200).length < 150);
  const other = await begin('2001:db8:1:3::1');
  assert.equal(await finish(other, '2001:db8:1:3::1'), '/inbox');
  const callback = `${page.url}/console/callback?state=x`;
  const problems = new Set<string | null>();
  for (let n = 0; n < 150; n += 1) {
    const headers = { 'x-forwarded-for': '192.0.2.9' };
    problems.add((await fetch(callback, { headers, redirect: 'manual' })).headers.get('location'));
  }
  assert.deepEqual([...problems].sort(), [
    '/sign-in?problem=rate_limited',
    '/sign-in?problem=sign_in_expired',
  ]);
  assert.equal(await finish(await begin('192.0.2.10'), '192.0.2.10'), '/inbox');
});

test('the session is for the page that began, whichever cookies of other sign-ins come along', async () => {
  const from = '203.0.113.3';
  const [mine, theirs] = [await begin(from), await begin('203.0.113.4')];
  const others = `${theirs.cookie}; baton_console_begin=x; ${theirs.cookie}`;
  const { location, cookies } = await comeBack({ ...mine, cookie: `${others}; ${mine.cookie}` }, from);
  assert.equal(location, '/inbox');
  const [session = ''] = (cookies.find((cookie) => cookie.startsWith('baton_console=')) ?? '').split(';', 1);
  assert.match(session, /^baton_console=[\w-]{43}$/);
  assert.ok(cookies.some((cookie) => /^baton_console_begin=;.*Max-Age=0/.test(cookie)));
  const tokenFor = async (key: string) => {
    const headers = { 'content-type': 'application/json', 'baton-console-key': key, cookie: session };
    return (await fetch(`${page.url}/console/token`, { method: 'POST', headers, body: '{}' })).status;
  };
  assert.deepEqual([await tokenFor('q'.repeat(43)), await tokenFor(pageKey)], [401, 200]);
});

test('a site that sends a browser to the callback ends no sign-in of that browser', async () => {
  const from = '203.0.113.5';
  const [mine, theirs] = [await begin(from), await begin('203.0.113.6')];
  const forged = [undefined, 'x', 'A'.repeat(72), new URL(theirs.body.url ?? '').searchParams.get('state')];
  for (const state of forged) {
    const query = state == null ? '' : `?state=${state}&error=access_denied`;
    const response = await fetch(`${page.url}/console/callback${query}`, {
      headers: { cookie: mine.cookie, 'x-forwarded-for': from },
      redirect: 'manual',
    });
    assert.match(response.headers.get('location') ?? '', /^\/sign-in\?problem=sign_in_(expired|of_another)$/);
    assert.deepEqual(response.headers.getSetCookie(), []);
  }
  assert.equal(await finish(mine, from), '/inbox');
  assert.equal(await finish(theirs, '203.0.113.6'), '/inbox');
});

test('without the key of a page nobody begins', async () => {
  for (const key of [undefined, '', 'short', 'p'.repeat(44)]) {
    const response = await fetch(`${page.url}/console/provider-sign-in`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key !== undefined && { 'baton-console-key': key }),
        'x-forwarded-for': '203.0.113.7',
      },
      body: JSON.stringify({ provider: 'corporate' }),
    });
    assert.deepEqual([response.status, response.headers.getSetCookie()], [400, []]);
  }
});

test('the secret of a client is not sent to an address that its line does not name', async () => {
  const { status, body } = await begin('203.0.113.2', 'moved');
  assert.deepEqual([status, body.error?.code], [409, 'secret_address_changed']);
  assert.match(body.error?.message ?? '', /https:\/\/login\.example\.com/);
});

test('a provider that fails leaves a line for the operator, once a minute and without a secret', async () => {
  for (let n = 0; n < 3; n += 1) {
    const { status, body } = await begin('203.0.113.8', 'unreachable');
    assert.deepEqual([status, body.error?.code], [503, 'identity_provider_unavailable']);
  }
  const unreachable = said.filter((line) => line.includes(unreachableIssuer));
  assert.deepEqual(unreachable, [
    `The identity provider at ${unreachableIssuer} can't be used for sign-in: unreachable (ECONNREFUSED).`,
  ]);
  isRefusing = true;
  try {
    assert.equal(
      await finish(await begin('203.0.113.9'), '203.0.113.9'),
      '/sign-in?problem=provider_refused',
    );
  } finally {
    isRefusing = false;
  }
  assert.ok(
    said.some((line) =>
      line.startsWith(`The identity provider at ${issuer} returned 401 for a token request`),
    ),
    said.join('\n'),
  );
  assert.ok(!said.join('').includes(clientSecret));
});

test("a stranger with an admin secret is not passed on to identity; this machine's requests are", async () => {
  const url = `${page.url}/iam/api/v1/tenants/${services.tenantId}`;
  const ask = async (headers: Readonly<Record<string, string>>) => {
    const all = { 'x-iam-bootstrap-token': services.adminSecret, ...headers };
    const answer = await fetch(url, { headers: all });
    return { status: answer.status, body: (await answer.json()) as { error?: Record<string, string> } };
  };
  const { status, body } = await ask({ 'x-forwarded-for': '203.0.113.10' });
  assert.deepEqual([status, body.error?.['code']], [403, 'address_not_allowed']);
  assert.match(body.error?.['message'] ?? '', /BATON_CONSOLE_TRUSTED_PROXIES/);
  assert.equal((await ask({})).status, 200);
});

/** Sends a request of a signed-in page. */
async function ask(path: string, session: string, body: object = {}) {
  const headers = { 'content-type': 'application/json', 'baton-console-key': pageKey, cookie: session };
  const answer = await fetch(`${page.url}/console/${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  const json = (await answer.json()) as { error?: { code: string } } & Record<string, unknown>;
  return { status: answer.status, code: json.error?.code, body: json };
}

/** @returns the cookie of the session */
async function signIn(from: string): Promise<string> {
  const { cookies } = await comeBack(await begin(from), from);
  return (cookies.find((cookie) => cookie.startsWith('baton_console=')) ?? '').split(';', 1)[0] as string;
}

test('a request about an object that does not exist fails, and signs nobody out', async () => {
  const session = await signIn('203.0.113.11');
  const id = randomUUID();
  for (const [path, body, code] of [
    ['grant-end', { id }, 'oauth_grant_not_found'],
    ['oauth-request', { act: 'read', userCode: 'BCDF-GHJK' }, 'invalid_user_code'],
    ['grant-end', { id: 'x' }, 'invalid_request'],
  ] as const) {
    const answer = await ask(path, session, body);
    assert.equal(answer.code, code);
    assert.notEqual(answer.status, 401);
    assert.equal((await ask('token', session)).status, 200, `after ${code}`);
  }
});

test('an old sign-in ends no other session, but can end all of them together', async () => {
  // This provider states no time, so its sign-ins never count as recent.
  const [mine, other] = [await signIn('203.0.113.12'), await signIn('203.0.113.13')];
  const refused = await ask('sessions', mine, { act: 'end-others' });
  assert.deepEqual([refused.status, refused.code], [403, 'authentication_context_expired']);
  for (const one of [mine, other]) assert.equal((await ask('token', one)).status, 200);
  assert.equal((await ask('sign-out', mine, { everywhere: 'yes' })).status, 200);
  for (const one of [mine, other]) assert.equal((await ask('token', one)).status, 401);
});

test('a session that ended in identity is signed out; so is one whose provider was disabled', async () => {
  const { tenantId, identityPort, adminSecret } = services;
  const identityUrl = `http://127.0.0.1:${identityPort}`;
  const { identity } = createClient({ coordinationUrl: identityUrl, identityUrl, adminSecret });
  const session = await signIn('203.0.113.14');
  const { sessions, currentId } = (await ask('account', session)).body as {
    sessions: { id: string; principalId: string }[];
    currentId: string;
  };
  const { principalId = '' } = sessions.find(({ id }) => id === currentId) ?? {};
  await identity.principals.revokeBrowserSession(tenantId, principalId, currentId);
  for (const code of ['invalid_token', 'signed_out']) {
    const answer = await ask('account', session);
    assert.deepEqual([answer.status, answer.code], [401, code]);
  }
  const another = await signIn('203.0.113.15');
  await identity.identityProviders.disable(tenantId, 'corporate');
  try {
    for (const code of ['invalid_token', 'signed_out']) {
      const answer = await ask('token', another);
      assert.deepEqual([answer.status, answer.code], [401, code]);
    }
  } finally {
    await identity.identityProviders.enable(tenantId, 'corporate');
  }
});

test('a person who accepts an invitation through a provider has a session that ends with its grant', async () => {
  const { tenantId, identityPort, adminSecret } = services;
  const identityUrl = `http://127.0.0.1:${identityPort}`;
  const { identity } = createClient({ coordinationUrl: identityUrl, identityUrl, adminSecret });
  const { token } = await identity.invitations.create(tenantId, { displayName: 'Grace' });
  subject = 'grace';
  try {
    const from = '203.0.113.16';
    const { location, cookies } = await comeBack(await begin(from, 'corporate', { invitation: token }), from);
    assert.equal(location, '/inbox');
    const [session = ''] = (cookies.find((one) => one.startsWith('baton_console=')) ?? '').split(';', 1);
    const { body } = await ask('account', session);
    assert.equal(body['provider'], 'corporate');
  } finally {
    subject = 'ada';
  }
});
