import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, afterEach, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';
import {
  makeConnection,
  makeOauthConnection,
  makeType,
  newToken,
} from '../../testing/registry/connections.ts';
import { startProvider, type TestProvider } from '../../testing/registry/oauth-provider.ts';

let baton: TestCoordination;
let provider: TestProvider;
let headerProvider: TestProvider;
/** A process with a provider timeout of one second. */
let hasty: { url: string };
before(async () => {
  [provider, headerProvider] = [await startProvider(), await startProvider('in_header')];
  const CP_OUTBOUND_ALLOWED_HOSTS = JSON.stringify([provider.host, headerProvider.host]);
  baton = await startCoordination({
    ...provider.settings,
    CP_OUTBOUND_ALLOWED_HOSTS,
    CP_OAUTH_TIMEOUT_SECONDS: '60',
  });
  hasty = await baton.another({ CP_OAUTH_TIMEOUT_SECONDS: '1' });
});
after(async () => {
  await baton.close();
  await provider.close();
  await headerProvider.close();
});
afterEach(() => {
  provider.behave({});
  delete provider.beforeAnswer;
});

const authorize = (key: string, actor: Actor = baton.admin) =>
  actor.post(`/connections/${key}:authorize`, {});
const comeBack = (query: string, url = baton.url) =>
  fetch(`${url}/api/v1/connections:callback${query}`, { redirect: 'manual' });

async function begin(key: string, actor?: Actor) {
  return provider.agree((await done(authorize(key, actor))).authorizeUrl);
}

async function statusOf(key: string): Promise<string> {
  return (await done(baton.admin.get(`/connections/${key}`))).status;
}

async function failedWith(id: string): Promise<unknown> {
  const events = await eventsOf(baton, id);
  return events.filter(({ type }) => type === 'connection.authorization_failed').at(-1)?.payload['reason'];
}

test('a person consents at the provider and returns, and the connection is active: only the store has the tokens', async () => {
  const { id, key, type } = await makeOauthConnection(baton.admin, provider);
  const begun = await authorize(key);
  assert.equal(begun.headers.get('cache-control'), 'no-store');
  const lifeMs = Date.parse(begun.body.expiresAt) - Date.now();
  assert.ok(lifeMs > 500_000 && lifeMs <= 600_000, `${lifeMs} ms`);
  const { searchParams } = new URL(begun.body.authorizeUrl);
  assert.deepEqual([searchParams.get('scope'), searchParams.get('theirs')], ['read write:issues', '1']);
  const { query, state } = provider.agree(begun.body.authorizeUrl);
  const rows = await baton.pool.rows(sql<{ state_hash: string }>`
    select state_hash from connection_authorizations where connection_id = ${id}`);
  assert.deepEqual(rows, [{ state_hash: createHash('sha256').update(state).digest('hex') }]);

  const answer = await comeBack(query);
  assert.equal(answer.status, 200);
  assert.equal(await answer.text(), `The connection ${key} is active. You can close this page.\n`);
  const heads = [
    'content-type',
    'cache-control',
    'content-security-policy',
    'referrer-policy',
    'x-content-type-options',
  ];
  assert.deepEqual(
    heads.map((name) => answer.headers.get(name)),
    [
      'text/plain; charset=utf-8',
      'no-store',
      "default-src 'none'; frame-ancestors 'none'",
      'no-referrer',
      'nosniff',
    ],
  );
  const connection = await done(baton.admin.get(`/connections/${key}`));
  assert.deepEqual(
    [connection.status, connection.auth, connection.account, connection.connectedBy, connection.expiresAt],
    ['active', 'oauth2', null, baton.admin.principalId, null],
  );
  assert.match(connection.secretRef, new RegExp(`^tenants/${baton.tenantId}/connections/${id}/credential-`));
  const [authorized] = (await eventsOf(baton, id)).slice(1);
  assert.deepEqual(authorized?.payload, {
    key,
    type,
    auth: 'oauth2',
    previousStatus: 'pending',
    connectedBy: baton.admin.principalId,
  });
  assert.equal(authorized?.actor_id, baton.admin.principalId);
});

test('a client that sends its secret in a header encodes it as in a form', async () => {
  const { key } = await makeOauthConnection(baton.admin, headerProvider);
  const { query } = headerProvider.agree((await done(authorize(key))).authorizeUrl);
  assert.equal((await comeBack(query)).status, 200);
});

