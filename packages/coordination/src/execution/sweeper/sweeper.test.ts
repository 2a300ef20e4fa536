import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { raceRounds } from '@baton/testing/depth';
import type { Job } from '../../service/job.ts';
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
import { expireDueClaims, expireDueSessions } from './sweeper.ts';

const sweepersCount = 4;

let baton: TestCoordination;
let sweepers: { sessions: Job; claims: Job; close(): Promise<void> }[];

before(async () => {
  baton = await startCoordination();
  sweepers = Array.from({ length: sweepersCount }, () => {
    const { tools, close } = makeWorkerTools(baton);
    return { sessions: expireDueSessions(tools), claims: expireDueClaims(tools), close };
  });
});
after(async () => {
  for (const { close } of sweepers) await close();
  await baton.close();
});

const rawSql = (text: string) => ({ text, values: [] });
const sweep = (kind: 'sessions' | 'claims') => (sweepers[0] as (typeof sweepers)[number])[kind].run();
const traces = (ids: readonly string[]) =>
  baton.pool.rows<{
    actor_id: string | null;
    request_id: string;
    correlation_id: string;
    trace_run_id: string;
  }>(
    sql`select actor_id, request_id, correlation_id, trace_run_id from events
      where entity_id = any (${ids}::uuid[]) and request_id = 'worker'`,
  );

test('an expired session becomes stale and its claims are released with session_expired', async () => {
  const worker = await makeWorker(baton);
  const live = await openSession(worker.actor);
  const task = await makeTask(baton);
  const claim = await claimTask(worker, task.id);
  await endSessionLease(baton, worker.sessionId);
  assert.equal(await sweep('sessions'), 1);
  assert.equal(await sweep('sessions'), 0);
  const session = await done(worker.actor.get(`/sessions/${worker.sessionId}`));
  assert.equal(session.status, 'stale');
  assert.notEqual(session.endedAt, null);
  assert.equal((await done(worker.actor.get(`/sessions/${live}`))).status, 'active');
  const released = await done(worker.actor.get(`/claims/${claim.id}`));
  assert.deepEqual([released.status, released.releaseReason], ['released', 'session_expired']);
  const { status, activeClaimId, version } = await done(worker.actor.get(`/tasks/${task.id}`));
  assert.deepEqual([status, activeClaimId, version], ['todo', null, 3]);
  const events = await eventsOf(baton, worker.sessionId, claim.id);
  assert.deepEqual(events.map(({ type, payload }) => [type, payload]).slice(1), [
    [
      'claim.released',
      { taskId: task.id, reason: 'session_expired', taskStatus: 'todo', taskSystemStatusCategory: 'active' },
    ],
    ['session.expired', { expiresAt: session.expiresAt, releasedClaims: 1 }],
  ]);
});

test('an expired claim becomes stale and its task is free, in the release status', async () => {
  const worker = await makeWorker(baton);
  const [task, moved] = [await makeTask(baton), await makeTask(baton)];
  const [claim, other] = [await claimTask(worker, task.id), await claimTask(worker, moved.id)];
  await baton.pool.run(sql`update tasks set status = 'blocked', category = 'blocked' where id = ${moved.id}`);
  for (const { id } of [task, moved]) await endClaimLease(baton, id);
  assert.equal(await sweep('claims'), 2);
  assert.equal(await sweep('claims'), 0);
  const stale = await done(worker.actor.get(`/claims/${claim.id}`));
  assert.deepEqual([stale.status, stale.releaseReason], ['stale', 'expired']);
  const free = await done(worker.actor.get(`/tasks/${task.id}`));
  assert.deepEqual([free.status, free.activeClaimId, free.version], ['todo', null, 3]);
  assert.equal((await done(worker.actor.get(`/tasks/${moved.id}`))).status, 'blocked');
  assert.deepEqual((await eventsOf(baton, claim.id))[0]?.payload, {
    taskId: task.id,
    reason: 'expired',
    taskStatus: 'todo',
    taskSystemStatusCategory: 'active',
  });
  assert.equal((await claimTask(worker, task.id)).fencingToken, 2);
  const written = await traces([claim.id, other.id]);
  assert.equal(written.length, 2);
  assert.equal(new Set(written.map((row) => row.trace_run_id)).size, 1);
  for (const row of written)
    assert.deepEqual([row.actor_id, row.request_id, row.correlation_id], [null, 'worker', 'worker-claims']);
});

