import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { isLongProof } from '@baton/testing/depth';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made, makeBearer } from '../../testing/objects.ts';
import { until } from '../../testing/waiting.ts';
import { addRecords, auditCommand, makeFile, makeKey, tamper } from './testing/records.ts';

let identity: TestIdentity;
let other: TestIdentity;
let keys: Awaited<ReturnType<typeof makeKey>>;
before(async () => {
  keys = await makeKey();
  identity = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_AUDIT_KEY_FILE: keys.file,
  });
  other = await identity.another();
});
after(() => identity.close());

/** The module that `baton` also preloads; it halves the startup time. */
const fastStart = new URL('../../../../../bin/fast-start.mjs', import.meta.url).href;

async function untilSealed(tenantId: string): Promise<number> {
  let sealed = 0;
  await until(async () => {
    const row = await identity.pool.row<{ written: number; sealed: number }>(sql`
      select (select count(*) from audit_records where tenant_id = ${tenantId}) as written,
        (select coalesce(sum(records), 0) from audit_seals where tenant_id = ${tenantId}) as sealed`);
    sealed = row?.sealed ?? 0;
    return row?.written === sealed;
  }, 'every record is sealed');
  return sealed;
}

/** Runs the command in a separate process, which takes two seconds to start. */
async function runVerify(...args: string[]): Promise<{ code: number; out: string }> {
  const main = join(import.meta.dirname, '../../app/main.ts');
  const child = spawn(process.execPath, [`--import=${fastStart}`, main, 'audit', 'verify', ...args], {
    env: { IAM_DATABASE_URL: identity.databaseUrl, IAM_AUDIT_KEY_FILE: keys.file },
  });
  let out = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (out += chunk));
  const [code] = (await once(child, 'close')) as [number];
  return { code, out };
}

async function verifyInside(...args: string[]): Promise<{ code: number; out: string }> {
  const env = { IAM_DATABASE_URL: identity.databaseUrl, IAM_AUDIT_KEY_FILE: keys.file };
  const { code, out, err } = await auditCommand(['verify', ...args], env);
  return { code, out: out + err };
}

const verify = isLongProof ? runVerify : verifyInside;

describe('a running identity', () => {
  test('seals the records of its requests and exchanges; the command finds them whole, then broken', async () => {
    const { tenantId, token } = await makeBearer(identity);
    const body = { token, audience: 'control-plane' };
    for (let round = 0; round < 5; round += 1)
      for (const process of [identity, other])
        await made(process.request('POST', '/api/v1/platform-access-tokens:exchange', { body }));
    assert.equal(await untilSealed(tenantId), 14);
    const whole = await verify();
    assert.match(whole.out, new RegExp(`^${tenantId}: whole, \\d+ links?, 14 records, head`, 'm'));
    assert.equal(whole.code, 0);

    await tamper(
      identity.pool,
      sql`update audit_records set outcome = 'denied'
        where tenant_id = ${tenantId} and action = 'platform_access_tokens.exchange'`,
    );
    const broken = await runVerify('--tenant', tenantId);
    assert.match(broken.out, new RegExp(`^${tenantId}: BROKEN[^]*: a record is changed\n`));
    assert.equal(broken.code, 1);
    assert.equal((await verify('--what')).code, 2);
  });

  test('logs where the chains end, and never the key', async () => {
    await until(() => identity.logged.join('').includes('anchor'), 'the anchor is logged');
    const secret = keys.key.secret.toString();
    const seals = await identity.pool.rows({ text: 'select t::text as row from audit_seals t', values: [] });
    assert.ok(!JSON.stringify([identity.logged, seals]).includes(secret));
  });

  test('removes records older than IAM_AUDIT_RETENTION_DAYS, and the command reports it', async () => {
    const tenantId = randomUUID();
    await addRecords(identity.pool, keys.key, tenantId, 3, 31);
    await untilSealed(tenantId);
    await addRecords(identity.pool, keys.key, tenantId, 2, 29);
    await untilSealed(tenantId);
    await identity.another({ IAM_AUDIT_RETENTION_DAYS: '30' });
    const countRecords = sql<{ records: number }>`
      select count(*) as records from audit_records where tenant_id = ${tenantId}`;
    await until(
      async () => (await identity.pool.row(countRecords))?.records === 2,
      'old records are removed',
    );
    const { out } = await verify('--tenant', tenantId);
    assert.match(out, new RegExp(`^${tenantId}: whole, \\d+ links, 2 records, 3 removed by retention, head`));
  });

  test('warns once when no key is given, and refuses one that is too short or not there', async () => {
    const keyless = await identity.another({ IAM_AUDIT_KEY_FILE: '' });
    assert.equal(keyless.logged.join('').match(/IAM_AUDIT_KEY_FILE is not set/g)?.length, 1);
    assert.equal(identity.logged.join('').match(/IAM_AUDIT_KEY_FILE is not set/g), null);
    await assert.rejects(identity.another({ IAM_AUDIT_KEY_FILE: makeFile('x'.repeat(31)) }), {
      message:
        'The audit key (IAM_AUDIT_KEY_FILE) has fewer than 32 characters: fill the file with random text.',
    });
    await assert.rejects(identity.another({ IAM_AUDIT_KEY_FILE: '/nowhere/key' }), {
      message: 'The file of the audit key (IAM_AUDIT_KEY_FILE) cannot be read.',
    });
  });
});
