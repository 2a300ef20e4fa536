import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import {
  claimTask,
  done,
  endClaimLease,
  eventsOf,
  makeTask,
  makeWorker,
  refused,
  type Worker,
} from '../../testing/leases.ts';

let baton: TestCoordination;
let worker: Worker;

before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
});
after(() => baton.close());

const humanCheck = { key: 'looked-at', kind: 'human', description: 'A person has reviewed it.' };
const checked = (more: object = {}) => makeTask(baton, { acceptance: [humanCheck], ...more });
const complete = (task: { id: string; version: number }, body: object = {}, by = baton.admin) =>
  by.post(`/tasks/${task.id}:complete`, body, { 'if-match': `task-${task.version}` });
const read = (id: string) => done(baton.admin.get(`/tasks/${id}`));
const attemptsOf = async (id: string, query = '') =>
  done(baton.admin.get(`/tasks/${id}/verifications${query}`));

async function open(more: object = {}) {
  const task = await done(complete(await checked(more)));
  assert.equal(task.verification.status, 'running');
  return task;
}

describe('POST /tasks/{ref}:complete of a task with checks', () => {
  test("opens an attempt on behalf of the caller, and the status doesn't change", async () => {
    const task = await checked();
    const after = await done(complete(task));
    assert.equal(after.status, task.status);
    assert.equal(after.completedAt, null);
    assert.equal(after.version, task.version + 1);
    const { items, nextCursor } = await attemptsOf(task.id);
    assert.equal(nextCursor, null);
    const [{ id, startedAt, updatedAt, nextCheckAt, ...attempt }] = items;
    assert.deepEqual(attempt, {
      tenantId: baton.tenantId,
      taskId: task.id,
      authorityPrincipalId: baton.admin.principalId,
      attempt: 1,
      status: 'running',
      trigger: 'complete',
      triggerRef: null,
      checks: [{ ...humanCheck, source: 'task' }],
      results: [],
      cursor: 0,
      skillInvocationId: null,
      approvalId: null,
      finishedAt: null,
    });
    assert.ok(startedAt === updatedAt && nextCheckAt !== null);
    assert.deepEqual(after.verification, { id, status: 'running', attempt: 1, updatedAt });
    assert.deepEqual((await read(task.id)).verification, after.verification);
    const events = await eventsOf(baton, task.id);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['task.created', 'task.verification_started'],
    );
    const payload = { publicId: task.publicId, taskId: task.id, verificationId: id };
    assert.deepEqual(events[1]?.payload, { ...payload, attempt: 1, trigger: 'complete', checks: 1 });
    assert.equal(events[1]?.actor_id, baton.admin.principalId);
  });

  test("an agent that holds the claim doesn't complete the task: its claim is released, the attempt is open", async () => {
    const task = await checked();
    const claim = await claimTask(worker, task.id);
    const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
    const claimed = await read(task.id);
    const after = await done(complete(claimed, keys, worker.actor));
    assert.deepEqual([after.status, after.activeClaimId], [claimed.status, null]);
    assert.equal(after.verification.status, 'running');
    assert.equal((await done(baton.admin.get(`/claims/${claim.id}`))).releaseReason, 'completed');
    const types = (await eventsOf(baton, task.id, claim.id)).map(({ type }) => type);
    assert.deepEqual(types.slice(-2), ['claim.released', 'task.verification_started']);
  });

  test('a second call returns the task unchanged and opens no attempt', async () => {
    const task = await open();
    assert.deepEqual(await done(complete(task)), task);
    assert.equal((await attemptsOf(task.id)).items.length, 1);
    await refused(complete({ ...task, version: 1 }), 409, 'version_conflict');
  });

  test('an undeclared edge is refused before an attempt is opened', async () => {
    const statuses = [
      { key: 'new', category: 'active' as const, displayName: 'New' },
      { key: 'shipped', category: 'terminal_success' as const, displayName: 'Shipped' },
    ];
    await insertTestType(baton, {
      key: 'stuck',
      lifecycle: { statuses, initialStatus: 'new', transitions: [], completionStatus: 'shipped' },
    });
    const task = await checked({ typeKey: 'stuck' });
    await refused(complete(task), 422, 'invalid_transition');
    assert.equal((await read(task.id)).verification, null);
  });

  test('the required outputs of the type come first, then its checks, then those of the task', async () => {
    await insertTestType(baton, {
      key: 'report',
      acceptance: [{ ...humanCheck, key: 'read' }],
      artifactSchema: {
        outputs: [
          { key: 'log', type: 'log' },
          { key: 'report', type: 'pdf', required: true, mediaTypes: ['application/pdf'] },
        ],
      },
    });
    const task = await checked({ typeKey: 'report' });
    await done(complete(task));
    const [attempt] = (await attemptsOf(task.id)).items;
    const shown = attempt.checks.map(({ key, kind, source }: any) => [key, kind, source]);
    assert.deepEqual(shown, [
      ['output.report', 'deterministic', 'output'],
      ['read', 'human', 'type'],
      ['looked-at', 'human', 'task'],
    ]);
    const plain = await makeTask(baton, { typeKey: 'report' });
    assert.equal((await done(complete(plain))).verification.status, 'running');
  });
});

