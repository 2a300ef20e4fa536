import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { Refusal } from '@baton/kernel/http/refusal';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { newId } from '@baton/values/ids';
import { type Operator, startOperator } from '../../testing/access/operator.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { resealSecrets } from './reseal-secrets.ts';
import { createSealedStore } from './sealed-store.ts';
import { readSealingKeys, sealingKeys } from './sealing-keys.ts';
import type { SecretName } from './secret-store.ts';
import { secretsCommand } from './secrets.command.ts';

let baton: TestCoordination;
let folder: string;
before(async () => {
  baton = await startCoordination();
  folder = await mkdtemp(join(tmpdir(), 'baton-keys-'));
});
after(async () => {
  await baton.close();
  await rm(folder, { recursive: true });
});
const operators: Operator[] = [];
afterEach(async () => {
  for (const operator of operators.splice(0)) await operator.close();
  await baton.pool.run(sql`delete from sealed_secrets`);
});

const newKey = () => randomBytes(32);
const isAway = (error: unknown) => error instanceof Refusal && error.code === 'secret_store_unavailable';

function newSecret(): SecretName {
  return { tenantId: baton.tenantId, folder: `agents/a-${newId()}`, name: 'deploy-key' };
}

function newValue(): string {
  const value = randomBytes(24).toString('base64url');
  keepSecret('agent secret', value);
  return value;
}

async function put(keys: readonly Buffer[], secret: SecretName, value: string): Promise<void> {
  const store = createSealedStore(sealingKeys(keys));
  await store.apply(baton.pool, await store.put(secret, value));
}

const get = (keys: readonly Buffer[], secret: SecretName) =>
  createSealedStore(sealingKeys(keys)).get(baton.pool, secret);

async function keyFile(keys: readonly Buffer[]): Promise<string> {
  const file = join(folder, newId());
  await writeFile(file, keys.map((key) => `${key.toString('base64')}\n`).join(''), { mode: 0o600 });
  return file;
}

async function reseal(keys: readonly Buffer[], args = ['reseal']): Promise<string> {
  const operator = startOperator(baton, { CP_SECRET_STORE_KEY_FILE: await keyFile(keys) });
  operators.push(operator);
  return secretsCommand(operator.tools, args);
}

const keyIds = async () =>
  (await baton.pool.rows(sql<{ key_id: string }>`select distinct key_id from sealed_secrets order by 1`)).map(
    (row) => row.key_id,
  );

test('the first key of a file encrypts, and older keys decrypt their own values', async () => {
  const [old, young, other] = [newKey(), newKey(), newKey()];
  const [secret, value] = [newSecret(), newValue()];
  await put([old], secret, value);
  assert.equal(await get([young, old], secret), value);
  await assert.rejects(get([young], secret), isAway);
  const later = newSecret();
  await put([young, old], later, value);
  assert.equal(await get([other, young], later), value);
});

test('two encryptions of one value differ in both nonce and ciphertext', async () => {
  const [keys, value] = [[newKey()], newValue()];
  await put(keys, newSecret(), value);
  await put(keys, newSecret(), value);
  const [first, second] = await baton.pool.rows(sql<{ sealed: Buffer }>`select sealed from sealed_secrets`);
  assert.notDeepEqual(first?.sealed.subarray(0, 12), second?.sealed.subarray(0, 12));
  assert.notDeepEqual(first?.sealed.subarray(12), second?.sealed.subarray(12));
});

for (const [name, moved] of [
  ['tenant', (secret: SecretName) => ({ ...secret, tenantId: baton.otherTenantId })],
  ['folder', (secret: SecretName) => ({ ...secret, folder: 'agents/another' })],
  ['name', (secret: SecretName) => ({ ...secret, name: 'another' })],
] as const)
  test(`a row that is moved to another ${name} can no longer be decrypted`, async () => {
    const [keys, secret] = [[newKey()], newSecret()];
    await put(keys, secret, newValue());
    const there = moved(secret);
    await baton.pool.run(sql`
      update sealed_secrets set tenant_id = ${there.tenantId}, folder = ${there.folder}, name = ${there.name}`);
    await assert.rejects(get(keys, there), isAway);
  });

