import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { byDepth } from '@baton/testing/depth';
import { createTestDatabase, type TestDatabase } from '../testing/database/database.ts';
import { type DatabaseProxy, startDatabaseProxy } from '../testing/database/database-proxy.ts';
import { doorMigrations } from '../testing/door/door-service.ts';
import { createPool, isUnreachable, type Pool, type PoolOptions } from './db.ts';
import { sql } from './sql.ts';

/** The database becomes unreachable silently: packets are dropped, and no connection is closed. */

/**
 * The timeout of lost statements. It is 300 ms only in the long test, because on a busy machine a healthy statement can
 * take longer.
 */
const shortMs = byDepth(1500, 300);

let database: TestDatabase;
let proxy: DatabaseProxy;
before(async () => {
  database = await createTestDatabase(doorMigrations);
});
after(() => database.drop());
beforeEach(async () => {
  proxy = await startDatabaseProxy(database.url);
});

async function withPool(changes: Partial<PoolOptions>, work: (pool: Pool) => Promise<void>): Promise<void> {
  const pool = createPool({
    url: proxy.url,
    connectionsMax: 4,
    applicationName: 'silence',
    statementTimeoutMs: 60_000,
    lockTimeoutMs: 60_000,
    idleInTransactionTimeoutMs: 60_000,
    connectTimeoutMs: shortMs,
    onError: () => undefined,
    ...changes,
  });
  try {
    await work(pool);
  } finally {
    // Limited even without those timeouts, because the pool would wait for responses that never arrive.
    await Promise.race([pool.close(), sleep(2000, undefined, { ref: false })]).catch(() => undefined);
    await proxy.cut();
  }
}

/** Rejects after `ms` in the long test and after a minute in `npm test`. */
async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, refuse) => {
    timer = setTimeout(() => refuse(new Error(`not within ${ms} ms`)), byDepth(60_000, ms));
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

const warm = (pool: Pool) => Promise.all([1, 2, 3, 4].map(() => pool.rows(sql`select pg_sleep(0.05)`)));

test('a statement that gets no answer fails as unreachable, and its connection is not used again', async () => {
  await withPool({ queryTimeoutMs: shortMs, silentMsMax: 60_000 }, async (pool) => {
    await warm(pool);
    proxy.silence();
    const lost = [1, 2, 3, 4, 5, 6].map(() => assert.rejects(pool.rows(sql`select 1`), isUnreachable));
    await within(2000, Promise.all(lost));
    proxy.speak();
    await within(1000, Promise.all([1, 2, 3, 4, 5, 6].map(() => pool.rows(sql`select 1`))));
  });
});

test('a COMMIT that gets no answer is an error, though it may have happened', async () => {
  await withPool({ queryTimeoutMs: shortMs, silentMsMax: 60_000, connectionsMax: 1 }, async (pool) => {
    await warm(pool);
    const committing = pool.transaction(async (tx) => {
      await tx.rows(sql`select 1`);
      proxy.silence();
      return 'done';
    });
    await within(2000, assert.rejects(committing, isUnreachable));
    proxy.speak();
    assert.deepEqual(await pool.row(sql`select 1 as one`), { one: 1 });
  });
});

test('a transaction ends at its bound, whatever it waits for', async () => {
  await withPool({ transactionTimeoutMs: shortMs }, async (pool) => {
    const forever = pool.transaction(async (tx) => {
      await tx.rows(sql`select 1`);
      await new Promise(() => undefined);
    });
    await within(2000, assert.rejects(forever, isUnreachable));
    assert.equal(pool.usage().inUse, 0);
    const busy = pool.transaction(async (tx) => {
      for (;;) await tx.rows(sql`select pg_sleep(0.1)`);
    });
    await within(2000, assert.rejects(busy, isUnreachable));
  });
});

test('silent connections are thrown out when the database is out of reach, long before a statement times out', async () => {
  await withPool({ silentMsMax: shortMs }, async (pool) => {
    await warm(pool);
    proxy.silence();
    const lost = [1, 2, 3, 4].map(() => assert.rejects(pool.rows(sql`select 1`), isUnreachable));
    // A probe may have begun just before the connection became silent: 1.5 s for that probe, 0.3 s until the next one,
    // and 1.5 s for that one.
    await within(6000, Promise.all(lost));
  });
});

test('connections whose traffic is dropped while new ones pass are thrown out together, idle ones too', async () => {
  await withPool({ silentMsMax: shortMs }, async (pool) => {
    await warm(pool);
    proxy.silence();
    proxy.speak();
    await within(3000, assert.rejects(pool.rows(sql`select 1`), isUnreachable));
    await within(300, Promise.all([1, 2, 3, 4].map(() => pool.rows(sql`select 1`))));
  });
});

test('connections that fall silent one after the other are each thrown out at their time', async () => {
  await withPool({ silentMsMax: 2000 }, async (pool) => {
    await warm(pool);
    proxy.silence();
    proxy.speak();
    const lost = () => assert.rejects(pool.rows(sql`select 1`), isUnreachable);
    const first = lost();
    // Waits longer than the interval of the watch, so that the first connection is removed before the second statement
    // is due.
    await new Promise((done) => setTimeout(done, 500));
    const second = lost();
    await within(4000, first);
    await within(1600, second);
  });
});

test('a statement that runs or waits for a lock is left alone, however long it is silent', async () => {
  await withPool({ silentMsMax: byDepth(3000, 200) }, async (pool) => {
    const locked = pool.transaction(async (tx) => {
      await tx.run(sql`lock table doors in access exclusive mode`);
      const waiting = pool.rows(sql`select from doors`);
      await tx.rows(sql`select pg_sleep(${byDepth(5, 1.2)})`);
      return { waiting };
    });
    await (await locked).waiting;
  });
});