describe('POST /runs/{id}:succeed of a task with checks', () => {
  test('ends the run, and opens an attempt instead of completing the task', async () => {
    const task = await checked();
    const claim = await claimTask(worker, task.id);
    const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
    const run = await done(worker.actor.post(`/tasks/${task.id}:start-run`, keys), 201);
    const answer = await done(worker.actor.post(`/runs/${run.id}:succeed`, {}));
    assert.equal(answer.run.status, 'succeeded');
    assert.deepEqual([answer.task.status, answer.task.completedAt], ['in_progress', null]);
    const [attempt] = (await attemptsOf(task.id)).items;
    assert.deepEqual([attempt.trigger, attempt.triggerRef], ['run', run.id]);
    assert.equal(attempt.authorityPrincipalId, worker.actor.principalId);
    const events = await eventsOf(baton, task.id, claim.id, run.id);
    assert.deepEqual(
      events.slice(-3).map(({ type }) => type),
      ['run.succeeded', 'claim.released', 'task.verification_started'],
    );
    assert.equal(events.at(-3)?.payload['taskCompleted'], false);
  });

  test('without completion no attempt is opened', async () => {
    const task = await checked();
    const claim = await claimTask(worker, task.id);
    const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
    const run = await done(worker.actor.post(`/tasks/${task.id}:start-run`, keys), 201);
    const answer = await done(worker.actor.post(`/runs/${run.id}:succeed`, { completeTask: false }));
    assert.equal(answer.task.verification, null);
  });
});

