import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  calculateJwkThumbprint,
  createLocalJWKSet,
  decodeProtectedHeader,
  type JSONWebKeySet,
  jwtVerify,
} from 'jose';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess } from '@baton/testing/depth';
import { makeCurveKey, startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import {
  made,
  makePrincipal,
  makeServiceAccount,
  makeTenant,
  makeToken,
  readScope,
} from '../../testing/objects.ts';
import { storeCounts } from '../../testing/records.ts';
import { until } from '../../testing/waiting.ts';

/** Tests audiences whose tokens are signed with ES256 or EdDSA (see docs/reference/tokens.md#signing-keys). */

const keys = { ES256: makeCurveKey('ES256'), EdDSA: makeCurveKey('EdDSA') };

let folder: string;
let settings: Record<string, string>;
/** Has its own database, because the key document would otherwise include the audiences of other tests. */
let identity: TestIdentity;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-algorithms-'));
  settings = { IAM_SIGNING_PRIVATE_KEY: testSigningKey() };
  for (const [algorithm, pem] of Object.entries(keys)) {
    const file = join(folder, `${algorithm}.pem`);
    await writeFile(file, pem);
    settings[`IAM_SIGNING_${algorithm.toUpperCase()}_KEY_FILE`] = file;
  }
  identity = await startIdentity(settings);
});
after(async () => {
  await identity.close();
  await rm(folder, { recursive: true });
});

const documentOf = (at: TestIdentity): Promise<JSONWebKeySet> =>
  made(at.request('GET', '/.well-known/jwks.json'));
const algorithmsOf = async (at: TestIdentity) => (await documentOf(at)).keys.map(({ alg }) => alg);
const thumbprintOf = (pem: string) =>
  calculateJwkThumbprint(createPublicKey(createPrivateKey(pem)).export({ format: 'jwk' }));

/** A tenant with an audience, an agent's token for that audience, and a client. */
async function makeClients(at: TestIdentity, signingAlgorithm?: string) {
  const tenantId = await makeTenant(at);
  const wanted = {
    key: 'control-plane',
    allowedScopes: [readScope],
    ...(signingAlgorithm && { signingAlgorithm }),
  };
  await made(at.post(`/tenants/${tenantId}/audiences`, wanted));
  const principalId = await makePrincipal(at, tenantId);
  const { token } = await makeToken(at, tenantId, principalId, { scopeCeiling: [readScope] });
  const { clientId, clientSecret } = await makeServiceAccount(at, tenantId);
  return { tenantId, token, clientId, clientSecret };
}
type Clients = Awaited<ReturnType<typeof makeClients>>;

const exchange = (at: TestIdentity, { token }: Pick<Clients, 'token'>) =>
  at.request('POST', '/api/v1/platform-access-tokens:exchange', {
    body: { token, audience: 'control-plane' },
  });
const issue = async (at: TestIdentity, clients: Pick<Clients, 'token'>): Promise<string> =>
  (await made(exchange(at, clients))).accessToken;
const choose = (at: TestIdentity, tenantId: string, signingAlgorithm: string) =>
  made(
    at.patch(`/tenants/${tenantId}/audiences/control-plane`, {
      allowedScopes: [readScope],
      signingAlgorithm,
    }),
  );

