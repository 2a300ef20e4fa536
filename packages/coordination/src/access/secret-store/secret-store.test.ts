import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, afterEach, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { Refusal } from '@baton/kernel/http/refusal';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { assertTookLess } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { readCoordinationSettings } from '../../app/settings.ts';
import { startSecretStore, type TestSecretStore } from '../../testing/access/secret-store.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { openSecretStore } from './open-secret-store.ts';
import { createOutsideStore } from './outside-store.ts';
import { createSealedStore } from './sealed-store.ts';
import { sealingKeys } from './sealing-keys.ts';
import { SecretExists, type SecretName, type SecretStore } from './secret-store.ts';

let baton: TestCoordination;
let vault: TestSecretStore;
before(async () => {
  [baton, vault] = [await startCoordination(), await startSecretStore()];
});
after(async () => {
  await baton.close();
  await vault.close();
});
afterEach(() => vault.behave({}));

const key = () => randomBytes(32);
const settingsOf = (more: Record<string, string> = {}) =>
  readCoordinationSettings({ ...vault.settings, ...more });

function newSecret(folder = `agents/a-${newId()}`, tenantId = baton.tenantId): SecretName {
  return { tenantId, folder, name: 'deploy-key' };
}

function newValue(text = randomBytes(24).toString('base64url')): string {
  keepSecret('agent secret', text);
  return text;
}

const isAway = (error: unknown) => error instanceof Refusal && error.code === 'secret_store_unavailable';

for (const [kind, open] of [
  ['the table of encrypted values', () => createSealedStore(sealingKeys([key()]))],
  ['an external store', () => createOutsideStore(settingsOf())],
] as const)
  describe(`a secret store, ${kind}`, () => {
    let store: SecretStore;
    before(() => {
      store = open();
    });

    async function put(secret: SecretName, value: string, options?: { onlyNew: boolean }): Promise<void> {
      const change = await store.put(secret, value, options);
      assert.ok(!JSON.stringify(change).includes(value), 'a change does not reveal the value');
      await baton.pool.transaction((tx) => store.apply(tx, change));
    }

    const remove = async (secret: SecretName) => store.apply(baton.pool, await store.delete(secret));

    test('a stored value exists and can be read', async () => {
      const [secret, value] = [newSecret(), newValue()];
      assert.equal(await store.get(baton.pool, secret), undefined);
      assert.equal(await store.exists(baton.pool, secret), false);
      await put(secret, value);
      assert.equal(await store.get(baton.pool, secret), value);
      assert.equal(await store.exists(baton.pool, secret), true);
    });

    test('a value that is stored again replaces the old one', async () => {
      const [secret, value] = [newSecret(), newValue()];
      await put(secret, newValue());
      await put(secret, value);
      assert.equal(await store.get(baton.pool, secret), value);
    });

    test('an only-new write is refused if a value exists, and the existing value remains', async () => {
      const [secret, value] = [newSecret(), newValue()];
      await put(secret, value, { onlyNew: true });
      await assert.rejects(put(secret, newValue(), { onlyNew: true }), SecretExists);
      assert.equal(await store.get(baton.pool, secret), value);
      await remove(secret);
      await put(secret, newValue(), { onlyNew: true });
    });

    test('a deleted secret is absent; a repeated deletion changes nothing', async () => {
      const secret = newSecret();
      await put(secret, newValue());
      await remove(secret);
      assert.equal(await store.get(baton.pool, secret), undefined);
      assert.equal(await store.exists(baton.pool, secret), false);
      await remove(secret);
    });

    test('the same folder and name in another tenant is another secret', async () => {
      const secret = newSecret();
      const other = { ...secret, tenantId: baton.otherTenantId };
      await put(secret, newValue());
      assert.equal(await store.get(baton.pool, other), undefined);
      await remove(other);
      assert.equal(await store.exists(baton.pool, secret), true);
    });

    for (const [name, value] of [
      ['one character', 'x'],
      ['65,536 characters of three bytes each', '\u20ac'.repeat(65_536)],
      ['65,536 control characters', '\u0001'.repeat(65_536)],
      ['line breaks and quotation marks', 'line\r\n"quoted" \\ \u{1f511}'],
    ] as const)
      test(`${name} are returned unchanged`, async () => {
        const secret = newSecret();
        await put(secret, value);
        assert.equal(await store.get(baton.pool, secret), value);
      });

    for (const name of ['..', '../other', 'A', 'a/b', 'a%2fb', 'a?b', '', '-a', 'x'.repeat(64)])
      test(`the name "${name.slice(0, 9)}" is refused before any request`, async () => {
        const asked = vault.asked.length;
        for (const wrong of [
          { ...newSecret(), name },
          { ...newSecret(), folder: `agents/${name}/` },
        ]) {
          await assert.rejects(store.put(wrong, 'value'), /name of the secret is invalid/);
          await assert.rejects(store.get(baton.pool, wrong), /name of the secret is invalid/);
          await assert.rejects(store.delete(wrong), /name of the secret is invalid/);
        }
        assert.equal(vault.asked.length, asked);
      });
  });

test("an external store gets an agent's secret at the documented path, and the database has no copy", async () => {
  const store = createOutsideStore(settingsOf());
  const { tenantId } = baton;
  const value = newValue();
  const change = await store.put({ tenantId, folder: 'agents/reviewer', name: 'deploy-key' }, value);
  await store.apply(baton.pool, change);
  assert.equal(vault.values.get(`tenants/${tenantId}/agents/reviewer/deploy-key`), value);
  assert.equal(vault.asked.at(-1), `POST /v1/kv/data/tenants/${tenantId}/agents/reviewer/deploy-key`);
  const rows = await baton.pool.rows(sql<{ name: string }>`
    select name from sealed_secrets where folder = 'agents/reviewer'`);
  assert.deepEqual(rows, []);
});

