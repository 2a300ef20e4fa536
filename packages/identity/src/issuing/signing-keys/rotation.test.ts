import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { makeRsaKey, startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made, makeBearer } from '../../testing/objects.ts';
import { makeProvisioning } from '../../testing/provisioning.ts';
import { scimClient } from '../../testing/scim-client.ts';
import { until } from '../../testing/waiting.ts';

let store: TestIdentity;
let folder: string;
const otherKey = makeRsaKey(3072);
before(async () => {
  store = await startIdentity();
  folder = await mkdtemp(join(tmpdir(), 'baton-rotation-'));
});
after(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

const documentOf = async (identity: TestIdentity): Promise<JSONWebKeySet> =>
  made(identity.request('GET', '/.well-known/jwks.json'));
const kidsOf = async (identity: TestIdentity) => (await documentOf(identity)).keys.map(({ kid }) => kid);

/** The key files of one machine, under the names in its settings. */
async function makeFiles() {
  const place = await mkdtemp(join(folder, 'keys-'));
  const [current, next, previous] = ['current', 'next', 'previous'].map((name) =>
    join(place, `${name}.pem`),
  ) as [string, string, string];
  const settings = {
    IAM_SIGNING_KEY_FILE: current,
    IAM_SIGNING_KEY_ID: 'thumbprint',
    IAM_SIGNING_NEXT_KEY_FILE: next,
    IAM_SIGNING_PREVIOUS_KEY_FILE: previous,
  };
  return { current, next, previous, settings };
}

/** The last step of a rotation: the next key becomes the signing key. */
async function moveKeys(files: Awaited<ReturnType<typeof makeFiles>>): Promise<void> {
  await rename(files.current, files.previous);
  await rename(files.next, files.current);
}

/** Simulates that the last token of every key expires `seconds` from now. */
const endOverlap = (seconds: number, { pool }: TestIdentity = store) =>
  pool.run(sql`update signing_keys set needed_until = now() + make_interval(secs => ${seconds})`);

test('during a rotation no token fails at a consumer that caches the key document for 60 seconds', async () => {
  const keys = [testSigningKey(), otherKey];
  const machines = await Promise.all(
    [0, 1].map(async () => {
      const files = await makeFiles();
      await writeFile(files.current, keys[0] as string);
      return { files, identity: await store.another(files.settings) };
    }),
  );
  const { token } = await makeBearer(store);
  const issue = async (identity: TestIdentity): Promise<string> => {
    const body = { token, audience: 'control-plane' };
    const path = '/api/v1/platform-access-tokens:exchange';
    return (await made(identity.request('POST', path, { body }))).accessToken;
  };
  // Consumers that only poll on schedule, each with its own offset and its own machine to poll.
  const cacheSeconds = 60;
  const consumers = [0, 10, 20, 30, 40, 50].map((phase) => ({
    phase,
    asks: machines[(phase / 10) % 2] as (typeof machines)[number],
    keySet: createLocalJWKSet({ keys: [] }),
  }));
  const at: Record<number, () => Promise<unknown>> = {};
  for (const [index, { files, identity }] of machines.entries()) {
    // The machines are not changed at the same moment, but one every 30 seconds.
    at[70 + 30 * index] = async () => {
      await writeFile(files.next, keys[1] as string);
      await identity.service.reload();
    };
    at[160 + 30 * index] = async () => {
      await moveKeys(files);
      await identity.service.reload();
    };
  }
  // The last machine removes the key 360 seconds after the key's last use.
  at[550] = async () => {
    await endOverlap(0);
    for (const { identity } of machines) await identity.service.reload();
  };
  const issued: { token: string; kid: string | undefined; atSecond: number }[] = [];
  for (let second = 0; second <= 620; second += 10) {
    await at[second]?.();
    for (const consumer of consumers)
      if (second < cacheSeconds || second % cacheSeconds === consumer.phase)
        consumer.keySet = createLocalJWKSet(await documentOf(consumer.asks.identity));
    for (const { identity } of machines) {
      const fresh = await issue(identity);
      issued.push({ token: fresh, kid: decodeProtectedHeader(fresh).kid, atSecond: second });
    }
    // The newest tokens, and the oldest live token of each key: verifying those in between would require the same keys.
    const live = issued.filter(({ atSecond }) => second - atSecond <= 300);
    const oldest = [...Map.groupBy(live, ({ kid }) => kid).values()].map(([first]) => first);
    for (const one of new Set([...live.filter(({ atSecond }) => atSecond === second), ...oldest]))
      for (const { keySet } of consumers) await jwtVerify(one?.token ?? '', keySet);
  }
  assert.equal(new Set(issued.map(({ kid }) => kid)).size, 2);
  for (const { identity } of machines) assert.equal((await kidsOf(identity)).length, 1);
});

describe('the previous key', () => {
  test('leaves the document by itself when its last token has ended, and only then', async () => {
    const files = await makeFiles();
    await writeFile(files.current, testSigningKey());
    await writeFile(files.next, otherKey);
    const identity = await store.another(files.settings);
    const [former, later] = await kidsOf(identity);
    await moveKeys(files);
    await identity.service.reload();
    const during = await identity.request('GET', '/.well-known/jwks.json');
    assert.deepEqual(
      during.body.keys.map(({ kid }: { kid: string }) => kid),
      [later, former],
    );

    const note = await store.pool.row(sql<{ seconds: number }>`
      select extract(epoch from needed_until - now())::float8 as seconds
      from signing_keys where kid = ${former ?? ''}`);
    const seconds = note?.seconds ?? 0;
    assert.ok(seconds > byDepth(300, 355) && seconds < 365, String(seconds));

    await endOverlap(60);
    await identity.service.reload();
    assert.equal((await kidsOf(identity)).length, 2);
    await endOverlap(1);
    await identity.service.reload();
    await until(async () => (await kidsOf(identity)).length === 1, 'the overlap ends');
    const after = await identity.request('GET', '/.well-known/jwks.json');
    assert.deepEqual(
      after.body.keys.map(({ kid }: { kid: string }) => kid),
      [later],
    );
    assert.notEqual(after.headers.get('etag'), during.headers.get('etag'));

    // A process that starts now reads the key's expiry from the database. Another one, which still signs with the key,
    // publishes it again.
    const restarted = await store.another(files.settings);
    assert.deepEqual(await kidsOf(restarted), [later]);
    const { IAM_SIGNING_KEY_ID } = files.settings;
    await store.another({ IAM_SIGNING_KEY_FILE: files.previous, IAM_SIGNING_KEY_ID });
    await restarted.service.reload();
    assert.deepEqual(await kidsOf(restarted), [later, former]);
  });

  test('is published too when it was never noted; its public key is enough', async () => {
    const files = await makeFiles();
    const unseen = createPublicKey(makeRsaKey(3072)).export({ type: 'spki', format: 'pem' });
    await writeFile(files.current, testSigningKey());
    await writeFile(files.previous, unseen);
    const identity = await store.another({ ...files.settings, IAM_SIGNING_PREVIOUS_KEY_ID: 'by-hand' });
    assert.equal((await kidsOf(identity))[1], 'by-hand');
  });

  test('under the name of another key is warned of', async () => {
    const files = await makeFiles();
    await writeFile(files.current, testSigningKey());
    await store.another({ ...files.settings, IAM_SIGNING_KEY_ID: 'taken' });
    await writeFile(files.previous, otherKey);
    const identity = await store.another({ ...files.settings, IAM_SIGNING_PREVIOUS_KEY_ID: 'taken' });
    assert.ok(identity.logged.some((line) => line.includes('ANOTHER KEY UNDER THE SAME KID')));
  });
});

test('a use is noted every 30 seconds, and the time of the previous key is looked up then', async (t) => {
  const files = await makeFiles();
  await writeFile(files.current, testSigningKey());
  await writeFile(files.previous, otherKey);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const identity = await store.another({ ...files.settings, IAM_TOKEN_TTL_SECONDS: '600' });
  const [kid, previous] = await kidsOf(identity);
  // Uses this identity's connections, because a timer that started before the clock was mocked can't be cleared
  // afterwards.
  await endOverlap(-5, identity);
  const neededSeconds = async () =>
    (
      await identity.pool.row(sql<{ seconds: number }>`
        select extract(epoch from needed_until - now())::float8 as seconds
        from signing_keys where kid = ${kid ?? ''}`)
    )?.seconds ?? 0;
  assert.deepEqual(await kidsOf(identity), [kid, previous]);
  t.mock.timers.tick(30_000);
  t.mock.timers.reset();
  await until(async () => (await neededSeconds()) >= 600, 'the use is noted');
  await until(async () => (await kidsOf(identity)).length === 1, 'the previous key has left');
});

describe('SCIM', () => {
  test('takes access tokens of every published key, and of no other', async () => {
    const files = await makeFiles();
    await writeFile(files.current, testSigningKey());
    await writeFile(files.next, otherKey);
    const ahead = await store.another({
      IAM_SIGNING_PRIVATE_KEY: otherKey,
      IAM_SIGNING_KEY_ID: 'thumbprint',
    });
    const identity = await store.another(files.settings);
    const { account } = await makeProvisioning(store, 'rotating');
    const { clientId, clientSecret } = account;
    const accessToken = async (from: TestIdentity): Promise<string> => {
      const body = { clientId, clientSecret, audience: 'iam-scim', scopes: ['scim:write'] };
      return (await made(from.request('POST', '/api/v1/tokens/exchange', { body }))).accessToken;
    };
    const status = async (token: string) => (await scimClient(identity, token).get('/Users')).status;
    const [before, beside] = [await accessToken(identity), await accessToken(ahead)];
    assert.deepEqual([await status(before), await status(beside)], [200, 200]);
    await moveKeys(files);
    await identity.service.reload();
    assert.deepEqual([await status(before), await status(await accessToken(identity))], [200, 200]);
    await endOverlap(0);
    await identity.service.reload();
    assert.deepEqual([await status(before), await status(await accessToken(identity))], [401, 200]);
    const renamed = await store.another({ IAM_SIGNING_PRIVATE_KEY: otherKey, IAM_SIGNING_KEY_ID: 'renamed' });
    assert.equal(await status(await accessToken(renamed)), 401);
  });
});

describe('what the files may hold', () => {
  test('a next key that signs, a previous key, all of full strength and each with a name of its own', async () => {
    const [weak, newKey] = [makeRsaKey(2048), makeRsaKey(3072)];
    const publicHalf = createPublicKey(otherKey).export({ type: 'spki', format: 'pem' }) as string;
    const cases: [next: string, previous: string, RegExp][] = [
      [weak, '', /The next signing key has 2048 bits; it needs 3072 or more\./],
      [publicHalf, '', /The next signing key is not a private key in PEM form/],
      ['half a key', '', /The next signing key is not a private key in PEM form/],
      ['', weak, /The previous signing key has 2048 bits; it needs 3072 or more\./],
      ['', 'half a key', /The previous signing key is not a key in PEM form/],
      [otherKey, otherKey, /Two of the signing, next and previous keys have the same kid: [\w-]{43}\./],
    ];
    for (const [next, previous, sentence] of cases) {
      const files = await makeFiles();
      await writeFile(files.current, testSigningKey());
      const identity = await store.another(files.settings);
      const former = await documentOf(identity);
      assert.equal(former.keys.length, 1);
      if (next !== '') await writeFile(files.next, next);
      if (previous !== '') await writeFile(files.previous, previous);
      await assert.rejects(store.another(files.settings), sentence);
      // A reload ignores invalid files completely, including a new signing key.
      await writeFile(files.current, newKey);
      await identity.service.reload();
      assert.deepEqual(await documentOf(identity), former);
    }
  });

  test('the signing key is not published again as the next key of the same name', async () => {
    const files = await makeFiles();
    await writeFile(files.current, testSigningKey());
    await writeFile(files.next, testSigningKey());
    await assert.rejects(store.another(files.settings), /have the same kid/);
  });

  test('the same key under another name is also an overlap, so a kid can be changed', async () => {
    const files = await makeFiles();
    await writeFile(files.current, testSigningKey());
    await writeFile(files.previous, testSigningKey());
    const identity = await store.another({ ...files.settings, IAM_SIGNING_PREVIOUS_KEY_ID: 'local-dev' });
    const [first, second] = (await documentOf(identity)).keys;
    assert.equal(first?.n, second?.n);
    assert.equal(second?.kid, 'local-dev');
  });
});

test('a key that was announced does not come to sign under another name: the reload is refused', async () => {
  const files = await makeFiles();
  await writeFile(files.current, testSigningKey());
  await writeFile(files.next, otherKey);
  const identity = await store.another({ ...files.settings, IAM_SIGNING_KEY_ID: 'fixed' });
  const former = await documentOf(identity);
  await moveKeys(files);
  await identity.service.reload();
  assert.deepEqual(await documentOf(identity), former);
  assert.ok(identity.logged.some((line) => line.includes('would sign as fixed')));
});

test('a reload reads the named admin secrets too, or changes nothing', async () => {
  const files = await makeFiles();
  const secrets = join(folder, 'secrets');
  await writeFile(files.current, testSigningKey());
  await writeFile(secrets, 'ops:the-former-secret-of-ops\n');
  const identity = await store.another({ ...files.settings, IAM_BOOTSTRAP_TOKENS_FILE: secrets });
  const status = async (secret: string) =>
    (await identity.request('GET', '/api/v1/events', { headers: { 'x-iam-bootstrap-token': secret } }))
      .status;
  const [former, later] = ['the-former-secret-of-ops', 'the-later-secret-of-ops'];
  assert.deepEqual([await status(former), await status(later)], [200, 401]);
  const document = await documentOf(identity);

  await writeFile(files.current, otherKey);
  await writeFile(secrets, `ops:${later}\nops:twice-the-same-name\n`);
  await identity.service.reload();
  assert.deepEqual([await status(former), await status(later)], [200, 401]);
  assert.deepEqual(await documentOf(identity), document);

  await writeFile(secrets, `ops:${later}\n`);
  await writeFile(files.next, 'half a key');
  await identity.service.reload();
  assert.deepEqual([await status(former), await status(later)], [200, 401]);

  await rm(files.next);
  await identity.service.reload();
  assert.deepEqual([await status(former), await status(later)], [401, 200]);
  assert.notDeepEqual(await documentOf(identity), document);
});

test('a next key can have a name of its own, which it keeps when it signs', async () => {
  const files = await makeFiles();
  await writeFile(files.current, testSigningKey());
  await writeFile(files.next, otherKey);
  const named = { ...files.settings, IAM_SIGNING_KEY_ID: 'this-year', IAM_SIGNING_NEXT_KEY_ID: 'next-year' };
  assert.deepEqual(await kidsOf(await store.another(named)), ['this-year', 'next-year']);
  await moveKeys(files);
  const later = { ...named, IAM_SIGNING_KEY_ID: 'next-year', IAM_SIGNING_PREVIOUS_KEY_ID: 'this-year' };
  assert.deepEqual(await kidsOf(await store.another(later)), ['next-year', 'this-year']);
});
