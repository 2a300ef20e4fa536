import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import {
  claimTask,
  delegate,
  done,
  endClaimLease,
  endDelegation,
  endSessionLease,
  eventsOf,
  makeTask,
  makeWorker,
  openSession,
  refused,
  type Worker,
} from '../../testing/leases.ts';

let baton: TestCoordination;
let worker: Worker;
let rival: Worker;

before(async () => {
  baton = await startCoordination();
  [worker, rival] = [await makeWorker(baton), await makeWorker(baton)];
});
after(() => baton.close());

const readTask = (id: string) => done(baton.admin.get(`/tasks/${id}`));
const keysOf = ({ id, fencingToken }: { id: string; fencingToken: number }) => ({
  claimId: id,
  fencingToken,
});

const start = ({ actor }: Worker, claim: any, more: object = {}) =>
  actor.post(`/tasks/${claim.taskId}:start-run`, { ...keysOf(claim), ...more });

async function running(by: Worker, taskOptions: object = {}) {
  const task = await makeTask(baton, taskOptions);
  const claim = await claimTask(by, task.id);
  return { task, claim, run: await done(start(by, claim), 201) };
}

/** A worker that acts for a person, and a function that ends the delegation. */
async function delegated() {
  const human = await baton.actor({ kind: 'human' });
  const delegationId = await delegate(human, worker.actor, baton);
  const sessionId = await openSession(worker.actor, { onBehalfOf: human.principalId });
  return { by: { ...worker, sessionId }, end: () => endDelegation(baton, delegationId) };
}

