import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { newId } from '@baton/values/ids';
import { startSecretStore, type TestSecretStore } from '../../testing/access/secret-store.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';
import { makeType, tokenSpec } from '../../testing/registry/connections.ts';

let baton: TestCoordination;
let vault: TestSecretStore;
before(async () => {
  vault = await startSecretStore();
  baton = await startCoordination(vault.settings);
});
after(async () => {
  await baton.close();
  await vault.close();
});

const oauth2 = { authorizeUrl: 'https://p.example/authorize', tokenUrlTemplate: 'https://p.example/token' };
const oauthSpec = { displayName: 'Tracker', auth: ['oauth2'], oauth2 };
const publish = (spec: unknown, key = `t${newId()}`, version = 1) =>
  baton.admin.post('/connection-types', { key, version, spec });
const newSecret = () => {
  const secret = `provider-${newId()}`;
  keepSecret('client secret', secret);
  return secret;
};

test('a version is published once: 201, then 200 for the same content, 409 for different content; its event contains the auth method', async () => {
  const key = `t${newId()}`;
  const spec = { ...tokenSpec, settingsSchema: { type: 'object', properties: { rate: { minimum: 0.5 } } } };
  const made = await publish(spec, key);
  assert.equal(made.status, 201);
  const { id, specHash, createdAt: _createdAt, ...rest } = made.body;
  assert.match(specHash, /^sha256:[0-9a-f]{64}$/);
  assert.deepEqual(rest, {
    key,
    version: 1,
    status: 'active',
    spec: { description: null, oauth2: null, accountField: null, defaultKey: null, ...spec },
    createdBy: baton.admin.principalId,
    rowVersion: 1,
    package: null,
  });
  assert.equal(made.headers.get('etag'), '"connection-type-1"');
  const again = await publish(spec, key);
  assert.deepEqual([again.status, again.body], [200, made.body]);
  await refused(publish(tokenSpec, key), 409, 'connection_type_version_exists');
  const events = await eventsOf(baton, id);
  assert.deepEqual(
    events.map(({ type, payload }) => ({ type, payload })),
    [{ type: 'connection_type.published', payload: { key, version: 1, auth: ['token'] } }],
  );
});

test('two concurrent publications of a version create one', async () => {
  const key = `t${newId()}`;
  const answers = await Promise.all(Array.from({ length: 8 }, () => publish(tokenSpec, key)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 200, 200, 200, 200, 200, 201]);
});