/** A token from each route that issues one for a Baton credential. */
async function issueByEveryRoute(at: TestIdentity, clients: Clients): Promise<Record<string, string>> {
  const { clientId, clientSecret } = clients;
  const audience = 'control-plane';
  const form = {
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    audience,
  };
  const oauth2 = at.request('POST', '/oauth2/token', {
    body: new URLSearchParams(form).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  const byClient = at.request('POST', '/api/v1/tokens/exchange', {
    body: { clientId, clientSecret, audience },
  });
  return {
    'a platform access token': await issue(at, clients),
    'client credentials': (await made(byClient)).accessToken,
    'the standard front': (await made(oauth2)).access_token,
  };
}

test('while no audience uses them, the key document holds the one RSA key, and everything is signed by RS256', async (t) => {
  const alone = await startIdentity(settings);
  t.after(() => alone.close());
  const clients = await makeClients(alone);
  await choose(alone, clients.tenantId, 'RS256');
  assert.deepEqual(await algorithmsOf(alone), ['RS256']);
  for (const [route, token] of Object.entries(await issueByEveryRoute(alone, clients)))
    assert.equal(decodeProtectedHeader(token).alg, 'RS256', route);
  assert.deepEqual((await alone.pool.rows(sql<{ kid: string }>`select kid from signing_keys`)).length, 1);
});

describe('an audience that opts in', () => {
  for (const [algorithm, crv] of [
    ['ES256', 'P-256'],
    ['EdDSA', 'Ed25519'],
  ] as const)
    test(`${algorithm}: every route signs by it, and the document of another process has its key at once`, async (t) => {
      const alone = await startIdentity(settings);
      t.after(() => alone.close());
      const other = await alone.another();
      const plain = await makeClients(alone);
      const clients = await makeClients(alone, algorithm);
      const kid = await thumbprintOf(keys[algorithm]);
      for (const at of [other, alone]) {
        const [rsa, key, ...more] = (await documentOf(at)).keys;
        assert.deepEqual([rsa?.alg, more], ['RS256', []]);
        const { x, y, ...rest } = key ?? {};
        assert.deepEqual(rest, {
          kty: algorithm === 'ES256' ? 'EC' : 'OKP',
          use: 'sig',
          alg: algorithm,
          kid,
          crv,
        });
        assert.equal(Buffer.from(x ?? '', 'base64url').length, 32);
        assert.equal(y === undefined, algorithm === 'EdDSA');
      }
      const keySet = createLocalJWKSet(await documentOf(other));
      for (const [route, token] of Object.entries(await issueByEveryRoute(alone, clients))) {
        assert.deepEqual(decodeProtectedHeader(token), { alg: algorithm, typ: 'at+jwt', kid }, route);
        await jwtVerify(token, keySet, { audience: 'control-plane', issuer: 'http://localhost:8010/iam' });
        for (const action of ['introspect', 'revoke-self', 'exchange']) {
          const body = { token, ...(action === 'exchange' && { audience: 'control-plane' }) };
          const answer = await other.request('POST', `/api/v1/platform-access-tokens:${action}`, { body });
          assert.deepEqual(
            [answer.status, answer.body],
            [401, { detail: 'invalid_token' }],
            `${route} ${action}`,
          );
        }
      }
      assert.equal(decodeProtectedHeader(await issue(other, plain)).alg, 'RS256');
    });

  test('its key is published until its last token has ended, also when no process noted its use', async (t) => {
    const alone = await startIdentity(settings);
    t.after(() => alone.close());
    const other = await alone.another();
    const clients = await makeClients(alone);
    await choose(alone, clients.tenantId, 'ES256');
    const token = await issue(alone, clients);
    await choose(alone, clients.tenantId, 'RS256');
    assert.equal(decodeProtectedHeader(await issue(alone, clients)).alg, 'RS256');
    for (const at of [alone, other, await alone.another()]) {
      assert.deepEqual(await algorithmsOf(at), ['RS256', 'ES256']);
      await jwtVerify(token, createLocalJWKSet(await documentOf(at)));
    }
    const left = sql<{ seconds: number }>`
      select extract(epoch from now() - left_at)::float8 as seconds from signing_algorithm_uses`;
    assert.ok(((await alone.pool.row(left))?.seconds ?? 99) < 30);
    const makeOlder = (seconds: number) =>
      alone.pool.run(
        sql`update signing_algorithm_uses set left_at = now() - make_interval(secs => ${seconds})`,
      );
    await makeOlder(359);
    assert.deepEqual(await algorithmsOf(other), ['RS256', 'ES256']);
    await makeOlder(361);
    // A process that started in the meantime has recorded that it might sign with the key; this undoes the record.
    await alone.pool.run(sql`update signing_keys set needed_until = now() - interval '1 s'`);
    await until(async () => (await algorithmsOf(other)).length === 1, 'the key has left the document');
    assert.deepEqual(await algorithmsOf(await alone.another()), ['RS256']);
  });

  test('a disabled audience counts too: it may be enabled again', async (t) => {
    const alone = await startIdentity(settings);
    t.after(() => alone.close());
    const { tenantId } = await makeClients(alone, 'EdDSA');
    await made(alone.patch(`/tenants/${tenantId}/audiences/control-plane`, { status: 'disabled' }));
    assert.deepEqual(await algorithmsOf(await alone.another()), ['RS256', 'EdDSA']);
  });
});

describe('without the key', () => {
  test('neither a new audience nor a change takes the algorithm', async () => {
    const keyless = await identity.another({ IAM_SIGNING_ES256_KEY_FILE: join(folder, 'absent.pem') });
    const tenantId = await makeTenant(keyless);
    const path = `/tenants/${tenantId}/audiences`;
    await made(keyless.post(path, { key: 'plain' }));
    const before = await storeCounts(keyless);
    const unavailable = [422, { detail: 'signing_algorithm_unavailable' }];
    for (const answer of [
      await keyless.post(path, { key: 'other', signingAlgorithm: 'ES256' }),
      await keyless.post(path, { key: 'plain', signingAlgorithm: 'ES256' }),
      await keyless.patch(`${path}/plain`, { allowedScopes: [], signingAlgorithm: 'ES256' }),
      await keyless.patch(`${path}/plain`, { status: 'disabled', signingAlgorithm: 'ES256' }),
    ])
      assert.deepEqual([answer.status, answer.body], unavailable);
    assert.deepEqual(await storeCounts(keyless), before);
    assert.equal((await keyless.post(path, { key: 'other', signingAlgorithm: 'EdDSA' })).status, 201);
  });

  test('an exchange for such an audience answers 500 and stores nothing; the start warns', async () => {
    const clients = await makeClients(identity, 'ES256');
    const keyless = await identity.another({ IAM_SIGNING_ES256_KEY_FILE: '' });
    assert.ok(keyless.logged.some((line) => line.includes('"warn"') && line.includes('"algorithm":"ES256"')));
    const before = await storeCounts(keyless);
    const { clientId, clientSecret } = clients;
    const body = { clientId, clientSecret, audience: 'control-plane' };
    for (const answer of [
      await exchange(keyless, clients),
      await keyless.request('POST', '/api/v1/tokens/exchange', { body }),
    ])
      assert.deepEqual([answer.status, answer.body], [500, { detail: 'Internal Server Error' }]);
    assert.deepEqual(await storeCounts(keyless), before);
  });

  test('a reload does not lose the key of an algorithm that is used; an unused one may go', async () => {
    await makeClients(identity, 'ES256');
    const file = join(folder, 'vanishing.pem');
    await writeFile(file, keys.ES256);
    const used = await identity.another({ IAM_SIGNING_ES256_KEY_FILE: file });
    await rm(file);
    await used.service.reload();
    assert.ok(used.logged.some((line) => line.includes('The ES256 signing key is missing.')));
    await issue(used, await makeClients(used, 'ES256'));

    const alone = await startIdentity({ ...settings, IAM_SIGNING_EDDSA_KEY_FILE: file });
    try {
      await writeFile(file, keys.EdDSA);
      await alone.service.reload();
      await rm(file);
      await alone.service.reload();
      assert.ok(!alone.logged.some((line) => line.includes('remain in use')));
      const tenantId = await makeTenant(alone);
      const wanted = { key: 'control-plane', signingAlgorithm: 'EdDSA' };
      assert.equal((await alone.post(`/tenants/${tenantId}/audiences`, wanted)).status, 422);
    } finally {
      await alone.close();
    }
  });
});

test('each file holds a key of its own algorithm, or the start is refused', async () => {
  const pemOf = (pair: { privateKey: ReturnType<typeof createPrivateKey> }, passphrase?: string) =>
    pair.privateKey.export({
      type: 'pkcs8',
      format: 'pem',
      ...(passphrase && { cipher: 'aes-256-cbc', passphrase }),
    }) as string;
  const publicHalf = createPublicKey(keys.ES256).export({ type: 'spki', format: 'pem' }) as string;
  const p384 = pemOf(generateKeyPairSync('ec', { namedCurve: 'P-384' }));
  for (const [role, pem, sentence] of [
    ['ES256_KEY', testSigningKey(), /The ES256 signing key is not a key on the curve P-256\./],
    ['ES256_KEY', keys.EdDSA, /The ES256 signing key is not a key on the curve P-256\./],
    ['ES256_KEY', p384, /The ES256 signing key is not a key on the curve P-256\./],
    [
      'ES256_KEY',
      pemOf(generateKeyPairSync('ec', { namedCurve: 'secp256k1' })),
      /not a key on the curve P-256/,
    ],
    [
      'ES256_KEY',
      pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }), 'secret'),
      /without a passphrase/,
    ],
    ['ES256_KEY', publicHalf, /The ES256 signing key is not a private key in PEM form/],
    ['ES256_KEY', 'half a key', /The ES256 signing key is not a private key in PEM form/],
    ['ES256_NEXT_KEY', publicHalf, /The next ES256 signing key is not a private key in PEM form/],
    ['ES256_NEXT_KEY', keys.ES256, /have the same kid: [\w-]{43}\./],
    ['ES256_PREVIOUS_KEY', p384, /The previous ES256 signing key is not a key on the curve P-256\./],
    ['EDDSA_KEY', keys.ES256, /The EdDSA signing key is not an Ed25519 key\./],
    ['EDDSA_KEY', pemOf(generateKeyPairSync('ed448')), /The EdDSA signing key is not an Ed25519 key\./],
    ['EDDSA_KEY', pemOf(generateKeyPairSync('x25519')), /The EdDSA signing key is not an Ed25519 key\./],
    ['EDDSA_KEY', testSigningKey(), /The EdDSA signing key is not an Ed25519 key\./],
  ] as const) {
    const file = join(folder, 'wrong.pem');
    await writeFile(file, pem);
    await assert.rejects(identity.another({ [`IAM_SIGNING_${role}_FILE`]: file }), sentence);
  }
});

