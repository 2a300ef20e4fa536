import assert from 'node:assert/strict';
import { after, before, beforeEach, type TestContext, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { statementsOf } from '@baton/kernel/testing/database/statements';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  claimTask,
  done,
  endClaimLease,
  endSessionLease,
  eventsOf,
  makeTask,
  makeWorker,
  openSession,
  type Worker,
} from '../../testing/leases.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';
import { expireDueClaims, expireDueSessions, finishEndings } from './sweeper.ts';

const batch = 100;
let baton: TestCoordination;
let worker: ReturnType<typeof makeWorkerTools>;
const logged: string[] = [];
before(async () => {
  baton = await startCoordination();
  worker = makeWorkerTools(baton, logged);
  const run = (text: string) => baton.pool.run({ text, values: [] });
  await run('create table poisoned (id uuid primary key)');
  await run(`
    create function refuse_poison() returns trigger language plpgsql as $$ begin
      if exists (select from poisoned where id = old.id) then raise exception 'poison'; end if;
      return case when tg_op = 'DELETE' then old else new end;
    end $$`);
  for (const table of ['sessions', 'claims', 'endings'])
    await run(
      `create trigger poison before update or delete on ${table} for each row execute function refuse_poison()`,
    );
});
after(async () => {
  await worker.close();
  await baton.close();
});
beforeEach(() => {
  logged.length = 0;
});

async function poison(t: TestContext, ids: readonly string[]): Promise<void> {
  t.after(heal);
  await baton.pool.run(sql`insert into poisoned select unnest(${ids}::uuid[])`);
}
const heal = () => baton.pool.run(sql`delete from poisoned`);
const activeOf = async (ids: readonly string[]) =>
  (
    await baton.pool.rows<{ id: string }>(sql`
      select id from claims where id = any (${ids}::uuid[]) and status = 'active' order by id`)
  ).map(({ id }) => id);
const statusOf = async ({ actor, sessionId }: Worker) =>
  (await done(actor.get(`/sessions/${sessionId}`))).status;

async function claimSome(holder: Worker, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1)
    ids.push((await claimTask(holder, (await makeTask(baton)).id)).id as string);
  return ids;
}

/** Each failure is logged with its id, and not retried until the pause of 5 s has ended. */
function assertTriedOnce(ids: readonly string[], beganAt: number): void {
  const triesMax = 1 + Math.floor((performance.now() - beganAt) / 5000);
  const tried = logged.map((line) => JSON.parse(line).id as string);
  for (const id of ids) {
    const tries = tried.filter((each) => each === id).length;
    assert.ok(tries >= 1 && tries <= triesMax, `${id} was tried ${tries} times`);
  }
}

test('the 100 oldest expired sessions, which cannot be ended, do not block the next one', async (t) => {
  const { actor } = await makeWorker(baton);
  const bad = await Promise.all(Array.from({ length: batch }, () => openSession(actor)));
  const good = await openSession(actor);
  await baton.pool.run(
    sql`update sessions set expires_at = now() - interval '1 hour', sweep_at = now() - interval '1 hour' where id = any (${bad}::uuid[])`,
  );
  await endSessionLease(baton, good);
  await poison(t, bad);
  const sessions = expireDueSessions(worker.tools);
  const beganAt = performance.now();
  assert.equal(await sessions.run(), batch, 'a full batch, so the next one follows immediately');
  assert.equal(await sessions.run(), 1);
  assert.equal(await statusOf({ actor, sessionId: good }), 'stale');
  for (let run = 0; run < 3; run += 1) await sessions.run();
  assertTriedOnce(bad, beganAt);
  await heal();
  // Another process, without cached state.
  const others = expireDueSessions(worker.tools);
  assert.equal(await others.run(), batch);
  assert.equal(await others.run(), 0);
});

test('100 claims that cannot be expired, of other tenants too, do not block the next one', async (t) => {
  const holder = await makeWorker(baton);
  const ids = await claimSome(holder, batch + 1);
  const [good, ...bad] = ids.toReversed() as [string, ...string[]];
  await baton.pool.run(sql`
    with over as (
      update claims set expires_at = now() - interval '1 hour' + array_position(${ids}::uuid[], id) * interval '1 second',
        sweep_at = now() - interval '1 hour' + array_position(${ids}::uuid[], id) * interval '1 second'
      where id = any (${ids}::uuid[]) returning task_id, expires_at
    ) update tasks set lease_expires_at = over.expires_at from over where tasks.id = over.task_id`);
  await poison(t, bad);
  const claims = expireDueClaims(worker.tools);
  const beganAt = performance.now();
  await claims.run();
  await claims.run();
  assert.deepEqual(await activeOf([good]), []);
  for (let run = 0; run < 3; run += 1) await claims.run();
  assertTriedOnce(bad, beganAt);
  await heal();
  const others = expireDueClaims(worker.tools);
  await others.run();
  assert.deepEqual(await activeOf(ids), []);
});

test('claims with locked tasks do not block the next one', async () => {
  const holder = await makeWorker(baton);
  const ids = await claimSome(holder, batch + 1);
  const rows = await baton.pool.rows<{ id: string; task_id: string }>(
    sql`select id, task_id from claims where id = any (${ids}::uuid[]) order by id`,
  );
  const last = rows.pop() as (typeof rows)[number];
  const taskIds = rows.map(({ task_id: id }) => id);
  await baton.pool.run(
    sql`update claims set expires_at = now() - interval '1 hour', sweep_at = now() - interval '1 hour' where id = any (${ids}::uuid[]) and id <> ${last.id}`,
  );
  await baton.pool.run(
    sql`update tasks set lease_expires_at = now() - interval '1 hour' where id = any (${taskIds}::uuid[])`,
  );
  await endClaimLease(baton, last.task_id);
  const claims = expireDueClaims(worker.tools);
  await baton.pool.transaction(async (tx) => {
    await tx.rows(sql`select id from tasks where id = any (${taskIds}::uuid[]) order by id for update`);
    await claims.run();
    assert.equal(await claims.run(), 1);
    assert.deepEqual(await activeOf([last.id]), []);
  });
  await claims.run();
  assert.deepEqual(await activeOf(ids), []);
});