for (const [more, seconds] of [
  [{ expires_in: 3600 }, 3600],
  [{ expires_in: '60' }, 60],
  [{ expires_in: 3600, refresh_token: 'refresh-token-of-the-provider' }, null],
  [{ expires_in: -5 }, null],
] as const)
  test(`a response with ${JSON.stringify(more)} expires after ${seconds} seconds`, async () => {
    const { key } = await makeOauthConnection(baton.admin, provider);
    provider.behave({ more });
    await comeBack((await begin(key)).query);
    const { expiresAt } = await done(baton.admin.get(`/connections/${key}`));
    if (seconds === null) assert.equal(expiresAt, null);
    else assert.ok(Math.abs(Date.parse(expiresAt) - Date.now() - seconds * 1000) < 20_000, expiresAt);
  });

test('a state works once; used, older, foreign and malformed ones return invalid_state, and write nothing', async () => {
  const { id, key } = await makeOauthConnection(baton.admin, provider);
  const [older, newer] = [await begin(key), await begin(key)];
  const asked = provider.asked.length;
  for (const query of [older.query, '', '?state=', '?state=short', `?state=${'A'.repeat(43)}&code=x`]) {
    const answer = await comeBack(query);
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), /invalid_state/);
  }
  assert.equal(provider.asked.length, asked);
  assert.equal((await comeBack(newer.query)).status, 200);
  assert.equal((await comeBack(newer.query)).status, 400);
  assert.equal((await eventsOf(baton, id)).length, 2);
});

test('an expired state is consumed and void', async () => {
  const { key } = await makeOauthConnection(baton.admin, provider);
  const { query } = await begin(key);
  await baton.pool.run(sql`update connection_authorizations set expires_at = now() - interval '1 s'`);
  assert.equal((await comeBack(query)).status, 400);
  assert.equal(await statusOf(key), 'pending');
});

test('the configured page receives the result, but never the code', async () => {
  const page = 'https://console.example/connected?from=baton';
  const other = await baton.another({ CP_CONNECTIONS_RETURN_URL: page });
  const { key } = await makeOauthConnection(baton.admin, provider);
  const locationOf = async (query: string) => {
    const answer = await comeBack(query, other.url);
    assert.deepEqual([answer.status, await answer.text()], [303, '']);
    assert.equal(answer.headers.get('referrer-policy'), 'no-referrer');
    return answer.headers.get('location');
  };
  assert.equal(await locationOf((await begin(key)).query), `${page}&result=active&connection=${key}`);
  const { state } = await begin(key);
  const denied = `?state=${state}&error=access_denied`;
  assert.equal(await locationOf(denied), `${page}&result=failed&connection=${key}&reason=consent_denied`);
  assert.equal(await locationOf(denied), `${page}&result=invalid_state`);
});

describe('a provider response without a token is oauth_exchange_failed, within the timeout, and the connection does not change:', () => {
  const token = newToken();
  for (const [name, behaviour] of [
    ['an error', { status: 400 }],
    ['an error with 200', { status: 200, body: '{"error":"bad_verification_code"}' }],
    ['no JSON', { body: 'access_token=x&token_type=bearer' }],
    ['a token that is not a string', { body: '{"access_token":7}' }],
    ['a token with a line end', { body: JSON.stringify({ access_token: `${token}\r\nx: y` }) }],
    ['a token of 9 KB', { body: JSON.stringify({ access_token: token.repeat(300) }) }],
    ['a response of 2 MB', { body: `{"access_token":"${token}","x":"${'x'.repeat(2_000_000)}"}` }],
    ['a redirect', { status: 307, headers: { location: '/elsewhere' } }],
    ['a packed answer', { body: 'x', headers: { 'content-encoding': 'gzip' } }],
    ['no answer', { delayMs: 60_000 }],
    ['a response that never ends', { tricklesEveryMs: 50 }],
    ['a lost connection', { hangsUp: true }],
  ] as const)
    test(name, async () => {
      const { id, key } = await makeOauthConnection(baton.admin, provider);
      const { query } = await begin(key);
      const [asked, startedAt] = [provider.asked.length, performance.now()];
      provider.behave(behaviour);
      const isEndless = 'delayMs' in behaviour || 'tricklesEveryMs' in behaviour;
      const answer = await comeBack(query, isEndless ? hasty.url : baton.url);
      assert.equal(answer.status, 400);
      assert.equal(
        await answer.text(),
        `The connection ${key} could not be connected: oauth_exchange_failed.\n`,
      );
      assertTookLess(startedAt, 6000);
      assert.deepEqual(provider.asked.slice(asked), ['/token']);
      assert.deepEqual([await statusOf(key), await failedWith(id)], ['pending', 'oauth_exchange_failed']);
    });
});