test('with an overlap no token is refused while the key changes, at each of two processes', async (t) => {
  const place = await mkdtemp(join(folder, 'rotation-'));
  const files = (at: string) => ({
    IAM_SIGNING_ES256_KEY_FILE: join(place, `${at}-current.pem`),
    IAM_SIGNING_ES256_NEXT_KEY_FILE: join(place, `${at}-next.pem`),
    IAM_SIGNING_ES256_PREVIOUS_KEY_FILE: join(place, `${at}-previous.pem`),
  });
  const [former, later] = [keys.ES256, makeCurveKey('ES256')];
  const [formerKid, laterKid] = [await thumbprintOf(former), await thumbprintOf(later)];
  for (const at of ['one', 'two']) await writeFile(files(at).IAM_SIGNING_ES256_KEY_FILE, former);
  const one = await startIdentity({ ...settings, ...files('one') });
  t.after(() => one.close());
  const two = await one.another(files('two'));
  const clients = await makeClients(one, 'ES256');
  const tokens: string[] = [];
  const kidsOf = async (at: TestIdentity) => (await documentOf(at)).keys.slice(1).map(({ kid }) => kid);
  /** Issues tokens, and verifies that both processes accept all tokens issued so far. */
  const issueAndVerify = async () => {
    tokens.push(await issue(one, clients), await issue(two, clients));
    for (const at of [one, two]) {
      const keySet = createLocalJWKSet(await documentOf(at));
      for (const token of tokens) await jwtVerify(token, keySet);
    }
  };
  await issueAndVerify();
  const steps: [TestIdentity, string][] = [
    [one, 'one'],
    [two, 'two'],
  ];
  for (const [at, name] of steps) {
    await writeFile(files(name).IAM_SIGNING_ES256_NEXT_KEY_FILE, later);
    await at.service.reload();
    assert.deepEqual(await kidsOf(at), [formerKid, laterKid]);
    await issueAndVerify();
  }
  for (const [at, name] of steps) {
    const { IAM_SIGNING_ES256_KEY_FILE: current, IAM_SIGNING_ES256_NEXT_KEY_FILE: next } = files(name);
    await rename(current, files(name).IAM_SIGNING_ES256_PREVIOUS_KEY_FILE);
    await rename(next, current);
    await at.service.reload();
    assert.deepEqual(await kidsOf(at), [laterKid, formerKid]);
    await issueAndVerify();
  }
  assert.deepEqual(
    tokens.slice(-2).map((token) => decodeProtectedHeader(token).kid),
    [laterKid, laterKid],
  );
  await one.pool.run(
    sql`update signing_keys set needed_until = now() - interval '1 s' where kid = ${formerKid}`,
  );
  for (const [at] of steps) {
    await at.service.reload();
    assert.deepEqual(await kidsOf(at), [laterKid]);
  }
});