describe('POST /tasks/{ref}:start-run', () => {
  test("starts the first attempt under the live claim and doesn't change claim and task", async () => {
    const task = await makeTask(baton);
    const claim = await claimTask(worker, task.id);
    const before = await readTask(task.id);
    const run = await done(
      worker.actor.post(`/tasks/${task.publicId}:start-run`, {
        ...keysOf(claim),
        input: { branch: 'main' },
        metadata: { model: 'x' },
        maxDurationSeconds: 60,
        maxActions: 3,
      }),
      201,
    );
    const { id, startedAt, lastProgressAt, createdAt, updatedAt, ...rest } = run;
    assert.ok(startedAt === createdAt && createdAt === updatedAt && createdAt === lastProgressAt);
    assert.deepEqual(rest, {
      tenantId: baton.tenantId,
      taskId: task.id,
      claimId: claim.id,
      principalId: worker.actor.principalId,
      sessionId: worker.sessionId,
      fencingToken: 1,
      attempt: 1,
      status: 'running',
      finishedAt: null,
      input: { branch: 'main' },
      output: null,
      failureReason: null,
      cancelRequestedAt: null,
      cancelRequestedBy: null,
      maxDurationSeconds: 60,
      maxActions: 3,
      maxTokens: null,
      maxCostMicros: null,
      currency: null,
      usage: { inputTokens: 0, outputTokens: 0, costs: [] },
      orphaned: false,
      metadata: { model: 'x' },
      instructionsHash: null,
      instructionsRefs: null,
      agentRevisionId: null,
      version: 1,
    });
    assert.deepEqual(await readTask(task.id), before);
    const [event] = await eventsOf(baton, id);
    assert.equal(event?.type, 'run.started');
    assert.equal(event?.schema_version, 2);
    assert.equal(event?.actor_id, worker.actor.principalId);
    assert.equal(event?.session_id, worker.sessionId);
    assert.deepEqual(event?.payload, {
      taskId: task.id,
      claimId: claim.id,
      attempt: 1,
      fencingToken: 1,
      instructionsHash: null,
      instructionsRefs: null,
      agentRevisionId: null,
    });
    assert.deepEqual(await done(worker.actor.get(`/runs/${id}`)), run);
  });

  test('the same with an Idempotency-Key, which replays the run', async () => {
    const claim = await claimTask(worker, (await makeTask(baton)).id);
    const keyed = () =>
      worker.actor.post(`/tasks/${claim.taskId}:start-run`, keysOf(claim), { 'idempotency-key': claim.id });
    const run = await done(keyed(), 201);
    assert.deepEqual(await done(keyed(), 201), run);
  });

  test('refuses in the order budget, documents, revision, task, status, gate, running run', async () => {
    const claim = await claimTask(worker, (await makeTask(baton)).id);
    const wrong = {
      maxActions: 2 ** 40,
      input: { text: 'x'.repeat(70_000) },
      agentRevisionId: newId(),
    };
    await refused(start(worker, claim, { maxActions: 0 }), 400, 'invalid_request');
    const budget = await refused(start(worker, claim, wrong), 422, 'invalid_budget');
    assert.deepEqual(budget, { field: 'maxActions', max: 2_147_483_647 });
    await refused(start(worker, claim, { ...wrong, maxActions: 1 }), 422, 'payload_too_large');
    const deep = JSON.parse(`${'{"a":'.repeat(30)}1${'}'.repeat(30)}`);
    await refused(start(worker, claim, { metadata: deep }), 422, 'payload_too_deep');
    const elsewhere = { ...claim, taskId: newId() };
    await refused(start(worker, elsewhere, { agentRevisionId: newId() }), 422, 'agent_revision_mismatch');
    await refused(start(worker, elsewhere), 404, 'not_found');
    await refused(start({ ...worker, actor: baton.otherAdmin }, claim), 404, 'not_found');
    await refused(start(worker, { ...claim, id: newId() }), 409, 'stale_claim');
    const token = await refused(start(worker, { ...claim, fencingToken: 7 }), 409, 'stale_claim');
    assert.deepEqual(token, { claimId: claim.id, presentedFencingToken: 7, currentClaimEpoch: 1 });
    await refused(start(rival, claim), 403, 'claim_holder_mismatch');
    const run = await done(start(worker, claim), 201);
    const second = await refused(start(worker, claim), 409, 'run_already_active');
    assert.equal(second.runId, run.id);
    await done(worker.actor.post(`/runs/${run.id}:succeed`));
    await refused(start(worker, claim), 422, 'task_not_runnable');
  });

  test('a claim that has ended, or whose session is dead, starts no run', async () => {
    const tasks = [await makeTask(baton), await makeTask(baton), await makeTask(baton)];
    const [released, expired] = [await claimTask(worker, tasks[0].id), await claimTask(worker, tasks[1].id)];
    const sessionId = await openSession(worker.actor);
    const dead = await claimTask({ ...worker, sessionId }, tasks[2].id);
    await done(worker.actor.post(`/claims/${released.id}:release`));
    await endClaimLease(baton, tasks[1].id);
    await endSessionLease(baton, sessionId);
    for (const claim of [released, expired, dead]) {
      const details = await refused(start(worker, claim), 409, 'stale_claim');
      assert.deepEqual(details, { claimId: claim.id });
    }
  });

  test('the running run of an older claim is failed as superseded, and the next attempt has the next number', async () => {
    const { task, claim, run } = await running(worker);
    await endClaimLease(baton, task.id);
    const taken = await claimTask(rival, task.id);
    assert.equal((await done(rival.actor.get(`/runs/${run.id}`))).status, 'running');
    const next = await done(start(rival, taken), 201);
    assert.equal(next.attempt, 2);
    assert.equal(next.fencingToken, claim.fencingToken + 1);
    const zombie = await done(rival.actor.get(`/runs/${run.id}`));
    assert.equal(zombie.orphaned, false);
    assert.deepEqual([zombie.status, zombie.failureReason, zombie.version], ['failed', 'superseded', 2]);
    assert.notEqual(zombie.finishedAt, null);
    const events = await eventsOf(baton, run.id, next.id);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['run.started', 'run.failed', 'run.started'],
    );
    assert.deepEqual(events[1]?.payload, { taskId: task.id, reason: 'superseded', attempt: 1 });
  });

  test('under a session whose delegation has ended, it closes that session and returns stale_claim', async () => {
    const { by, end } = await delegated();
    const claim = await claimTask(by, (await makeTask(baton)).id);
    await end();
    await refused(start(by, claim), 409, 'stale_claim');
    assert.equal((await done(worker.actor.get(`/sessions/${by.sessionId}`))).status, 'closed');
    assert.equal((await done(worker.actor.get(`/claims/${claim.id}`))).releaseReason, 'delegation_ended');
  });
});

