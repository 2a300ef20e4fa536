import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess, longTest } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { claimTask, done, makeTask, makeWorker, refused } from '../../testing/leases.ts';
import { archiveThrough, pruneThrough } from '../../testing/ledger/retention.ts';
import { outcomeTester } from '../../testing/results/outcomes.ts';

let baton: TestCoordination;
let person: Actor;
/** A principal that neither works on the tasks nor requests the approvals. */
let ci: Actor;
let tester: ReturnType<typeof outcomeTester>;
before(async () => {
  baton = await startCoordination();
  person = await baton.actor({ kind: 'human' });
  ci = await baton.actor({ kind: 'service' });
  tester = outcomeTester(baton, person);
});
after(async () => {
  await tester.close();
  await baton.close();
});

const reason = 'The pipeline must be green.';
const kind = 'ci.finished';
const isGreen = { eq: [{ var: 'payload.data.result' }, 'green'] };
const observe = (body: object, actor = ci) =>
  done(actor.post('/observations', { kind, content: 'The pipeline is done.', ...body }), 201);
const approve = (id: string) => person.post(`/approvals/${id}:approve`);

/** The failed preconditions of a refusal, without kind and reason, which are as declared. */
async function causesOf(id: string): Promise<object[]> {
  const { failed } = (await refused(approve(id), 409, 'approval_precondition_failed')) as { failed: any[] };
  return failed.map(({ kind: told, reason: why, ...failure }) => {
    assert.deepEqual([told, why], [kind, reason]);
    return failure;
  });
}

const gate = (observation: object = {}, more: { condition?: object; task?: object } = {}) =>
  tester.gate(
    {},
    {
      task: more.task ?? {},
      preconditions: [
        {
          observation: { kind, ...observation },
          reason,
          ...(more.condition && { condition: more.condition }),
        },
      ],
    },
  );

test('the newest observation of the kind about the task satisfies the precondition, if its condition is true', async () => {
  const { id, task } = await gate({}, { condition: isGreen });
  const other = await makeTask(baton);
  await observe({ task: other.id, data: { result: 'green' } });
  await observe({ data: { result: 'green' } });
  await done(
    ci.post('/observations', {
      kind: 'ci.begun',
      content: 'x',
      task: task.id,
      data: { result: 'green' },
    }),
    201,
  );
  assert.deepEqual(await causesOf(id), [{ index: 0, cause: 'observation_missing' }]);
  await observe({ task: task.publicId, data: { result: 'green' } });
  const red = await observe({ task: task.id, data: { result: 'red' } });
  assert.deepEqual(await causesOf(id), [{ index: 0, cause: 'condition_not_met', observationId: red.id }]);
  assert.equal((await done(person.get(`/approvals/${id}`))).status, 'pending');
  await observe({ task: task.id, data: { result: 'green' } });
  assert.equal((await tester.decide(id)).status, 'approved');
});

test('an observation with an archived event counts, and one whose event was pruned is missing', async () => {
  const { id, task } = await gate({}, { condition: isGreen });
  const { eventId } = await observe({ task: task.id, data: { result: 'red' } });
  await archiveThrough(baton.pool, baton.tenantId, eventId, 1000);
  const [cause] = await causesOf(id);
  assert.equal((cause as { cause: string }).cause, 'condition_not_met');
  await pruneThrough(baton.pool, baton.tenantId, eventId, 1000);
  assert.deepEqual(await causesOf(id), [{ index: 0, cause: 'observation_missing' }]);
});

test('a superseded observation does not count', async () => {
  const { id, task } = await gate();
  const first = await observe({ task: task.id });
  await observe({ supersedes: first.eventId, task: (await makeTask(baton)).id });
  assert.deepEqual(await causesOf(id), [{ index: 0, cause: 'observation_missing' }]);
  await observe({ task: task.id });
  await done(approve(id));
});

test('a required source must match that of the observation', async () => {
  const { id, task } = await gate({ source: 'ci:main' });
  await observe({ task: task.id });
  await observe({ task: task.id, source: 'ci:fork' });
  assert.deepEqual(await causesOf(id), [{ index: 0, cause: 'observation_missing' }]);
  await observe({ task: task.id, source: 'ci:main' });
  await observe({ task: task.id, source: 'ci:fork' });
  await done(approve(id));
});

test('an external object is found by its full name, regardless of where it was observed', async () => {
  const ref = { system: 'github', id: '$.task.customFields.pr!' };
  const { id } = await gate({ externalRef: ref }, { task: { customFields: { pr: 417 } } });
  for (const externalRef of [
    { system: 'github', id: '418' },
    { system: 'gitlab', id: '417' },
  ])
    await observe({ source: 'ci', externalRef });
  assert.deepEqual(await causesOf(id), [{ index: 0, cause: 'observation_missing' }]);
  await observe({
    source: 'ci',
    externalRef: { system: 'github', id: '417', url: 'https://example.com/417' },
  });
  await done(approve(id));
});

