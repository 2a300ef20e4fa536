import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import {
  claimTask,
  corePrincipalOf,
  done,
  endClaimLease,
  endSessionLease,
  eventsOf,
  makeRun,
  makeTask,
  makeWorker,
  openSession,
  refused,
  type Worker,
} from '../../testing/leases.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';
import { failOnce, letComeDue } from '../../testing/work/availability.ts';
import { expireDueClaims, expireDueSessions } from '../sweeper/sweeper.ts';
import { blockExhaustedTasks } from './exhausted-tasks.ts';

let baton: TestCoordination;
let worker: Worker;
let background: ReturnType<typeof makeWorkerTools>;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
  background = makeWorkerTools(baton);
});
after(async () => {
  await background.close();
  await baton.close();
});

const read = (id: string) => done(baton.admin.get(`/tasks/${id}`));
const typed = async (retry: object, more: object = {}): Promise<string> => {
  const key = `t${newId()}`;
  await done(baton.admin.post('/task-types', { key, displayName: key, execution: { retry }, ...more }), 201);
  return key;
};
const secondsTo = (instant: string | null) => (Date.parse(instant ?? '') - Date.now()) / 1000;
const offeredTo = async (by: Worker, assigneeId: string): Promise<string[]> =>
  (await done(by.actor.get(`/work/available?assigneeId=${assigneeId}`))).items.map(({ id }: any) => id);
const eventsNamed = async (id: string, type: string) =>
  (await eventsOf(baton, id)).filter((event) => event.type === type);

/** Checks the remaining pause in whole seconds, of which up to 30 may have passed. */
function assertPause(task: { availableAt: string | null }, seconds: number): void {
  const left = secondsTo(task.availableAt);
  assert.ok(left <= seconds && left > seconds - 30, `${left} s are left, and not ${seconds}`);
}

test('a failed task is not available immediately: the pause doubles up to its maximum', async () => {
  const typeKey = await typed({ backoffSeconds: 100, maxBackoffSeconds: 350 });
  const { id } = await makeTask(baton, { typeKey });
  for (const seconds of [100, 200, 350, 350]) {
    assertPause(await failOnce(baton, worker, id), seconds);
    await letComeDue(baton, id);
  }
});

test('the built-in type and new ones pause for a minute, older versions not at all', async () => {
  const bare = await typed({});
  for (const typeKey of ['task', bare]) {
    const { id } = await makeTask(baton, { typeKey });
    assertPause(await failOnce(baton, worker, id), 60);
  }
  const { items } = await done(baton.admin.get('/task-types?key=task'));
  assert.deepEqual(items[0].execution, {
    retry: { backoffSeconds: 60, maxBackoffSeconds: 3600 },
    startDateHolds: true,
  });
  const old = `t${newId()}`;
  await insertTestType(baton, { key: old });
  const { id } = await makeTask(baton, { typeKey: old });
  const task = await failOnce(baton, worker, id);
  assert.equal(task.availableAt, null);
  assertPause(await failOnce(baton, worker, id, { retryAfterSeconds: 90 }), 90);
});

test('a paused task is neither listed as available nor claimable; after the pause it is both, without a write', async () => {
  const assignee = await baton.actor();
  const rival = await makeWorker(baton);
  const { id } = await makeTask(baton, { assigneeId: assignee.principalId });
  const other = await makeTask(baton, { assigneeId: assignee.principalId, priority: 'low' });
  const { availableAt } = await failOnce(baton, worker, id);
  assert.deepEqual(await offeredTo(rival, assignee.principalId), [other.id]);
  const details = await refused(
    rival.actor.post(`/tasks/${id}:claim`, { sessionId: rival.sessionId }),
    409,
    'task_not_due',
  );
  assert.deepEqual(details, { taskId: id, availableAt });
  const { claimable, reasons } = await done(rival.actor.get(`/tasks/${id}/claimability`));
  assert.equal(claimable, false);
  assert.deepEqual(reasons, [
    {
      code: 'not_before',
      availableAt,
      since: null,
      remedies: [
        {
          act: 'make_available',
          method: 'POST',
          path: `/tasks/${id}:make-available`,
          permission: 'tasks.write',
          allowed: true,
        },
      ],
    },
  ]);
  await letComeDue(baton, id);
  assert.deepEqual(await offeredTo(rival, assignee.principalId), [id, other.id]);
  const next = { sessionId: rival.sessionId, assigneeId: assignee.principalId, count: 2 };
  const { items } = await done(rival.actor.post('/work:claim-next', next));
  assert.deepEqual(
    items.map(({ task }: any) => task.id),
    [id, other.id],
  );
});

