import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { byDepth } from '@baton/testing/depth';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { follow } from '../../testing/poller.ts';
import { until } from '../../testing/waiting.ts';
import { HeadKeeper } from './head-file.ts';
import { Sealer } from './sealer.ts';
import { addRecords, auditCommand, makeKey, sealerOf, tamper } from './testing/records.ts';

const writers = 16;
const roundsPerWriter = byDepth(15, 60);

let identity: TestIdentity;
let other: TestIdentity;
let keys: Awaited<ReturnType<typeof makeKey>>;
before(async () => {
  [identity, keys] = await Promise.all([startIdentity(), makeKey()]);
  other = await identity.another();
});
after(() => identity.close());

class RolledBack extends Error {}

function writeRecord(db: Db, tenantId: string): Promise<void> {
  return addRecords(db, keys.key, tenantId, 1);
}

/**
 * Some writers are quick, some are slow (before they draw a number, between two numbers or afterwards), and some roll
 * back.
 */
async function write(writer: number, tenantIds: readonly string[]): Promise<void> {
  for (let round = 0; round < roundsPerWriter; round += 1) {
    const isSlow = (writer + round) % 4 === 0;
    await identity.pool
      .transaction(async (tx) => {
        if (isSlow) await pause(Math.random() * 20);
        await writeRecord(tx, tenantIds[round % tenantIds.length] as string);
        if (isSlow) await pause(Math.random() * 40);
        await writeRecord(tx, tenantIds[writer % tenantIds.length] as string);
        if ((writer + round) % 5 === 0) throw new RolledBack();
      })
      .catch((error: unknown) => {
        if (!(error instanceof RolledBack)) throw error;
      });
  }
}

/** Waits until the naive reader has passed the record's number, then commits. */
async function writeLate(tenantId: string, passed: () => number): Promise<void> {
  await identity.pool.transaction(async (tx) => {
    await writeRecord(tx, tenantId);
    const row = await tx.row<{ sequence: number }>(sql`select max(sequence) as sequence from audit_records`);
    await until(() => passed() > Number(row?.sequence), 'a naive reader has passed the late record');
  });
}

async function verify(): Promise<string> {
  const env = { IAM_DATABASE_URL: identity.databaseUrl, IAM_AUDIT_KEY_FILE: keys.file };
  const { code, out } = await auditCommand(['verify'], env);
  assert.equal(code, 0, out);
  return out;
}

async function rowsOf<Row>(text: string): Promise<Row[]> {
  return identity.pool.rows<Row>({ text, values: [] });
}

test('16 writers, some slow, some rolled back, while two processes seal: readers miss nothing, and everything is sealed once', async () => {
  const tenantIds = [randomUUID(), randomUUID(), randomUUID()];
  let writing = true;
  const isDone = () => !writing;
  const overHttp = async (after: number) => {
    const { body } = await identity.get(`/audit?after=${after}&limit=7`);
    return body.items.map(({ sequence }: { sequence: number }) => sequence);
  };
  // Serves whatever is visible, which shows that the writers really commit out of sequence. Pages are large: with pages
  // of 7, this reader once fell behind the writers on a busy machine and then missed nothing.
  let passed = 0;
  const naively = async (after: number) => {
    const rows = await identity.pool.rows<{ sequence: number }>(
      sql`select sequence from audit_records where sequence > ${after} order by sequence limit 1000`,
    );
    passed = rows.at(-1)?.sequence ?? passed;
    return rows.map(({ sequence }) => sequence);
  };
  const sealOn = async (process: TestIdentity) => {
    const sealer = sealerOf(process.pool, keys.key);
    for (let last = false; ; ) {
      await sealer.seal();
      if (last) return;
      last = isDone();
    }
  };
  const [seen, seenNaively] = await Promise.all([
    follow(overHttp, isDone),
    follow(naively, isDone),
    sealOn(identity),
    sealOn(other),
    Promise.all([
      writeLate(tenantIds[0] as string, () => passed),
      ...Array.from({ length: writers }, (_, writer) => write(writer, tenantIds)),
    ]).then(() => {
      writing = false;
    }),
  ]);
  await sealerOf(identity.pool, keys.key).seal();
  const written = (
    await rowsOf<{ sequence: number }>('select sequence from audit_records order by sequence')
  ).map(({ sequence }) => sequence);
  assert.ok(written.length > writers * roundsPerWriter);
  assert.deepEqual(seen, written);
  assert.ok(seenNaively.length < written.length, 'the race did not happen');

  assert.match(await verify(), new RegExp(`whole: 3 tenants, \\d+ links, ${written.length} records\\.$`));
  const chains = await rowsOf<{ links: number; last: number; records: number }>(
    'select count(*) as links, max(position) as last, sum(records) as records from audit_seals group by tenant_id',
  );
  assert.equal(chains.length, 3);
  for (const { links, last } of chains) assert.equal(links, last);
  assert.ok(chains.some(({ links }) => links > 3));
  assert.equal(
    chains.reduce((sum, { records }) => sum + records, 0),
    written.length,
  );
});

