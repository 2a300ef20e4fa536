import assert from 'node:assert/strict';
import { test } from 'node:test';
import { done, refused } from '../../testing/leases.ts';
import { humanStep, setStep, startProcesses } from '../../testing/processes/process-instances.ts';

// Tests a cancel whose compensation fails: the remaining compensation is not lost, and an operator decides how to
// continue.

const { baton, worker, start, get, act, told, complete } = await startProcesses();

const cancel = (id: string, more: object = {}) => act(id, 'cancel', { reason: 'enough', ...more });
const undoable = (id: string, ...onCompensate: object[]) => ({ ...setStep(id, { [id]: '1' }), onCompensate });

/** An instance that is being cancelled and is waiting for a person to compensate its second step. */
async function startUndoing() {
  const made = await start([
    undoable('one', setStep('undo-one', { one: '0' })),
    undoable('two', setStep('begin', { begun: 'true' }), humanStep('undo-two')),
    undoable('three', setStep('undo-three', { three: '0' })),
    humanStep('work'),
  ]);
  const cancelling = await cancel(made.id);
  assert.deepEqual([cancelling.status, cancelling.openElements[0].id], ['running', 'undo-two']);
  return cancelling;
}

/** The task is cancelled, so its step is not compensated. */
async function giveUp(instance: any) {
  const [{ taskId }] = instance.openElements;
  const { version } = await done(baton.admin.get(`/tasks/${taskId}`));
  await done(
    baton.admin.patch(`/tasks/${taskId}`, { status: 'cancelled' }, { 'if-match': `task-${version}` }),
  );
  await worker.run();
  const stalled = await get(instance.id);
  assert.deepEqual(
    [
      stalled.status,
      stalled.suspension.element,
      stalled.suspension.code,
      stalled.data.three,
      stalled.data.one,
    ],
    ['suspended', 'undo-two', 'task_cancelled', 0, 1],
  );
  return stalled;
}

const endOf = async (id: string) => {
  const { status, data } = await get(id);
  const [ended] = await told(id, 'cancelled');
  return [status, data.one, ended?.['compensated']];
};

for (const [verb, body] of [
  ['resume', {}],
  ['cancel', { reason: 'again' }],
] as const)
  test(`a compensation step that fails suspends the instance, and :${verb} retries it`, async () => {
    const { id } = await giveUp(await startUndoing());
    const [{ cause, reason }] = (await told(id, 'suspended')) as any[];
    assert.deepEqual([cause, reason.split(':')[0]], ['input_failed', 'task_cancelled']);
    const again = await giveUp(await act(id, verb, body));
    const last = await act(again.id, verb, body);
    assert.deepEqual([last.status, last.openElements[0].attempt], ['running', 3]);
    await complete(last.openElements[0].taskId);
    await worker.run();
    assert.deepEqual(await endOf(id), ['cancelled', 0, ['three', 'two', 'one']]);
    assert.equal((await told(id, 'step_entered')).filter(({ element }) => element === 'begin').length, 1);
    await refused(
      baton.admin.post(`/process-instances/${id}:cancel`, { reason: 'once more' }),
      409,
      'invalid_process_instance_state',
    );
  });

test('an operator may skip it, and the remaining elements are compensated', async () => {
  const { id } = await giveUp(await startUndoing());
  await act(id, 'skip', { element: 'undo-two', reason: 'undone by hand' });
  assert.deepEqual(await endOf(id), ['cancelled', 0, ['three', 'two', 'one']]);
});

test('a cancel without compensation ends the instance unchanged, and reports the compensated steps', async () => {
  const { id } = await giveUp(await startUndoing());
  await cancel(id, { compensate: false });
  assert.deepEqual(await endOf(id), ['cancelled', 1, ['three']]);
});

test('a repeated cancel does not change the one that is running', async () => {
  const { id, openElements } = await startUndoing();
  const again = await cancel(id);
  assert.deepEqual([again.status, again.openElements], ['running', openElements]);
});

test('an error that a compensation step catches itself does not stop the compensation', async () => {
  const caught = {
    id: 'try',
    try: { do: [{ id: 'no', raise: { type: 'no' } }], catch: [{ do: [setStep('c', { c: '1' })] }] },
  };
  const made = await start([undoable('one', caught, setStep('undo-one', { one: '0' })), humanStep('work')]);
  await cancel(made.id);
  assert.deepEqual(await endOf(made.id), ['cancelled', 0, ['one']]);
});
