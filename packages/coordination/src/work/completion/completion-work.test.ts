import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import { claimTask, done, eventsOf, makeTask, makeWorker, type WrittenEvent } from '../../testing/leases.ts';

let baton: TestCoordination;
let person: Actor;
let types = 0;
before(async () => {
  baton = await startCoordination();
  person = await baton.actor({ kind: 'human' });
});
after(() => baton.close());

/** A task of a type that declares these actions for its completion. */
async function taskThat(onComplete: object, more: object = {}) {
  types += 1;
  const key = `declared-${types}`;
  await insertTestType(baton, { key, completionSchema: { onComplete } });
  return makeTask(baton, { typeKey: key, ...more });
}

async function complete(task: { id: string }, actor = baton.admin): Promise<WrittenEvent[]> {
  await done(actor.post(`/tasks/${task.id}:complete`, {}, { 'if-match': 'task-1' }));
  return (await eventsOf(baton, task.id)).filter(({ type }) => type.startsWith('task.completion_work'));
}

async function succeed(task: { id: string }): Promise<WrittenEvent[]> {
  const worker = await makeWorker(baton);
  const { claimId, fencingToken } = await claimTask(worker, task.id);
  const run = await done(worker.actor.post(`/tasks/${task.id}:start-run`, { claimId, fencingToken }), 201);
  await done(worker.actor.post(`/runs/${run.id}:succeed`));
  return (await eventsOf(baton, task.id)).filter(({ type }) => type.startsWith('task.completion_work'));
}

const work = { type: 'task', key: 'after-$.task.publicId', title: 'Follow up on $.task.title' };
const taskOf = async (id: unknown) => done(baton.admin.get(`/tasks/${String(id)}`));
// biome-ignore lint/suspicious/noExplicitAny: the payload of an event is what the tests are about
const actionsOf = (event: WrittenEvent | undefined) => event?.payload['actions'] as any[];

test('the declared work and comments of a type are created on behalf of the completing caller, by either call', async () => {
  for (const act of [complete, succeed]) {
    const spawner = await makeTask(baton, { title: 'origin' });
    const task = await taskThat(
      {
        actions: [
          {
            ensureWork: {
              ...work,
              description: 'Was $.task.status, from $.spawnedBy.title.',
              assignee: '$.task.ownerId',
              priority: '$.task.customFields.next',
              customFields: { count: '$.task.customFields.count', text: 'n=$.task.customFields.count' },
              requestApproval: { approver: person.principalId, comment: 'May $.task.title follow?' },
            },
          },
          { comment: { body: 'Completed $.task.publicId' } },
          { comment: { body: 'Your task was completed', task: '$.spawnedBy.publicId' } },
        ],
      },
      { title: 'deploy', ownerId: person.principalId, customFields: { next: 'high', count: 3 } },
    );
    await done(
      baton.admin.post(`/tasks/${task.id}/relations`, { toTask: spawner.id, type: 'spawned_by' }),
      201,
    );
    const [event, ...more] = await act(task);
    assert.deepEqual([event?.type, more.length], ['task.completion_work_executed', 0]);
    const { actions, ...about } = event?.payload as { actions: { taskId: string }[] };
    assert.deepEqual(about, { publicId: task.publicId, taskTypeId: task.typeId });
    const followUp = await taskOf(actions[0]?.taskId);
    assert.deepEqual(actions, [
      { index: 0, action: 'ensureWork', status: 'executed', taskId: followUp.id },
      { index: 1, action: 'comment', status: 'executed', taskId: task.id },
      { index: 2, action: 'comment', status: 'executed', taskId: spawner.id },
    ]);
    const { title, description, assigneeId, priority, customFields, typeKey } = followUp;
    assert.deepEqual(
      { title, description, assigneeId, priority, customFields, typeKey },
      {
        title: 'Follow up on deploy',
        description: 'Was done, from origin.',
        assigneeId: person.principalId,
        priority: 'high',
        customFields: { count: 3, text: 'n=3' },
        typeKey: 'task',
      },
    );
    const { items } = await done(baton.admin.get(`/tasks/${followUp.id}/relations`));
    assert.deepEqual([items[0].toTaskId, items[0].type], [task.id, 'spawned_by']);
    const gates = (await done(baton.admin.get(`/approvals?taskId=${followUp.id}`))).items;
    assert.deepEqual(
      [gates[0].gate, gates[0].assignedPrincipalId, gates[0].comment],
      [true, person.principalId, 'May deploy follow?'],
    );
    const comments = (await done(baton.admin.get(`/tasks/${spawner.id}/comments`))).items;
    assert.equal(comments[0].body, 'Your task was completed');
  }
});

