import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@baton/values/wire';
import type { Input } from './inputs.ts';
import { ProcessFault } from './machine.ts';
import { human, Instance, later, note, stage, start } from './testing/engine-instance.ts';
import { waitsOf } from './waits.ts';

// The engine as a function of state and input, without a database.

test('set, when and complete run at once, and the first input ends the instance', () => {
  const one = new Instance(
    stage([
      note('a', '1 + 1'),
      { ...note('b'), when: 'data.a > 5' },
      { ...note('c', 'data.a + 1'), when: 'data.a == 2' },
    ]),
  );
  assert.equal(one.state.status, 'completed');
  assert.deepEqual(one.state.data, { a: 2, c: 3 });
  assert.equal(one.state.outcome, null);
  assert.deepEqual(
    one.told().map(({ type }) => type.slice('process.'.length)),
    [
      'started',
      'stage_entered',
      'step_entered',
      'data_changed',
      'step_exited',
      'step_entered',
      'data_changed',
      'step_exited',
      'stage_exited',
      'completed',
    ],
  );
  const other = new Instance(stage([{ id: 'end', complete: { outcome: 'done' } }, note('never')]));
  assert.deepEqual([other.state.status, other.state.outcome, other.state.data], ['completed', 'done', {}]);
});

test('a human step opens a task, and its result has the fields of the form', () => {
  const form = { type: 'object', properties: { ok: { type: 'boolean' } } };
  const one = new Instance(
    stage([{ ...human('ask', { form, title: 'Is {{ data.x }} good?' }), export: { as: 'answer' } }]),
    {
      x: 'it',
    },
  );
  const [opened] = one.effects('open_task');
  assert.ok(opened?.kind === 'open_task');
  assert.deepEqual([opened.title, opened.typeKey], ['Is it good?', 'task']);
  assert.deepEqual(waitsOf(one.definition, one.state), [`entity:${opened.taskId}`]);
  one.completeTask('ask', { ok: true, other: 1 });
  assert.deepEqual([one.state.status, one.state.data['answer']], ['completed', { ok: true }]);
  assert.equal(one.effects('close_task').length, 0);
  assert.deepEqual(waitsOf(one.definition, one.state), []);
});

