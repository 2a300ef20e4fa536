import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import {
  humanStep,
  makeProcessAgent,
  makeProcessWorker,
  publishProcess,
  specOf,
  startProcessInstance,
} from '../../testing/processes/process-instances.ts';

// Tests objects that an ended step could not close: they are listed, and the close is retried.

let baton: TestCoordination;
let worker: ReturnType<typeof makeProcessWorker>;
before(async () => {
  baton = await startCoordination();
  worker = makeProcessWorker(baton);
});
after(async () => {
  await worker.close();
  await baton.close();
});

const get = (id: string) => done(baton.admin.get(`/process-instances/${id}`));
const taskOf = (id: string) => done(baton.admin.get(`/tasks/${id}`));
const cancel = (id: string) =>
  done(baton.admin.post(`/process-instances/${id}:cancel`, { reason: 'enough' }));
const grant = (principalId: string, permissions: string[]) =>
  baton.pool.run(
    sql`update iam_bindings set permissions = ${permissions} where principal_id = ${principalId}`,
  );
const linesOf = async (id: string, name: string) =>
  (await done(baton.admin.get(`/process-instances/${id}/journal?kind=intent&limit=200`))).items
    .filter(({ reason }: any) => reason === name)
    .map(({ data }: any) => data);

/** Makes the unclosed objects of an instance due, and retries the close. */
async function tryAgain(id: string): Promise<void> {
  await baton.pool.run(sql`
    update process_instances set attend_at = now() - interval '1 s', left_open = (
      select jsonb_agg(o || '{"nextAt": "2026-01-01T00:00:00.000Z"}') from jsonb_array_elements(left_open) o)
    where id = ${id} and left_open <> '[]'`);
  await worker.care();
}

async function startWith(steps: object[]) {
  const agent = await makeProcessAgent(baton);
  const process = await publishProcess(baton.admin, specOf(agent.key, steps));
  return { agent, made: await startProcessInstance(baton.admin, process) };
}

test('a task that its agent may no longer cancel is listed with the reason, and cancelled once the agent may', async () => {
  const { agent, made } = await startWith([humanStep('a')]);
  const [{ taskId }] = made.openElements;
  await grant(agent.principalId, ['tasks.read']);
  const ended = await cancel(made.id);
  assert.equal(ended.status, 'cancelled');
  const [{ nextAttemptAt, ...left }] = ended.leftOpen;
  assert.deepEqual(left, { element: 'a', kind: 'task', id: taskId, code: 'permission_denied', attempts: 1 });
  assert.ok(Date.parse(nextAttemptAt) > Date.now());
  await worker.care();
  assert.equal((await get(made.id)).leftOpen[0].attempts, 1);
  await tryAgain(made.id);
  const [again] = (await get(made.id)).leftOpen;
  assert.equal(again.attempts, 2);
  assert.ok(Date.parse(again.nextAttemptAt) > Date.now() + 50_000);
  await grant(agent.principalId, ['tasks.read', 'tasks.write']);
  await tryAgain(made.id);
  assert.deepEqual((await get(made.id)).leftOpen, []);
  assert.equal((await taskOf(taskId)).systemStatusCategory, 'terminal_cancelled');
  assert.deepEqual(await linesOf(made.id, 'close_task'), [
    { taskId },
    { taskId, refused: 'permission_denied' },
    { taskId, closed: true },
  ]);
  const due = await baton.pool.row(sql`select attend_at from process_instances where id = ${made.id}`);
  assert.deepEqual(due, { attend_at: null });
});

test('an object that another principal has closed is no longer listed, even if the agent changed', async () => {
  const { agent, made } = await startWith([humanStep('a')]);
  await done(baton.admin.post(`/agents/${agent.key}:retire`, { reason: 'old' }));
  const [{ id: taskId }] = (await cancel(made.id)).leftOpen;
  await tryAgain(made.id);
  assert.equal((await get(made.id)).leftOpen.length, 1);
  await done(baton.admin.patch(`/tasks/${taskId}`, { status: 'cancelled' }, { 'if-match': 'task-1' }));
  await tryAgain(made.id);
  assert.deepEqual((await get(made.id)).leftOpen, []);
});

test('two workers close an object once, and a changed reason is recorded', async () => {
  const { agent, made } = await startWith([humanStep('a')]);
  const [{ taskId }] = made.openElements;
  await grant(agent.principalId, []);
  await cancel(made.id);
  await grant(agent.principalId, ['tasks.read', 'tasks.write']);
  const other = makeProcessWorker(baton);
  await Promise.all([tryAgain(made.id), other.care(), other.care()]);
  await tryAgain(made.id);
  await other.close();
  const closed = (await linesOf(made.id, 'close_task')).filter((data: object) => 'closed' in data);
  assert.deepEqual(closed, [{ taskId, closed: true }]);
});

test('the journal records a refused escalation', async () => {
  const person = await baton.actor({ kind: 'human' });
  const to = [{ principal: person.principalId }];
  const escalations = [{ after: 'PT1H', action: 'reassign', to }];
  const { agent, made } = await startWith([humanStep('a', { escalations })]);
  await grant(agent.principalId, ['tasks.read']);
  await baton.pool.run(sql`
    update process_instances set state = jsonb_set(state, '{timers}', (
      select jsonb_object_agg(key, value || '{"dueAt": "2026-01-01T00:00:00.000Z"}') from jsonb_each(state -> 'timers')))
    where id = ${made.id}`);
  await worker.fire(made.id);
  assert.deepEqual((await linesOf(made.id, 'escalate')).at(-1), { refused: 'permission_denied' });
});