describe('GET /runs', () => {
  test('lists newest first in pages, filtered by task, claim, principal and status', async () => {
    const agent = await makeWorker(baton);
    const runs = [];
    for (let count = 0; count < 3; count += 1) runs.push((await running(agent)).run);
    const mine = `principalId=${agent.actor.principalId}`;
    const first = await done(worker.actor.get(`/runs?${mine}&limit=2`));
    assert.deepEqual(first.items, [runs[2], runs[1]]);
    const rest = await done(worker.actor.get(`/runs?${mine}&limit=2&cursor=${first.nextCursor}`));
    assert.deepEqual(rest, { items: [runs[0]], nextCursor: null });
    assert.deepEqual((await done(worker.actor.get(`/runs?taskId=${runs[1].taskId}`))).items, [runs[1]]);
    assert.deepEqual((await done(worker.actor.get(`/runs?claimId=${runs[1].claimId}`))).items, [runs[1]]);
    await done(agent.actor.post(`/runs/${runs[0].id}:fail`));
    const failed = (await done(worker.actor.get(`/runs?${mine}&status=failed`))).items;
    assert.deepEqual(
      failed.map(({ id }: { id: string }) => id),
      [runs[0].id],
    );
    assert.deepEqual((await done(worker.actor.get('/runs?agentKey=nobody'))).items, []);
    assert.deepEqual((await done(baton.otherAdmin.get(`/runs?taskId=${runs[1].taskId}`))).items, []);
    await refused(worker.actor.get('/runs?status=lost'), 422, 'invalid_status');
    await refused(worker.actor.get('/runs?cursor=abc'), 422, 'invalid_cursor');
    await refused(worker.actor.get(`/runs/${newId()}`), 404, 'not_found');
    await refused(baton.otherAdmin.get(`/runs/${runs[0].id}`), 404, 'not_found');
  });
});

test('a running run without a live claim is orphaned, read alone or in a list, and its executor can still end it', async () => {
  const ends: ((made: Awaited<ReturnType<typeof running>>, sessionId: string) => Promise<unknown>)[] = [
    ({ claim }) => done(worker.actor.post(`/claims/${claim.id}:release`)),
    ({ task }) => endClaimLease(baton, task.id),
    (_, sessionId) => endSessionLease(baton, sessionId),
    (_, sessionId) => done(worker.actor.post(`/sessions/${sessionId}:close`)),
    async ({ task }) => {
      await endClaimLease(baton, task.id);
      await claimTask(rival, task.id);
    },
  ];
  for (const end of ends) {
    const sessionId = await openSession(worker.actor);
    const made = await running({ ...worker, sessionId });
    const { id, taskId } = made.run;
    const seen = async () => {
      const { items } = await done(worker.actor.get(`/runs?taskId=${taskId}`));
      return [(await done(worker.actor.get(`/runs/${id}`))).orphaned, items[0].orphaned];
    };
    assert.deepEqual(await seen(), [false, false]);
    await end(made, sessionId);
    assert.deepEqual(await seen(), [true, true]);
    assert.equal((await done(worker.actor.post(`/runs/${id}:fail`))).orphaned, false);
    assert.deepEqual(await seen(), [false, false]);
  }
});

