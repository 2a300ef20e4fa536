import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import type { AuditKey } from './audit-key.ts';
import { removeOldAudits } from './audit-retention.ts';
import { addRecords, auditCommand, makeKey, sealerOf, tamper } from './testing/records.ts';

let identity: TestIdentity;
let keys: Awaited<ReturnType<typeof makeKey>>;
let logged: string[];
before(async () => {
  [identity, keys] = await Promise.all([startIdentity(), makeKey()]);
});
after(() => identity.close());
beforeEach(async () => {
  logged = [];
  for (const table of ['audit_records', 'audit_seals', 'audit_removals'])
    await tamper(identity.pool, { text: `delete from ${table}`, values: [] });
});

/** Keeps 30 days. */
function remove(key: AuditKey | undefined): Promise<number> {
  const destination = { write: (line: string) => logged.push(line) };
  const log = createLog({ name: 'identity', level: 'info', destination });
  return removeOldAudits({ pool: identity.pool, key, log, days: 30 });
}

const seal = () => sealerOf(identity.pool, keys.key).seal();

const verify = (...args: string[]) =>
  auditCommand(['verify', ...args], {
    IAM_DATABASE_URL: identity.databaseUrl,
    IAM_AUDIT_KEY_FILE: keys.file,
  });

async function recordsOf(tenantId: string): Promise<number> {
  const row = await identity.pool.row<{ records: number }>(
    sql`select count(*) as records from audit_records where tenant_id = ${tenantId}`,
  );
  return row?.records ?? 0;
}