describe('an open attempt', () => {
  test('refuses a claim, and is listed in claimability and work/available', async () => {
    const task = await open();
    const details = await refused(
      worker.actor.post(`/tasks/${task.id}:claim`, { sessionId: worker.sessionId }),
      409,
      'verification_pending',
    );
    const reason = { verificationId: task.verification.id, status: 'running' };
    assert.deepEqual(details, { taskId: task.id, ...reason });
    const claimability = await done(worker.actor.get(`/tasks/${task.id}/claimability`));
    assert.equal(claimability.claimable, false);
    const [{ since, remedies, ...shown }] = claimability.reasons;
    assert.ok(since && remedies.length > 0);
    assert.deepEqual(shown, { code: 'verification_pending', ...reason });
    const { items } = await done(worker.actor.get('/work/available?limit=200'));
    assert.equal(
      items.some(({ id }: any) => id === task.id),
      false,
    );
  });

  test('comes after prerequisites in the order of reasons', async () => {
    const [task, first] = [await open(), await makeTask(baton)];
    const relation = { toTask: first.id, type: 'depends_on' };
    await done(baton.admin.post(`/tasks/${task.id}/relations`, relation), 201);
    const { reasons } = await done(worker.actor.get(`/tasks/${task.id}/claimability`));
    assert.deepEqual(
      reasons.map(({ code }: any) => code),
      ['task_not_ready', 'verification_pending'],
    );
  });

  test('refuses a take-over of the claim that was released for it', async () => {
    const task = await checked();
    const claim = await claimTask(worker, task.id);
    await endClaimLease(baton, task.id);
    await done(complete(await read(task.id)));
    const taken = worker.actor.post(`/claims/${claim.id}:reclaim`, { sessionId: worker.sessionId });
    await refused(taken, 409, 'verification_pending');
  });

  test('is cancelled when the task moves to a cancelled status', async () => {
    const task = await open();
    const cancel = { status: 'cancelled' };
    const after = await done(
      baton.admin.patch(`/tasks/${task.id}`, cancel, { 'if-match': `task-${task.version}` }),
    );
    assert.equal(after.status, 'cancelled');
    assert.deepEqual([after.verification.id, after.verification.status], [task.verification.id, 'cancelled']);
    const [attempt] = (await attemptsOf(task.id)).items;
    assert.deepEqual([attempt.status, attempt.nextCheckAt], ['cancelled', null]);
    assert.notEqual(attempt.finishedAt, null);
    await refused(complete(after), 422, 'task_cancelled');
  });

  test('stays open while other fields of the task change', async () => {
    const task = await open();
    const after = await done(
      baton.admin.patch(`/tasks/${task.id}`, { title: 'other' }, { 'if-match': `task-${task.version}` }),
    );
    assert.deepEqual(after.verification, task.verification);
  });
});

describe('GET /tasks/{ref}/verifications', () => {
  test("has the first 200 characters of a check's description, but not its spec", async () => {
    const spec = { approver: baton.admin.principalId };
    const acceptance = [{ ...humanCheck, spec, description: 'é😀'.repeat(150) }];
    const task = await done(complete(await makeTask(baton, { acceptance })));
    const [{ checks }] = (await attemptsOf(task.id)).items;
    const { key, kind } = humanCheck;
    assert.deepEqual(checks, [{ key, kind, source: 'task', description: 'é😀'.repeat(100) }]);
  });

  test('lists the attempts newest first, in pages', async () => {
    const lifecycle = {
      statuses: [
        { key: 'new', category: 'active' as const, displayName: 'New' },
        { key: 'off', category: 'terminal_cancelled' as const, displayName: 'Off' },
        { key: 'done', category: 'terminal_success' as const, displayName: 'Done' },
      ],
      initialStatus: 'new',
      transitions: [
        { from: 'new', to: ['off', 'done'] },
        { from: 'off', to: ['new'] },
      ],
      completionStatus: 'done',
    };
    await insertTestType(baton, { key: 'returning', lifecycle });
    let task = await open({ typeKey: 'returning' });
    for (const status of ['off', 'new']) {
      const ifMatch = { 'if-match': `task-${task.version}` };
      task = await done(baton.admin.patch(`/tasks/${task.id}`, { status }, ifMatch));
    }
    assert.equal((await done(complete(task))).verification.attempt, 2);
    const { items } = await attemptsOf(task.publicId);
    assert.deepEqual(
      items.map(({ attempt, status }: any) => [attempt, status]),
      [
        [2, 'running'],
        [1, 'cancelled'],
      ],
    );
    const first = await attemptsOf(task.id, '?limit=1');
    const second = await attemptsOf(task.id, `?limit=1&cursor=${first.nextCursor}`);
    assert.deepEqual([...first.items, ...second.items], items);
    assert.equal(second.nextCursor, null);
    await refused(baton.admin.get(`/tasks/${task.id}/verifications?cursor=other`), 422, 'invalid_cursor');
    await refused(baton.otherAdmin.get(`/tasks/${task.id}/verifications`), 404, 'not_found');
  });
});