describe('POST /runs/{id}:succeed', () => {
  test('completes the task and releases its claim', async () => {
    const { task, claim, run } = await running(worker);
    const answer = await done(worker.actor.post(`/runs/${run.id}:succeed`, { output: { tests: 'green' } }));
    assert.equal(answer.run.status, 'succeeded');
    assert.deepEqual(answer.run.output, { tests: 'green' });
    assert.equal(answer.run.version, 2);
    assert.notEqual(answer.run.finishedAt, null);
    assert.equal(answer.task.status, 'done');
    assert.equal(answer.task.systemStatusCategory, 'terminal_success');
    assert.equal(answer.task.activeClaimId, null);
    assert.equal(answer.task.version, 3);
    const released = await done(worker.actor.get(`/claims/${claim.id}`));
    assert.deepEqual([released.status, released.releaseReason], ['released', 'completed']);
    const events = await eventsOf(baton, run.id, claim.id, task.id);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['task.created', 'task.claimed', 'run.started', 'run.succeeded', 'claim.released', 'task.completed'],
    );
    assert.deepEqual(events[3]?.payload, { taskId: task.id, attempt: 1, taskCompleted: true });
    assert.deepEqual(events[4]?.payload, { taskId: task.id, reason: 'completed' });
  });

  test('with completeTask false the claim stays and the next attempt starts under it', async () => {
    const { task, claim, run } = await running(worker);
    const before = await readTask(task.id);
    const answer = await done(worker.actor.post(`/runs/${run.id}:succeed`, { completeTask: false }));
    assert.equal(answer.run.status, 'succeeded');
    assert.deepEqual(answer.task, before);
    assert.equal((await done(worker.actor.get(`/claims/${claim.id}`))).status, 'active');
    assert.equal((await eventsOf(baton, run.id)).at(-1)?.payload.taskCompleted, false);
    const next = await done(start(worker, claim), 201);
    assert.equal(next.attempt, 2);
  });

  test('refuses in the order run, status, holder, task, gate', async () => {
    const { task, claim, run } = await running(worker);
    const succeed = (by = worker, body: object = {}) => by.actor.post(`/runs/${run.id}:succeed`, body);
    await refused(worker.actor.post(`/runs/${newId()}:succeed`), 404, 'not_found');
    await refused(succeed({ ...worker, actor: baton.otherAdmin }), 404, 'not_found');
    await refused(succeed(rival), 403, 'run_holder_mismatch');
    await refused(succeed({ ...worker, actor: baton.admin }), 403, 'run_holder_mismatch');
    await refused(succeed(worker, { output: { text: 'x'.repeat(70_000) } }), 422, 'payload_too_large');
    const deep = JSON.parse(`${'{"a":'.repeat(30)}1${'}'.repeat(30)}`);
    await refused(succeed(worker, { output: deep }), 422, 'payload_too_deep');
    const setCategory = (category: string) =>
      baton.pool.run(sql`update tasks set category = ${category} where id = ${task.id}`);
    await setCategory('terminal_success');
    await refused(succeed(), 409, 'task_already_completed');
    await setCategory('terminal_cancelled');
    await refused(succeed(), 422, 'task_cancelled');
    await setCategory('active');
    await endClaimLease(baton, task.id);
    await refused(succeed(), 409, 'stale_claim');
    await refused(succeed(worker, { completeTask: false }), 409, 'stale_claim');
    await done(worker.actor.post(`/runs/${run.id}:fail`));
    const over = await refused(succeed(rival), 409, 'run_not_active');
    assert.deepEqual(over, { runId: run.id, status: 'failed' });
    assert.equal((await readTask(task.id)).activeClaimId, claim.id);
  });

  test('an undeclared edge to the completion status is invalid_transition, and the run continues', async () => {
    const lifecycle = {
      statuses: [
        { key: 'new', category: 'active' as const, displayName: 'New' },
        { key: 'done', category: 'terminal_success' as const, displayName: 'Done' },
      ],
      initialStatus: 'new',
      transitions: [],
      completionStatus: 'done',
    };
    const typeId = await insertTestType(baton, { key: 'endless', lifecycle });
    const { run } = await running(worker, { typeId });
    const details = await refused(worker.actor.post(`/runs/${run.id}:succeed`), 422, 'invalid_transition');
    assert.deepEqual(details, { from: 'new', to: 'done', allowed: [] });
    assert.equal((await done(worker.actor.get(`/runs/${run.id}`))).status, 'running');
    await done(worker.actor.post(`/runs/${run.id}:succeed`, { completeTask: false }));
  });

  test('under a session whose delegation has ended, it closes that session and the run continues', async () => {
    const { by, end } = await delegated();
    const { run } = await running(by);
    await end();
    await refused(worker.actor.post(`/runs/${run.id}:succeed`), 409, 'stale_claim');
    assert.equal((await done(worker.actor.get(`/sessions/${by.sessionId}`))).status, 'closed');
    assert.equal((await done(worker.actor.get(`/runs/${run.id}`))).status, 'running');
  });
});

