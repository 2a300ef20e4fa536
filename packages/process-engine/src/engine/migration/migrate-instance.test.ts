import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ElementNode } from '../state.ts';
import { human, Instance, later, note, stage, start } from '../testing/engine-instance.ts';

// Tests the migration of an instance to a later version, without a database (docs/reference/processes.md#migration).

const second = (steps: object[], more: object = {}) => ({ version: 2, ...stage(steps), ...more });
const first = (steps: object[], more: object = {}) => new Instance({ ...stage(steps), ...more });
const ping = (of: Instance, n = 0) => of.take(of.event('ping.one', 'x', { correlations: [n] }));
const timersOf = ({ state }: Instance) =>
  Object.values(state.timers)
    .filter(({ state: is }) => is === 'pending' || is === 'frozen')
    .map(({ element, purpose, level, dueAt }) => `${element} ${purpose} ${level} ${dueAt}`)
    .sort();
const escalation = (after: unknown) => ({ after, action: 'notify', to: [{ role: 'boss' }] });

test('a new timer begins, a removed one ends, and one with another instant moves', () => {
  const timer = (id: string, seconds: number) => ({
    id,
    at: `timestamp('${later(seconds)}')`,
    do: [note(`note-${id}`)],
  });
  const one = first([human('look')], { timers: [timer('a', 10), timer('b', 20)] });
  one.migrate(second([human('look')], { timers: [timer('b', 30), timer('c', 40)] }));
  assert.deepEqual(timersOf(one), [`b timer 0 ${later(30)}`, `c timer 0 ${later(40)}`]);
  one.fire('b', 'timer');
  // A timer that has fired does not start again.
  one.migrate({ ...second([human('look')], { timers: [timer('b', 90)] }), version: 3 });
  assert.deepEqual(timersOf(one), []);
  const inStage = (...timers: object[]) => ({ version: 2, ...stage([human('look')], { timers }) });
  const other = new Instance(stage([human('look')]));
  other.migrate(inStage(timer('d', 50)));
  assert.deepEqual(timersOf(other), [`d timer 0 ${later(50)}`]);
});

test('a removed deadline no longer counts, and a new one counts from the start of the step', () => {
  const one = first([human('look', { due: 'PT10S', escalations: [escalation('due')] })], { due: 'PT50S' });
  one.migrate(second([human('look')]), {}, later(5));
  assert.deepEqual([timersOf(one), one.state.slaState], [[], 'none']);
  one.migrate(
    { ...second([human('look', { due: { duration: 'PT60S', warnBefore: 'PT20S' } })]), version: 3 },
    {},
    later(6),
  );
  assert.deepEqual(timersOf(one), [`look due 0 ${later(60)}`, `look warn 0 ${later(40)}`]);
  assert.equal((one.state.nodes['look'] as ElementNode).slaState, 'ok');
});

test('escalations go along with the deadline, and one that has happened does not happen again', () => {
  const look = (due: string, ...after: unknown[]) =>
    human('look', { due, escalations: after.map(escalation) });
  const one = first([look('PT30S', 'PT10S', 'due')]);
  one.fire('look', 'escalation');
  one.migrate(second([look('PT40S', 'PT20S', 'due', 'PT35S')]), {}, later(12));
  assert.deepEqual(timersOf(one), [
    `look due 0 ${later(40)}`,
    `look escalation 2 ${later(40)}`,
    `look escalation 3 ${later(35)}`,
  ]);
});

test('one breach is emitted for each attempt, even if the deadline moves to later', () => {
  const one = first([human('look', { due: 'PT10S' })]);
  one.migrate(second([human('look', { due: 'PT5S' })]), {}, later(7));
  assert.equal(one.told('process.sla_breached')[0]?.payload['detectedBy'], 'migration');
  one.migrate({ ...second([human('look', { due: 'PT20S' })]), version: 3 }, {}, later(8));
  one.migrate({ ...second([human('look', { due: 'PT6S' })]), version: 4 }, {}, later(9));
  assert.equal(one.told('process.sla_breached').length, 1);
  assert.equal((one.state.nodes['look'] as ElementNode).slaState, 'breached');
});