describe('retention', () => {
  test('removes the records of whole links that are old enough; the chain stays, with their number', async () => {
    // The first tenant has the lowest possible id, the second a random one.
    const [tenantId, younger] = ['00000000-0000-0000-0000-000000000000', randomUUID()];
    await addRecords(identity.pool, keys.key, tenantId, 5000, 40);
    await addRecords(identity.pool, keys.key, younger, 10, 29);
    await seal();
    // The next link contains one old and one recent record.
    await addRecords(identity.pool, keys.key, tenantId, 1, 40);
    await addRecords(identity.pool, keys.key, tenantId, 1, 1);
    await seal();
    await addRecords(identity.pool, keys.key, tenantId, 1);
    assert.equal(await remove(keys.key), 5000);
    assert.deepEqual([await recordsOf(tenantId), await recordsOf(younger)], [3, 10]);
    assert.equal(await remove(keys.key), 0);
    const { code, out } = await verify();
    assert.equal(code, 0, out);
    assert.match(
      out,
      new RegExp(
        `${tenantId}: whole, \\d+ links, 2 records, 5000 removed by retention, 1 not sealed yet, head`,
      ),
    );
    assert.match(out, new RegExp(`${younger}: whole, 1 link, 10 records, head`));
  });

  for (const [kind, isSealed] of [
    ['sealed', true],
    ['unsealed', false],
  ] as const)
    test(`a tenant whose ${kind} records the store refuses to remove is named in the log, and keeps no other from it`, async (t) => {
      // The bad tenant comes first, because tenants are processed in the order of their ids.
      const [bad, good] = ['00000000-0000-0000-0000-000000000000', randomUUID()];
      for (const tenantId of [bad, good]) await addRecords(identity.pool, keys.key, tenantId, 3, 40);
      if (isSealed) await seal();
      const key = isSealed ? keys.key : undefined;
      const run = (text: string) => identity.pool.run({ text, values: [] });
      const lift = () => run('drop function if exists poison() cascade');
      t.after(lift);
      await run(`
      create function poison() returns trigger language plpgsql as $$ begin
        if old.tenant_id = '${bad}' then raise exception 'poison'; end if;
        return old;
      end $$`);
      await run(
        'create trigger poison before delete on audit_records for each row execute function poison()',
      );
      assert.equal(await remove(key), 3);
      assert.deepEqual([await recordsOf(bad), await recordsOf(good)], [3, 0]);
      assert.deepEqual(
        logged.map((line) => JSON.parse(line)).map(({ level, tenantId }) => [level, tenantId]),
        [['error', bad]],
      );
      await lift();
      assert.equal(await remove(key), 3);
    });

  test('records that something else removed are found missing', async () => {
    const tenantId = randomUUID();
    await addRecords(identity.pool, keys.key, tenantId, 600, 40);
    await addRecords(identity.pool, keys.key, tenantId, 600, 1);
    await seal();
    await remove(keys.key);
    const first = await verify();
    assert.equal(first.code, 0, first.out);
    assert.equal(await recordsOf(tenantId), 1200 - 512);

    await tamper(identity.pool, sql`delete from audit_records where tenant_id = ${tenantId}`);
    const gone = await verify();
    assert.equal(gone.code, 1);
    assert.match(gone.out, /link 3, .*: 256 of its 256 records are removed/);
    assert.doesNotMatch(gone.out, /link [12],/);

    // Somebody without the key advances the mark.
    await tamper(identity.pool, sql`update audit_removals set position = 5 where tenant_id = ${tenantId}`);
    assert.match((await verify()).out, /link 1, .*: 256 of its 256 records are removed/);
  });

  test('a mark without the key hides nothing, and is found itself', async () => {
    const tenantId = randomUUID();
    await addRecords(identity.pool, keys.key, tenantId, 300, 40);
    await seal();
    await tamper(
      identity.pool,
      sql`
        insert into audit_removals (tenant_id, position, hmac, key_id) values (${tenantId}, 1000, '', ${keys.key.id})`,
    );
    assert.equal(await remove(keys.key), 0);
    assert.match(logged.join(), /"position":1000,.*was not written by identity: nothing more is removed/);
    const { code, out } = await verify('--tenant', tenantId);
    assert.equal(code, 1);
    assert.match(
      out,
      /link 1000: the mark that retention removed the records up to here is not by a key of ours/,
    );
    await tamper(identity.pool, sql`delete from audit_removals where tenant_id = ${tenantId}`);
    assert.equal(await remove(keys.key), 300);
  });

  test('leaves a broken link and all after it as they are, and logs it', async () => {
    const tenantId = randomUUID();
    await addRecords(identity.pool, keys.key, tenantId, 600, 40);
    await seal();
    await tamper(
      identity.pool,
      sql`update audit_records set reason = 'x' where tenant_id = ${tenantId} and reason like 'n:300 %'`,
    );
    assert.equal(await remove(keys.key), 0);
    assert.match(logged.join(), /"position":2,.*broken here/);
    assert.equal(await recordsOf(tenantId), 600);
  });

  test('without a key goes by age alone, but removes nothing once something was sealed', async () => {
    const tenantId = randomUUID();
    await addRecords(identity.pool, keys.key, tenantId, 5000, 40);
    await addRecords(identity.pool, keys.key, tenantId, 3, 29);
    assert.equal(await remove(undefined), 5000);
    assert.equal(await recordsOf(tenantId), 3);
    await addRecords(identity.pool, keys.key, tenantId, 3, 40);
    await seal();
    assert.equal(await remove(undefined), 0);
    assert.match(logged.join(), /without IAM_AUDIT_KEY_FILE nothing is removed/);
    assert.equal(await recordsOf(tenantId), 6);
  });

  test('only a transaction that declares it may remove, and only what is old and sealed', async () => {
    const tenantId = randomUUID();
    await addRecords(identity.pool, keys.key, tenantId, 3, 40);
    await seal();
    await addRecords(identity.pool, keys.key, tenantId, 1, 40);
    await addRecords(identity.pool, keys.key, tenantId, 1);
    const rows = await identity.pool.rows<{ sequence: number }>(
      sql`select sequence from audit_records where tenant_id = ${tenantId} order by sequence`,
    );
    const [sealed, unsealed, fresh] = [rows[0], rows[3], rows[4]].map((row) => row?.sequence);
    const attempt = (keptSince: string, statement: Parameters<typeof tamper>[1]) =>
      identity.pool.transaction(async (tx) => {
        await tx.run(sql`select set_config('baton.audit_kept_since', ${keptSince}, true)`);
        return tx.run(statement);
      });
    const drop = (sequence: number | undefined) =>
      sql`delete from audit_records where sequence = ${sequence}`;
    const now = new Date().toISOString();
    await assert.rejects(identity.pool.run(drop(sealed)), /append-only/);
    for (const [keptSince, statement] of [
      ['', drop(sealed)],
      [new Date(Date.now() - 41 * 86_400_000).toISOString(), drop(sealed)],
      [now, drop(unsealed)],
      [now, drop(fresh)],
      [now, sql`update audit_records set reason = 'x' where sequence = ${sealed}`],
      [now, sql`truncate audit_records`],
      [now, sql`delete from audit_seals`],
      [now, sql`update audit_removals set position = 9`],
    ] as [string, Parameters<typeof tamper>[1]][])
      await (statement.text.includes('audit_removals')
        ? identity.pool.run(
            sql`insert into audit_removals (tenant_id, position, hmac, key_id) values (${tenantId}, 0, '', '')`,
          )
        : Promise.resolve()
      ).then(() => assert.rejects(attempt(keptSince, statement), /append-only/, statement.text));
    assert.equal(await attempt(now, drop(sealed)), 1);
    await assert.rejects(identity.pool.run(drop(rows[1]?.sequence)), /append-only/);
  });
});
