import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { assertTookLess } from '@baton/testing/depth';
import { sql } from '../database/sql.ts';
import {
  type DoorService,
  doorCredential,
  doorTenant,
  otherTenant,
  startDoors,
} from '../testing/door/door-service.ts';
import { deleteExpiredKeys } from './idempotency.ts';
import { Refusal } from './refusal.ts';

let doors: DoorService;
before(async () => {
  doors = await startDoors({ waitSeconds: 1 });
});
after(() => doors.close());
beforeEach(() => {
  doors.hooks.beforeOpen = async () => undefined;
});

const codeOf = (body: unknown) => (body as { code?: string })?.code;
const withKey = (key = randomUUID()) => ({ 'idempotency-key': key });

async function openedTimes(id: string): Promise<number | undefined> {
  return (await doors.pool.row<{ opened: number }>(sql`select opened from doors where id = ${id}`))?.opened;
}

test('the same key and request give the same answer and are executed once; blanks around a key do not count', async () => {
  const { id } = await doors.makeDoor();
  const key = randomUUID();
  const first = await doors.call('POST', `/api/doors/${id}:open`, { by: 'a' }, withKey(key));
  const again = await doors.call('POST', `/api/doors/${id}:open`, { by: 'a' }, withKey(`  ${key}\t`));
  assert.deepEqual([again.status, again.body], [first.status, first.body]);
  assert.deepEqual(
    [first.headers['idempotency-replayed'], again.headers['idempotency-replayed']],
    [undefined, 'true'],
  );
  assert.equal(await openedTimes(id), 1);
});

test('an empty key is refused, and nothing is executed', async () => {
  const { id } = await doors.makeDoor();
  for (const key of ['', '  ']) {
    const { status, body } = await doors.call(
      'POST',
      `/api/doors/${id}:open`,
      {},
      { 'idempotency-key': key },
    );
    assert.deepEqual([status, codeOf(body)], [422, 'invalid_idempotency_key']);
  }
  assert.equal(await openedTimes(id), 0);
});

test('the same body with its fields in another order is the same request; with one more field it is another', async () => {
  const key = withKey();
  const first = await doors.call('POST', '/api/doors', '{"label":"x","count":1}', key);
  const again = await doors.call('POST', '/api/doors', '{ "count": 1, "label": "x" }', key);
  assert.deepEqual((again.body as { door: unknown }).door, (first.body as { door: unknown }).door);
  for (const body of ['{"label":"x"}', '{"label":"x","count":2}', '{"label":"x","count":1,"settings":{}}']) {
    const other = await doors.call('POST', '/api/doors', body, key);
    assert.deepEqual([other.status, codeOf(other.body)], [409, 'idempotency_key_reused']);
  }
});

test('another path, method or principal under the key is refused; another tenant has keys of its own', async () => {
  const { id } = await doors.makeDoor();
  const key = withKey();
  await doors.call('POST', `/api/doors/${id}:open`, {}, key);
  const bob = doorCredential(doorTenant, 'bob');
  const others = [
    doors.call('POST', `/api/doors/${(await doors.makeDoor()).id}:open`, {}, key),
    doors.call('DELETE', `/api/doors/${id}`, undefined, key),
    doors.call('POST', `/api/doors/${id}:open`, {}, { ...key, ...bob }),
  ];
  for (const { status, body } of await Promise.all(others))
    assert.deepEqual([status, codeOf(body)], [409, 'idempotency_key_reused']);
  const foreign = await doors.call(
    'POST',
    '/api/doors',
    { label: 'x' },
    { ...key, ...doorCredential(otherTenant) },
  );
  assert.equal(foreign.status, 201);
});

test('If-Match does not belong to the fingerprint: the stored answer comes whatever version it names', async () => {
  const { id } = await doors.makeDoor();
  const key = withKey();
  const first = await doors.call(
    'PATCH',
    `/api/doors/${id}`,
    { label: 'y' },
    { ...key, 'if-match': 'door-1' },
  );
  const again = await doors.call(
    'PATCH',
    `/api/doors/${id}`,
    { label: 'y' },
    { ...key, 'if-match': 'door-7' },
  );
  assert.deepEqual([first.status, again.status, again.body], [200, 200, first.body]);
});

test('an answer without a body is repeated too', async () => {
  const { id } = await doors.makeDoor();
  const key = withKey();
  for (const replayed of [undefined, 'true']) {
    const { status, text, headers } = await doors.call('DELETE', `/api/doors/${id}`, undefined, key);
    assert.deepEqual([status, text, headers['idempotency-replayed']], [204, '', replayed]);
  }
});