test('a handler is matched by its steps or its trigger, and keeps the events that wait for it', () => {
  const hearing = (event: string, ...steps: object[]) => ({ on: { event }, key: "'k'", do: steps });
  const one = first([human('look')], { correlate: [hearing('ping.one', human('answer'))] });
  ping(ping(one));
  assert.equal(one.state.queued.length, 1);
  const correlate = [hearing('ping.two', human('other')), hearing('ping.one', human('answer'), note('x'))];
  one.migrate(second([human('look')], { correlate }));
  assert.deepEqual(
    [Object.keys(one.state.nodes).sort(), one.state.queued.map(({ handler }) => handler)],
    [['answer', 'correlate/1', 'look', 'stage/main'], ['correlate/1']],
  );
  one.completeTask('answer');
  assert.deepEqual([one.open, one.state.attempts['answer'], one.state.queued], [['answer', 'look'], 2, []]);
  one.migrate({ ...second([human('look')]), version: 3 });
  assert.deepEqual([one.open, one.effects('close_task').length], [['look'], 1]);
});

test('a fork continues with the remaining branches, and ends if none remains', () => {
  const branch = (id: string) => ({ id, do: [human(`do-${id}`)] });
  const fork = (mode: string, ...ids: string[]) => ({ id: 'f', fork: { mode, branches: ids.map(branch) } });
  for (const mode of ['all', 'compete']) {
    const one = first([fork(mode, 'a', 'b'), human('after')]);
    one.migrate(second([fork(mode, 'b', 'c'), human('after')]));
    assert.deepEqual(one.open, ['do-b', 'f'], mode);
    one.migrate({ ...second([fork(mode, 'd', 'e'), human('after')]), version: 3 });
    assert.deepEqual(one.open, ['after'], mode);
    assert.deepEqual(
      one.told('process.step_exited').map(({ payload }) => [payload['element'], payload['outcome']]),
      [
        ['do-a', 'migrated'],
        ['do-b', 'migrated'],
        ['f', 'completed'],
      ],
    );
  }
});

test('a try waits for its retry, and ends if its catch was removed', () => {
  const attempt = (...catches: object[]) => ({
    id: 't',
    try: {
      do: [human('work')],
      retry: { limit: 1, delay: 'PT9S', backoff: 'constant' },
      catch: catches,
    },
  });
  const caught = (on: string, id: string) => ({ on: [on], do: [human(id)] });
  const one = first([attempt(caught('task_cancelled', 'mend')), note('a')]);
  one.completeTask('work', {}, 'terminal_cancelled');
  one.migrate(second([attempt(caught('other', 'no'), caught('task_cancelled', 'mend')), note('a')]));
  assert.deepEqual(timersOf(one), [`t retry 1 ${later(9)}`]);
  one.fire('t', 'retry').completeTask('work', {}, 'terminal_cancelled');
  assert.deepEqual(one.open, ['mend', 't']);
  one.migrate({ ...second([attempt(caught('other', 'no')), note('b')]), version: 3 });
  assert.deepEqual([one.state.status, one.state.data], ['completed', { b: 'b' }]);
});

test('a completed element can be compensated under its new id, and not if the new version has no onCompensate', () => {
  const done = (id: string, undo?: string) => ({ ...note(id), ...(undo && { onCompensate: [note(undo)] }) });
  const one = first([done('a', 'undo-a'), done('b', 'undo-b'), done('c', 'undo-c'), human('look')]);
  one.migrate(second([done('x', 'undo-x'), done('b'), done('c', 'undo-c'), human('look')]), { a: 'x' });
  one.take({ kind: 'cancel', at: start, reason: 'r', compensate: true });
  const { status, data } = one.state;
  assert.equal(status, 'cancelled');
  assert.deepEqual(data, { a: 'a', b: 'b', c: 'c', undo_c: 'undo-c', undo_x: 'undo-x' });
});