test('a record with a low number that is committed late is served and sealed in its place, and what came after it waits', async () => {
  const tenantId = randomUUID();
  const sealer = sealerOf(identity.pool, keys.key);
  await sealer.seal();
  const linksOf = async () =>
    identity.pool.rows<{ records: number }>(
      sql`select records from audit_seals where tenant_id = ${tenantId} order by position`,
    );
  const served = async () => (await identity.get(`/audit?tenantId=${tenantId}`)).body.items;
  await identity.pool.transaction(async (late) => {
    await writeRecord(late, tenantId);
    await writeRecord(other.pool, tenantId);
    await sealer.seal();
    assert.deepEqual(await linksOf(), []);
    assert.deepEqual(await served(), []);
  });
  await sealer.seal();
  assert.equal((await served()).length, 2);
  assert.deepEqual(await linksOf(), [{ records: 2 }]);
  assert.match(await verify(), new RegExp(`${tenantId}: whole, 1 link, 2 records, head`));
});

test('a backlog is sealed by one process, while the other does nothing', async () => {
  const tenantIds = Array.from({ length: 5 }, () => randomUUID());
  for (const tenantId of tenantIds) await addRecords(identity.pool, keys.key, tenantId, 2000);
  await Promise.all([
    sealerOf(identity.pool, keys.key).seal(),
    sealerOf(other.pool, keys.key).seal(),
    sealerOf(other.pool, keys.key).seal(),
  ]);
  const out = await verify();
  for (const tenantId of tenantIds)
    assert.match(out, new RegExp(`${tenantId}: whole, [89] links, 2000 records, head`));
});

test('a sealer whose last link is missing logs that, and seals nothing more', async () => {
  const tenantId = randomUUID();
  const logged: string[] = [];
  const sealer = sealerOf(identity.pool, keys.key, logged);
  await addRecords(identity.pool, keys.key, tenantId, 3);
  await sealer.seal();
  await tamper(identity.pool, sql`delete from audit_seals where tenant_id = ${tenantId}`);
  await addRecords(identity.pool, keys.key, tenantId, 1);
  await sealer.seal();
  await sealer.seal();
  assert.equal(logged.join().match(/the last link that identity made is missing/g)?.length, 1);
  assert.match(await verify(), new RegExp(`${tenantId}: whole, 0 links, 0 records, 4 not sealed yet`));
});

test('records that keep coming are left to the next pass: a pass ends with a batch that is not full', async () => {
  let batches = 0;
  class BusyKeeper extends HeadKeeper {
    override async keep(): Promise<void> {
      batches += 1;
      if (batches < 5) await writeRecord(identity.pool, randomUUID());
    }
  }
  await writeRecord(identity.pool, randomUUID());
  const log = createLog({ name: 'identity', level: 'info', destination: { write: () => undefined } });
  await new Sealer(identity.pool, keys.key, new BusyKeeper(undefined, undefined, log), log).seal();
  assert.equal(batches, 1);
});