test("the pause is the longer of the backoff and the executor's request, and the event reports it", async () => {
  const { id } = await makeTask(baton);
  const { task, claim, run } = await makeRun(baton, worker);
  assert.equal(task.availableAt, null);
  await done(
    worker.actor.post(`/runs/${run.id}:fail`, { failureReason: 'rate_limited: 429', retryAfterSeconds: 600 }),
  );
  await done(worker.actor.post(`/claims/${claim.id}:release`, {}));
  const paused = await read(task.id);
  assertPause(paused, 600);
  assert.deepEqual(
    (await eventsNamed(task.id, 'task.retry_scheduled')).map(({ payload }) => payload),
    [
      {
        publicId: task.publicId,
        runId: run.id,
        attempt: 1,
        reason: 'rate_limited: 429',
        failedAttempts: 1,
        availableAt: paused.availableAt,
        version: paused.version - 1,
      },
    ],
  );
  assertPause(await failOnce(baton, worker, id, { retryAfterSeconds: 1 }), 60);
  const { run: other } = await makeRun(baton, worker);
  for (const retryAfterSeconds of [-1, 604_801, 1.5, '60'])
    await refused(worker.actor.post(`/runs/${other.id}:fail`, { retryAfterSeconds }), 400, 'invalid_request');
});

test("a cancelled or suspended run doesn't count; a succeeded one resets the count", async () => {
  const typeKey = await typed({ backoffSeconds: 100, maxBackoffSeconds: 10_000 });
  const { id } = await makeTask(baton, { typeKey });
  assertPause(await failOnce(baton, worker, id), 100);
  await letComeDue(baton, id);
  const runOnce = async (end: string, body: object) => {
    const claim = await claimTask(worker, id);
    const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
    const run = await done(worker.actor.post(`/tasks/${id}:start-run`, keys), 201);
    await done(worker.actor.post(`/runs/${run.id}:${end}`, body));
    await worker.actor.post(`/claims/${claim.id}:release`, {});
  };
  await runOnce('cancel', {});
  await runOnce('suspend', {});
  assertPause(await failOnce(baton, worker, id), 200);
  await letComeDue(baton, id);
  await runOnce('succeed', { completeTask: false });
  assert.equal((await read(id)).availableAt, null);
  assertPause(await failOnce(baton, worker, id), 100);
});

test('after maxAttempts, the task moves to its blocked status, and a comment of the service and an event contain the reason', async () => {
  const typeKey = await typed({ maxAttempts: 2 });
  const { id, publicId } = await makeTask(baton, { typeKey });
  await failOnce(baton, worker, id);
  await letComeDue(baton, id);
  const task = await failOnce(baton, worker, id, {
    failureReason: 'broken: token=abcdefghijklmnopqrstuvwxyz',
  });
  assert.deepEqual([task.status, task.systemStatusCategory, task.availableAt], ['blocked', 'blocked', null]);
  const { items } = await done(baton.admin.get(`/tasks/${id}/comments`));
  assert.equal(items.length, 1);
  assert.equal(items[0].authorPrincipalId, await corePrincipalOf(baton));
  assert.match(items[0].body, /^2 consecutive attempts failed: broken: .*\. Move the task to another status/);
  assert.doesNotMatch(items[0].body, /abcdefgh/);
  const [event, ...more] = await eventsNamed(id, 'task.attempts_exhausted');
  assert.deepEqual(more, []);
  const { reason, version, ...payload } = event?.payload as any;
  assert.match(reason, /^broken: /);
  assert.equal(version, task.version - 1, 'the release of the claim came after it');
  assert.deepEqual(payload, {
    publicId,
    failedAttempts: 2,
    fromStatus: 'in_progress',
    status: 'blocked',
    systemStatusCategory: 'blocked',
  });
  const sessionId = worker.sessionId;
  const details = await refused(
    worker.actor.post(`/tasks/${id}:claim`, { sessionId }),
    422,
    'task_not_claimable',
  );
  assert.deepEqual(details, { taskId: id, status: 'blocked', systemStatusCategory: 'blocked' });
  const moved = { status: 'todo' };
  await done(baton.admin.patch(`/tasks/${id}`, moved, { 'if-match': `task-${task.version}` }));
  assertPause(await failOnce(baton, worker, id), 60);
});

