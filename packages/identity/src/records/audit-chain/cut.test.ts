import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { makeTenant } from '../../testing/objects.ts';
import { until } from '../../testing/waiting.ts';
import { auditCommand, makeKey, tamper } from './testing/records.ts';

/** The removal of seals is detected, because the head of the chains is stored in a file next to the key. */

async function start(t: TestContext) {
  const { file } = await makeKey();
  const headFile = `${file}.head`;
  const identity = await startIdentity({ IAM_AUDIT_KEY_FILE: file });
  t.after(() => identity.close());
  const env = { IAM_DATABASE_URL: identity.databaseUrl, IAM_AUDIT_KEY_FILE: file };
  const verify = (...args: string[]) => auditCommand(['verify', ...args], env);

  async function unsealed(): Promise<number> {
    const row = await identity.pool.row<{ unsealed: number }>(sql`
      select count(*) as unsealed from audit_records
      where sequence > (select coalesce(max(last_sequence), 0) from audit_seals)`);
    return row?.unsealed ?? 0;
  }

  const untilSealed = () => until(async () => (await unsealed()) === 0, 'the records are sealed');

  /** Waits until the head file contains the last link. */
  async function untilKept(): Promise<void> {
    await untilSealed();
    const last = await identity.pool.row<{ last: number }>(
      sql`select max(last_sequence) as last from audit_seals`,
    );
    await until(
      async () =>
        existsSync(headFile) && JSON.parse(readFileSync(headFile, 'utf8')).lastSequence === last?.last,
      'the head is kept',
    );
  }

  const dropSeals = () => tamper(identity.pool, sql`delete from audit_seals`);
  return { identity, headFile, verify, unsealed, untilSealed, untilKept, dropSeals };
}

const refused = (process: TestIdentity) =>
  until(async () => process.logged.join('').includes('nothing more is sealed'), 'sealing is refused');

// These tests run in parallel, because each waits for the sealer, which runs once a second.
describe('without its seals the audit log', { concurrency: true }, () => {
  test('with a changed record is not sealed again, and is found broken', async (t) => {
    const { identity, verify, unsealed, untilKept, dropSeals } = await start(t);
    const tenantId = await makeTenant(identity);
    await untilKept();
    await tamper(
      identity.pool,
      sql`update audit_records set actor_ref = 'nobody' where tenant_id = ${tenantId}`,
    );
    await dropSeals();
    await makeTenant(identity);
    await refused(identity);
    const { code, out } = await verify();
    assert.equal(code, 1, out);
    assert.match(out, /record \d+ \(.*Z\) is not as a process with one of these keys wrote it/);
    assert.match(out, /^the head in .*: BROKEN, the last link that identity made is missing/m);
    assert.ok((await unsealed()) > 0);
  });

  test('is not sealed again by a process that starts later, until an operator removes the file of the head', async (t) => {
    const { identity, headFile, verify, unsealed, untilSealed, untilKept, dropSeals } = await start(t);
    await makeTenant(identity);
    await untilKept();
    await dropSeals();
    const later = await identity.another();
    await makeTenant(later);
    await refused(later);
    assert.ok((await unsealed()) > 0);
    rmSync(headFile);
    await identity.another();
    await untilSealed();
    assert.equal((await verify()).code, 0);
  });

  test('is found broken when a record is in no link for a quarter of an hour', async (t) => {
    const { identity, verify, untilKept, dropSeals } = await start(t);
    const tenantId = await makeTenant(identity);
    await untilKept();
    await dropSeals();
    await tamper(
      identity.pool,
      sql`update audit_records set occurred_at = now() - interval '16 minutes' where tenant_id = ${tenantId}`,
    );
    const { code, out } = await verify('--tenant', tenantId);
    assert.equal(code, 1, out);
    assert.match(out, /1 record is older than 15 minutes and in no link/);
  });

  test('a link that is forged above the last one is not continued', async (t) => {
    const { identity, verify, untilKept } = await start(t);
    await makeTenant(identity);
    await untilKept();
    await tamper(
      identity.pool,
      sql`insert into audit_seals select gen_random_uuid(), 1, first_sequence, 1000000, records, occurred_from, occurred_to,
          digest, ''::bytea, hmac, key_id from audit_seals limit 1`,
    );
    await makeTenant(identity);
    await refused(identity);
    assert.equal((await verify()).code, 1);
  });
});
