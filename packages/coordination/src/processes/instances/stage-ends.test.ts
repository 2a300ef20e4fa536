import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '@baton/values/ids';
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
} from '../../testing/processes/process-instances.ts';
import { agentSpec, linkAgent, publishAgent } from '../../testing/registry/agents.ts';
import { observe } from '../../testing/rules/rules.ts';

// Tests that the events of an instance are paired and in order, regardless of the way it ends.

const { baton, worker, agent, get, act, publish, start, complete, told } = await startProcesses();

const typesOf = async (id: string) =>
  (await eventsOf(baton, id)).map(({ type }) => type.replace('process.', ''));
/** The stages' states, and the events for stages and for the end of the instance, in order. */
async function endOf(id: string) {
  const events = (await eventsOf(baton, id)).flatMap(({ type, payload }) => {
    const name = type.replace('process.', '');
    if (name.startsWith('stage_')) return [`${name} ${payload['stage']}`];
    return ['completed', 'cancelled', 'failed'].includes(name) ? [name] : [];
  });
  const { stages } = await get(id);
  return { states: stages.map(({ state }: { state: string }) => state), told: events };
}
/** The step has a condition, so that the steps after it are reachable. */
const end = () => ({ id: 'end', when: 'instance.version == 1', complete: { outcome: 'done' } });
const raise = { id: 'no', raise: { type: 'broken' } };
const oneStage = (last: string) => ['stage_entered main', 'stage_exited main', last];

test('a stage whose last step is a complete step is completed, even if it is nested in the last step', async () => {
  const branches = (...lists: object[][]) => lists.map((steps, n) => ({ id: `branch-${n}`, do: steps }));
  const ends: [object[], string][] = [
    [[setStep('a', { n: '1' }), end()], 'completed'],
    [[{ id: 'in', do: [setStep('a', { n: '1' }), end()] }], 'completed'],
    [[{ id: 't', try: { do: [{ id: 'no', raise: { type: 'x' } }], catch: [{ do: [end()] }] } }], 'completed'],
    // The other branch ends earlier.
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

test('a stage whose last step is done is completed, even if the instance ends before its next step starts', async () => {
  const type = `go-${newId()}`;
  const listen = (id: string) => ({ id, listen: { any: [{ observation: type }] } });
  const fork = (mode: string, ...lists: object[][]) => ({
    id: 'both',
    fork: { mode, branches: lists.map((steps, n) => ({ id: `branch-${n}`, do: steps })) },
  });
  // When the list of the other branch or stage has ended, the list with `complete` continues first.
  const ends: [object[], string][] = [
    [[fork('all', [listen('a'), end()], [listen('b')])], 'completed'],
    [[fork('compete', [listen('a'), end()], [humanStep('b')])], 'completed'],
    [[fork('all', [listen('a'), end()], [listen('b')]), setStep('c', { n: '1' })], 'terminated'],
    [[fork('all', [listen('a'), end()], [listen('b'), setStep('c', { n: '1' })])], 'terminated'],
    [[fork('compete', [listen('a'), end(), setStep('c', { n: '1' })], [humanStep('b')])], 'terminated'],
  ];
  const made = [];
  for (const [steps] of ends) made.push(await start(steps));
  const stages = (last: object[]) => ({
    stages: [
      { id: 'one', steps: [listen('a'), end()] },
      { id: 'two', entry: 'true', steps: [listen('b'), ...last] },
      { id: 'three', entry: 'true', steps: [humanStep('c')] },
    ],
  });
  const [all, some] = [await start([], stages([])), await start([], stages([setStep('d', { n: '1' })]))];
  await observe(baton.admin, type);
  await worker.run();
  for (const [n, [steps, state]] of ends.entries())
    assert.deepEqual(
      await endOf(made[n].id),
      { states: [state], told: oneStage('completed') },
      JSON.stringify(steps),
    );
  assert.deepEqual((await endOf(all.id)).states, ['completed', 'completed', 'terminated']);
  assert.deepEqual((await endOf(some.id)).states, ['completed', 'terminated', 'terminated']);
});

test('a stage that a later version renames is exited under its old name and entered under the new one', async () => {
  const key = await publish([], { stages: [{ id: 'old', steps: [humanStep('look')] }] });
  const made = await startProcessInstance(baton.admin, key);
  const migrations = [{ from: 1, to: 2, policy: 'migrate', map: { old: 'new' } }];
  const second = { version: 2, stages: [{ id: 'new', steps: [humanStep('look')] }], migrations };
  await publishProcess(baton.admin, specOf(agent.key, [], second), key);
  await worker.run();
  await complete(made.openElements[0].taskId);
  await worker.run();
  assert.deepEqual(await endOf(made.id), {
    states: ['completed'],
    told: ['stage_entered old', 'stage_exited old', 'stage_entered new', 'stage_exited new', 'completed'],
  });
});

test('every entered stage is exited: after a failure, a cancel, and the end of the instance', async () => {
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

test('process.started is emitted once and before process.suspended, even if the start fails', async () => {
  const timers = [{ id: 'tick', at: 'timestamp(data.when)', do: [setStep('ticked', { n: '1' })] }];
  const key = await publish([setStep('a', { n: '1' })], { timers });
  const made = await startProcessInstance(baton.admin, key, { when: 'never' });
  assert.equal(made.status, 'suspended');
  assert.deepEqual(await typesOf(made.id), ['started', 'suspended']);
  await act(made.id, 'resume', {});
  await worker.run();
  assert.deepEqual(await typesOf(made.id), ['started', 'suspended', 'resumed', 'suspended']);
  await act(made.id, 'cancel', { reason: 'enough' });
  assert.equal((await typesOf(made.id)).at(-1), 'cancelled');
});

test('a called instance that cannot start emits its start, and ends with its caller or by an operator', async () => {
  const timers = [{ id: 'tick', at: 'timestamp(data.when)', do: [setStep('ticked', { n: '1' })] }];
  const key = await publish([setStep('a', { n: '1' })], { timers });
  const call = async () => {
    const parent = await start([{ id: 'call', call: { process: key, input: { when: "'never'" } } }]);
    await worker.run();
    const [entered] = await told(parent.id, 'step_entered');
    const childId = entered?.['childInstanceId'] as string;
    assert.equal((await get(childId)).status, 'suspended');
    assert.deepEqual(await typesOf(childId), ['started', 'suspended']);
    return { parent, childId };
  };
  const ended = ['started', 'suspended', 'cancelled'];
  const first = await call();
  await act(first.parent.id, 'cancel', { reason: 'enough' });
  await worker.run();
  assert.deepEqual(await typesOf(first.childId), ended);
  const second = await call();
  assert.equal((await act(second.childId, 'cancel', { reason: 'enough' })).status, 'cancelled');
  assert.deepEqual(await typesOf(second.childId), ended);
});

test('a suspended instance whose task was refused has no task id until the task is opened', async () => {
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