test('when the store does not answer, the key document has the keys that were known', async (t) => {
  const alone = await startIdentity(settings);
  t.after(() => alone.close());
  await alone.pool.transaction(async (tx) => {
    await tx.run(sql`lock table audiences in access exclusive mode`);
    const started = performance.now();
    assert.deepEqual(await algorithmsOf(alone), ['RS256']);
    assertTookLess(started, 8000);
  });
});

test('the record of an audience shows its algorithm; changes are journalled, equal values change nothing', async () => {
  const tenantId = await makeTenant(identity);
  const path = `/tenants/${tenantId}/audiences`;
  assert.equal((await made(identity.post(path, { key: 'plain' }))).signing_algorithm, 'RS256');
  const created = await made(identity.post(path, { key: 'curve', signingAlgorithm: 'ES256' }));
  assert.equal(created.signing_algorithm, 'ES256');
  const change = (body: object) => identity.patch(`${path}/curve`, body);
  assert.equal((await change({ signingAlgorithm: 'EdDSA' })).status, 422);
  for (const signingAlgorithm of ['RS512', 'es256', 'none', '', null, ['ES256']]) {
    assert.equal((await change({ allowedScopes: [], signingAlgorithm })).status, 422);
    assert.equal((await identity.post(path, { key: 'bad', signingAlgorithm })).status, 422);
  }
  assert.equal((await change({ allowedScopes: [], signing_algorithm: 'EdDSA' })).status, 422);
  const before = await storeCounts(identity);
  assert.deepEqual((await change({ allowedScopes: [], signingAlgorithm: 'ES256' })).body, created);
  assert.deepEqual((await change({ allowedScopes: [] })).body, created);
  assert.deepEqual(await storeCounts(identity), before);
  const changed = { ...created, signing_algorithm: 'EdDSA' };
  assert.deepEqual((await change({ allowedScopes: [], signingAlgorithm: 'EdDSA' })).body, changed);
  assert.deepEqual((await identity.get(`${path}/curve`)).body, changed);
  const { body: page } = await identity.get(`/events?tenantId=${tenantId}&limit=500`);
  const { type, payload } = page.items.at(-1);
  const expected = { audienceId: created.id, key: 'curve', allowedScopes: [], signingAlgorithm: 'EdDSA' };
  assert.deepEqual([type, payload], ['audience.updated', expected]);
});