test('the address contains the configured mount', async () => {
  const store = createOutsideStore(settingsOf({ CP_SECRET_STORE_MOUNT: 'teams/baton' }));
  vault.behave({ answer: { status: 404, body: '{"errors":[]}' } });
  const secret = newSecret();
  assert.equal(await store.get(baton.pool, secret), undefined);
  assert.equal(
    vault.asked.at(-1),
    `GET /v1/teams/baton/data/tenants/${secret.tenantId}/${secret.folder}/deploy-key`,
  );
});

const huge = `{"data":{"data":{"value":"${'x'.repeat(2_000_000)}"}}}`;
for (const [name, behaviour] of [
  ['rejects the token', { answer: { status: 403, body: '{"errors":["permission denied"]}' } }],
  ['is sealed', { answer: { status: 503, body: '{"errors":["Vault is sealed"]}' } }],
  [
    'limits the rate of requests',
    { answer: { status: 429, body: '{"errors":["request rate limit exceeded"]}' } },
  ],
  ['sends elsewhere', { answer: { status: 307, headers: { location: '/elsewhere' } } }],
  ['hangs up', { hangsUp: true }],
  ['never ends its response', { tricklesEveryMs: 50 }],
  ['does not respond', { delayMs: 60_000 }],
  ['sends more than 1 MiB', { answer: { status: 200, body: huge } }],
] as const)
  test(`an external store that ${name} soon counts as unavailable, and its response is never revealed`, async () => {
    const store = createOutsideStore(settingsOf({ CP_SECRET_STORE_TIMEOUT_SECONDS: '1' }));
    vault.behave(behaviour);
    const [asked, startedAt] = [vault.asked.length, performance.now()];
    const failure = (await store.get(baton.pool, newSecret()).catch((error: unknown) => error)) as Refusal;
    assert.ok(isAway(failure), String(failure));
    assert.deepEqual(failure.details, {});
    assert.equal(failure.headers['retry-after'], '1');
    assert.ok(!/denied|sealed|xxx|elsewhere|127\.0\.0\.1/.test(failure.reason ?? ''), failure.reason);
    assertTookLess(startedAt, 6000);
    assert.equal(vault.asked.length, asked + 1, 'one request, and none elsewhere');
  });

for (const [name, body] of [
  ['no JSON', '<html>'],
  ['no data', '{}'],
  ['a value that is not a string', '{"data":{"data":{"value":7}}}'],
  ['data without the field value', '{"data":{"data":{"other":"x"}}}'],
] as const)
  test(`an external store whose response has ${name} counts as unavailable`, async () => {
    vault.behave({ answer: { status: 200, body } });
    await assert.rejects(createOutsideStore(settingsOf()).get(baton.pool, newSecret()), isAway);
  });

test('writes and deletions that an external store rejects are refused', async () => {
  const store = createOutsideStore(settingsOf());
  vault.behave({ answer: { status: 400, body: '{"errors":["no"]}' } });
  await assert.rejects(store.put(newSecret(), newValue()), isAway);
  await assert.rejects(store.put(newSecret(), newValue(), { onlyNew: true }), isAway);
  await assert.rejects(store.delete(newSecret()), isAway);
});

test('while too many requests are in progress, the next one gets Retry-After', async () => {
  const store = createOutsideStore(settingsOf());
  vault.behave({ delayMs: 600 });
  const results = await Promise.allSettled(
    Array.from({ length: 400 }, () => store.exists(baton.pool, newSecret())),
  );
  const refused = results.filter(({ status }) => status === 'rejected');
  assert.ok(refused.length >= 80, `${refused.length} refused`);
  for (const result of refused) {
    const { code, headers } = (result as PromiseRejectedResult).reason as Refusal;
    assert.deepEqual([code, headers['retry-after']], ['unavailable', '1']);
  }
});

test('without a secret store every operation is refused', async () => {
  const store = openSecretStore(readCoordinationSettings({}));
  const secret = newSecret();
  await assert.rejects(store.put(secret, 'value'), isAway);
  await assert.rejects(store.get(baton.pool, secret), isAway);
  await assert.rejects(store.exists(baton.pool, secret), isAway);
  await assert.rejects(store.delete(secret), isAway);
});

test('an external store takes precedence over a key file', async () => {
  const store = openSecretStore(settingsOf({ CP_SECRET_STORE_KEY_FILE: '/nowhere' }));
  assert.equal(await store.exists(baton.pool, newSecret()), false);
});

for (const [name, env] of [
  ['an invalid address', { CP_SECRET_STORE_URL: 'vault', CP_SECRET_STORE_TOKEN: 'x' }],
  ['an address with a user', { CP_SECRET_STORE_URL: 'https://u:p@vault', CP_SECRET_STORE_TOKEN: 'x' }],
  ['no token', { CP_SECRET_STORE_URL: 'https://vault' }],
  ['a token with a blank', { CP_SECRET_STORE_URL: 'https://vault', CP_SECRET_STORE_TOKEN: 'a b' }],
  [
    'a mount with dots',
    { CP_SECRET_STORE_URL: 'https://vault', CP_SECRET_STORE_TOKEN: 'x', CP_SECRET_STORE_MOUNT: '../sys' },
  ],
] as const)
  test(`${name} stops the start`, () => {
    assert.throws(() => readCoordinationSettings(env), /CP_SECRET_STORE_/);
  });