test('a row with one changed bit anywhere, or a truncated row, can no longer be decrypted', async () => {
  const [keys, secret, value] = [[newKey()], newSecret(), newValue()];
  await put(keys, secret, value);
  const row = await baton.pool.row(sql<{ sealed: Buffer }>`select sealed from sealed_secrets`);
  const sealed = row?.sealed as Buffer;
  const write = (bytes: Buffer) => baton.pool.run(sql`update sealed_secrets set sealed = ${bytes}`);
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    await write(changed);
    await assert.rejects(get(keys, secret), isAway);
  }
  for (const length of [0, 11, 27, sealed.length - 1]) {
    await write(sealed.subarray(0, length));
    await assert.rejects(get(keys, secret), isAway);
  }
  await write(sealed);
  assert.equal(await get(keys, secret), value);
});

test('secrets reseal re-encrypts hundreds of secrets with the first key, and a repeat does nothing', async () => {
  const [old, young] = [newKey(), newKey()];
  const secrets = Array.from({ length: 205 }, newSecret);
  const value = newValue();
  for (const secret of secrets) await put([old], secret, value);
  await put([young], newSecret(), value);
  assert.equal(await reseal([young, old]), '205 secrets re-encrypted.\n');
  assert.deepEqual(await keyIds(), [sealingKeys([young]).currentId]);
  for (const secret of secrets) assert.equal(await get([young], secret), value);
  assert.equal(await reseal([young, old]), '0 secrets re-encrypted.\n');
});

test('secrets reseal reports secrets that no key decrypts, and leaves them unchanged', async () => {
  const [lost, old, young] = [newKey(), newKey(), newKey()];
  await put([lost], newSecret(), newValue());
  await put([old], newSecret(), newValue());
  await assert.rejects(reseal([young, old]), (error: Error) => {
    assert.match(error.message, /^not_all_resealed: 1 re-encrypted; 1 cannot be decrypted/);
    return true;
  });
  const left = [sealingKeys([lost]).currentId, sealingKeys([young]).currentId].sort();
  assert.deepEqual(await keyIds(), left);
});

test('values that are written during re-encryption are not lost', async () => {
  const [old, young] = [newKey(), newKey()];
  const secrets = Array.from({ length: 60 }, newSecret);
  for (const secret of secrets) await put([old], secret, newValue());
  const values = new Map(secrets.map((secret) => [secret, newValue()]));
  const keys = sealingKeys([young, old]);
  await Promise.all([
    resealSecrets(baton.pool, keys),
    resealSecrets(baton.pool, keys),
    ...[...values].map(([secret, value]) => put([old], secret, value)),
  ]);
  for (const [secret, value] of values) assert.equal(await get([young, old], secret), value);
});

test('secrets accepts only reseal and requires a key file', async () => {
  for (const args of [[], ['seal'], ['reseal', 'now']])
    await assert.rejects(
      reseal([newKey()], args),
      /^CommandRefused: usage: baton coordination secrets reseal/,
    );
  const operator = startOperator(baton, { CP_SECRET_STORE_KEY_FILE: '' });
  operators.push(operator);
  await assert.rejects(secretsCommand(operator.tools, ['reseal']), /^CommandRefused: no_key_file: /);
});

const key = newKey().toString('base64');
for (const [name, text] of [
  ['nothing', ''],
  ['comments only', '# none\n\n'],
  ['a key of 31 bytes', randomBytes(31).toString('base64')],
  ['a key of 33 bytes', randomBytes(33).toString('base64')],
  ['a pass phrase', 'correct horse battery staple and some more'],
  ['a key followed by other text', `${key}\nnonsense\n`],
  ['17 keys', Array.from({ length: 17 }, () => newKey().toString('base64')).join('\n')],
] as const)
  test(`a file with ${name} is refused, and its content is not quoted`, async () => {
    const file = join(folder, newId());
    await writeFile(file, text);
    assert.throws(
      () => readSealingKeys(file),
      (error: Error) => {
        assert.match(error.message, /CP_SECRET_STORE_KEY_FILE must have 1 to 16 lines of 32 random bytes/);
        assert.ok(!error.message.includes(key) && !error.message.includes('horse'));
        return true;
      },
    );
  });

test('a missing file stops the start with one sentence', async () => {
  const missing = join(folder, 'missing');
  await assert.rejects(baton.another({ CP_SECRET_STORE_KEY_FILE: missing }), {
    message: 'The file of CP_SECRET_STORE_KEY_FILE cannot be read.',
  });
});

test('keys may use either alphabet of base64, with comments and blank lines between them', async () => {
  const keys = [newKey(), newKey()];
  const file = join(folder, newId());
  const [first, second] = [keys[0]?.toString('base64url'), keys[1]?.toString('base64')];
  await writeFile(file, `# since 2027\r\n${first}\r\n\n# before\n${second}\n`);
  assert.equal(readSealingKeys(file).currentId, sealingKeys(keys).currentId);
});
