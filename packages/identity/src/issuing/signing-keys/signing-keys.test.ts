import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startDatabaseProxy } from '@baton/kernel/testing/database/database-proxy';
import { byDepth } from '@baton/testing/depth';
import { makeRsaKey, startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { makeAudience, makeBearer, makeServiceAccount } from '../../testing/objects.ts';
import { storeCounts } from '../../testing/records.ts';

const readJwks = (identity: TestIdentity, headers: Record<string, string> = {}) =>
  identity.request('GET', '/.well-known/jwks.json', { headers });

let keyless: TestIdentity;
let folder: string;
before(async () => {
  keyless = await startIdentity({ IAM_SIGNING_KEY_FILE: '/nowhere/signing-key.pem' });
  folder = await mkdtemp(join(tmpdir(), 'baton-keys-'));
});
after(async () => {
  await keyless.close();
  await rm(folder, { recursive: true });
});

describe('the key document', () => {
  test('holds exactly one RSA key, with its caching rules', async () => {
    const identity = await keyless.another({
      IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
      IAM_SIGNING_KEY_ID: 'first',
    });
    const { status, body, headers } = await readJwks(identity);
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body), ['keys']);
    const [key, ...more] = body.keys;
    assert.deepEqual(more, []);
    const { n, e, ...rest } = key;
    assert.deepEqual(rest, { kty: 'RSA', use: 'sig', alg: 'RS256', kid: 'first' });
    assert.equal(Buffer.from(n, 'base64url').length, 384);
    assert.equal(e, 'AQAB');
    assert.equal(headers.get('cache-control'), 'public, max-age=60');
    const tag = headers.get('etag') as string;
    assert.match(tag, /^"[\w-]+"$/);
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const again = await readJwks(identity, { 'if-none-match': known });
      assert.deepEqual([again.status, again.body, again.headers.get('etag')], [304, '', tag]);
    }
    assert.equal((await readJwks(identity, { 'if-none-match': '"other"' })).status, 200);
  });
});

describe('without a signing key', () => {
  test('the start warns, and the key document answers 500 without a code', async () => {
    assert.ok(keyless.logged.some((line) => line.includes('"warn"') && line.includes('no signing key')));
    const { status, body } = await readJwks(keyless);
    assert.deepEqual([status, body], [500, { detail: 'Internal Server Error' }]);
  });

  test('an exchange answers 500 and nothing is stored', async () => {
    const { tenantId, token } = await makeBearer(keyless);
    await makeAudience(keyless, tenantId, 'other');
    const { clientId, clientSecret } = await makeServiceAccount(keyless, tenantId);
    const before = await storeCounts(keyless);
    const audience = 'control-plane';
    for (const [path, body] of [
      ['platform-access-tokens:exchange', { token, audience }],
      ['platform-access-tokens:exchange', { token: 'unknown', audience }],
      ['tokens/exchange', { clientId, clientSecret, audience }],
    ] as const) {
      const answer = await keyless.request('POST', `/api/v1/${path}`, { body });
      assert.deepEqual([answer.status, answer.body], [500, { detail: 'Internal Server Error' }]);
    }
    assert.deepEqual(await storeCounts(keyless), before);
    const { body: list } = await keyless.get(`/tenants/${tenantId}/platform-access-tokens`);
    assert.equal(list[0].lastUsedAt, null);
  });
});