describe('POST /runs/{id}:fail', () => {
  test("ends the run for its principal without a live claim, and doesn't change claim and task", async () => {
    const { task, claim, run } = await running(worker);
    await endClaimLease(baton, task.id);
    const taken = await claimTask(rival, task.id);
    const before = await readTask(task.id);
    const failed = await done(
      worker.actor.post(`/runs/${run.id}:fail`, {
        failureReason: 'restart_recovery',
        output: { at: 'step 3' },
      }),
    );
    assert.deepEqual(
      [failed.status, failed.failureReason, failed.output],
      ['failed', 'restart_recovery', { at: 'step 3' }],
    );
    assert.deepEqual(await readTask(task.id), before);
    assert.equal(before.activeClaimId, taken.id);
    assert.equal((await done(worker.actor.get(`/claims/${claim.id}`))).status, 'stale');
    assert.deepEqual((await eventsOf(baton, run.id)).at(-1)?.payload, {
      taskId: task.id,
      reason: 'restart_recovery',
      attempt: 1,
    });
    const details = await refused(worker.actor.post(`/runs/${run.id}:fail`), 409, 'run_not_active');
    assert.deepEqual(details, { runId: run.id, status: 'failed' });
  });

  test('is allowed for its principal or a manager, with failed as the default reason', async () => {
    const { run } = await running(worker);
    const fail = `/runs/${run.id}:fail`;
    const stranger = await baton.actor({ permissions: ['tasks.claim'] });
    await refused(stranger.post(fail), 403, 'run_holder_mismatch');
    await refused(stranger.post(`/runs/${newId()}:fail`), 404, 'not_found');
    await refused(baton.otherAdmin.post(fail), 404, 'not_found');
    await refused(
      worker.actor.post(fail, { output: { text: 'x'.repeat(70_000) } }),
      422,
      'payload_too_large',
    );
    const deep = JSON.parse(`${'{"a":'.repeat(30)}1${'}'.repeat(30)}`);
    await refused(worker.actor.post(fail, { output: deep }), 422, 'payload_too_deep');
    const manager = await baton.actor({ permissions: ['claims.manage'] });
    assert.equal((await done(manager.post(fail))).failureReason, 'failed');
  });

  test('copies no secret into the journal', async () => {
    const { run } = await running(worker);
    const failureReason = 'login failed with password=hunter2hunter2hunter2';
    await done(worker.actor.post(`/runs/${run.id}:fail`, { failureReason }));
    assert.doesNotMatch(JSON.stringify(await eventsOf(baton, run.id)), /hunter2/);
  });
});

describe('POST /runs/{id}:cancel', () => {
  test("ends the run for its principal or a manager, and doesn't change claim and task", async () => {
    const { task, claim, run } = await running(worker);
    const cancel = `/runs/${run.id}:cancel`;
    const stranger = await baton.actor({ permissions: ['tasks.claim'] });
    await refused(stranger.post(cancel), 403, 'run_holder_mismatch');
    await refused(stranger.post(`/runs/${newId()}:cancel`), 404, 'not_found');
    const manager = await baton.actor({ permissions: ['claims.manage'] });
    const cancelled = await done(manager.post(cancel, { reason: 'budget spent' }));
    assert.equal(cancelled.status, 'cancelled');
    assert.equal(cancelled.failureReason, null);
    assert.equal((await done(worker.actor.get(`/claims/${claim.id}`))).status, 'active');
    assert.deepEqual((await eventsOf(baton, run.id)).at(-1)?.payload, {
      taskId: task.id,
      reason: 'budget spent',
      attempt: 1,
    });
    await refused(worker.actor.post(cancel), 409, 'run_not_active');
    const metrics = (await baton.request('GET', '/metrics')).body;
    assert.match(metrics, /^run_cancellations_total [1-9]/m);
  });
});

