import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import { claimTask, done, eventsOf, makeTask, makeWorker, refused } from '../../testing/leases.ts';
import { outcomeTester } from '../../testing/results/outcomes.ts';

let baton: TestCoordination;
let person: Actor;
let tester: ReturnType<typeof outcomeTester>;
before(async () => {
  baton = await startCoordination();
  person = await baton.actor({ kind: 'human' });
  tester = outcomeTester(baton, person);
});
after(async () => {
  await tester.close();
  await baton.close();
});

const outcomeEvents = async (id: string) =>
  (await eventsOf(baton, id)).filter(({ type }) => type.startsWith('approval.outcome'));
const comment = (body: string) => ({ comment: { body } });
const replay = (id: string, actor = person) => actor.post(`/approvals/${id}:replay-outcome`);

async function makeDue(id: string): Promise<void> {
  await baton.pool.run(
    sql`update approval_outcomes set next_attempt_at = now() - interval '1 second' where approval_id = ${id}`,
  );
}

async function untilFailed(id: string) {
  await tester.work();
  const outcome = await tester.outcome(id);
  assert.equal(outcome.outcomeStatus, 'failed', JSON.stringify(outcome));
  return outcome;
}

test('a decision without an outcome returns one with null fields', async () => {
  const nothing = {
    outcome: null,
    outcomeStatus: null,
    attempts: 0,
    lastError: null,
    nextAttemptAt: null,
    actions: [],
  };
  const { id } = await tester.gate({ rejected: [{ completeTask: {} }] });
  assert.deepEqual(await tester.outcome(id), { approvalId: id, ...nothing });
  assert.equal((await tester.decide(id)).outcomeStatus, null);
  assert.deepEqual(await tester.outcome(id), { approvalId: id, ...nothing });
  await refused(replay(id), 409, 'outcome_not_replayable');
  await refused(baton.admin.get(`/approvals/${newId()}/outcome`), 404, 'not_found');
  await refused(baton.otherAdmin.get(`/approvals/${id}/outcome`), 404, 'not_found');
  await refused(replay(id, baton.otherAdmin), 404, 'not_found');
});

test('the worker executes the outcome of the decision, on behalf of the decider, and in order', async () => {
  const approved = [
    {
      ensureWork: {
        type: 'task',
        key: 'x-$.approval.id',
        title: 'After $.approval.outcome: $.approval.comment',
      },
    },
    comment('By $.approval.decidedBy at $.approval.decidedAt'),
    { transition: { status: 'in_progress' } },
    { completeTask: {} },
  ];
  const { id, task } = await tester.gate({ approved });
  const decided = await tester.decide(id, 'approve', { comment: 'fine' });
  assert.equal(decided.outcomeStatus, 'pending');
  const pending = await tester.outcome(id);
  assert.deepEqual([pending.outcome, pending.outcomeStatus, pending.attempts], ['approved', 'pending', 0]);
  assert.deepEqual(
    pending.actions.map(({ action, status, attempts }: Record<string, unknown>) => [
      action,
      status,
      attempts,
    ]),
    ['ensureWork', 'comment', 'transition', 'completeTask'].map((action) => [action, 'not_executed', 0]),
  );
  assert.equal((await tester.task(task.id)).status, 'todo');
  await tester.work();
  const { actions, ...outcome } = await tester.outcome(id);
  assert.deepEqual(outcome, {
    approvalId: id,
    outcome: 'approved',
    outcomeStatus: 'executed',
    attempts: 1,
    lastError: null,
    nextAttemptAt: null,
  });
  const [{ result: made }] = actions;
  const [{ id: commentId, body }] = (await done(baton.admin.get(`/tasks/${task.id}/comments`))).items;
  const entry = (index: number, action: string, result: object) => {
    const rest = { error: null, reactsTo: null, when: null };
    return { index, action, status: 'executed', attempts: 1, result, ...rest };
  };
  assert.deepEqual(actions, [
    entry(0, 'ensureWork', { taskId: made.taskId, publicId: made.publicId, created: true }),
    entry(1, 'comment', { commentId, taskId: task.id }),
    entry(2, 'transition', { taskId: task.id }),
    entry(3, 'completeTask', { taskId: task.id }),
  ]);
  assert.equal(body, `By ${person.principalId} at ${decided.decisionAt}`);
  assert.equal((await tester.task(made.taskId)).title, 'After approved: fine');
  assert.equal((await tester.task(task.id)).status, 'done');
  assert.equal((await done(person.get(`/approvals/${id}`))).outcomeStatus, 'executed');
  const rows = await baton.pool.rows<{
    type: string;
    actor_id: string;
    causation_id: string;
    id: string;
  }>(sql`
    select type, actor_id, causation_id, id from events where entity_id in (${id}, ${task.id}, ${made.taskId})
      and type not in ('approval.requested', 'task.created') order by position, sequence`);
  const [decision, ...followed] = rows;
  assert.deepEqual(
    followed.map(({ type }) => type),
    [
      'task.relation_added',
      'task.comment_added',
      'task.updated',
      'task.completed',
      'approval.outcome_executed',
    ],
  );
  for (const event of followed)
    assert.deepEqual([event.actor_id, event.causation_id], [person.principalId, decision?.id], event.type);
  const [event] = await outcomeEvents(id);
  const summary = (index: number, action: string, taskId: string) => ({
    index,
    action,
    status: 'executed',
    taskId,
  });
  assert.deepEqual(event?.payload, {
    taskId: task.id,
    outcome: 'approved',
    actions: [
      summary(0, 'ensureWork', made.taskId),
      summary(1, 'comment', task.id),
      summary(2, 'transition', task.id),
      summary(3, 'completeTask', task.id),
    ],
  });
  await tester.work();
  assert.equal((await outcomeEvents(id)).length, 1);
  await refused(replay(id), 409, 'outcome_not_replayable');
});