for (const [name, spec, field] of [
  ['no display name', { auth: ['token'] }, 'spec.displayName'],
  ['an unknown field', { ...tokenSpec, zebra: 1 }, 'spec.zebra'],
  ['no authentication method', { ...tokenSpec, auth: [] }, 'spec.auth'],
  ['a way twice', { ...tokenSpec, auth: ['token', 'token'] }, 'spec.auth'],
  ['an unknown way', { ...tokenSpec, auth: ['magic'] }, 'spec.auth.0'],
  ['oauth2 without its section', { ...tokenSpec, auth: ['oauth2'] }, 'spec.oauth2'],
  ['the section without oauth2', { ...tokenSpec, oauth2 }, 'spec.oauth2'],
  [
    'an address without https',
    { ...oauthSpec, oauth2: { ...oauth2, authorizeUrl: 'http://p.example/' } },
    'spec.oauth2.authorizeUrl',
  ],
  [
    'an address with a user',
    { ...oauthSpec, oauth2: { ...oauth2, authorizeUrl: 'https://u@p.example/' } },
    'spec.oauth2.authorizeUrl',
  ],
  [
    'a token address with http',
    { ...oauthSpec, oauth2: { ...oauth2, tokenUrlTemplate: 'http://p.example/' } },
    'spec.oauth2.tokenUrlTemplate',
  ],
  [
    'a placeholder of another name',
    { ...oauthSpec, oauth2: { ...oauth2, tokenUrlTemplate: 'https://{host}/' } },
    'spec.oauth2.tokenUrlTemplate',
  ],
  [
    'the placeholder twice',
    { ...oauthSpec, oauth2: { ...oauth2, tokenUrlTemplate: 'https://{account}/{account}' } },
    'spec.oauth2.tokenUrlTemplate',
  ],
  [
    'a placeholder without a value',
    { ...oauthSpec, oauth2: { ...oauth2, tokenUrlTemplate: 'https://{account}/' } },
    'spec.oauth2.accountParam',
  ],
  [
    'a host that any caller may choose',
    { ...oauthSpec, oauth2: { ...oauth2, tokenUrlTemplate: 'https://{account}/', accountParam: 'shop' } },
    'spec.accountField.pattern',
  ],
  [
    'the state parameter as the account',
    { ...oauthSpec, oauth2: { ...oauth2, accountParam: 'state' } },
    'spec.oauth2.accountParam',
  ],
  [
    '51 scopes',
    { ...oauthSpec, oauth2: { ...oauth2, scopes: Array.from({ length: 51 }, (_, n) => `s${n}`) } },
    'spec.oauth2.scopes',
  ],
  ['a scope twice', { ...oauthSpec, oauth2: { ...oauth2, scopes: ['a', 'a'] } }, 'spec.oauth2.scopes'],
  ['an unknown style', { ...oauthSpec, oauth2: { ...oauth2, authStyle: 'none' } }, 'spec.oauth2.authStyle'],
  [
    'an invalid pattern',
    { ...tokenSpec, accountField: { title: 'A', pattern: '(' } },
    'spec.accountField.pattern',
  ],
  [
    'a pattern with a lookahead',
    { ...tokenSpec, accountField: { title: 'A', pattern: '(?=a)' } },
    'spec.accountField.pattern',
  ],
  [
    'a pattern with exponential size',
    { ...tokenSpec, accountField: { title: 'A', pattern: '(a{100}){100}' } },
    'spec.accountField.pattern',
  ],
  [
    'a schema of another type than object',
    { ...tokenSpec, settingsSchema: { type: 'string' } },
    'spec.settingsSchema',
  ],
  [
    'an invalid schema',
    { ...tokenSpec, settingsSchema: { type: 'object', required: 1 } },
    'spec.settingsSchema',
  ],
  [
    'an external reference',
    { ...tokenSpec, settingsSchema: { type: 'object', $ref: 'https://x.example/' } },
    'spec.settingsSchema',
  ],
  ['a default key with capitals', { ...tokenSpec, defaultKey: 'Main' }, 'spec.defaultKey'],
] as const)
  test(`a type with ${name} is refused with field ${field}`, async () => {
    const details = await refused(publish(spec), 422, 'invalid_connection_type');
    assert.equal(details.field, field);
  });

test('a text shaped like a credential is refused with its path; property names may be those of secrets', async () => {
  const secret = `ghp_${'a1B2'.repeat(8)}`;
  const spec = {
    ...tokenSpec,
    settingsSchema: { type: 'object', properties: { apiKeyName: { default: secret } } },
  };
  const details = await refused(publish(spec), 422, 'secret_material_rejected');
  assert.deepEqual(details, {
    field: 'spec',
    errors: [{ path: '/settingsSchema/properties/apiKeyName/default', match: 'github_token' }],
  });
  assert.ok(!JSON.stringify(details).includes(secret));
});

test('a schema of more than 64 KiB is refused, and so are deep ones and rounded integers', async () => {
  const long = { type: 'object', description: 'x'.repeat(66_000) };
  await refused(publish({ ...tokenSpec, settingsSchema: long }), 422, 'payload_too_large');
  let deep: object = { type: 'object' };
  for (let level = 0; level < 20; level += 1) deep = { type: 'object', not: deep };
  await refused(publish({ ...tokenSpec, settingsSchema: deep }), 422, 'payload_too_deep');
  const rounded = { type: 'object', maxProperties: 2 ** 60 };
  await refused(publish({ ...tokenSpec, settingsSchema: rounded }), 422, 'invalid_document');
});