test('ids of opened objects depend on instance, element and attempt alone', () => {
  const ids = () =>
    new Instance(stage([human('ask')]))
      .effects('open_task')
      .map((effect) => 'taskId' in effect && effect.taskId);
  assert.deepEqual(ids(), ids());
  assert.match(String(ids()[0]), /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test('stages follow each other, wait for their entry, end by their exit, and begin again when repeatable', () => {
  const follow = new Instance({
    stages: [
      { id: 'one', steps: [human('a')] },
      { id: 'two', steps: [human('b')] },
    ],
  });
  assert.deepEqual(follow.open, ['a']);
  assert.deepEqual(follow.completeTask('a').open, ['b']);
  assert.equal(follow.completeTask('b').state.status, 'completed');
  const exit = new Instance({
    stages: [
      {
        id: 'one',
        exit: 'data.stop == true',
        steps: [
          {
            id: 'f',
            fork: {
              branches: [
                { id: 'x', do: [human('a')] },
                { id: 'y', do: [human('b'), note('stop', 'true')] },
              ],
            },
          },
        ],
      },
    ],
  });
  exit.completeTask('b');
  assert.equal(exit.state.status, 'completed');
  assert.equal(exit.state.stages['one']?.state, 'completed');
  assert.equal(exit.effects('close_task').length, 1);
  const again = new Instance({
    stages: [
      {
        id: 'one',
        steps: [
          human('a'),
          note('go', 'true'),
          human('b'),
          note('go', 'false'),
          human('c'),
          note('go', 'true'),
          human('d'),
        ],
      },
      { id: 'two', entry: 'data.go == true', repeatable: true, steps: [note('x', 'true')] },
    ],
  });
  again.completeTask('a').completeTask('b').completeTask('c');
  assert.equal(again.state.stages['two']?.attempt, 2);
  const never = new Instance({
    stages: [
      { id: 'one', steps: [note('a')] },
      { id: 'two', entry: 'false', steps: [note('b')] },
    ],
  });
  assert.deepEqual([never.state.status, never.state.stages['two']?.state], ['completed', 'terminated']);
});

test('milestones are reached and lost', () => {
  const one = new Instance(
    stage([human('a'), note('m', '1'), human('b'), note('m', '0'), human('c')], {
      milestones: [{ id: 'half', when: 'data.m == 1' }],
    }),
  );
  one.completeTask('a').completeTask('b');
  assert.deepEqual(
    one
      .told()
      .filter(({ type }) => type.includes('milestone'))
      .map(({ type }) => type),
    ['process.milestone_reached', 'process.milestone_lost'],
  );
});

const approve = (more: object = {}) =>
  stage([{ id: 'vote', approve: { approvers: [{ role: 'judge' }], ...more }, export: { as: 'vote' } }]);
const quorums: [
  quorum: unknown,
  votes: string,
  outcome: string | null,
  reason: string | null,
  more?: object,
][] = [
  ['all', 'aaa', 'approved', 'all_voted'],
  ['all', 'ar', 'rejected', 'quorum_unreachable'],
  ['any', 'a', 'approved', 'quorum_reached'],
  ['any', 'rr', null, null],
  ['any', 'rrr', 'rejected', 'all_voted'],
  [{ atLeast: 2 }, 'ra', null, null],
  [{ atLeast: 2 }, 'raa', 'approved', 'all_voted'],
  [{ atLeast: 4 }, '', 'rejected', 'quorum_unreachable'],
  [{ percent: 50 }, 'aa', 'approved', 'quorum_reached'],
  [{ percent: 34 }, 'a', null, null],
  [{ percent: 33 }, 'a', 'approved', 'quorum_reached'],
  [{ percent: 1 }, 'rra', 'approved', 'all_voted'],
  ['all', 'aac', 'approved', 'all_voted'],
  [{ percent: 100 }, 'acc', 'approved', 'all_voted'],
  ['any', 'ccc', 'rejected', 'no_approvers'],
  ['any', 'arr', 'approved', 'all_voted', { earlyDecision: false }],
  ['any', 'a', null, null, { earlyDecision: false }],
];
for (const [quorum, votes, outcome, reason, more] of quorums)
  test(`quorum ${JSON.stringify(quorum)} of three with votes "${votes}"${more ? ', not early' : ''}: ${outcome ?? 'open'}`, () => {
    const one = new Instance(approve({ quorum, ...more }));
    one.take({ kind: 'voters', at: start, element: 'vote', principals: ['p', 'q', 'r'] }).vote('vote', votes);
    const result = one.state.data['vote'] as JsonObject | undefined;
    assert.deepEqual([result?.['outcome'] ?? null, result?.['reason'] ?? null], [outcome, reason]);
    assert.equal(one.state.status, outcome === null ? 'running' : 'completed');
    const left = outcome === null ? 0 : one.effects('ask_approval').length - votes.length;
    assert.equal(one.effects('close_approval').length, left, 'approvals that are not needed are taken back');
  });

test('a vote without voters ends; people who did the work do not vote if duties are separated; in turns, one votes after the other', () => {
  const none = new Instance(approve()).take({ kind: 'voters', at: start, element: 'vote', principals: [] });
  assert.equal((none.state.data['vote'] as JsonObject)['reason'], 'no_approvers');
  const spec = stage([
    human('do'),
    { id: 'vote', approve: { approvers: [{ role: 'judge' }], separationOfDuties: true } },
  ]);
  const separated = new Instance(spec).completeTask('do');
  separated.take({ kind: 'voters', at: start, element: 'vote', principals: ['worker', 'q'] });
  const asked = separated.effects('ask_approval');
  assert.deepEqual(
    asked.map(
      (effect) =>
        'principalId' in effect && [effect.principalId, effect.kind === 'ask_approval' && effect.excluded],
    ),
    [['q', ['worker']]],
  );
  const turns = new Instance(approve({ mode: 'sequential' }));
  turns.take({ kind: 'voters', at: start, element: 'vote', principals: ['p', 'q'] });
  assert.equal(turns.effects('ask_approval').length, 1);
  assert.equal(turns.vote('vote', 'a').effects('ask_approval').length, 2);
  const left = new Instance(approve({ quorum: 'all' })).take({
    kind: 'voters',
    at: start,
    element: 'vote',
    principals: ['p', 'q'],
  });
  left.vote('vote', 'a').take(left.event('principal.disabled', 'q'));
  assert.equal((left.state.data['vote'] as JsonObject)['outcome'], 'approved');
});

test('an error is tried again, then caught, and uncaught it fails the instance', () => {
  const raise = { id: 'r', raise: { type: 'bad', status: 500, detail: 'no {{ data.x }}' } };
  const failed = new Instance(stage([human('a'), raise, note('never')]), { x: 'luck' }).completeTask('a');
  assert.equal(failed.state.status, 'failed');
  assert.deepEqual(failed.told('process.failed')[0]?.payload, {
    error: { type: 'bad', status: 500, detail: 'no luck' },
    element: 'r',
  });
  const caught = new Instance(
    stage([
      {
        id: 't',
        try: {
          do: [raise],
          catch: [
            { on: ['other'], do: [note('x')] },
            { on: ['bad'], do: [note('y', 'step.error.type')] },
          ],
        },
      },
      note('z'),
    ]),
  );
  assert.deepEqual([caught.state.status, caught.state.data], ['completed', { y: 'bad', z: 'z' }]);
  const retry = new Instance(
    stage([
      {
        id: 't',
        try: {
          do: [raise],
          retry: { limit: 3, delay: 'PT10S', backoff: 'exponential', maxDelay: 'PT15S' },
          catch: [{ do: [note('y')] }],
        },
      },
    ]),
  );
  const delays: number[] = [];
  for (let from = start; retry.state.status === 'running'; ) {
    const timer = Object.values(retry.state.timers).find(({ state }) => state === 'pending');
    delays.push((Date.parse(timer?.dueAt as string) - Date.parse(from)) / 1000);
    from = timer?.dueAt as string;
    retry.fire('t', 'retry');
  }
  assert.deepEqual(delays, [10, 15, 15]);
  assert.deepEqual([retry.state.attempts['r'], retry.state.data], [4, { y: 'y' }]);
  const outer = new Instance(
    stage([
      {
        id: 't',
        try: {
          do: [{ id: 'u', try: { do: [raise], catch: [{ on: ['x'], do: [note('x')] }] } }],
          catch: [{ do: [note('y')] }],
        },
      },
    ]),
  );
  assert.deepEqual(outer.state.data, { y: 'y' });
});

test('a refused intent is caught like an error, or waits for an operator who resumes or skips', () => {
  const refused = {
    kind: 'intent_failed',
    at: start,
    element: 'a',
    code: 'unknown_task_type',
    details: {},
  } as const;
  const caught = new Instance(
    stage([{ id: 't', try: { do: [human('a')], catch: [{ on: ['unknown_task_type'], do: [note('y')] }] } }]),
  ).take(refused);
  assert.equal(caught.state.status, 'completed');
  const parked = () => new Instance(stage([human('a'), note('b')])).take(refused);
  const one = parked();
  assert.deepEqual(
    [one.state.status, one.state.parked?.element, one.state.parked?.code],
    ['suspended', 'a', 'unknown_task_type'],
  );
  assert.equal(one.told('process.suspended')[0]?.payload['cause'], 'input_failed');
  one.take({ kind: 'resume', at: later(5), reason: null });
  assert.deepEqual([one.state.status, one.effects('open_task').length], ['running', 2]);
  assert.equal(one.completeTask('a').state.status, 'completed');
  const two = parked().take({ kind: 'skip', at: later(5), element: 'a', reason: 'not needed' });
  assert.deepEqual([two.state.status, two.state.data], ['completed', { b: 'b' }]);
  assert.deepEqual(two.told('process.resumed')[0]?.payload, {
    cause: 'skipped',
    element: 'a',
    reason: 'not needed',
  });
  assert.equal(two.effects('close_task').length, 0);
});

test('a fault leaves the state unchanged and names the element; a skip continues after it', () => {
  const one = new Instance(stage([human('a'), note('bad', 'data.a.b.c + 1'), note('c')]));
  const before = structuredClone(one.state);
  assert.throws(
    () => one.completeTask('a'),
    (error: unknown) =>
      error instanceof ProcessFault && error.element === 'bad' && error.code === 'expression_error',
  );
  assert.deepEqual(one.state, before);
  one.take({ kind: 'park', at: start, element: 'bad', code: 'expression_error', reason: 'x' });
  one.take({ kind: 'skip', at: start, element: 'bad', reason: 'x' });
  one.completeTask('a');
  assert.deepEqual([one.state.status, one.state.data], ['completed', { c: 'c' }]);
  assert.throws(() => new Instance(stage([note('broken', 'true')])), /broken must not be true/);
});

test('a fork waits for all branches, or for the first and cancels the others', () => {
  const branches = [
    { id: 'x', do: [human('a')] },
    { id: 'y', do: [human('b'), human('c')] },
  ];
  const all = new Instance(stage([{ id: 'f', fork: { branches } }, note('z')]));
  assert.deepEqual(all.open, ['a', 'b', 'f']);
  all.completeTask('b').completeTask('a');
  assert.deepEqual(all.open, ['c', 'f']);
  assert.equal(all.completeTask('c').state.status, 'completed');
  const compete = new Instance(
    stage([{ id: 'f', fork: { mode: 'compete', branches }, export: { as: 'f' } }]),
  );
  compete.completeTask('a');
  assert.deepEqual([compete.state.status, compete.state.data], ['completed', { f: { winner: 'x' } }]);
  assert.equal(compete.effects('close_task').length, 1);
});

test('listen takes the first matching event, or times out', () => {
  const listen = {
    any: [{ event: 'task.created', where: 'event.payload.n == data.n' }, { observation: 'rain' }],
    timeout: 'PT1H',
    onTimeout: [note('late')],
  };
  const spec = stage([{ id: 'l', listen, export: { as: { heard: 'step.result.type' } } }]);
  const one = new Instance(spec, { n: 1 });
  assert.deepEqual(waitsOf(one.definition, one.state), ['event:task.created', 'observation:rain']);
  const event = (type: string, payload: object) => {
    const input = one.event(type, 'e') as Extract<Input, { kind: 'event' }>;
    return { ...input, event: { ...input.event, payload } } as Input;
  };
  one.take(event('task.created', { n: 2 })).take(event('observation.recorded', { kind: 'sun' }));
  assert.equal(one.state.status, 'running');
  one.take(event('task.created', { n: 1 }));
  assert.deepEqual([one.state.status, one.state.data['heard']], ['completed', 'task.created']);
  const late = new Instance(spec).fire('l', 'timeout');
  assert.deepEqual([late.state.status, late.state.data['late']], ['completed', 'late']);
  assert.equal(late.told('process.step_exited').at(-1)?.payload['outcome'], 'timed_out');
});

test('a skill is called with its inputs, returns a result, fails with its code, and times out', () => {
  const spec = stage([
    {
      id: 'c',
      call: { skill: 'check@1', input: { n: 'data.n + 1' }, timeout: 'PT1M' },
      export: { as: 'out' },
    },
  ]);
  const make = () => new Instance(spec, { n: 1 });
  const answer = (one: Instance, call: object) => {
    const node = one.state.nodes['c'];
    const id = node?.kind === 'element' ? (node.callId as string) : '';
    return one.take(
      one.event('skill.invocation_succeeded', id, {
        call: { id, skill: 'check@1', output: null, error: null, ...call },
      }),
    );
  };
  const good = answer(make(), { status: 'succeeded', output: { ok: true } });
  assert.deepEqual(
    good.effects('open_call').map((effect) => 'inputs' in effect && effect.inputs),
    [{ n: 2 }],
  );
  assert.deepEqual([good.state.status, good.state.data['out']], ['completed', { ok: true }]);
  const bad = answer(make(), { status: 'failed', error: { code: 'boom', message: 'b' } });
  assert.equal(bad.state.status, 'failed');
  assert.deepEqual((bad.told('process.failed')[0]?.payload['error'] as JsonObject)['type'], 'boom');
  const late = make().fire('c', 'timeout');
  assert.equal((late.told('process.failed')[0]?.payload['error'] as JsonObject)['type'], 'timeout');
  assert.equal(late.effects('close_call').length, 1);
});

test('decision tables: first, unique, collect', () => {
  const table = (hitPolicy: string) => ({
    decisions: [
      {
        id: 'd',
        hitPolicy,
        inputs: [{ id: 'the-n', expr: 'data.n' }],
        outputs: [{ id: 'size' }],
        rules: [
          // oxlint-disable-next-line unicorn/no-thenable -- the language's name for the outputs of a row
          { when: ['the_n > 10'], then: ["'big'"] },
          // oxlint-disable-next-line unicorn/no-thenable -- the language's name for the outputs of a row
          { when: ['the_n > 5'], then: ["'middle'"] },
        ],
      },
    ],
    ...stage([{ id: 'x', decide: { table: 'd' }, export: { as: 'x' } }]),
  });
  const of = (policy: string, n: number) => new Instance(table(policy), { n }).state.data['x'];
  assert.deepEqual(
    [of('first', 11), of('first', 6), of('first', 1)],
    [{ size: 'big' }, { size: 'middle' }, null],
  );
  assert.deepEqual(of('collect', 11), [{ size: 'big' }, { size: 'middle' }]);
  assert.deepEqual(of('unique', 6), { size: 'middle' });
  assert.throws(
    () => of('unique', 11),
    (error: unknown) => error instanceof ProcessFault && error.code === 'table_not_unique',
  );
});

test('completed elements are compensated in reverse order, by compensate or by a cancel', () => {
  const undo = (id: string) => ({ ...note(id), onCompensate: [human(`undo-${id}`)] });
  const spec = stage([
    {
      id: 't',
      try: {
        do: [undo('a'), undo('b'), { id: 'r', raise: { type: 'e' } }],
        catch: [{ do: [{ id: 'comp', compensate: 'all' }] }],
      },
    },
    note('end'),
  ]);
  const one = new Instance(spec);
  assert.deepEqual(one.open, ['comp', 't', 'undo-b']);
  assert.deepEqual(one.completeTask('undo-b').open, ['comp', 't', 'undo-a']);
  one.completeTask('undo-a');
  assert.equal(one.state.status, 'completed');
  assert.deepEqual(one.told('process.compensated')[0]?.payload['steps'], ['b', 'a']);
  const cancel = () => new Instance(stage([undo('a'), human('wait')]));
  const asked = cancel().take({ kind: 'cancel', at: start, reason: 'no more', compensate: true });
  assert.deepEqual(
    [asked.state.status, asked.open, asked.effects('close_task').length],
    ['running', ['undo-a'], 1],
  );
  asked.completeTask('undo-a');
  assert.deepEqual(asked.told('process.cancelled')[0]?.payload, { reason: 'no more', compensated: ['a'] });
  const hard = cancel().take({ kind: 'cancel', at: start, reason: 'no more', compensate: false });
  assert.deepEqual(
    [hard.state.status, hard.told('process.cancelled')[0]?.payload['compensated']],
    ['cancelled', []],
  );
});

test('an element that two steps compensate at the same time is compensated once', () => {
  const done = (id: string) => ({ ...note(id), onCompensate: [human(`undo-${id}`)] });
  const branch = (id: string) => ({ id, do: [{ id: `comp-${id}`, compensate: 'all' }] });
  const fork = { id: 'f', fork: { mode: 'all', branches: [branch('x'), branch('y')] } };
  const one = new Instance(stage([done('a'), done('b'), fork]));
  assert.deepEqual(one.open, ['comp-x', 'comp-y', 'f', 'undo-a', 'undo-b']);
  assert.deepEqual(one.completeTask('undo-b').open, ['comp-y', 'f', 'undo-a']);
  one.completeTask('undo-a');
  assert.equal(one.state.status, 'completed');
  assert.equal(one.effects('open_task').length, 2);
  assert.deepEqual(
    one.told('process.compensated').map(({ payload }) => payload['steps']),
    [['b'], ['a']],
  );
});

test('a suspension freezes timers, and a resume sets them by their remaining time', () => {
  const one = new Instance(stage([{ id: 'w', wait: 'PT60S' }]));
  one.take({ kind: 'suspend', at: later(20), reason: 'x', cause: 'operator' });
  const [frozen] = Object.values(one.state.timers);
  assert.deepEqual([frozen?.state, frozen?.remainingSeconds], ['frozen', 40]);
  one.take({ kind: 'timer', at: later(70), timerId: frozen?.id as string });
  assert.equal(one.state.status, 'suspended');
  one.take({ kind: 'resume', at: later(100), reason: null });
  assert.equal(Object.values(one.state.timers)[0]?.dueAt, later(140));
  assert.equal(one.told('process.timer_rescheduled')[0]?.payload['cause'], 'resumed');
  assert.equal(one.fire('w', 'wait').state.status, 'completed');
  const step = new Instance(stage([{ id: 's', suspend: {} }, note('after')]));
  assert.deepEqual([step.state.status, step.state.data], ['suspended', {}]);
  step.take({ kind: 'resume', at: later(1), reason: null });
  assert.deepEqual([step.state.status, step.state.data], ['completed', { after: 'after' }]);
});

test('a deadline warns once and breaches once, and escalations follow', () => {
  const spec = stage([
    human('a', {
      due: { duration: 'PT1H', warnBefore: 'PT10M' },
      escalations: [
        { after: 'PT30M', action: 'remind' },
        { after: 'due', action: 'raise', error: { type: 'late' } },
      ],
    }),
  ]);
  const one = new Instance(spec);
  one.fire('a', 'escalation').fire('a', 'warn').fire('a', 'due');
  assert.deepEqual(
    one
      .told()
      .map(({ type }) => type)
      .filter((type) => type.includes('sla')),
    ['process.sla_warning', 'process.sla_breached'],
  );
  assert.deepEqual(
    one.effects('escalate').map((effect) => 'level' in effect && effect.level),
    [1],
  );
  one.fire('a', 'escalation');
  assert.equal(one.state.status, 'failed');
  const due = (onDue: string) =>
    new Instance(approve({ due: 'PT1H', onDue }))
      .take({ kind: 'voters', at: start, element: 'vote', principals: ['p'] })
      .fire('vote', 'due');
  assert.deepEqual((due('approve').state.data['vote'] as JsonObject)['outcome'], 'approved');
  assert.deepEqual((due('reject').state.data['vote'] as JsonObject)['outcome'], 'rejected');
  const missing = new Instance(stage([human('a', { due: { workdays: 1 } })]));
  assert.equal(missing.told('process.sla_failed').length, 1);
  assert.equal(missing.state.status, 'running');
});

test('timers run beside their stage, interrupt it, and follow the data they read', () => {
  const at = `has(data.at) ? data.at : '${later(60)}'`;
  const timer = (interrupting: boolean) => ({
    timers: [{ id: 'tick', at, interrupting, do: [note('ticked')] }],
  });
  const beside = new Instance(stage([human('a')], timer(false))).fire('tick', 'timer');
  assert.deepEqual([beside.open, beside.state.data], [['a'], { ticked: 'ticked' }]);
  const inside = new Instance(stage([human('a')], timer(true))).fire('tick', 'timer');
  assert.deepEqual([inside.state.status, inside.effects('close_task').length], ['completed', 1]);
  const whole = new Instance({ ...stage([human('a')]), ...timer(true) }).fire('tick', 'timer');
  assert.deepEqual([whole.state.status, whole.state.stages['main']?.state], ['completed', 'terminated']);
  const moved = new Instance(
    stage([human('b'), note('at', `'${later(600)}'`), human('a')], timer(false)),
  ).completeTask('b');
  assert.equal(moved.told('process.timer_rescheduled')[0]?.payload['dueAt'], later(600));
});

test('an event for the instance writes its data and runs beside it, one after the other', () => {
  const spec = {
    ...stage([human('a')]),
    correlate: [{ on: { event: 'x.y' }, key: 'event.id', set: { n: 'event.payload.n' }, do: [human('b')] }],
  };
  const one = new Instance(spec);
  const event = (n: number) => {
    const input = one.event('x.y', 'e', { correlations: [0] }) as Extract<Input, { kind: 'event' }>;
    return { ...input, event: { ...input.event, payload: { n } } };
  };
  one.take(event(1)).take(event(2));
  assert.deepEqual([one.open, one.state.data], [['a', 'b'], { n: 2 }]);
  assert.deepEqual(one.told('process.correlated')[0]?.payload['changedFields'], ['n']);
  one.completeTask('b');
  assert.deepEqual(one.open, ['a', 'b']);
  one.completeTask('b').completeTask('a');
  assert.equal(one.state.status, 'completed');
});

test('a person who left before their turn does not vote', () => {
  const turns = new Instance(approve({ mode: 'sequential', quorum: 'any' }));
  turns.take({ kind: 'voters', at: start, element: 'vote', principals: ['p', 'q', 'r'] });
  turns.take(turns.event('principal.disabled', 'q')).vote('vote', 'r');
  const asked = turns
    .effects('ask_approval')
    .map((effect) => effect.kind === 'ask_approval' && effect.principalId);
  assert.deepEqual(asked, ['p', 'r']);
});

test('deadlines and their warnings move with the data of a result, also before a suspension', () => {
  const dueOf = ({ state: { due } }: Instance) => [due?.dueAt, due?.warnAt];
  const soon = `'${later(600)}'`;
  const due = { at: 'data.at', warnBefore: 'PT60S' };
  const answered = new Instance({
    ...stage([{ ...human('a'), export: { as: { at: soon } } }, human('b')]),
    due,
  });
  assert.deepEqual(dueOf(answered), [null, null]);
  assert.deepEqual(dueOf(answered.completeTask('a')), [later(600), later(540)]);
  const paused = new Instance({ ...stage([note('at', soon), { id: 's', suspend: {} }, human('b')]), due });
  paused.take({ kind: 'resume', at: later(5), reason: null });
  assert.deepEqual(dueOf(paused), [later(600), later(540)]);
});

test('timers of a stage end with it when a timer of the process interrupts all', () => {
  const list = [human('after')];
  const one = new Instance({
    ...stage([human('a')], { timers: [{ id: 'inner', at: `'${later(60)}'`, do: [human('late')] }] }),
    timers: [{ id: 'outer', at: `'${later(30)}'`, interrupting: true, do: list }],
  });
  one.fire('outer', 'timer');
  assert.deepEqual(one.open, ['after']);
  assert.deepEqual(
    Object.values(one.state.timers).filter(({ state }) => state === 'pending'),
    [],
  );
});

test('steps that wait hear an event in the order in which they were entered, whatever they are called', () => {
  const listen = { any: [{ event: 'task.created' }] };
  const branch = (id: string, then: object) => ({ id: `b-${id}`, do: [{ id, listen }, then] });
  const one = new Instance(
    stage([
      {
        id: 'f',
        fork: {
          branches: [
            branch('the-first-of-the-two', note('x', "'first'")),
            branch('last', { id: 'hold', suspend: {} }),
          ],
        },
      },
    ]),
  );
  one.take(one.event('task.created', 'x'));
  assert.deepEqual([one.state.status, one.state.data['x']], ['suspended', 'first']);
});

test('a value whose members only have another order is not a change', () => {
  const value = "{'second': 1, 'a': 2}";
  const one = new Instance(stage([note('x', value), human('between'), { id: 'again', set: { x: value } }]));
  one.completeTask('between');
  assert.equal(one.state.status, 'completed');
  assert.equal(one.told('process.data_changed').length, 1);
});

test('requested approvals stay open if another is refused, and are withdrawn when the step ends', () => {
  const vote = { id: 'vote', approve: { approvers: [{ role: 'judge' }] } };
  const one = new Instance(stage([{ id: 't', try: { do: [vote], catch: [{ do: [note('c')] }] } }]));
  one.take({ kind: 'voters', at: start, element: 'vote', principals: ['p1', 'p2'] });
  const [kept, refused] = one
    .effects('ask_approval')
    .map((effect) => 'approvalId' in effect && effect.approvalId);
  one.acts = [];
  const head = { kind: 'intent_failed', at: start, element: 'vote' } as const;
  one.take({ ...head, approvalId: refused as string, code: 'no_rights', details: {} });
  assert.deepEqual(
    one.effects().map((effect) => [effect.kind, 'approvalId' in effect && effect.approvalId]),
    [['close_approval', kept]],
  );
  assert.equal(one.state.status, 'completed');
});