test('a reason that retryOn does not list ends the attempts immediately; an expired lease never does', async () => {
  const typeKey = await typed({ retryOn: ['rate_limited', 'timeout'] });
  const { id } = await makeTask(baton, { typeKey });
  assertPause(await failOnce(baton, worker, id, { failureReason: 'rate_limited: slow down' }), 60);
  await letComeDue(baton, id);
  await claimTask(worker, id);
  await endClaimLease(baton, id);
  await expireDueClaims(background.tools).run();
  assert.equal((await read(id)).status, 'todo');
  const task = await failOnce(baton, worker, id, { failureReason: 'rate_limited_differently' });
  assert.equal(task.status, 'blocked');
});

test('without a blocked status in its type, a task is on hold until make-available is called', async () => {
  const lifecycleSchema = {
    statuses: [
      { key: 'new', category: 'active' },
      { key: 'aside', category: 'blocked' },
      { key: 'over', category: 'terminal_success' },
    ],
    initialStatus: 'new',
    claimFrom: ['aside'],
    transitions: [
      { from: 'new', to: ['aside', 'over'] },
      { from: 'aside', to: ['new'] },
    ],
  };
  const typeKey = await typed({ maxAttempts: 1 }, { lifecycleSchema });
  const { id } = await makeTask(baton, { typeKey });
  const task = await failOnce(baton, worker, id);
  assert.deepEqual([task.status, task.availableAt], ['new', '9999-12-31T23:59:59.999Z']);
  const { items } = await done(baton.admin.get(`/tasks/${id}/comments`));
  assert.match(items[0].body, /^The last attempt failed: .*:make-available/);
  await refused(
    worker.actor.post(`/tasks/${id}:claim`, { sessionId: worker.sessionId }),
    409,
    'task_not_due',
  );
  const free = await done(baton.admin.post(`/tasks/${id}:make-available`));
  assert.equal(free.availableAt, null);
  await claimTask(worker, id);
});

test('the end of the attempts is reported once, however often a run fails afterwards', async () => {
  const statuses = [
    { key: 'open', category: 'active' },
    { key: 'done', category: 'terminal_success' },
  ];
  const transitions = [{ from: 'open', to: ['done'] }];
  const typeKey = await typed(
    { maxAttempts: 1 },
    { lifecycleSchema: { statuses, transitions, initialStatus: 'open' } },
  );
  const reports = async (id: string) => [
    (await done(baton.admin.get(`/tasks/${id}/comments`))).items.length,
    (await eventsNamed(id, 'task.attempts_exhausted')).length,
  ];
  const again = await makeRun(baton, worker, { task: { typeKey } });
  await done(worker.actor.post(`/runs/${again.run.id}:fail`, {}));
  const body = { claimId: again.claim.id, fencingToken: again.claim.fencingToken };
  const second = await done(worker.actor.post(`/tasks/${again.task.id}:start-run`, body), 201);
  await done(worker.actor.post(`/runs/${second.id}:fail`, {}));
  assert.deepEqual(await reports(again.task.id), [1, 1]);
  assert.equal((await read(again.task.id)).availableAt, '9999-12-31T23:59:59.999Z');

  const late = await makeRun(baton, worker, { task: { typeKey } });
  await endClaimLease(baton, late.task.id);
  await expireDueClaims(background.tools).run();
  await blockExhaustedTasks(background.tools).run();
  await done(worker.actor.post(`/runs/${late.run.id}:fail`, {}));
  assert.deepEqual(await reports(late.task.id), [1, 1]);

  // The failure is stored first and already reports the limit, so the worker doesn't report it again.
  const next = await makeRun(baton, worker, { task: { typeKey } });
  await endClaimLease(baton, next.task.id);
  await expireDueClaims(background.tools).run();
  await done(worker.actor.post(`/runs/${next.run.id}:fail`, {}));
  await blockExhaustedTasks(background.tools).run();
  assert.deepEqual(await reports(next.task.id), [1, 1]);
});

