import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from '../database/sql.ts';
import { type DoorService, startDoors } from '../testing/door/door-service.ts';

let doors: DoorService;
before(async () => {
  doors = await startDoors();
});
after(() => doors.close());
beforeEach(() => {
  doors.hooks.beforeOpen = async () => undefined;
});

const codeOf = (body: unknown) => (body as { code?: string })?.code;

async function openedTimes(id: string): Promise<number | undefined> {
  return (await doors.pool.row<{ opened: number }>(sql`select opened from doors where id = ${id}`))?.opened;
}

test('of two commands in a deadlock both are executed: the victim is run again', async () => {
  const [left, right] = [await doors.makeDoor(), await doors.makeDoor()];
  let attempts = 0;
  let arrived = 0;
  const bothHaveOne = Promise.withResolvers<void>();
  doors.hooks.beforeOpen = async ({ db }) => {
    attempts += 1;
    arrived += 1;
    if (arrived === 2) bothHaveOne.resolve();
    await bothHaveOne.promise;
    await db.rows(sql`select from doors order by id for update`);
  };
  const answers = await Promise.all(
    [left, right].map(({ id }) => doors.call('POST', `/api/doors/${id}:open`, {}, { 'idempotency-key': id })),
  );
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200],
  );
  // More than two attempts: if the victim locks its row again before the other transaction wakes up, they deadlock a
  // second time.
  assert.ok(attempts > 2, `${attempts} attempts`);
  assert.deepEqual([await openedTimes(left.id), await openedTimes(right.id)], [1, 1]);
});

test('a command whose serialisation always fails is 503 after three attempts', async () => {
  const { id } = await doors.makeDoor();
  let attempts = 0;
  doors.hooks.beforeOpen = async ({ db }) => {
    attempts += 1;
    await db.run(sql`do $$ begin raise exception 'again' using errcode = '40001'; end $$`);
  };
  const { status, body } = await doors.call('POST', `/api/doors/${id}:open`);
  assert.deepEqual([status, codeOf(body), attempts], [503, 'unavailable', 3]);
  assert.equal(await openedTimes(id), 0);
});

test('a refusal rolls back its writes, unless it is declared to commit them', async () => {
  const [free, locked] = [await doors.makeDoor(), await doors.makeDoor('locked')];
  doors.hooks.beforeOpen = async ({ db }) => {
    await db.run(sql`update doors set opened = 100`);
    throw new Error('no');
  };
  assert.equal((await doors.call('POST', `/api/doors/${free.id}:open`)).status, 500);
  assert.equal(await openedTimes(free.id), 0);
  const key = { 'idempotency-key': locked.id };
  assert.equal((await doors.call('POST', `/api/doors/${locked.id}:kick`, undefined, key)).status, 409);
  assert.equal(await openedTimes(locked.id), 1);
});

test('a statement that runs too long is answered with 503', async () => {
  const hurried = await startDoors({ statementTimeoutMs: 1500 });
  try {
    const { id } = await hurried.makeDoor();
    hurried.hooks.beforeOpen = ({ db }) => db.run(sql`select pg_sleep(5)`).then(() => undefined);
    const { status, body } = await hurried.call('POST', `/api/doors/${id}:open`);
    assert.deepEqual([status, codeOf(body)], [503, 'unavailable']);
  } finally {
    await hurried.close();
  }
});