test('a token address that is not public is not called, regardless of its type', async () => {
  const tokenUrlTemplate = provider.url.replace('http:', 'https:').replace('127.0.0.1', 'localhost');
  const oauth2 = { ...(provider.spec()['oauth2'] as object), tokenUrlTemplate };
  const { id, key } = await makeOauthConnection(baton.admin, provider, { oauth2 });
  const { query } = await begin(key);
  assert.equal((await comeBack(query)).status, 400);
  assert.equal(await failedWith(id), 'oauth_exchange_failed');
});

for (const [more, reason] of [
  ['error=access_denied', 'consent_denied'],
  ['error=server_error&error_description=secret', 'provider_error'],
  ['', 'provider_error'],
  ['code=', 'provider_error'],
] as const)
  test(`a provider that returns "${more}" fails the authorization: ${reason}`, async () => {
    const { id, key, type } = await makeOauthConnection(baton.admin, provider);
    const { state } = await begin(key);
    assert.equal((await comeBack(`?state=${state}&${more}`)).status, 400);
    const failed = (await eventsOf(baton, id)).at(-1);
    assert.equal(failed?.type, 'connection.authorization_failed');
    assert.deepEqual(failed?.payload, { key, type, reason, initiatedBy: baton.admin.principalId });
  });

describe('an account from the provider', () => {
  const accountField = { title: 'Shop', pattern: '127\\.0\\.0\\.[0-9]+' };
  const oauth2 = () => ({
    ...(provider.spec()['oauth2'] as object),
    tokenUrlTemplate: `${provider.url}/shops/{account}/token`,
    accountParam: 'shop.domain',
  });

  test('is in the token address and in the record', async () => {
    const { key } = await makeOauthConnection(baton.admin, provider, { accountField, oauth2: oauth2() });
    const { query } = await begin(key);
    assert.equal((await comeBack(`${query}&shop.domain=127.0.0.1`)).status, 200);
    assert.equal(provider.asked.at(-1), '/shops/127.0.0.1/token');
    assert.equal((await done(baton.admin.get(`/connections/${key}`))).account, '127.0.0.1');
  });

  for (const account of [
    '',
    '&shop.domain=',
    '&shop.domain=evil.example',
    '&shop.domain=127.0.0.1%2Fx%3F',
    '&shop.domain=127.0.0.1%00',
    '&shop.domain=127.0.0.1%0A',
    '&shop.domain=127.0.0.1@evil.example',
    '&shop.domain=127.0.0.1&shop.domain=127.0.0.2',
    `&shop.domain=127.0.0.${'1'.repeat(300)}`,
  ])
    test(`is refused as "${account.slice(0, 50)}", and no provider is called`, async () => {
      const { id, key } = await makeOauthConnection(baton.admin, provider, {
        accountField,
        oauth2: oauth2(),
      });
      const { query } = await begin(key);
      const asked = provider.asked.length;
      assert.equal((await comeBack(`${query}${account}`)).status, 400);
      assert.equal(provider.asked.length, asked);
      assert.equal(await failedWith(id), 'invalid_account');
    });
});