test('a move from an on-hold status to one that allows claims resets the count', async () => {
  const statuses = [
    { key: 'open', category: 'active' },
    { key: 'waiting', category: 'blocked' },
    { key: 'retry', category: 'blocked' },
    { key: 'done', category: 'terminal_success' },
  ];
  const transitions = [
    { from: 'open', to: ['waiting'] },
    { from: 'waiting', to: ['retry'] },
    { from: 'retry', to: ['waiting', 'done'] },
  ];
  const lifecycleSchema = { statuses, transitions, initialStatus: 'open', claimFrom: ['retry'] };
  const typeKey = await typed({ maxAttempts: 2, backoffSeconds: 100 }, { lifecycleSchema });
  const { id } = await makeTask(baton, { typeKey });
  await failOnce(baton, worker, id);
  await letComeDue(baton, id);
  const held = await failOnce(baton, worker, id);
  assert.equal(held.status, 'waiting');
  const ifMatch = { 'if-match': `task-${held.version}` };
  await done(baton.admin.patch(`/tasks/${id}`, { status: 'retry' }, ifMatch));
  const failed = await failOnce(baton, worker, id);
  assert.equal(failed.status, 'retry');
  assertPause(failed, 100);
});

test('an expired lease counts as a failed attempt without a pause, whichever command ends it, and only once', async () => {
  const typeKey = await typed({ backoffSeconds: 100, maxBackoffSeconds: 10_000 });
  const { id } = await makeTask(baton, { typeKey });
  const expire = async () => {
    await claimTask(worker, id);
    await endClaimLease(baton, id);
  };
  await expire();
  await expireDueClaims(background.tools).run();
  assert.equal((await read(id)).availableAt, null);
  await expire();
  const taken = await claimTask(worker, id);
  await done(worker.actor.post(`/claims/${taken.id}:release`, {}));
  const sessionId = await openSession(worker.actor);
  await claimTask({ ...worker, sessionId }, id);
  await endSessionLease(baton, sessionId);
  await expireDueSessions(background.tools).run();
  assert.equal((await read(id)).availableAt, null);
  await expire();
  const { items } = await done(
    worker.actor.post('/work:claim-next', { sessionId: worker.sessionId, count: 100 }),
  );
  const next = items.find(({ task }: any) => task.id === id);
  assert.equal(next.task.availableAt, null);
  for (const { claim } of items) await done(worker.actor.post(`/claims/${claim.id}:release`, {}));
  assertPause(await failOnce(baton, worker, id), 1600);
});

test('a failed run is not counted again when its lease expires', async () => {
  const typeKey = await typed({ backoffSeconds: 100, maxBackoffSeconds: 10_000 });
  const { task, run } = await makeRun(baton, worker, { task: { typeKey } });
  await done(worker.actor.post(`/runs/${run.id}:fail`, {}));
  await endClaimLease(baton, task.id);
  await expireDueClaims(background.tools).run();
  await letComeDue(baton, task.id);
  assertPause(await failOnce(baton, worker, task.id), 200);
});

test('a late or restarted executor causes no pause, and one whose task has another holder has no effect', async () => {
  const typeKey = await typed({ backoffSeconds: 100, maxBackoffSeconds: 10_000 });
  const late = await makeRun(baton, worker, { task: { typeKey } });
  await endClaimLease(baton, late.task.id);
  await expireDueClaims(background.tools).run();
  await done(worker.actor.post(`/runs/${late.run.id}:fail`, { failureReason: 'too late' }));
  assert.equal((await read(late.task.id)).availableAt, null);
  assertPause(await failOnce(baton, worker, late.task.id), 200);

  const restarted = await makeRun(baton, worker, { task: { typeKey } });
  await done(worker.actor.post(`/runs/${restarted.run.id}:fail`, { failureReason: 'restart_recovery' }));
  assert.equal((await read(restarted.task.id)).availableAt, null);

  const stolen = await makeRun(baton, worker, { task: { typeKey } });
  await endClaimLease(baton, stolen.task.id);
  const rival = await makeWorker(baton);
  await claimTask(rival, stolen.task.id);
  const { version } = await read(stolen.task.id);
  await done(worker.actor.post(`/runs/${stolen.run.id}:fail`, { retryAfterSeconds: 600 }));
  const held = await read(stolen.task.id);
  assert.deepEqual([held.availableAt, held.version], [null, version]);
});