describe('POST /tasks/{ref}:complete', () => {
  const complete = (by: Worker, task: any, claim: any) =>
    by.actor.post(`/tasks/${task.id}:complete`, keysOf(claim), { 'if-match': `task-${task.version}` });

  test('waits for the run under the presented claim', async () => {
    const { task, claim, run } = await running(worker);
    const details = await refused(complete(worker, await readTask(task.id), claim), 409, 'run_in_progress');
    assert.deepEqual(details, { taskId: task.id, runId: run.id });
    await done(worker.actor.post(`/runs/${run.id}:succeed`, { completeTask: false }));
    await done(complete(worker, await readTask(task.id), claim));
  });

  test('fails a run left running under an older claim as superseded', async () => {
    const { task, run } = await running(worker);
    await endClaimLease(baton, task.id);
    const claim = await claimTask(rival, task.id);
    await done(complete(rival, await readTask(task.id), claim));
    const zombie = await done(rival.actor.get(`/runs/${run.id}`));
    assert.deepEqual([zombie.status, zombie.failureReason], ['failed', 'superseded']);
    const events = await eventsOf(baton, run.id, claim.id, task.id);
    assert.deepEqual(events.map(({ type }) => type).slice(-3), [
      'run.failed',
      'claim.released',
      'task.completed',
    ]);
  });
});

test('a write under a claim whose delegation has ended is stale, and closes the session', async () => {
  for (const write of ['patch', 'complete'] as const) {
    const { by, end } = await delegated();
    const task = await makeTask(baton);
    const claim = await claimTask(by, task.id);
    await end();
    const ifMatch = { 'if-match': 'task-2' };
    const answer =
      write === 'patch'
        ? by.actor.patch(`/tasks/${task.id}`, { title: 'late', ...keysOf(claim) }, ifMatch)
        : by.actor.post(`/tasks/${task.id}:complete`, keysOf(claim), ifMatch);
    await refused(answer, 409, 'stale_claim');
    const after = await readTask(task.id);
    assert.deepEqual([after.title, after.status, after.activeClaimId], ['wanted', 'todo', null]);
    assert.equal((await done(worker.actor.get(`/sessions/${by.sessionId}`))).status, 'closed');
  }
});

test('a stalled agent that resumes after a take-over is refused by every call, and nothing is written', async () => {
  const { task, claim, run } = await running(worker);
  await endClaimLease(baton, task.id);
  const taken = await claimTask(rival, task.id);
  const snapshot = async () => ({
    task: await readTask(task.id),
    claims: (await done(baton.admin.get(`/claims?taskId=${task.id}`))).items,
    runs: (await done(baton.admin.get(`/runs?taskId=${task.id}`))).items,
    events: (await eventsOf(baton, task.id, claim.id, run.id, taken.id)).length,
  });
  const before = await snapshot();
  const ifMatch = { 'if-match': `task-${before.task.version}` };
  const { actor } = worker;
  await refused(actor.post(`/claims/${claim.id}:heartbeat`), 409, 'claim_not_active');
  await refused(
    actor.patch(`/tasks/${task.id}`, { title: 'mine', ...keysOf(claim) }, ifMatch),
    409,
    'stale_claim',
  );
  await refused(actor.post(`/tasks/${task.id}:complete`, keysOf(claim), ifMatch), 409, 'stale_claim');
  await refused(start(worker, claim), 409, 'stale_claim');
  await refused(actor.post(`/runs/${run.id}:succeed`), 409, 'stale_claim');
  await refused(actor.post(`/runs/${run.id}:succeed`, { completeTask: false }), 409, 'stale_claim');
  assert.equal((await done(actor.post(`/claims/${claim.id}:release`))).status, 'stale');
  // The old token with the new claim, and the new token with the old claim, are also refused.
  const mixed = { claimId: taken.id, fencingToken: claim.fencingToken };
  await refused(actor.patch(`/tasks/${task.id}`, { title: 'mine', ...mixed }, ifMatch), 409, 'stale_claim');
  await refused(start(worker, { ...claim, fencingToken: taken.fencingToken }), 409, 'stale_claim');
  await refused(start(worker, taken), 403, 'claim_holder_mismatch');
  await refused(actor.patch(`/tasks/${task.id}`, { title: 'mine' }, ifMatch), 409, 'task_claimed');
  assert.deepEqual(await snapshot(), before);
  const metrics = (await baton.request('GET', '/metrics')).body;
  assert.match(metrics, /^stale_fencing_rejections_total [1-9]/m);
});