describe("an application's secret is sent only to the scheme, host and port for which it was entered:", () => {
  const publish = (actor: Actor, key: string, version: number, spec: object) =>
    done(actor.post('/connection-types', { key, version, spec }), 201);
  const putApp = (type: string, more: object = {}) => {
    const { clientId, clientSecret } = provider;
    return baton.admin.put(`/connection-types/${type}/oauth-app`, { clientId, clientSecret, ...more });
  };
  /** The same type with an attacker's token addresses; the person is still sent to the real provider. */
  const moved = (tokenUrlTemplate: string, more: object = {}) =>
    provider.spec({ oauth2: { ...(provider.spec()['oauth2'] as object), tokenUrlTemplate }, ...more });

  test('an agent publishes a version with its own address; it gets no secret until a person enters one for it', async () => {
    const { type } = await makeOauthConnection(baton.admin, provider);
    const agent = await baton.actor({
      kind: 'agent',
      permissions: ['connections.manage', 'connections.read'],
    });
    // An attacker's address, which this process may reach.
    const theirs = headerProvider;
    const asked = theirs.asked.length;
    await publish(agent, type, 2, moved(`${theirs.url}/token`));
    const { key } = await makeConnection(agent, type);
    const details = await refused(authorize(key, agent), 409, 'secret_address_changed');
    assert.deepEqual(details, { type, version: 2, enteredFor: provider.url, address: theirs.url });
    const before = await makeConnection(agent, type);
    assert.equal(before.typeVersion, 2);
    await done(agent.patch(`/connections/${before.key}`, { typeVersion: 1 }, { 'if-match': 'connection-1' }));
    const { query } = await begin(before.key, agent);
    await done(agent.patch(`/connections/${before.key}`, { typeVersion: 2 }, { 'if-match': 'connection-2' }));
    assert.equal((await comeBack(query)).status, 400);
    assert.equal(await failedWith(before.id), 'oauth_app_not_configured');
    assert.equal(theirs.asked.length, asked, 'the secret was sent to the agent');

    await done(putApp(type));
    await done(authorize(key, agent));
    await done(agent.patch(`/connections/${before.key}`, { typeVersion: 1 }, { 'if-match': 'connection-3' }));
    await refused(authorize(before.key), 409, 'secret_address_changed');
  });

  test('a person specifies the version that they saw, so that one published meanwhile does not get the secret', async () => {
    const type = await makeType(baton.admin, provider.spec());
    await publish(baton.admin, type, 2, moved('https://evil.example/token'));
    await refused(putApp(type, { typeVersion: 3 }), 404, 'not_found');
    await done(putApp(type, { typeVersion: 1 }));
    const { key } = await makeConnection(baton.admin, type);
    await refused(authorize(key), 409, 'secret_address_changed');
    await done(baton.admin.patch(`/connections/${key}`, { typeVersion: 1 }, { 'if-match': 'connection-1' }));
    assert.equal((await comeBack((await begin(key)).query)).status, 200);
  });

  const account = (host: string, pattern: string) => {
    const oauth2 = {
      authorizeUrl: 'https://p.example/authorize',
      tokenUrlTemplate: `${host}/token`,
      accountParam: 'shop',
    };
    return provider.spec({ oauth2, accountField: { title: 'Shop', pattern } });
  };
  const shops = '[a-z]+\\.shops\\.example';
  const cases: readonly [name: string, first: () => object, second: () => object, isSame: boolean][] = [
    ['another path', () => provider.spec(), () => moved(`${provider.url}/other/token`), true],
    [
      'another scheme',
      () => provider.spec(),
      () => moved(`${provider.url.replace('http:', 'https:')}/`),
      false,
    ],
    ['another port', () => provider.spec(), () => moved(`http://${headerProvider.host}/token`), false],
    [
      'the default port of https',
      () => moved('https://P.example/a'),
      () => moved('https://p.example:443/b'),
      true,
    ],
    [
      'the same accounts in the host',
      () => account('https://{account}', shops),
      () => account('https://{account}', shops),
      true,
    ],
    [
      'more accounts in the host',
      () => account('https://{account}', shops),
      () => account('https://{account}', '.+'),
      false,
    ],
    [
      'more accounts in the path',
      () => account('https://p.example/{account}', 'a'),
      () => account('https://p.example/{account}', '.+'),
      true,
    ],
    [
      'the account as the host',
      () => account('https://p.example/{account}', shops),
      () => account('https://{account}', shops),
      false,
    ],
  ];
  for (const [name, first, second, isSame] of cases)
    test(`${name} ${isSame ? 'uses the same secret' : 'requires the secret again'}`, async () => {
      const type = await makeType(baton.admin, first());
      await done(putApp(type));
      await publish(baton.admin, type, 2, second());
      const { key } = await makeConnection(baton.admin, type);
      if (isSame) return void (await done(authorize(key)));
      await refused(authorize(key), 409, 'secret_address_changed');
      await done(putApp(type));
      await done(authorize(key));
    });

  test('a secret without a recorded address is never sent', async () => {
    const { key, type } = await makeOauthConnection(baton.admin, provider);
    await baton.pool.run(sql`update connection_oauth_apps set type_version = null where type_key = ${type}`);
    await refused(authorize(key), 409, 'secret_address_changed');
  });
});

test('a person who has lost the permission to connect since the start cannot complete it', async () => {
  const { id, key } = await makeOauthConnection(baton.admin, provider);
  const person = await baton.actor({ kind: 'human', permissions: ['connections.manage'] });
  for (const change of [
    sql`update iam_bindings set permissions = '{tasks.read}' where principal_id = ${person.principalId}`,
    sql`update principals set status = 'disabled' where id = ${person.principalId}`,
  ]) {
    await baton.pool.run(sql`
      update iam_bindings set permissions = '{connections.manage}' where principal_id = ${person.principalId}`);
    const { query } = await begin(key, person);
    const asked = provider.asked.length;
    await baton.pool.run(change);
    assert.equal((await comeBack(query)).status, 400);
    assert.equal(await failedWith(id), 'initiator_not_authorized');
    assert.equal(provider.asked.length, asked);
  }
});