test('an expired session becomes stale, and its other claims are released, despite a claim that cannot be', async (t) => {
  const holder = await makeWorker(baton);
  const ids = await claimSome(holder, 3);
  const bad = ids[1] as string;
  await endSessionLease(baton, holder.sessionId);
  await poison(t, [bad]);
  const [sessions, endings] = [expireDueSessions(worker.tools), finishEndings(worker.tools)];
  assert.equal(await sessions.run(), 1);
  assert.equal(await statusOf(holder), 'stale');
  const beganAt = performance.now();
  for (let run = 0; run < 3; run += 1) await endings.run();
  assert.deepEqual(await activeOf(ids), [bad]);
  assertTriedOnce([bad], beganAt);
  await heal();
  await finish();
  assert.deepEqual(await activeOf(ids), []);
});

const ends: Record<string, (holder: Worker) => Promise<unknown>> = {
  close: ({ actor, sessionId }) => done(actor.post(`/sessions/${sessionId}:close`)),
  disable: ({ actor }) => done(baton.admin.post(`/principals/${actor.principalId}:disable`)),
};
for (const [act, end] of Object.entries(ends)) {
  test(`a ${act} succeeds despite a claim that cannot be released; the worker releases the others`, async (t) => {
    const holder = await makeWorker(baton);
    const ids = await claimSome(holder, 3);
    const bad = ids[1] as string;
    await poison(t, [bad]);
    await end(holder);
    const acknowledged = act === 'close' ? holder.sessionId : holder.actor.principalId;
    const event = (await eventsOf(baton, acknowledged)).at(-1);
    assert.equal(event?.payload['releasedClaims'], ids.length, 'includes all claims that end with it');
    assert.equal((await activeOf(ids)).length, ids.length);
    const endings = finishEndings(worker.tools);
    for (let run = 0; run < 4; run += 1) await endings.run();
    assert.deepEqual(await activeOf(ids), [bad]);
    assert.equal(await statusOf({ actor: baton.admin, sessionId: holder.sessionId }), 'closed');
    await heal();
    await finish();
    assert.deepEqual(await activeOf(ids), []);
  });

  test(`a ${act} of a worker without claims sends no statement for claims that cannot be released`, async () => {
    const holder = await makeWorker(baton);
    if (act === 'disable') await ends['close']?.(holder);
    const { statements } = await statementsOf(() => end(holder));
    assert.ok(statements.length > 0 && !statements.some((text) => text.includes('savepoint')));
  });
}

test("claims and a session that cannot be ended do not block the worker's cleanup after a disable", async (t) => {
  const holder = await makeWorker(baton);
  const { actor } = holder;
  const id = actor.principalId;
  const others = await Promise.all(Array.from({ length: batch + 1 }, () => openSession(actor)));
  const [badSession, plainSession] = others.toSorted().slice(-2) as [string, string];
  const claimIds = [
    ...(await claimSome({ actor, sessionId: badSession }, 2)),
    ...(await claimSome({ actor, sessionId: plainSession }, batch + 3)),
  ];
  // The disable command itself closes the first 100 sessions, ordered by id, and releases their claims.
  await done(baton.admin.post(`/principals/${id}:disable`));
  const left = await activeOf(claimIds);
  const bad = left.slice(0, -3);
  assert.ok(bad.length > 0, 'some work is left to the worker');
  await poison(t, [badSession, ...bad]);
  const endings = finishEndings(worker.tools);
  const beganAt = performance.now();
  for (let run = 0; run < 5; run += 1) await endings.run();
  assert.deepEqual(await activeOf(claimIds), bad);
  assertTriedOnce(bad.slice(0, 1), beganAt);
  await heal();
  await finish();
  assert.deepEqual(await activeOf(claimIds), []);
  const open = await baton.pool.rows(
    sql`select id from sessions where principal_id = ${id} and status <> 'closed'`,
  );
  assert.deepEqual(open, []);
});

test('100 endings that cannot be finished do not block the next one', async (t) => {
  const [idle, holder] = [await makeWorker(baton), await makeWorker(baton)];
  const bad = Array.from({ length: batch }, () => newId());
  await baton.pool.run(sql`
    insert into endings (id, tenant_id, session_id, reason, acknowledged_at)
    select id, ${baton.tenantId}, ${idle.sessionId}, 'session_closed', now() - interval '1 hour'
    from unnest(${bad}::uuid[]) as bad (id)`);
  const ids = await claimSome(holder, 1);
  await baton.pool.run(sql`
    insert into endings (id, tenant_id, session_id, reason)
    values (${newId()}, ${baton.tenantId}, ${holder.sessionId}, 'session_closed')`);
  await poison(t, bad);
  const endings = finishEndings(worker.tools);
  const beganAt = performance.now();
  await endings.run();
  await endings.run();
  assert.deepEqual(await activeOf(ids), []);
  for (let run = 0; run < 3; run += 1) await endings.run();
  assertTriedOnce(bad, beganAt);
  await heal();
  await finish();
});

/** Finishes all endings in a process without cached state. */
async function finish(): Promise<void> {
  const endings = finishEndings(worker.tools);
  while ((await baton.pool.row(sql`select id from endings`)) !== undefined) await endings.run();
}