test('several sweepers at once expire every session and claim of every tenant once', async () => {
  const owners: Worker[] = [
    await makeWorker(baton),
    await makeWorker(baton, { tenantId: baton.otherTenantId }),
  ];
  const [sessionIds, claimIds, releasedIds]: [string[], string[], string[]] = [[], [], []];
  for (const owner of owners) {
    const tenant = owner.actor.tenantId === baton.tenantId ? baton.admin : baton.otherAdmin;
    for (let count = 0; count < 30; count += 1) {
      const tasks = [];
      for (let n = 0; n < 2; n += 1) tasks.push(await done(tenant.post('/tasks', { title: 'left' }), 201));
      const sessionId = await openSession(owner.actor);
      sessionIds.push(sessionId);
      releasedIds.push((await claimTask({ ...owner, sessionId }, tasks[0].id)).id);
      claimIds.push((await claimTask(owner, tasks[1].id)).id);
      await endClaimLease(baton, tasks[1].id);
    }
  }
  await baton.pool.run(
    sql`update sessions set expires_at = now() - interval '1 second', sweep_at = now() - interval '1 second' where id = any (${sessionIds}::uuid[])`,
  );
  const counts = { sessions: 0, claims: 0 };
  const run = async (kind: 'sessions' | 'claims', job: Job) => {
    for (let idle = 0; idle < 3; ) {
      const handled = await job.run();
      counts[kind] += handled;
      idle = handled === 0 ? idle + 1 : 0;
    }
  };
  await Promise.all(
    sweepers.flatMap((sweeper) => [run('sessions', sweeper.sessions), run('claims', sweeper.claims)]),
  );
  assert.deepEqual(counts, { sessions: 60, claims: 60 });
  for (const [ids, type] of [
    [sessionIds, 'session.expired'],
    [claimIds, 'claim.expired'],
    [releasedIds, 'claim.released'],
  ] as const) {
    const written = (await eventsOf(baton, ...ids)).filter((event) => event.type === type);
    assert.equal(written.length, 60, type);
    assert.equal(new Set(written.map(({ entity_id: id }) => id)).size, 60, type);
  }
  const outbox = await baton.pool.row<{ count: number }>(sql`
    select count(*) as count from outbox o join events e on e.sequence = o.event_sequence
    where e.entity_id = any (${[...sessionIds, ...claimIds]}::uuid[]) and e.tenant_id <> o.tenant_id`);
  assert.equal(outbox?.count, 0);
});

test('a heartbeat at the instant of the sweep either keeps its claim or finds it expired', async () => {
  const worker = await makeWorker(baton);
  const outcomes = { kept: 0, swept: 0 };
  for (let round = 0; round < raceRounds; round += 1) {
    const task = await makeTask(baton);
    const claim = await claimTask(worker, task.id);
    // The lease expires at about the time when both requests arrive: certainly later in the first round, and certainly
    // earlier in the second.
    await endClaimLease(baton, task.id, [60_000, -1000][round] ?? round % 12);
    const beats = Array.from({ length: 3 }, () => worker.actor.post(`/claims/${claim.id}:heartbeat`));
    const sweeps = sweepers.map(({ claims }) => claims.run());
    const answers = await Promise.all(beats);
    await Promise.all(sweeps);
    const { status } = await done(worker.actor.get(`/claims/${claim.id}`));
    const held = await done(worker.actor.get(`/tasks/${task.id}`));
    const kept = answers.some((answer) => answer.status === 200);
    assert.equal(status, kept ? 'active' : status, 'a claim with a successful heartbeat is not swept');
    assert.equal(held.activeClaimId, status === 'active' ? claim.id : null);
    const expired = (await eventsOf(baton, claim.id)).length;
    assert.equal(expired, status === 'stale' ? 1 : 0);
    outcomes[kept ? 'kept' : 'swept'] += 1;
  }
  assert.ok(outcomes.kept > 0 && outcomes.swept > 0, JSON.stringify(outcomes));
});

test('a claim that can never be expired does not block the others of its tenant', async (t) => {
  const worker = await makeWorker(baton);
  const tasks = await Promise.all([0, 1, 2].map(() => makeTask(baton)));
  const claims = await Promise.all(tasks.map(({ id }) => claimTask(worker, id)));
  for (const { id } of tasks) await endClaimLease(baton, id);
  await baton.pool.run(sql`
    create function refuse_poison() returns trigger language plpgsql as $$
    begin raise exception 'poison'; end $$`);
  await baton.pool.run(
    rawSql(`create trigger poison before update on claims for each row when (old.id = '${claims[0].id}')
      execute function refuse_poison()`),
  );
  t.after(() => baton.pool.run(sql`drop trigger poison on claims`));
  assert.equal(await sweep('claims'), 2);
  const states = await Promise.all(claims.map(({ id }) => done(worker.actor.get(`/claims/${id}`))));
  assert.deepEqual(
    states.map(({ status }) => status),
    ['active', 'stale', 'stale'],
  );
});
