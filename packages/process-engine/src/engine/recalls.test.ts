import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@baton/values/wire';
import { isResumedBy } from './handlers.ts';
import { human, Instance, note, stage, start } from './testing/engine-instance.ts';
import { waitsOf } from './waits.ts';

// Tests memory queries and observations of steps, and resumes by events, without a database.

const errorOf = (one: Instance) => one.told('process.failed')[0]?.payload['error'] as JsonObject;
const nodeOf = (one: Instance, id: string) => {
  const node = one.state.nodes[id];
  assert.ok(node?.kind === 'element');
  return node;
};

const asking = (more: object = {}, inside: object = {}) =>
  new Instance(
    stage([
      { id: 'r', recall: { anchors: ['service:{{ data.x }}'], ...more }, export: { as: 'y' }, ...inside },
    ]),
    { x: 'api' },
  );
const found = {
  asOf: start,
  nodeCount: 1,
  edgeCount: 0,
  truncated: false,
  resultHash: 'sha256:1',
  result: { entities: [{ key: 'service:api' }], facts: [], snapshots: [] },
};
const answer = (one: Instance, recallId = nodeOf(one, 'r').recallId as string) =>
  one.take({ kind: 'recalled', at: start, element: 'r', recallId, ...found });

test('a recall queries memory as of the time when the step was reached, and returns its result', () => {
  const one = asking({ kinds: ['service'], relations: ['runs_on'], depth: 2, maxTokens: 500 });
  const [opened] = one.effects('open_recall');
  assert.ok(opened?.kind === 'open_recall');
  assert.deepEqual(opened.question, {
    anchors: ['service:api'],
    kinds: ['service'],
    relations: ['runs_on'],
    depth: 2,
    maxTokens: 500,
    asOf: start,
  });
  assert.equal(one.told('process.step_entered')[0]?.payload['waitsFor'], 'memory');
  answer(one, crypto.randomUUID());
  assert.deepEqual(one.open, ['r'], 'an answer to another question is passed over');
  answer(one);
  assert.deepEqual([one.state.status, one.state.data['y']], ['completed', found.result]);
  const { result: _, ...told } = found;
  assert.deepEqual(one.told('process.recall_completed')[0]?.payload, {
    step: 'r',
    recallId: opened.recallId,
    ...told,
  });
  assert.equal(one.effects('close_recall').length, 0);
});

test('a recall times out, is refused, or has no anchor: an error that may be caught', () => {
  const late = asking({ timeout: 'PT5S' }).fire('r', 'timeout');
  assert.deepEqual(errorOf(late), { type: 'timeout', status: 408, detail: 'timeout' });
  assert.equal(late.told('process.recall_timed_out')[0]?.payload['reason'], 'timeout');
  assert.equal(late.told('process.step_exited')[0]?.payload['outcome'], 'timed_out');
  assert.equal(late.effects('close_recall').length, 1);
  const refused = asking();
  const recallId = nodeOf(refused, 'r').recallId as string;
  refused.take({ kind: 'recall_failed', at: start, element: 'r', recallId, reason: 'memory_disabled' });
  assert.equal(errorOf(refused)['detail'], 'memory_disabled');
  assert.equal(refused.effects('close_recall').length, 0);
  assert.equal(errorOf(asking({ anchors: ['no anchor'] }))['type'], 'invalid_anchor');
});

test('a remember is done when the journal has its observation', () => {
  const remember = {
    kind: 'release.done',
    content: 'Released {{ data.x }}',
    data: { ref: 'data.x' },
    facts: [{ subject: 'service:{{ data.x }}', predicate: 'has_release', object: '{{ data.x }}' }],
  };
  const one = new Instance(stage([{ id: 'r', remember }]), { x: 'api' });
  const [opened] = one.effects('open_observation');
  assert.ok(opened?.kind === 'open_observation');
  const { observed, content, data, facts, observationId } = opened;
  assert.deepEqual(
    { observed, content, data, facts },
    {
      observed: 'release.done',
      content: 'Released api',
      data: { ref: 'api' },
      facts: [{ subject: 'service:api', predicate: 'has_release', object: 'api' }],
    },
  );
  assert.deepEqual(waitsOf(one.definition, one.state), [`entity:${observationId}`]);
  one.take(one.event('observation.recorded', observationId));
  assert.equal(one.state.status, 'completed');
});

const memory = {
  case: { kind: 'case', key: 'data.x', title: 'Change {{ data.x }}' },
  facts: [
    { predicate: 'has_state', object: '{{ data.y }}' },
    { predicate: 'has_note', object: '{{ data.z }}' },
  ],
  entities: [{ type: 'service', key: 'data.n' }],
};

