import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { done, openSession, refused } from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import {
  humanStep,
  makeProcessAgent,
  publishProcess,
  setStep,
  specOf,
  startProcesses,
  startProcessInstance,
} from '../../testing/processes/process-instances.ts';
import { agentSpec, linkAgent, publishAgent } from '../../testing/registry/agents.ts';
import { until } from '../../testing/wait-until.ts';

// Tests calls of agents and of other processes.

const { baton, worker, agent, get, publish, start, told } = await startProcesses();

const childOf = async (id: string) => (await told(id, 'step_entered'))[0]?.['childInstanceId'] as string;
const call = (process: string, more: object = {}) => ({ id: 'call', call: { process, ...more } });
const parkedBy = async (id: string) => (await get(id)).suspension?.code;

test('an agent is assigned a task, and the output of its run is the result', async () => {
  const { key, revision } = await publishAgent(baton.admin, agentSpec());
  const builder = await linkAgent(baton, key);
  const step = {
    id: 'build',
    call: { agent: key, taskType: 'task', title: 'Build {{ data.ref }}', input: { ref: 'data.ref' } },
    export: { as: 'built' },
  };
  const made = await start([step], {}, { ref: 'CHG-7' });
  const [{ taskId }] = made.openElements;
  const task = await done(baton.admin.get(`/tasks/${taskId}`));
  assert.deepEqual(
    [task.title, task.assigneeId, task.origin.kind, task.origin.ref],
    ['Build CHG-7', builder.principalId, 'process', `process/${made.id}/build`],
  );
  const named = `externalSystem=control-plane&externalType=process_step&externalId=process/${made.id}/build`;
  const { items } = await done(baton.admin.get(`/external-references?${named}`));
  assert.deepEqual([items[0].entityId, items[0].metadata], [taskId, { context: { ref: 'CHG-7' } }]);
  const sessionId = await openSession(builder);
  const claim = await done(builder.post(`/tasks/${taskId}:claim`, { sessionId }));
  const keys = { claimId: claim.id, fencingToken: claim.fencingToken, agentRevisionId: revision.id };
  const run = await done(builder.post(`/tasks/${taskId}:start-run`, keys), 201);
  await done(builder.post(`/runs/${run.id}:succeed`, { output: { image: 'sha256:1' } }));
  await worker.run();
  const after = await get(made.id);
  assert.deepEqual([after.status, after.data.built], ['completed', { image: 'sha256:1' }]);
});

test('an agent that cannot act is a fault that waits for an operator, or is caught', async () => {
  const { key } = await publishAgent(baton.admin, agentSpec());
  const step = { id: 'build', call: { agent: key, taskType: 'task' } };
  const made = await start([step]);
  assert.equal(made.suspension.code, 'unknown_agent');
  await linkAgent(baton, key);
  const resumed = await done(baton.admin.post(`/process-instances/${made.id}:resume`, {}));
  assert.deepEqual([resumed.status, resumed.openElements[0].kind], ['running', 'call']);
  await done(baton.admin.post(`/agents/${key}:retire`, { reason: 'old' }));
  await done(baton.admin.post(`/process-instances/${made.id}:cancel`, { reason: 'enough' }));
  const task = await done(baton.admin.get(`/tasks/${resumed.openElements[0].taskId}`));
  assert.equal(task.status, 'cancelled');
});

test('a called process starts with its inputs, and returns its outcome and its data', async () => {
  const child = await publish([
    setStep('twice', { n: 'data.n * 2' }),
    humanStep('look'),
    { id: 'end', complete: { outcome: 'fine' } },
  ]);
  const made = await start(
    [{ ...call(child, { input: { n: 'data.n' } }), export: { as: 'called' } }],
    {},
    {
      n: 4,
    },
  );
  const childId = await childOf(made.id);
  const entered = (await told(made.id, 'step_entered'))[0];
  assert.deepEqual([entered?.['waitsFor'], entered?.['stepKind']], ['process', 'call']);
  const waiting = await get(childId);
  assert.deepEqual(
    [waiting.status, waiting.definitionKey, waiting.instanceKey, waiting.data, waiting.openElements],
    ['running', child, `process:${made.id}/call/1`, { n: 4 }, []],
  );
  await worker.run();
  const begun = await get(childId);
  assert.deepEqual([begun.data, begun.openElements.length], [{ n: 8 }, 1]);
  assert.equal((await told(childId, 'started')).length, 1);
  await done(
    baton.admin.post(`/tasks/${begun.openElements[0].taskId}:complete`, {}, { 'if-match': 'task-1' }),
  );
  await worker.run();
  const after = await get(made.id);
  assert.deepEqual(
    [after.status, after.data],
    ['completed', { n: 4, called: { outcome: 'fine', data: { n: 8 } } }],
  );
});

test('a failed or cancelled child is an error of the step', async () => {
  const failing = await publish([{ id: 'no', raise: { type: 'broken', status: 500, detail: 'it broke' } }]);
  const uncaught = await start([call(failing)]);
  const waiting = await publish([humanStep('look')]);
  const caught = await start([
    {
      id: 't',
      try: {
        do: [call(waiting)],
        catch: [{ on: ['process_cancelled'], do: [setStep('why', { why: 'step.error.detail' })] }],
      },
    },
  ]);
  await worker.run();
  const entered = (await told(caught.id, 'step_entered')).find(({ element }) => element === 'call');
  const cancel = { reason: 'not wanted' };
  await done(baton.admin.post(`/process-instances/${entered?.['childInstanceId']}:cancel`, cancel));
  await worker.run();
  assert.deepEqual((await told(uncaught.id, 'failed'))[0]?.['error'], {
    type: 'broken',
    status: 500,
    detail: 'it broke',
  });
  assert.deepEqual((await get(caught.id)).data, { why: 'not wanted' });
});