test('a person who loses the permission while the provider responds cannot complete it either', async () => {
  const { id, key } = await makeOauthConnection(baton.admin, provider);
  const person = await baton.actor({ kind: 'human', permissions: ['connections.manage'] });
  const { query } = await begin(key, person);
  provider.beforeAnswer = () =>
    baton.pool
      .run(sql`update principals set status = 'disabled' where id = ${person.principalId}`)
      .then(() => undefined);
  assert.equal((await comeBack(query)).status, 400);
  assert.equal(await failedWith(id), 'initiator_not_authorized');
  const secrets = await baton.pool.rows(sql<{ name: string }>`
    select name from sealed_secrets where folder = ${`connections/${id}`}`);
  assert.deepEqual(secrets, []);
});

test('an application that was replaced or a type that was disabled meanwhile makes the callback fail', async () => {
  const { id, key, type } = await makeOauthConnection(baton.admin, provider);
  const first = await begin(key);
  await done(
    baton.admin.put(`/connection-types/${type}/oauth-app`, { clientId: 'other', clientSecret: newToken() }),
  );
  await comeBack(first.query);
  assert.equal(await failedWith(id), 'oauth_app_not_configured');
  const { searchParams } = new URL((await done(authorize(key))).authorizeUrl);
  const headers = { 'if-match': 'connection-type-1' };
  await done(baton.admin.patch(`/connection-types/${type}@1`, { status: 'disabled' }, headers));
  await comeBack(`?state=${searchParams.get('state')}&code=x`);
  assert.equal(await failedWith(id), 'auth_not_supported');
});

test('without the key of the secrets the callback returns secret_store_unavailable', async () => {
  const { id, key } = await makeOauthConnection(baton.admin, provider);
  const { query } = await begin(key);
  const other = await baton.another({ CP_SECRET_STORE_KEY_FILE: '' });
  assert.equal((await comeBack(query, other.url)).status, 400);
  assert.equal(await failedWith(id), 'secret_store_unavailable');
});

test(':authorize refuses in the documented order', async () => {
  const type = await makeType(baton.admin, provider.spec());
  const { key } = await makeConnection(baton.admin, type);
  await refused(authorize('absent'), 404, 'not_found');
  await refused(authorize(key), 409, 'oauth_app_not_configured');
  const at = async (env: Record<string, string>) => {
    const { url } = await baton.another(env);
    const { status, body } = await fetch(`${url}/api/v1/connections/${key}:authorize`, {
      method: 'POST',
      headers: { authorization: `Bearer ${baton.admin.token}`, 'content-type': 'application/json' },
      body: '{}',
    }).then(async (answer) => ({
      status: answer.status,
      body: (await answer.json()) as { error: { code: string; details: object } },
    }));
    return [status, body.error.code, body.error.details];
  };
  const names = ['CP_OAUTH_REDIRECT_URI'];
  assert.deepEqual(await at({ CP_OAUTH_REDIRECT_URI: '' }), [
    409,
    'oauth_not_configured',
    { missing: names },
  ]);
  assert.deepEqual(await at({ CP_OAUTH_REDIRECT_URI: 'http://baton.example/callback' }), [
    409,
    'oauth_not_configured',
    { insecure: names },
  ]);
  await done(
    baton.admin.put(`/connection-types/${type}/oauth-app`, { clientId: 'x', clientSecret: newToken() }),
  );
  assert.deepEqual(await at({ CP_SECRET_STORE_KEY_FILE: '' }), [503, 'secret_store_unavailable', {}]);
  const byToken = await makeConnection(baton.admin);
  await refused(authorize(byToken.key), 422, 'auth_not_supported');
  const headers = { 'if-match': 'connection-type-1' };
  await done(baton.admin.patch(`/connection-types/${type}@1`, { status: 'disabled' }, headers));
  await refused(authorize(key), 422, 'unknown_connection_type');
});

test('a repeated :authorize returns no address', async () => {
  const { key } = await makeOauthConnection(baton.admin, provider);
  const headers = { 'idempotency-key': newId() };
  const post = () => baton.admin.post(`/connections/${key}:authorize`, {}, headers);
  const first = await done(post());
  assert.deepEqual(await done(post()), { authorizeUrl: null, expiresAt: first.expiresAt });
});