test('a task that is required together with an object must match too', async () => {
  const { id, task } = await gate({ task: '$.task.id', externalRef: { system: 'github', id: 'x' } });
  const externalRef = { system: 'github', id: 'x' };
  await observe({ source: 'ci', externalRef });
  assert.deepEqual(await causesOf(id), [{ index: 0, cause: 'observation_missing' }]);
  await observe({ source: 'ci', externalRef, task: task.id });
  await done(approve(id));
});

test('a precondition without a value or a task, or with incomparable values, keeps the gate closed, and the refusal lists all', async () => {
  const preconditions = [
    { observation: { kind, externalRef: { system: 'github', id: '$.task.customFields.pr!' } }, reason },
    { observation: { kind, task: '$.task.customFields.other' }, reason },
    { observation: { kind, task: newId() }, reason },
    { observation: { kind, task: '$.spawnedBy.id' }, reason },
    { observation: { kind }, reason, condition: { lt: [{ var: 'payload.data.result' }, 1] } },
    { observation: { kind }, reason },
    {
      observation: { kind },
      reason,
      condition: { ne: [{ var: 'task.publicId' }, { var: 'payload.taskId' }] },
    },
  ];
  const { id, task } = await tester.gate({}, { preconditions });
  const seen = await observe({ task: task.id, data: { result: 'green' } });
  assert.deepEqual(await causesOf(id), [
    ...[0, 1, 2, 3].map((index) => ({ index, cause: 'unresolved_expression' })),
    { index: 4, cause: 'condition_error', observationId: seen.id },
  ]);
});

test('a rejection and a cancellation need no observation', async () => {
  const [rejected, cancelled] = [await gate(), await gate()];
  assert.equal((await tester.decide(rejected.id, 'reject')).status, 'rejected');
  await done(baton.admin.post(`/approvals/${cancelled.id}:cancel`));
});

test('the agent’s own observation opens no gate, regardless of its source, and hides no observation of CI', async () => {
  const worker = await makeWorker(baton);
  const { id, task } = await gate({ source: 'ci:main' }, { condition: isGreen });
  // This principal worked on the task before the gate was requested.
  await done(person.post(`/approvals/${id}:cancel`));
  await claimTask(worker, task.id);
  const request = { task: task.id, gate: true, assignedPrincipalId: person.principalId };
  const asked = await done(baton.admin.post('/approvals', request), 201);
  const green = { task: task.id, source: 'ci:main', data: { result: 'green' } };
  const faked = await observe(green, worker.actor);
  const refusal = [{ index: 0, cause: 'not_a_prover', observationId: faked.id }];
  assert.deepEqual(await causesOf(asked.id), refusal);
  const ofRequester = await observe(green, baton.admin);
  assert.deepEqual(await causesOf(asked.id), [{ ...refusal[0], observationId: ofRequester.id }]);

  await observe(green);
  const red = await observe({ ...green, data: { result: 'red' } });
  await observe({ ...green, supersedes: red.eventId }, worker.actor);
  const wrong = [{ index: 0, cause: 'condition_not_met', observationId: red.id }];
  assert.deepEqual(
    await causesOf(asked.id),
    wrong,
    'the newest observation of CI, which the agent can’t supersede',
  );
  await observe({ ...green, supersedes: red.eventId });
  assert.equal((await done(approve(asked.id))).status, 'approved');
});

test('an observation of the first requester opens no gate that the core requests again', async () => {
  const agent = await baton.actor();
  const { task } = await gate({}, { condition: isGreen });
  const [{ id }] = (await done(baton.admin.get(`/approvals?taskId=${task.id}`))).items;
  await observe({ task: task.id, data: { result: 'green' } });
  await done(approve(id));
  const change = { title: 'Something else' };
  await done(agent.patch(`/tasks/${task.id}`, change, { 'if-match': `task-${task.version}` }));
  const [again] = (await done(baton.admin.get(`/approvals?taskId=${task.id}&status=pending`))).items;
  assert.equal(again.supersedesApprovalId, id);
  const red = await observe({ task: task.id, data: { result: 'red' } });
  await observe({ task: task.id, data: { result: 'green' } }, baton.admin);
  const wrong = [{ index: 0, cause: 'condition_not_met', observationId: red.id }];
  assert.deepEqual(await causesOf(again.id), wrong);
});

longTest(
  'ten thousand observations from other sources do not hide the required one longer than documented and cost little',
  async () => {
    const { id, task } = await gate({ source: 'ci:main' });
    await observe({ task: task.id, source: 'ci:main' });
    await baton.pool.run(sql`
    insert into observations (id, event_id, tenant_id, created_by, kind, source, task_id)
    select gen_random_uuid(), gen_random_uuid(), ${baton.tenantId}, ${ci.principalId}, ${kind}, 'flood', ${task.id}
    from generate_series(1, 10000)`);
    const began = performance.now();
    assert.deepEqual(await causesOf(id), [{ index: 0, cause: 'observation_missing' }]);
    assertTookLess(began, 3000);
    await observe({ task: task.id, source: 'ci:main' });
    await done(approve(id));
  },
);