test('a rejection has its declared outcome, also on another task', async () => {
  const spawner = await makeTask(baton);
  const { id, task } = await tester.gate({
    approved: [{ completeTask: {} }],
    rejected: [{ transition: { status: 'cancelled', task: '$.spawnedBy.publicId' } }],
  });
  await done(
    baton.admin.post(`/tasks/${task.id}/relations`, { toTask: spawner.id, type: 'spawned_by' }),
    201,
  );
  // The relation was added after the request, so the requested outcome concerned no other task.
  const { current } = await done(person.get(`/approvals/${id}`));
  await tester.decide(id, 'reject', { subjectDigest: current.digest });
  await tester.work();
  assert.deepEqual(
    [(await tester.task(spawner.id)).status, (await tester.task(task.id)).status],
    ['cancelled', 'todo'],
  );
});

test('an action without effect is skipped', async () => {
  const approved = [{ transition: { status: 'todo' } }, { completeTask: {} }, { completeTask: {} }];
  const { id, task } = await tester.gate({ approved });
  await tester.decide(id);
  await tester.work();
  const { outcomeStatus, actions } = await tester.outcome(id);
  assert.equal(outcomeStatus, 'executed');
  assert.deepEqual(
    actions.map(({ status, result }: Record<string, unknown>) => [status, result]),
    [
      ['skipped', { taskId: task.id, skipped: 'status_unchanged' }],
      ['executed', { taskId: task.id }],
      ['skipped', { taskId: task.id, skipped: 'task_already_completed' }],
    ],
  );
});