test('an expired lease of the last attempt puts the task on hold immediately, and the worker blocks it', async () => {
  const typeKey = await typed({ maxAttempts: 1 });
  const rival = await makeWorker(baton);
  const claim = (id: string) => rival.actor.post(`/tasks/${id}:claim`, { sessionId: rival.sessionId });
  const { id } = await makeTask(baton, { typeKey, assigneeId: rival.actor.principalId });
  await claimTask(worker, id);
  await endClaimLease(baton, id);
  const details = await refused(claim(id), 409, 'task_not_due');
  assert.equal(details.availableAt, '9999-12-31T23:59:59.999Z');
  const next = { sessionId: rival.sessionId, assignedToMe: true };
  assert.deepEqual((await done(rival.actor.post('/work:claim-next', next))).items, []);
  await expireDueClaims(background.tools).run();
  await refused(claim(id), 409, 'task_not_due');
  const job = blockExhaustedTasks(background.tools);
  assert.equal(await job.run(), 1);
  assert.equal(await job.run(), 0);
  assert.equal((await read(id)).status, 'blocked');
  const [comment] = (await done(baton.admin.get(`/tasks/${id}/comments`))).items;
  assert.match(comment.body, /^The last attempt failed: lease_expired\./);
  const [event] = await eventsNamed(id, 'task.attempts_exhausted');
  assert.deepEqual(event?.actor_id, null);

  // Another command was faster than the worker.
  const other = await makeTask(baton, { typeKey });
  await claimTask(worker, other.id);
  await endClaimLease(baton, other.id);
  await expireDueClaims(background.tools).run();
  await done(baton.admin.post(`/tasks/${other.id}:make-available`));
  assert.equal(await job.run(), 0);
  assert.equal((await read(other.id)).status, 'todo');
});

test('a lease that expires after its run failed is no further attempt: the task is taken over without a worker', async () => {
  const typeKey = await typed({ maxAttempts: 2, backoffSeconds: 100 });
  const rival = await makeWorker(baton);
  const failed = async () => {
    const { task, run } = await makeRun(baton, worker, {
      task: { typeKey, assigneeId: rival.actor.principalId },
    });
    await done(worker.actor.post(`/runs/${run.id}:fail`, {}));
    await letComeDue(baton, task.id);
    await endClaimLease(baton, task.id);
    return task;
  };
  const task = await failed();
  const { claimable, reasons } = await done(rival.actor.get(`/tasks/${task.id}/claimability`));
  assert.deepEqual([claimable, reasons], [true, []]);
  await claimTask(rival, task.id);
  const next = await failed();
  const { items } = await done(
    rival.actor.post('/work:claim-next', { sessionId: rival.sessionId, assignedToMe: true }),
  );
  assert.deepEqual(
    items.map(({ task: { id } }: any) => id),
    [next.id],
  );
});

test('a task whose holder failed and disappeared is not taken over during the pause', async () => {
  const { task, claim, run } = await makeRun(baton, worker);
  await done(worker.actor.post(`/runs/${run.id}:fail`, {}));
  await endClaimLease(baton, task.id);
  const { sessionId } = worker;
  const details = await refused(
    worker.actor.post(`/claims/${claim.id}:reclaim`, { sessionId }),
    409,
    'task_not_due',
  );
  assert.equal(details.availableAt, (await read(task.id)).availableAt);
});

test('the end of a task ends its pause', async () => {
  const { id } = await makeTask(baton);
  const { version } = await failOnce(baton, worker, id);
  const ended = await done(baton.admin.post(`/tasks/${id}:complete`, {}, { 'if-match': `task-${version}` }));
  assert.equal(ended.availableAt, null);
});