test('the case of an instance is in its events, and is reported when it differs and at the end', () => {
  const one = new Instance(
    { ...stage([human('a'), note('y', "'done'"), human('b')]), memory },
    { x: 'CHG 7', n: 1 },
  );
  const begun = {
    case: { kind: 'case', key: 'CHG_7', title: 'Change CHG 7' },
    facts: [
      { predicate: 'has_state', object: 'null' },
      { predicate: 'has_note', object: 'null' },
    ],
    entities: [{ type: 'service', key: '1', title: '1' }],
    documents: null,
  };
  assert.deepEqual(one.told('process.started')[0]?.payload['memory'], begun);
  assert.equal(one.effects('tell_case').length, 1);
  one.completeTask('a');
  const changed = { ...begun, facts: [{ predicate: 'has_state', object: 'done' }, begun.facts[1]] };
  assert.deepEqual(one.told('process.data_changed')[0]?.payload['memory'], changed);
  assert.equal(one.effects('tell_case').length, 2);
  one.completeTask('b');
  assert.deepEqual(one.told('process.completed')[0]?.payload['memory'], changed);
  assert.deepEqual(
    one.effects('tell_case').map((effect) => effect.kind === 'tell_case' && effect.status),
    ['running', 'running', 'completed'],
  );
});

test('a case without a key, or that can not be computed, is not reported, and the instance continues', () => {
  const none = new Instance({ ...stage([human('a')]), memory });
  assert.equal(none.told('process.started')[0]?.payload['memory'], null);
  const faulty = { ...memory, case: { ...memory.case, key: 'data.x.y.z' } };
  const one = new Instance({ ...stage([human('a')]), memory: faulty }, { x: 'text' });
  assert.deepEqual([one.state.status, one.effects('tell_case').length], ['running', 0]);
});

test('a retrospective is filed when an instance ends, however it ends', () => {
  const retrospective = { taskType: 'task', title: 'Look back at {{ instance.key }}', due: 'P7D' };
  const make = (step: object) => new Instance({ ...stage([step]), retrospective });
  const filed = (one: Instance) =>
    one.effects('open_task').filter((effect) => effect.kind === 'open_task' && effect.element === null);
  const [task] = filed(make(note('x')));
  assert.ok(task?.kind === 'open_task');
  assert.deepEqual(
    [task.title, task.context, task.dueAt],
    ['Look back at k', { status: 'completed', outcome: null }, '2026-03-09T08:00:00.000Z'],
  );
  assert.equal(filed(make({ id: 'no', raise: { type: 'broken' } })).length, 1);
  const open = make(human('a'));
  assert.equal(filed(open).length, 0);
  open.take({ kind: 'cancel', at: start, reason: 'r', compensate: true });
  assert.equal(filed(open).length, 1);
});

test('a suspend step waits for an operator, or for an event whose handler begins with resume', () => {
  const correlate = (n: string, steps: object[], more: object = {}) => ({
    on: { event: `task.${n}` },
    key: 'event.id',
    do: steps,
    ...more,
  });
  const make = () =>
    new Instance({
      ...stage([{ id: 's', suspend: { reason: 'look' } }, note('x'), human('a')]),
      correlate: [
        correlate('updated', [note('y')]),
        correlate('completed', [{ id: 'go', when: 'data.z == 1', resume: {} }, note('n')]),
      ],
    });
  const one = make();
  assert.deepEqual([one.state.status, one.state.data['x']], ['suspended', undefined]);
  assert.deepEqual(one.told('process.suspended')[0]?.payload, { cause: 'event', reason: 'look' });
  const judge = (n: number) =>
    isResumedBy(one.definition, one.state, one.event('x.y', 'z', { correlations: [n] }), one.tools);
  assert.deepEqual([judge(0), judge(1)], [false, false]);
  one.state.data = { z: 1 };
  assert.equal(judge(1), true);
  one.take(one.event('task.completed', 'z', { correlations: [1] }));
  assert.deepEqual([one.state.status, one.open], ['running', ['a']]);
  assert.deepEqual([one.state.data['x'], one.state.data['n']], ['x', 'n']);
  assert.deepEqual(one.told('process.resumed')[0]?.payload, { cause: 'event' });
  const by = make().take({ kind: 'resume', at: start, reason: null });
  assert.deepEqual([by.state.status, by.open], ['running', ['a']]);
});
