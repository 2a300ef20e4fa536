import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { raceRounds } from '@baton/testing/depth';
import {
  type Actor,
  type Answer,
  sendRequest,
  startCoordination,
  type TestCoordination,
} from '../../testing/coordination.ts';
import { done, eventsOf, makeTask, makeWorker, type Worker } from '../../testing/leases.ts';

let baton: TestCoordination;
let second: { url: string };
let person: Actor;
let worker: Worker;
before(async () => {
  baton = await startCoordination();
  second = await baton.another();
  person = await baton.actor({ kind: 'human' });
  worker = await makeWorker(baton);
});
after(() => baton.close());

/** Sends the request through a second process on the same store. */
const elsewhere = (actor: Actor, path: string, body: object = {}) =>
  sendRequest(`${second.url}/api/v1${path}`, 'POST', { token: actor.token, body });

async function makeGate(): Promise<{ taskId: string; id: string }> {
  const { id: taskId } = await makeTask(baton);
  const body = { task: taskId, gate: true, assignedPrincipalId: person.principalId };
  return { taskId, id: (await done(baton.admin.post('/approvals', body), 201)).id };
}

const codeOf = ({ status, body }: Answer) => (status === 200 ? body.status : body.error.code);
const claim = (taskId: string) =>
  worker.actor.post(`/tasks/${taskId}:claim`, { sessionId: worker.sessionId });

async function pendingGatesOf(taskId: string): Promise<number | undefined> {
  const statement = sql<{ pending_gates: number }>`select pending_gates from tasks where id = ${taskId}`;
  return (await baton.pool.row(statement))?.pending_gates;
}

test('of two concurrent deciders exactly one wins, with one event, and the gate opens once', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { taskId, id } = await makeGate();
    const answers = await Promise.all([
      person.post(`/approvals/${id}:approve`),
      elsewhere(person, `/approvals/${id}:reject`),
    ]);
    const { status } = await done(person.get(`/approvals/${id}`));
    const codes = answers.map(codeOf).sort();
    assert.deepEqual(codes, ['approval_already_decided', status].sort(), `round ${round}`);
    const types = (await eventsOf(baton, id)).map(({ type }) => type);
    assert.deepEqual(types, ['approval.requested', `approval.${status}`]);
    assert.equal(await pendingGatesOf(taskId), 0);
  }
});

test('of a concurrent decision and cancel exactly one wins', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { taskId, id } = await makeGate();
    const answers = await Promise.all([
      person.post(`/approvals/${id}:approve`),
      elsewhere(baton.admin, `/approvals/${id}:cancel`),
    ]);
    const { status } = await done(person.get(`/approvals/${id}`));
    assert.deepEqual(answers.map(codeOf).sort(), ['approval_already_decided', status].sort());
    assert.equal((await eventsOf(baton, id)).length, 2);
    assert.equal(await pendingGatesOf(taskId), 0);
  }
});

test('a claim concurrent with the decision of the last gate is granted after it or refused, never granted before', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { taskId, id } = await makeGate();
    const [decided, claimed] = await Promise.all([
      elsewhere(person, `/approvals/${id}:approve`),
      claim(taskId),
    ]);
    assert.equal(decided.status, 200);
    if (claimed.status !== 200) assert.equal(claimed.body.error.code, 'approval_required');
    const order = await baton.pool.rows<{ type: string }>(sql`
      select type from events where entity_id in (${id}, ${taskId}) order by position, sequence`);
    const types = order.map(({ type }) => type).filter((type) => type !== 'task.created');
    const granted = claimed.status === 200 ? ['task.claimed'] : [];
    assert.deepEqual(types, ['approval.requested', 'approval.approved', ...granted]);
  }
});

test('of a concurrent claim and new gate, a gate that is created first refuses the claim', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { id: taskId } = await makeTask(baton);
    const body = { task: taskId, gate: true, assignedPrincipalId: person.principalId };
    const [asked, claimed] = await Promise.all([elsewhere(baton.admin, '/approvals', body), claim(taskId)]);
    assert.equal(asked.status, 201);
    const order = await baton.pool.rows<{ type: string }>(sql`
      select type from events where entity_id in (${asked.body.id}, ${taskId}) order by position, sequence`);
    const types = order.map(({ type }) => type).filter((type) => type !== 'task.created');
    if (claimed.status === 200) assert.deepEqual(types, ['task.claimed', 'approval.requested']);
    else assert.deepEqual([claimed.body.error.code, types], ['approval_required', ['approval.requested']]);
    assert.equal(await pendingGatesOf(taskId), 1);
  }
});

test('concurrently opened and closed gates are counted correctly', async () => {
  const { id: taskId } = await makeTask(baton);
  const body = { task: taskId, gate: true, assignedPrincipalId: person.principalId };
  const makers = Array.from({ length: 20 }, async (_, n) => {
    const actor = n % 2 === 0 ? baton.admin : person;
    const { id } = await done(actor.post('/approvals', body), 201);
    if (n < 15) await done(person.post(`/approvals/${id}:${n % 2 === 0 ? 'approve' : 'reject'}`));
  });
  await Promise.all(makers);
  assert.equal(await pendingGatesOf(taskId), 5);
});