test('while the task is claimed the outcome is deferred, and checked again', async () => {
  const worker = await makeWorker(baton);
  const { id, task } = await tester.gate({ approved: [comment('first'), { completeTask: {} }] });
  await tester.decide(id);
  const claim = await claimTask(worker, task.id);
  await tester.work();
  const deferred = await tester.outcome(id);
  assert.deepEqual([deferred.outcomeStatus, deferred.attempts], ['deferred', 0]);
  assert.equal(deferred.lastError.code, 'task_claimed');
  assert.deepEqual(
    deferred.actions.map(({ status }: { status: string }) => status),
    ['executed', 'not_executed'],
  );
  const inSeconds = (Date.parse(deferred.nextAttemptAt) - Date.now()) / 1000;
  assert.ok(inSeconds > 5 && inSeconds <= 15.5, `checks again in ${inSeconds} s`);
  const [event] = await outcomeEvents(id);
  assert.deepEqual(
    [event?.type, event?.payload],
    [
      'approval.outcome_deferred',
      {
        taskId: task.id,
        outcome: 'approved',
        waitingAction: { index: 1, action: 'completeTask', status: 'not_executed' },
        reason: 'task_claimed',
        details: { taskId: task.id, claimId: claim.id, expiresAt: claim.expiresAt },
      },
    ],
  );
  await refused(replay(id), 409, 'outcome_not_replayable');
  await makeDue(id);
  await tester.work();
  assert.equal((await outcomeEvents(id)).length, 1, 'one event for one wait');
  await done(worker.actor.post(`/claims/${claim.id}:release`));
  await tester.work();
  assert.equal((await tester.outcome(id)).outcomeStatus, 'deferred', 'not before it is due again');
  await makeDue(id);
  await tester.work();
  const executed = await tester.outcome(id);
  assert.deepEqual([executed.outcomeStatus, executed.lastError], ['executed', null]);
  assert.equal((await done(baton.admin.get(`/tasks/${task.id}/comments`))).items.length, 1, 'done once');
});

test('while another gate of the task is pending, its completion waits', async () => {
  const { id, task } = await tester.gate({ approved: [{ completeTask: {} }] });
  const body = { task: task.id, gate: true, assignedPrincipalId: person.principalId };
  const { id: second } = await done(baton.admin.post('/approvals', body), 201);
  await tester.decide(id);
  await tester.work();
  assert.equal((await tester.outcome(id)).lastError.code, 'approval_required');
  await tester.decide(second, 'reject');
  await makeDue(id);
  await tester.work();
  assert.equal((await tester.task(task.id)).status, 'done');
});

test('a failed action ends the outcome: completed actions remain, the decider gets a task, a replay executes the rest', async () => {
  const typeKey = `later-${baton.tenantId.slice(-4)}`;
  const approved = [
    comment('first'),
    { ensureWork: { type: typeKey, key: '$.approval.id', title: 'Next' } },
    comment('last'),
  ];
  const { id, task } = await tester.gate({ approved });
  await tester.decide(id);
  const failed = await untilFailed(id);
  assert.deepEqual([failed.attempts, failed.lastError.code, failed.nextAttemptAt], [1, 'not_found', null]);
  assert.deepEqual(
    failed.actions.map(({ status, attempts, error }: Record<string, unknown>) => [status, attempts, error]),
    [
      ['executed', 1, null],
      ['failed', 1, { code: 'not_found', details: { taskTypeKey: typeKey, taskTypeVersion: null } }],
      ['not_executed', 0, null],
    ],
  );
  const [event] = await outcomeEvents(id);
  const { failureWorkTaskId, ...payload } = event?.payload ?? {};
  const failedAction = { index: 1, action: 'ensureWork', status: 'failed', code: 'not_found' };
  assert.equal(event?.type, 'approval.outcome_failed');
  assert.deepEqual(payload, {
    taskId: task.id,
    outcome: 'approved',
    failedAction,
    actions: [
      { index: 0, action: 'comment', status: 'executed', taskId: task.id },
      failedAction,
      { index: 2, action: 'comment', status: 'not_executed' },
    ],
  });
  const work = await tester.task(String(failureWorkTaskId));
  assert.deepEqual([work.assigneeId, work.priority, work.workspaceId], [person.principalId, 'high', null]);
  const core = await baton.pool.row<{ id: string }>(sql`
    select core_principal_id as id from tenants where id = ${baton.tenantId}`);
  assert.equal(work.createdBy, core?.id);
  // Only the decider and an administrator can retry it.
  const stranger = await baton.actor({ kind: 'human', permissions: ['approvals.decide'] });
  await refused(replay(id, stranger), 403, 'not_eligible');
  const agent = await baton.actor({ permissions: ['approvals.decide'] });
  await refused(replay(id, agent), 403, 'permission_denied');
  assert.equal((await done(replay(id, baton.admin))).outcomeStatus, 'pending');
  await untilFailed(id);
  const [, again] = await outcomeEvents(id);
  assert.equal(again?.payload['failureWorkTaskId'], failureWorkTaskId, 'the task is created once');
  await insertTestType(baton, { key: typeKey });
  const replayed = await done(replay(id));
  assert.deepEqual([replayed.outcomeStatus, replayed.lastError], ['pending', null]);
  await tester.work();
  const executed = await tester.outcome(id);
  assert.deepEqual([executed.outcomeStatus, executed.attempts], ['executed', 3]);
  assert.deepEqual(
    executed.actions.map(({ status, attempts }: Record<string, unknown>) => [status, attempts]),
    [
      ['executed', 1],
      ['executed', 3],
      ['executed', 1],
    ],
  );
});

