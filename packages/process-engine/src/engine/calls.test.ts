import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@baton/values/wire';
import type { ChildEnd } from './inputs.ts';
import { human, Instance, later, note, stage, start } from './testing/engine-instance.ts';
import { waitsOf } from './waits.ts';

// Calls of agents and of other processes, without a database.

const errorOf = (one: Instance) => one.told('process.failed')[0]?.payload['error'] as JsonObject;

test('work for an agent is a task assigned to it, and the output of its run is the result', () => {
  const call = {
    agent: 'builder',
    taskType: 'change',
    title: 'Build {{ data.x }}',
    input: { ref: 'data.x' },
    due: 'PT1H',
  };
  const make = () => new Instance(stage([{ id: 'c', call, export: { as: 'y' } }]), { x: 'it' });
  const one = make();
  const [opened] = one.effects('open_task');
  assert.ok(opened?.kind === 'open_task');
  const { typeKey, title, assign, context, dueAt, isForSomebody } = opened;
  assert.deepEqual(
    { typeKey, title, assign, context, dueAt, isForSomebody },
    {
      typeKey: 'change',
      title: 'Build it',
      assign: [{ agent: 'builder' }],
      context: { ref: 'it' },
      dueAt: later(3600),
      isForSomebody: true,
    },
  );
  const entered = one.told('process.step_entered')[0]?.payload;
  assert.deepEqual([entered?.['waitsFor'], entered?.['taskId']], ['task', opened.taskId]);
  one.completeTask('c', { field: 1 });
  assert.deepEqual(one.state.data['y'], { field: 1 }, 'without a run, the fields of the task');
  const ran = make().completeTask('c', { field: 1 }, 'terminal_success', { ok: true });
  assert.deepEqual([ran.state.status, ran.state.data['y']], ['completed', { ok: true }]);
  assert.equal(errorOf(make().completeTask('c', {}, 'terminal_cancelled'))['type'], 'task_cancelled');
});

const childOf = (one: Instance, element = 'c') => {
  const node = one.state.nodes[element];
  return node?.kind === 'element' ? (node.childId as string) : '';
};
const end = (one: Instance, child: Partial<ChildEnd>, element = 'c') =>
  one.take(
    one.event('process.completed', childOf(one, element), {
      child: { status: 'completed', outcome: null, data: {}, error: null, ...child },
    }),
  );

test('a called process gives its outcome and its data back, fails by its error, and times out', () => {
  const call = { process: 'other@2', input: { n: 'data.n + 1' }, timeout: 'PT1M' };
  const make = (more: object = {}) =>
    new Instance(stage([{ id: 'c', call: { ...call, ...more }, export: { as: 'y' } }]), { n: 1, x: 'k-7' });
  const one = make();
  const [opened] = one.effects('open_instance');
  assert.ok(opened?.kind === 'open_instance');
  const { process, instanceKey, data, childId } = opened;
  assert.deepEqual([process, data], ['other@2', { n: 2 }]);
  assert.equal(instanceKey, `process:${one.state.id}/c/1`);
  const entered = one.told('process.step_entered')[0]?.payload;
  assert.deepEqual([entered?.['waitsFor'], entered?.['childInstanceId']], ['process', childId]);
  assert.deepEqual(waitsOf(one.definition, one.state), [`ended:${childId}`]);
  end(one, { outcome: 'good', data: { a: 1 } });
  assert.deepEqual(one.state.data['y'], { outcome: 'good', data: { a: 1 } });
  assert.equal(one.effects('close_instance').length, 0);
  const [named] = make({ key: 'data.x' }).effects('open_instance');
  assert.equal(named?.kind === 'open_instance' && named.instanceKey, 'k-7');
  assert.throws(() => make({ key: "''" }), { code: 'expression_error' });
  const error = { type: 'broken', status: 500, detail: 'it broke' };
  assert.deepEqual(errorOf(end(make(), { status: 'failed', error })), error);
  const late = make().fire('c', 'timeout');
  assert.equal(errorOf(late)['type'], 'timeout');
  assert.equal(late.effects('close_instance').length, 1);
});

test('a cancel ends a called instance, and a try catches its failure', () => {
  const step = { id: 'c', call: { process: 'other' } };
  const cancelled = new Instance(stage([step])).take({
    kind: 'cancel',
    at: start,
    reason: 'r',
    compensate: true,
  });
  assert.deepEqual([cancelled.state.status, cancelled.effects('close_instance').length], ['cancelled', 1]);
  const caught = new Instance(
    stage([{ id: 't', try: { do: [step], catch: [{ on: ['process_cancelled'], do: [note('x')] }] } }]),
  );
  end(caught, { status: 'cancelled', error: { type: 'process_cancelled', status: 409, detail: 'r' } });
  assert.deepEqual([caught.state.status, caught.state.data['x']], ['completed', 'x']);
});

test('a called instance begins by its first input, once', () => {
  const make = () => {
    const one = new Instance(stage([human('a')]));
    const { id, key } = one.state;
    return one.again({ id, key, startedAt: start, data: {} }, { hasBegun: false });
  };
  const begun = make().take({ kind: 'start', at: start, event: null });
  assert.deepEqual(begun.open, ['a']);
  const early = make().take(begun.event('task.created', 'x', { correlations: [] }));
  assert.deepEqual(early.open, ['a']);
  early.take({ kind: 'start', at: start, event: null });
  assert.equal(early.told('process.started').length, 1);
  assert.equal(early.effects('open_task').length, 1);
});