test('a one-time secret is null in the stored answer', async () => {
  const key = withKey();
  const first = await doors.call('POST', '/api/doors', { label: 'x' }, key);
  const again = await doors.call('POST', '/api/doors', { label: 'x' }, key);
  const secret = (first.body as { lock: { key: string } }).lock.key;
  assert.deepEqual((again.body as { lock: unknown }).lock, { key: null });
  const stored = await doors.pool.rows(sql`select * from idempotency_keys`);
  assert.ok(!JSON.stringify(stored).includes(secret));
});

test('a secret field is left out of the fingerprint: another value of it is the same request, which is answered from the store', async () => {
  const { id } = await doors.makeDoor();
  const told: string[] = [];
  doors.hooks.secure = async (code) => void told.push(code);
  const key = withKey();
  const secure = (body: object) => doors.call('POST', `/api/doors/${id}:secure`, body, key);
  const first = await secure({ code: 'first-code', by: 'a' });
  const again = await secure({ code: 'other-code', by: 'a' });
  assert.deepEqual([first.status, again.status, again.body], [200, 200, first.body]);
  assert.equal(again.headers['idempotency-replayed'], 'true');
  assert.deepEqual(told, ['first-code'], 'what happens around the command happens once');
  const other = await secure({ code: 'first-code', by: 'b' });
  assert.deepEqual([other.status, codeOf(other.body)], [409, 'idempotency_key_reused']);
  const powerless = { ...key, ...doorCredential(doorTenant, 'ada', 'doors.read') };
  const denied = await doors.call('POST', `/api/doors/${id}:secure`, { code: 'x', by: 'a' }, powerless);
  assert.deepEqual([denied.status, codeOf(denied.body)], [403, 'permission_denied']);
  assert.deepEqual(told, ['first-code']);
});

test('an answer that has expired is none: what is around the command happens again', async () => {
  const { id } = await doors.makeDoor();
  const told: string[] = [];
  doors.hooks.secure = async (code) => void told.push(code);
  const key = withKey();
  await doors.call('POST', `/api/doors/${id}:secure`, { code: 'one' }, key);
  await doors.pool.run(sql`update idempotency_keys set expires_at = now() - interval '1 s'`);
  const again = await doors.call('POST', `/api/doors/${id}:secure`, { code: 'two' }, key);
  assert.deepEqual([again.status, again.headers['idempotency-replayed']], [200, undefined]);
  assert.deepEqual(told, ['one', 'two']);
});

test('a failed command stores nothing: its key is free again, for another body too', async () => {
  const { id } = await doors.makeDoor();
  const key = withKey();
  doors.hooks.beforeOpen = async () => {
    throw new Refusal('door_locked');
  };
  assert.equal((await doors.call('POST', `/api/doors/${id}:open`, { by: 'a' }, key)).status, 409);
  doors.hooks.beforeOpen = async () => {
    throw new Error('failure');
  };
  assert.equal((await doors.call('POST', `/api/doors/${id}:open`, { by: 'b' }, key)).status, 500);
  doors.hooks.beforeOpen = async () => undefined;
  assert.equal((await doors.call('POST', `/api/doors/${id}:open`, { by: 'c' }, key)).status, 200);
  assert.equal(await openedTimes(id), 1);
});

test('a refusal that keeps what it wrote frees its key as well', async () => {
  const { id } = await doors.makeDoor('locked');
  const key = withKey();
  for (const times of [1, 2]) {
    const { status, body } = await doors.call('POST', `/api/doors/${id}:kick`, undefined, key);
    assert.deepEqual([status, codeOf(body)], [409, 'door_locked']);
    assert.equal(await openedTimes(id), times);
  }
  assert.deepEqual(
    await doors.pool.rows(sql`select key from idempotency_keys where key = ${key['idempotency-key']}`),
    [],
  );
});

/** Blocks an opening until `release()`. `entered` resolves when the opening starts. */
function holdOpening({ hooks }: Awaited<ReturnType<typeof startDoors>>) {
  const [entered, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  hooks.beforeOpen = async () => {
    entered.resolve();
    await released.promise;
  };
  return { entered: entered.promise, release: () => released.resolve() };
}

test('parallel duplicates wait and are executed once', async () => {
  const { id } = await doors.makeDoor();
  let entered = 0;
  doors.hooks.beforeOpen = async ({ db }) => {
    entered += 1;
    await db.run(sql`select pg_sleep(0.3)`);
  };
  const key = withKey();
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => doors.call('POST', `/api/doors/${id}:open`, {}, key)),
  );
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  assert.equal(answers.filter(({ headers }) => headers['idempotency-replayed'] === 'true').length, 5);
  assert.deepEqual([entered, await openedTimes(id)], [1, 1]);
});