test('each kind of failure has the error code of the corresponding call', async () => {
  const failures: [object, string][] = [
    [{ completeTask: { task: 'TASK-999999' } }, 'not_found'],
    [{ transition: { status: 'absent' } }, 'status_not_in_lifecycle'],
    [{ transition: { status: 'done' } }, 'invalid_status'],
    [{ ensureWork: { type: 'absent', key: 'k', title: 't' } }, 'not_found'],
  ];
  for (const [action, code] of failures) {
    const { id } = await tester.gate({ approved: [action] });
    await tester.decide(id);
    assert.equal((await untilFailed(id)).lastError.code, code, JSON.stringify(action));
  }
  const { id, task } = await tester.gate({ approved: [{ completeTask: {} }] });
  await done(baton.admin.patch(`/tasks/${task.id}`, { status: 'cancelled' }, { 'if-match': 'task-1' }));
  await tester.decide(id);
  assert.equal((await untilFailed(id)).lastError.code, 'task_cancelled');
});

test("the decider's credential must still be active, and permit the actions", async () => {
  const close = (actor: Actor) =>
    baton.pool.run(sql`update iam_bindings set status = 'revoked' where principal_id = ${actor.principalId}`);
  const disable = (actor: Actor) => done(baton.admin.post(`/principals/${actor.principalId}:disable`));
  for (const [end, code] of [
    [close, 'credential_inactive'],
    [disable, 'credential_inactive'],
    [async () => undefined, 'permission_denied'],
  ] as const) {
    const decider = await baton.actor({ kind: 'human', permissions: ['approvals.decide'] });
    const { id, task } = await tester.gate(
      { approved: [{ completeTask: {} }] },
      { approval: { assignedPrincipalId: decider.principalId } },
    );
    await done(decider.post(`/approvals/${id}:approve`));
    await end(decider);
    assert.equal((await untilFailed(id)).lastError.code, code);
    assert.equal((await tester.task(task.id)).status, 'todo');
    const [event] = await outcomeEvents(id);
    assert.equal(event?.actor_id, code === 'credential_inactive' ? null : decider.principalId);
  }
});

test("with a decide-only token, the outcome uses the person's permissions", async () => {
  const { id, task } = await tester.gate({ approved: [{ completeTask: {} }] });
  const claims = { sub: person.iamPrincipalId, tenant_id: baton.tenantId, purpose_ref: `approval:${id}` };
  const token = await baton.issuer.sign({ ...claims, scope: ['control-plane:decide'] });
  const headers = { 'idempotency-key': newId() };
  await done(baton.request('POST', `/api/v1/approvals/${id}:approve`, { token, headers }));
  await tester.work();
  assert.equal((await tester.task(task.id)).status, 'done');
});

test('an outcome that completes a task with checks opens an attempt on behalf of the decider', async () => {
  const acceptance = [{ key: 'human', kind: 'human', description: 'look' }];
  const { id, task } = await tester.gate(
    { approved: [{ completeTask: {} }, { completeTask: {} }] },
    { task: { acceptance } },
  );
  await tester.decide(id);
  await tester.work();
  const [attempt] = (await done(baton.admin.get(`/tasks/${task.id}/verifications`))).items;
  assert.deepEqual(
    [attempt.trigger, attempt.triggerRef, attempt.authorityPrincipalId],
    ['approval', id, person.principalId],
  );
  assert.equal((await tester.outcome(id)).actions[1].result.skipped, 'verification_pending');
});