describe('the key itself', () => {
  test('is refused at the start when it is too small, not RSA, protected or no key', async () => {
    const elliptic = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    });
    const guarded = generateKeyPairSync('rsa', { modulusLength: 3072 }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
      cipher: 'aes-256-cbc',
      passphrase: 'secret',
    });
    for (const [pem, sentence] of [
      [makeRsaKey(2048), /The signing key has 2048 bits; it needs 3072 or more\./],
      [elliptic as string, /not an RSA key/],
      [guarded as string, /without a passphrase/],
      ['not a key', /PEM form/],
    ] as const)
      await assert.rejects(keyless.another({ IAM_SIGNING_PRIVATE_KEY: pem }), sentence);
    await assert.rejects(keyless.another({ IAM_SIGNING_KEY_FILE: folder }), /cannot be read/);
  });

  test('is read from a file, its former name included, and the text wins', async () => {
    const file = join(folder, 'key.pem');
    await writeFile(file, testSigningKey());
    for (const name of ['IAM_SIGNING_KEY_FILE', 'IAM_SIGNING_PRIVATE_KEY_FILE'])
      assert.equal(
        (await readJwks(await keyless.another({ IAM_SIGNING_KEY_FILE: '', [name]: file }))).status,
        200,
      );
    const oneLine = testSigningKey().replaceAll('\n', '\\n');
    const both = { IAM_SIGNING_KEY_FILE: '/nowhere', IAM_SIGNING_PRIVATE_KEY: oneLine };
    assert.equal((await readJwks(await keyless.another(both))).status, 200);
  });

  test('is read again on request; another one under the same kid is a loud warning with the old thumbprint', async () => {
    const file = join(folder, 'rotating.pem');
    await writeFile(file, testSigningKey());
    const identity = await keyless.another({ IAM_SIGNING_KEY_FILE: file, IAM_SIGNING_KEY_ID: 'rotating' });
    const former = await readJwks(identity);
    await identity.service.reload();
    assert.ok(!identity.logged.some((line) => line.includes('ANOTHER KEY')));

    await writeFile(file, 'half a key');
    await identity.service.reload();
    assert.deepEqual((await readJwks(identity)).body, former.body);
    assert.ok(identity.logged.some((line) => line.includes('the previous ones remain in use')));

    await writeFile(file, makeRsaKey(3072));
    await identity.service.reload();
    const next = await readJwks(identity);
    assert.notEqual(next.body.keys[0].n, former.body.keys[0].n);
    assert.notEqual(next.headers.get('etag'), former.headers.get('etag'));
    const warning = identity.logged.find((line) => line.includes('ANOTHER KEY UNDER THE SAME KID')) ?? '{}';
    const { level, kid, thumbprint, formerThumbprint } = JSON.parse(warning);
    assert.deepEqual([level, kid], ['warn', 'rotating']);
    assert.match(formerThumbprint, /^[\w-]{43}$/);
    assert.notEqual(thumbprint, formerThumbprint);
  });
});

test('when a reload fails, also in the database or because the file is missing, the former key stays in use', async (t) => {
  const file = join(folder, 'vanishing.pem');
  await writeFile(file, testSigningKey());
  const store = await startDatabaseProxy(keyless.databaseUrl);
  t.after(() => store.cut());
  const identity = await keyless.another({
    IAM_SIGNING_KEY_FILE: file,
    IAM_SIGNING_KEY_ID: 'vanishing',
    IAM_DATABASE_URL: store.url,
  });
  const former = await readJwks(identity);
  const stays = async () => {
    const before = identity.logged.length;
    await identity.service.reload();
    assert.ok(identity.logged.slice(before).some((line) => line.includes('the previous ones remain in use')));
    assert.deepEqual((await readJwks(identity)).body, former.body);
  };
  await rm(file);
  await stays();
  await writeFile(file, makeRsaKey(3072));
  await store.cut();
  await stays();
});

test('processes that change to a key and back at the same time do not deadlock', async () => {
  const [one, two] = [join(folder, 'one.pem'), join(folder, 'two.pem')];
  await Promise.all([writeFile(one, makeRsaKey(3072)), writeFile(two, makeRsaKey(3072))]);
  const processOf = (signing: string, previous: string) =>
    keyless.another({
      IAM_SIGNING_KEY_ID: 'thumbprint',
      IAM_SIGNING_PREVIOUS_KEY_ID: 'thumbprint',
      IAM_SIGNING_KEY_FILE: signing,
      IAM_SIGNING_PREVIOUS_KEY_FILE: previous,
    });
  const processes = [await processOf(one, two), await processOf(two, one)];
  for (let round = 0; round < byDepth(10, 200); round += 1)
    await Promise.all(processes.map(({ service }) => service.reload()));
  for (const { logged } of processes)
    assert.deepEqual(
      logged.filter((line) => line.includes('the previous ones remain in use')),
      [],
    );
});

test('when too many signatures wait, an exchange answers 503 with Retry-After and the others succeed', async () => {
  const identity = await keyless.another({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_SIGNING_QUEUE_MAX: '1',
  });
  const { token } = await makeBearer(identity);
  const answers = await Promise.all(
    Array.from({ length: 30 }, () =>
      identity.request('POST', '/api/v1/platform-access-tokens:exchange', {
        body: { token, audience: 'control-plane' },
      }),
    ),
  );
  const refused = answers.filter(({ status }) => status !== 200);
  assert.ok(refused.length > 0 && refused.length < 30, `${refused.length} refused`);
  for (const { status, body, headers } of refused) {
    assert.deepEqual([status, body], [503, { detail: 'unavailable' }]);
    assert.equal(headers.get('retry-after'), '1');
  }
});
