import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { makeTenant } from '../../testing/objects.ts';
import { follow } from '../../testing/poller.ts';
import { until } from '../../testing/waiting.ts';

const writers = 16;
const roundsPerWriter = byDepth(15, 60);

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity();
});
after(() => identity.close());

class RolledBack extends Error {}

function writeEvent(db: Db, tenantId: string): Promise<number> {
  return db.run(sql`
    insert into events (id, tenant_id, type, aggregate_type, aggregate_id, payload)
    values (${randomUUID()}, ${tenantId}, 'race', 'race', ${tenantId}, '{}')`);
}

/**
 * Some writers are quick, some are slow (before they draw a number, between two numbers or afterwards), and some roll
 * back.
 */
async function write(writer: number, tenantId: string): Promise<void> {
  for (let round = 0; round < roundsPerWriter; round += 1) {
    const isSlow = (writer + round) % 4 === 0;
    await identity.pool
      .transaction(async (tx) => {
        await tx.run(sql`select pg_current_xact_id()`);
        if (isSlow) await pause(Math.random() * 20);
        await writeEvent(tx, tenantId);
        if (isSlow) await pause(Math.random() * 40);
        await writeEvent(tx, tenantId);
        if ((writer + round) % 5 === 0) throw new RolledBack();
      })
      .catch((error: unknown) => {
        if (!(error instanceof RolledBack)) throw error;
      });
  }
}

/** Waits until the naive reader has passed its number, then commits. */
async function writeLate(tenantId: string, passed: () => number): Promise<void> {
  await identity.pool.transaction(async (tx) => {
    await writeEvent(tx, tenantId);
    const row = await tx.row<{ sequence: number }>(sql`select max(sequence) as sequence from events`);
    await until(() => passed() > Number(row?.sequence), 'a naive reader has passed the late event');
  });
}

test('16 writers, some slow, some rolled back: a reader misses nothing and sees nothing twice', async () => {
  const tenantId = await makeTenant(identity);
  let writing = true;
  const isDone = () => !writing;
  const overHttp = async (after: number) => {
    const { body } = await identity.get(`/events?after=${after}&limit=7`);
    return body.items.map(({ sequence }: { sequence: number }) => sequence);
  };
  // Serves whatever is visible, which shows that the writers really commit out of sequence.
  let passed = 0;
  const naively = async (after: number) => {
    const rows = await identity.pool.rows<{ sequence: number }>(
      sql`select sequence from events where sequence > ${after} order by sequence limit 1000`,
    );
    passed = rows.at(-1)?.sequence ?? passed;
    return rows.map(({ sequence }) => sequence);
  };
  const [seen, alsoSeen, seenNaively] = await Promise.all([
    follow(overHttp, isDone),
    follow(overHttp, isDone),
    follow(naively, isDone),
    Promise.all([
      writeLate(tenantId, () => passed),
      ...Array.from({ length: writers }, (_, writer) => write(writer, tenantId)),
    ]).then(() => {
      writing = false;
    }),
  ]);
  const rows = await identity.pool.rows<{ sequence: number }>(
    sql`select sequence from events order by sequence`,
  );
  const written = rows.map(({ sequence }) => sequence);
  assert.ok(written.length > writers * roundsPerWriter);
  assert.deepEqual(seen, written);
  assert.deepEqual(alsoSeen, written);
  assert.ok(seenNaively.length < written.length, 'the race did not happen');
});

test('an event does not wait for slow writers of other databases or without a number yet', async () => {
  const tenantId = await makeTenant(identity);
  await identity.pool.transaction(async (tx) => {
    await tx.run(sql`update tenants set name = 'busy' where id = ${tenantId}`);
    const made = await makeTenant(identity);
    const { body } = await identity.get(`/events?tenantId=${made}`);
    assert.equal(body.items.length, 1);
  });
});