test('when the first of two fails, the one that waited is executed', async () => {
  const { id } = await doors.makeDoor();
  let entered = 0;
  doors.hooks.beforeOpen = async ({ db }) => {
    entered += 1;
    await db.run(sql`select pg_sleep(0.2)`);
    if (entered === 1) throw new Refusal('door_locked');
  };
  const key = withKey();
  const answers = await Promise.all([0, 1].map(() => doors.call('POST', `/api/doors/${id}:open`, {}, key)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
  assert.deepEqual([entered, await openedTimes(id)], [2, 1]);
});

test('a duplicate that waited too long is refused because the first is still running', async () => {
  const { id } = await doors.makeDoor();
  const { entered, release } = holdOpening(doors);
  const key = withKey();
  const first = doors.call('POST', `/api/doors/${id}:open`, {}, key);
  await entered;
  const started = performance.now();
  const second = await doors.call('POST', `/api/doors/${id}:open`, {}, key);
  const waitedMs = performance.now() - started;
  assertTookLess(started, 3500);
  assert.deepEqual([second.status, codeOf(second.body)], [409, 'idempotency_in_flight']);
  assert.ok(waitedMs > 900, `${waitedMs} ms`);
  release();
  assert.equal((await first).status, 200);
});

test('so it is when the statement timeout is shorter than the wait', async () => {
  const hurried = await startDoors({ waitSeconds: 2, statementTimeoutMs: 2000 });
  try {
    const { id } = await hurried.makeDoor();
    const { entered, release } = holdOpening(hurried);
    const key = withKey();
    const first = hurried.call('POST', `/api/doors/${id}:open`, {}, key);
    await entered;
    const second = await hurried.call('POST', `/api/doors/${id}:open`, {}, key);
    assert.equal(codeOf(second.body), 'idempotency_in_flight');
    release();
    assert.equal((await first).status, 200);
  } finally {
    await hurried.close();
  }
});

test('waiting for a key does not shorten the waits of the command that then runs', async () => {
  const { id } = await doors.makeDoor();
  let timeouts: unknown;
  doors.hooks.beforeOpen = async ({ db }) => {
    timeouts = await db.row(sql`select current_setting('lock_timeout') as lock`);
  };
  await doors.call('POST', `/api/doors/${id}:open`, {}, withKey());
  assert.deepEqual(timeouts, { lock: '10s' });
});

test('an expired key can be used again, and is deleted', async () => {
  const { id } = await doors.makeDoor();
  const key = withKey();
  await doors.call('POST', `/api/doors/${id}:open`, {}, key);
  const expire = () =>
    doors.pool.run(sql`update idempotency_keys set expires_at = now() - interval '1 second'`);
  await expire();
  const { status, headers } = await doors.call('POST', `/api/doors/${id}:open`, { by: 'other' }, key);
  assert.deepEqual([status, headers['idempotency-replayed']], [200, undefined]);
  assert.equal(await openedTimes(id), 2);
  const kept = await doors.pool.rows(sql`select from idempotency_keys where expires_at > now()`);
  assert.equal(kept.length, 1);
  await expire();
  assert.equal(await deleteExpiredKeys(doors.pool, 1), 1);
  while ((await deleteExpiredKeys(doors.pool, 1)) > 0);
  assert.deepEqual(await doors.pool.rows(sql`select from idempotency_keys`), []);
});

test('a command that dies with its connection leaves no key and no trace', async () => {
  const { id } = await doors.makeDoor();
  doors.hooks.beforeOpen = async ({ db }) => {
    const self = await db.row<{ pid: number }>(sql`select pg_backend_pid() as pid`);
    await doors.pool.run(sql`select pg_terminate_backend(${self?.pid})`);
    await new Promise((done) => setTimeout(done, 100));
  };
  const key = withKey();
  const died = await doors.call('POST', `/api/doors/${id}:open`, {}, key);
  assert.deepEqual([died.status, codeOf(died.body)], [503, 'unavailable']);
  doors.hooks.beforeOpen = async () => undefined;
  const { status, headers } = await doors.call('POST', `/api/doors/${id}:open`, {}, key);
  assert.deepEqual([status, headers['idempotency-replayed']], [200, undefined]);
  assert.equal(await openedTimes(id), 1);
});

test('on replay a caller that lost the permission gets no stored answer', async () => {
  const { id } = await doors.makeDoor();
  const key = withKey();
  await doors.call('POST', `/api/doors/${id}:open`, {}, key);
  const powerless = doorCredential(doorTenant, 'ada', 'doors.read');
  const { status, body } = await doors.call('POST', `/api/doors/${id}:open`, {}, { ...key, ...powerless });
  assert.deepEqual([status, codeOf(body)], [403, 'permission_denied']);
});
