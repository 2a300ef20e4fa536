import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentSpec, linkAgent, publishAgent } from '../../testing/agents.ts';
import { done, eventsOf } from '../../testing/leases.ts';
import {
  humanStep,
  makeProcessAgent,
  processAgentPermissions,
  publishProcess,
  setStep,
  specOf,
  startProcesses,
  startProcessInstance,
} from '../../testing/process-instances.ts';

// What is told of an instance is told in pairs and in order, whatever ends it.

const { baton, worker, get, act, publish, start, complete } = await startProcesses();

const typesOf = async (id: string) =>
  (await eventsOf(baton, id)).map(({ type }) => type.replace('process.', ''));
/** Stages as `state`, and the events of stages with what ended the instance, in their order. */
async function endOf(id: string) {
  const told = (await eventsOf(baton, id)).flatMap(({ type, payload }) => {
    const name = type.replace('process.', '');
    if (name.startsWith('stage_')) return [`${name} ${payload['stage']}`];
    return ['completed', 'cancelled', 'failed'].includes(name) ? [name] : [];
  });
  const { stages } = await get(id);
  return { states: stages.map(({ state }: { state: string }) => state), told };
}
/** With a condition, so that what comes behind it could be reached. */
const end = () => ({ id: 'end', when: 'instance.version == 1', complete: { outcome: 'done' } });
const raise = { id: 'no', raise: { type: 'broken' } };
const oneStage = (last: string) => ['stage_entered main', 'stage_exited main', last];

test('a stage that a complete step ends as its last one is completed, also from inside of its last step', async () => {
  const branches = (...lists: object[][]) => lists.map((steps, n) => ({ id: `branch-${n}`, do: steps }));
  const ends: [object[], string][] = [
    [[setStep('a', { n: '1' }), end()], 'completed'],
    [[{ id: 'in', do: [setStep('a', { n: '1' }), end()] }], 'completed'],
    [[{ id: 't', try: { do: [{ id: 'no', raise: { type: 'x' } }], catch: [{ do: [end()] }] } }], 'completed'],
    // The other branch is over before.
    [
      [
        {
          id: 'both',
          fork: { branches: branches([setStep('a', { n: '1' })], [setStep('b', { m: '1' }), end()]) },
        },
      ],
      'completed',
    ],
    [[end(), setStep('never', { n: '1' })], 'terminated'],
    [[{ id: 'in', do: [end(), setStep('never', { n: '1' })] }], 'terminated'],
    [[{ id: 'in', do: [end()] }, setStep('never', { n: '1' })], 'terminated'],
    [[{ id: 'both', fork: { branches: branches([humanStep('open')], [end()]) } }], 'terminated'],
  ];
  for (const [steps, state] of ends) {
    const made = await start(steps);
    assert.equal(made.status, 'completed', JSON.stringify(steps));
    assert.deepEqual(
      await endOf(made.id),
      { states: [state], told: oneStage('completed') },
      JSON.stringify(steps),
    );
  }
});

test('every stage that was entered is left: by a failure, by a cancel, and by the end of the instance', async () => {
  const failed = await start([humanStep('open'), raise]);
  await complete(failed.openElements[0].taskId);
  await worker.run();
  assert.deepEqual(await endOf(failed.id), { states: ['terminated'], told: oneStage('failed') });

  const cancelled = await start([humanStep('open')]);
  await act(cancelled.id, 'cancel', { reason: 'enough' });
  assert.deepEqual(await endOf(cancelled.id), { states: ['terminated'], told: oneStage('cancelled') });

  const suspended = await start([humanStep('open')]);
  await act(suspended.id, 'suspend', { reason: 'holiday' });
  await act(suspended.id, 'cancel', { reason: 'enough' });
  assert.deepEqual(await endOf(suspended.id), { states: ['terminated'], told: oneStage('cancelled') });

  const two = await start([], {
    stages: [
      { id: 'one', steps: [humanStep('open')] },
      { id: 'two', entry: 'true', steps: [end()] },
      { id: 'three', entry: 'stage.one.completed', steps: [humanStep('never')] },
    ],
  });
  assert.deepEqual(await endOf(two.id), {
    states: ['terminated', 'completed', 'terminated'],
    told: ['stage_entered one', 'stage_entered two', 'stage_exited one', 'stage_exited two', 'completed'],
  });
});

test('an instance that can not start is told of as started before it is told of as suspended, and only once', async () => {
  const timers = [{ id: 'tick', at: 'timestamp(data.when)', do: [setStep('ticked', { n: '1' })] }];
  const key = await publish([setStep('a', { n: '1' })], { timers });
  const made = await startProcessInstance(baton.admin, key, { when: 'never' });
  assert.equal(made.status, 'suspended');
  assert.deepEqual(await typesOf(made.id), ['started', 'suspended']);
  assert.equal((await act(made.id, 'resume', {})).status, 'suspended');
  assert.deepEqual(
    (await typesOf(made.id)).filter((type) => type === 'started'),
    ['started'],
  );
  await act(made.id, 'cancel', { reason: 'enough' });
  const types = await typesOf(made.id);
  assert.deepEqual([types[0], types.at(-1)], ['started', 'cancelled']);

  const parent = await start([{ id: 'call', call: { process: key, input: { when: "'never'" } } }]);
  await worker.run();
  const [entered] = (await eventsOf(baton, parent.id)).filter(({ type }) => type === 'process.step_entered');
  const childId = entered?.payload['childInstanceId'] as string;
  assert.equal((await get(childId)).status, 'suspended');
  assert.deepEqual(await typesOf(childId), ['started', 'suspended']);
});

test('a suspended instance whose task was refused names no task, until it is opened', async () => {
  const { key: unlinked } = await publishAgent(baton.admin, agentSpec());
  const called = await start([{ id: 'build', call: { agent: unlinked, taskType: 'task' } }]);
  const powerless = await makeProcessAgent(baton, {
    permissions: processAgentPermissions.filter((name) => name !== 'tasks.write'),
  });
  const process = await publishProcess(baton.admin, specOf(powerless.key, [humanStep('ask')]));
  const asked = await startProcessInstance(baton.admin, process);
  for (const { status, openElements } of [called, asked])
    assert.deepEqual([status, openElements[0].taskId], ['suspended', null]);
  for (const { id } of [called, asked]) assert.equal((await get(id)).openElements[0].taskId, null);
  assert.ok(!(await typesOf(asked.id)).includes('step_entered'));
  await linkAgent(baton, unlinked);
  const resumed = await act(called.id, 'resume', {});
  const { taskId } = resumed.openElements[0];
  assert.equal((await done(baton.admin.get(`/tasks/${taskId}`))).id, taskId);
});