test('a key or a version out of range returns 400', async () => {
  await refused(publish(tokenSpec, 'Upper'), 400, 'invalid_request');
  await refused(publish(tokenSpec, 'x'.repeat(64)), 400, 'invalid_request');
  await refused(publish(tokenSpec, 'ok', 0), 400, 'invalid_request');
  await refused(publish(tokenSpec, 'ok', 1_000_000_000), 400, 'invalid_request');
});

test('the key returns the newest version, key@version that version, and any other text 404', async () => {
  const key = await makeType(baton.admin);
  await done(publish({ ...tokenSpec, displayName: 'Later' }, key, 7), 201);
  const read = async (ref: string) => (await done(baton.admin.get(`/connection-types/${ref}`))).version;
  assert.deepEqual([await read(key), await read(`${key}@1`), await read(`${key}@7`)], [7, 1, 7]);
  for (const ref of [`${key}@2`, `${key}@x`, 'absent', `${key}@`])
    await refused(baton.admin.get(`/connection-types/${ref}`), 404, 'not_found');
  await refused(baton.otherAdmin.get(`/connection-types/${key}`), 404, 'not_found');
});

test('the list is filtered by key and status; an unknown status and cursor are refused', async () => {
  const key = await makeType(baton.admin);
  await done(publish({ ...tokenSpec, displayName: 'Later' }, key, 2), 201);
  const list = async (query: string) =>
    (await done(baton.admin.get(`/connection-types?key=${key}${query}`))).items.map(
      ({ version }: { version: number }) => version,
    );
  await baton.admin.patch(
    `/connection-types/${key}@1`,
    { status: 'deprecated' },
    { 'if-match': 'connection-type-1' },
  );
  assert.deepEqual(await list(''), [2, 1]);
  assert.deepEqual([await list('&status=deprecated'), await list('&status=active')], [[1], [2]]);
  const details = await refused(baton.admin.get('/connection-types?status=gone'), 422, 'invalid_status');
  assert.deepEqual(details.allowed, ['active', 'deprecated', 'disabled']);
  await refused(baton.admin.get('/connection-types?cursor=nonsense'), 422, 'invalid_cursor');
});

test('a status only moves forward, with the version of the row; setting the same one changes nothing', async () => {
  const key = await makeType(baton.admin);
  const patch = (status: unknown, version: number, ref = `${key}@1`) =>
    baton.admin.patch(`/connection-types/${ref}`, { status }, { 'if-match': `"connection-type-${version}"` });
  const { id } = await done(patch('active', 1));
  await refused(patch('deprecated', 2), 409, 'version_conflict');
  const deprecated = await done(patch('deprecated', 1));
  assert.deepEqual([deprecated.status, deprecated.rowVersion], ['deprecated', 2]);
  await refused(patch('active', 2), 409, 'invalid_status_transition');
  await done(patch('disabled', 2));
  await refused(patch('deprecated', 3), 409, 'invalid_status_transition');
  await refused(patch('disabled', 3, key), 400, 'invalid_request');
  await refused(patch('disabled', 3, `${key}@9`), 404, 'not_found');
  await refused(patch(null, 3), 422, 'invalid_field');
  await refused(
    baton.admin.patch(`/connection-types/${key}@1`, {}, { 'if-match': 'connection-type-3' }),
    422,
    'empty_update',
  );
  const changes = (await eventsOf(baton, id)).slice(1).map(({ payload }) => payload);
  assert.deepEqual(changes, [
    { key, version: 1, from: 'active', to: 'deprecated' },
    { key, version: 1, from: 'deprecated', to: 'disabled' },
  ]);
});