test('a waiting compensation continues, and ends if it was removed', () => {
  const undone = (...steps: object[]) => ({ ...note('a'), onCompensate: steps });
  const back = { id: 'back', compensate: 'all' };
  const versions = (...steps: object[]) => second([undone(...steps), back, human('after')]);
  const one = new Instance(versions(human('u'), note('v')));
  one.migrate(versions(human('u'), note('w')));
  one.completeTask('u');
  assert.deepEqual([one.open, one.state.data['w']], [['after'], 'w']);
  const other = new Instance(versions(human('u')));
  other.migrate(second([note('a'), back, human('after')]));
  assert.deepEqual([other.open, other.effects('close_task').length], [['after'], 1]);
});

test('a list that waits after its last step continues with steps that are added there', () => {
  const one = first([note('a'), { id: 's', suspend: {} }]);
  one.migrate(second([note('z'), note('a'), { id: 's', suspend: {} }, note('b')]));
  assert.equal(one.state.status, 'suspended');
  one.take({ kind: 'resume', at: start, reason: null });
  assert.deepEqual([one.state.status, one.state.data], ['completed', { a: 'a', b: 'b' }]);
});

test('a step that was refused is opened by the new version', () => {
  const one = first([human('look')]);
  one.take({ kind: 'intent_failed', at: start, element: 'look', code: 'no', details: {} });
  one.migrate(second([human('see', { title: 'New' })]), { look: 'see' });
  assert.deepEqual(one.state.parked?.element, 'see');
  one.acts = [];
  one.take({ kind: 'resume', at: start, reason: null });
  const [opened] = one.effects('open_task');
  assert.equal(opened?.kind === 'open_task' && opened.title, 'New');
});

test('a migration requests no approvals while the voters are being resolved again', () => {
  const vote = (role: string) => ({ id: 'vote', approve: { approvers: [{ role }], mode: 'sequential' } });
  const voters = (...principals: string[]) =>
    ({ kind: 'voters', at: start, element: 'vote', principals }) as const;
  const one = first([vote('judge')]).take(voters('p1', 'p2'));
  const [asked] = one.effects('ask_approval');
  assert.ok(asked?.kind === 'ask_approval');
  const { approvalId } = asked;
  one.take({ kind: 'intent_failed', at: start, element: 'vote', approvalId, code: 'no', details: {} });
  one.take({ kind: 'resume', at: start, reason: null });
  one.acts = [];
  one.migrate(second([vote('other')]));
  assert.deepEqual(one.effects('ask_approval'), []);
  one.take(voters('p3'));
  assert.deepEqual(
    one.effects('ask_approval').map((effect) => 'principalId' in effect && effect.principalId),
    ['p3'],
  );
});

test('an instance that has not begun begins by the new version', () => {
  const one = new Instance(stage([human('look')]));
  const { id, key, startedAt } = one.state;
  one.again({ id, key, startedAt, data: {} }, { hasBegun: false });
  one.migrate(second([human('see')]));
  assert.deepEqual([one.open, one.told('process.started')], [[], []]);
  one.take({ kind: 'start', at: start, event: null });
  assert.deepEqual(one.open, ['see']);
});

test('a reused id continues its count, so that nothing is opened twice under one id', () => {
  const one = first([human('a'), human('b')]);
  const before = one.effects('open_task');
  one.migrate(second([human('c'), human('b')]), { a: null });
  one.migrate({ ...second([human('a'), human('b')]), version: 3 }, { b: 'a' });
  one.completeTask('a');
  const ids = one.effects('open_task').map((effect) => effect.kind === 'open_task' && effect.taskId);
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(before.length, 1);
});