test('the approval of declared work may require a role', async () => {
  const role = await done(baton.admin.post('/roles', { slug: 'releaser', name: 'Releaser' }), 201);
  const requestApproval = { approverRole: role.id };
  const task = await taskThat({ actions: [{ ensureWork: { ...work, requestApproval } }] });
  const [made] = actionsOf((await complete(task))[0]);
  const [gate] = (await done(baton.admin.get(`/approvals?taskId=${made.taskId}`))).items;
  assert.deepEqual([gate.gate, gate.requiredRoleId, gate.assignedPrincipalId], [true, role.id, null]);
});

test('the same key never creates a second task', async () => {
  const onComplete = { actions: [{ ensureWork: { ...work, key: 'release-notes' } }] };
  const [first, second] = [await taskThat(onComplete), await taskThat(onComplete)];
  const [made] = actionsOf((await complete(first))[0]);
  const [found] = actionsOf((await complete(second))[0]);
  assert.deepEqual(found, made);
  assert.equal((await eventsOf(baton, made.taskId)).length, 2, 'created and related, once');
});

test('no action is executed unless every condition has a value', async () => {
  for (const [customFields, isDone] of [
    [{}, false],
    [{ a: '', b: 1 }, false],
    [{ a: [], b: 1 }, false],
    [{ a: 'x' }, false],
    [{ a: 0, b: false }, true],
  ] as const) {
    const when = ['$.task.customFields.a', '$.task.customFields.b!'];
    const task = await taskThat({ when, actions: [{ comment: { body: 'done' } }] }, { customFields });
    assert.equal((await complete(task)).length, isDone ? 1 : 0, JSON.stringify(customFields));
  }
});

test('a failed action rolls back neither the completion nor the earlier actions, and the rest is skipped', async () => {
  const comment = { comment: { body: 'first' } };
  const broken: [object, string][] = [
    [{ ensureWork: { ...work, type: 'absent' } }, 'not_found'],
    [{ ensureWork: { ...work, title: '$.task.customFields.absent!' } }, 'unresolved_expression'],
    [{ ensureWork: { ...work, key: '$.task.customFields.absent' } }, 'invalid_work'],
    [{ ensureWork: { ...work, title: '$.task.description' } }, 'invalid_work'],
    [{ ensureWork: { ...work, key: 'x', assignee: newId() } }, 'not_found'],
    [{ ensureWork: { ...work, key: 'y', requestApproval: { approverRole: newId() } } }, 'not_found'],
    [{ comment: { body: 'x', task: 'TASK-999999' } }, 'not_found'],
    [{ comment: { body: '$.task.description' } }, 'invalid_comment_body'],
  ];
  for (const act of [complete, succeed])
    for (const [action, code] of broken) {
      const task = await taskThat({ actions: [comment, action, comment] });
      const [event] = await act(task);
      const kind = Object.keys(action)[0];
      assert.equal(event?.type, 'task.completion_work_failed', code);
      assert.deepEqual(event?.payload['failedAction'], { index: 1, action: kind, status: 'failed', code });
      assert.deepEqual(
        actionsOf(event).map(({ status }) => status),
        ['executed', 'failed', 'not_executed'],
      );
      assert.equal((await taskOf(task.id)).systemStatusCategory, 'terminal_success');
      assert.equal((await done(baton.admin.get(`/tasks/${task.id}/comments`))).items.length, 1);
    }
  // The writes of a failed action are rolled back: neither tasks nor keys remain.
  const rows = await baton.pool.row<{ count: number }>(sql`
    select count(*)::integer as count from ensured_work where task_id is null or key in ('x', 'y')`);
  assert.equal(rows?.count, 0);
});

test('the work is created with the permissions of the completing caller: without tasks.write, none is', async () => {
  const task = await taskThat({ actions: [{ ensureWork: work }] });
  const actor = await baton.actor({ permissions: ['tasks.claim', 'sessions.open'] });
  const sessionId = (await done(actor.post('/sessions', { clientName: 'test' }), 201)).id;
  const { claimId, fencingToken } = await claimTask({ actor, sessionId }, task.id);
  const run = await done(actor.post(`/tasks/${task.id}:start-run`, { claimId, fencingToken }), 201);
  await done(actor.post(`/runs/${run.id}:succeed`));
  const event = (await eventsOf(baton, task.id)).at(-1);
  assert.equal(event?.type, 'task.completion_work_failed');
  assert.equal(actionsOf(event)[0].code, 'permission_denied');
});