test('the application of a type is set, replaced and read without its secret, which only the store has', async () => {
  const key = await makeType(baton.admin, oauthSpec);
  const path = `/connection-types/${key}/oauth-app`;
  const none = { type: key, configured: false, clientId: null, updatedAt: null };
  assert.deepEqual(await done(baton.admin.get(path)), none);
  const put = async (clientId: string, clientSecret: string) => {
    const app = await done(baton.admin.put(path, { clientId, clientSecret }));
    const { updatedAt: _updatedAt, ...rest } = app;
    assert.deepEqual(rest, { type: key, configured: true, clientId });
    assert.deepEqual(await done(baton.admin.get(path)), app);
    return [...vault.values].filter(([at]) => at.includes(`/connection-types/${key}/`));
  };
  const secrets = [newSecret(), newSecret()] as const;
  const [[, first] = []] = await put('one', secrets[0]);
  assert.equal(JSON.parse(first as string).clientSecret, secrets[0]);
  const later = await put('two', secrets[1]);
  assert.ok(later.some(([, value]) => value.includes(secrets[1])));
  const { id } = await done(baton.admin.get(`/connection-types/${key}`));
  const events = (await eventsOf(baton, id)).slice(1).map(({ payload }) => payload);
  assert.deepEqual(events, [
    { type: key, created: true },
    { type: key, created: false },
  ]);
});

test('an application is refused for a missing type, one without OAuth, and while the store is unavailable', async () => {
  const put = (key: string) =>
    baton.admin.put(`/connection-types/${key}/oauth-app`, { clientId: 'x', clientSecret: newSecret() });
  await refused(put('absent'), 404, 'not_found');
  await refused(baton.admin.get('/connection-types/absent/oauth-app'), 404, 'not_found');
  await refused(put(await makeType(baton.admin)), 422, 'auth_not_supported');
  const key = await makeType(baton.admin, oauthSpec);
  vault.behave({ hangsUp: true });
  try {
    await refused(put(key), 503, 'secret_store_unavailable');
  } finally {
    vault.behave({});
  }
  assert.equal((await done(baton.admin.get(`/connection-types/${key}/oauth-app`))).configured, false);
});

test('of two concurrent writes of an application one is refused, and the values of the other remain', async () => {
  const key = await makeType(baton.admin, oauthSpec);
  const path = `/connection-types/${key}/oauth-app`;
  const [arrived, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let waiting = 0;
  vault.beforeAnswer = async () => {
    waiting += 1;
    if (waiting === 2) arrived.resolve();
    await go.promise;
  };
  const puts = ['one', 'two'].map((clientId) =>
    baton.admin.put(path, { clientId, clientSecret: `${newSecret()}-${clientId}` }),
  );
  await arrived.promise;
  go.resolve();
  const answers = await Promise.all(puts);
  delete vault.beforeAnswer;
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
  assert.equal(answers.find(({ status }) => status === 409)?.body.error.code, 'oauth_app_write_conflict');
  const winner = answers.find(({ status }) => status === 200)?.body.clientId;
  assert.equal((await done(baton.admin.get(path))).clientId, winner);
});

test('a key with another secret returns the stored response, without another call to the store', async () => {
  const key = await makeType(baton.admin, oauthSpec);
  const path = `/connection-types/${key}/oauth-app`;
  const headers = { 'idempotency-key': newId() };
  const first = await baton.admin.put(path, { clientId: 'x', clientSecret: newSecret() }, headers);
  const asked = vault.asked.length;
  const again = await baton.admin.put(path, { clientId: 'x', clientSecret: newSecret() }, headers);
  assert.deepEqual([again.status, again.body], [200, first.body]);
  assert.equal(again.headers.get('idempotency-replayed'), 'true');
  assert.equal(vault.asked.length, asked);
  await refused(
    baton.admin.put(path, { clientId: 'y', clientSecret: 'z' }, headers),
    409,
    'idempotency_key_reused',
  );
});