test('cancelling the caller cancels its called instance, which is compensated', async () => {
  const child = await publish([
    { ...setStep('did', { did: 'true' }), onCompensate: [setStep('undo', { did: 'false' })] },
    humanStep('look'),
  ]);
  const middle = await publish([call(child)]);
  const made = await start([call(middle)]);
  await worker.run();
  const middleId = await childOf(made.id);
  const childId = await childOf(middleId);
  await done(baton.admin.post(`/process-instances/${made.id}:cancel`, { reason: 'enough' }));
  await worker.run();
  const ended = await Promise.all([made.id, middleId, childId].map((id) => get(id)));
  assert.deepEqual(
    ended.map(({ status }) => status),
    ['cancelled', 'cancelled', 'cancelled'],
  );
  assert.deepEqual(ended[2].data, { did: false });
  assert.equal((await told(childId, 'cancelled'))[0]?.['reason'], 'the step that called it has ended');
});

test('a call that times out is an error, and its instance is cancelled, whether it has started or not', async () => {
  const child = await publish([humanStep('look')]);
  const late = await start([call(child, { timeout: 'PT0.5S' })]);
  await worker.run();
  const early = await start([call(child, { timeout: 'PT0.01S' })]);
  await until(async () => {
    await worker.timers();
    return (await Promise.all([early, late].map(({ id }) => get(id)))).every(
      ({ status }) => status === 'failed',
    );
  });
  await worker.run();
  for (const { id } of [early, late]) {
    assert.equal(((await told(id, 'failed'))[0]?.['error'] as { type: string }).type, 'timeout');
    assert.equal((await get(await childOf(id))).status, 'cancelled');
  }
});

test('a call that cannot start is a fault: a missing or retired process, invalid data, a key in use', async () => {
  const child = await publish([humanStep('look')], {
    data: { type: 'object', properties: { n: { type: 'integer' } }, additionalProperties: false },
  });
  const code = async (step: object) => parkedBy((await start([step])).id);
  assert.equal(await code(call(`p-${newId()}`)), 'not_found');
  assert.equal(await code(call(`${child}@7`)), 'not_found');
  assert.equal(await code(call(child, { input: { n: "'x'" } })), 'invalid_process_data');
  const key = { key: "'one'" };
  assert.equal(await code(call(`${child}@1`, key)), undefined);
  assert.equal(await code(call(child, key)), 'process_instance_exists');
  await done(baton.admin.post(`/process-definitions/${child}:retire`, { reason: 'old' }));
  assert.equal(await code(call(child)), 'process_retired');
  const weak = await makeProcessAgent(baton, { permissions: ['tasks.write'] });
  const process = await publishProcess(baton.admin, specOf(weak.key, [call(child)]));
  assert.equal(await parkedBy((await startProcessInstance(baton.admin, process)).id), 'permission_denied');
  const unlinked = await publishAgent(baton.admin, agentSpec());
  const unusable = await publishProcess(baton.admin, specOf(unlinked.key, [humanStep('look')]));
  assert.equal(await code(call(unusable)), 'process_definition_unusable');
});

test('a process that calls itself ends at the tenth call', async () => {
  const key = `p-${newId()}`;
  await publishProcess(baton.admin, specOf(agent.key, [call(key)]), key);
  const made = await startProcessInstance(baton.admin, key);
  for (let round = 0; round < 12; round += 1) await worker.orders();
  const rows = await baton.pool.rows<{ depth: number; code: string | null }>(sql`
    select call_depth::int as depth, state #>> '{parked,code}' as code from process_instances
    where id = ${made.id} or root_id = ${made.id} order by call_depth`);
  assert.deepEqual(
    rows.map(({ depth }) => depth),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  );
  assert.equal(rows.at(-1)?.code, 'process_definition_unusable');
  await done(baton.admin.post(`/process-instances/${made.id}:cancel`, { reason: 'enough' }));
  await worker.run();
  const open = await baton.pool.rows(sql`
    select id from process_instances where root_id = ${made.id} and status <> 'cancelled'`);
  assert.deepEqual(open, []);
});

test('a called instance belongs to the workspace of its caller, and a hidden process cannot be called', async () => {
  const [seen, hidden] = [await makeWorkspace(baton), await makeWorkspace(baton)];
  const child = await publish([humanStep('look')], { workspaceId: hidden.id });
  const member = await baton.actor({ kind: 'human' });
  await done(baton.admin.post(`/workspaces/${seen.id}/members`, { principalId: member.principalId }), 201);
  await baton.pool.run(
    sql`update iam_bindings set visibility = 'members' where principal_id = ${member.principalId}`,
  );
  const sent = (process: string) => ({
    key: `p-${newId()}`,
    spec: specOf(agent.key, [call(process)], { workspaceId: seen.id }),
  });
  const problems = async (process: string) =>
    (await refused(member.post('/process-definitions', sent(process)), 422, 'invalid_process')).problems;
  const absent = `p-${newId()}`;
  assert.deepEqual(
    (await problems(child)).map((one: any) => ({ ...one, message: one.message.replace(child, absent) })),
    await problems(absent),
  );
  const own = await publish([humanStep('look')], { workspaceId: seen.id });
  await done(member.post('/process-definitions', sent(own)), 201);
  const open = await publish([humanStep('look')]);
  const { key } = await done(baton.admin.post('/process-definitions', sent(open)), 201);
  const made = await startProcessInstance(baton.admin, key);
  assert.equal((await get(await childOf(made.id))).workspaceId, seen.id);
});