test('an unexpected failure is retried after delays that double, eight times, and blocks no other', async () => {
  const { id, task } = await tester.gate({ approved: [comment('first'), { completeTask: {} }] });
  await tester.decide(id);
  await baton.pool.run(sql`
    create function break_outcome() returns trigger language plpgsql as $$
    begin
      if new.outcome_status = 'executed' and new.assigned_principal_id is not null and new.comment = 'poison' then
        raise exception 'broken';
      end if;
      return new;
    end $$`);
  await baton.pool.run(
    sql`create trigger break_outcome before update on approvals for each row execute function break_outcome()`,
  );
  await baton.pool.run(sql`update approvals set comment = 'poison' where id = ${id}`);
  for (let attempt = 1; attempt <= 8; attempt += 1) {
    const other = await tester.gate({ approved: [{ completeTask: {} }] });
    await tester.decide(other.id);
    await makeDue(id);
    await tester.work();
    assert.equal((await tester.outcome(other.id)).outcomeStatus, 'executed');
    const { outcomeStatus, attempts, lastError, nextAttemptAt } = await tester.outcome(id);
    assert.equal(attempts, attempt);
    if (attempt === 8) {
      assert.deepEqual([outcomeStatus, lastError.code], ['failed', 'outcome_attempts_exhausted']);
      continue;
    }
    assert.deepEqual([outcomeStatus, lastError.code], ['pending', 'internal_error']);
    const inSeconds = (Date.parse(nextAttemptAt) - Date.now()) / 1000;
    const pause = 2 * 2 ** (attempt - 1);
    assert.ok(inSeconds > pause - 5 && inSeconds <= pause + 0.5, `pause ${attempt}: ${inSeconds} s`);
  }
  assert.equal(
    (await done(baton.admin.get(`/tasks/${task.id}/comments`))).items.length,
    0,
    'each attempt was rolled back',
  );
  assert.equal((await outcomeEvents(id))[0]?.payload['failedAction'], null);
  await baton.pool.run(sql`drop trigger break_outcome on approvals`);
  await done(replay(id));
  await tester.work();
  assert.equal((await tester.outcome(id)).outcomeStatus, 'executed');
});

test('a hanging outcome can be replayed: after a failed attempt, or when it has been due for ten minutes', async () => {
  const { id } = await tester.gate({ approved: [{ completeTask: {} }] });
  await tester.decide(id);
  await refused(replay(id), 409, 'outcome_not_replayable');
  const set = (minutes: number, attempts: number) =>
    baton.pool.run(sql`
      update approval_outcomes set attempts = ${attempts}, next_attempt_at = now() - make_interval(mins => ${minutes})
      where approval_id = ${id}`);
  await set(9, 0);
  await refused(replay(id), 409, 'outcome_not_replayable');
  await set(11, 0);
  await done(replay(id));
  await set(0, 1);
  await done(replay(id));
});

test('the task for a failed outcome is in no workspace if that of the approval accepts no tasks', async () => {
  const post = (path: string, body: object) => done(baton.admin.post(path, body), 201);
  const types = (await done(baton.admin.get('/workspace-types'))).items;
  const workspace = await post('/workspaces', { slug: 'shut', name: 'Shut', typeKey: types[0].key });
  const { id } = await tester.gate(
    { approved: [{ completeTask: { task: 'TASK-999999' } }] },
    { task: { workspaceId: workspace.id } },
  );
  await tester.decide(id);
  await baton.pool.run(sql`update workspaces set status = 'archived' where id = ${workspace.id}`);
  await untilFailed(id);
  const [event] = await outcomeEvents(id);
  assert.equal((await tester.task(String(event?.payload['failureWorkTaskId']))).workspaceId, null);
});
