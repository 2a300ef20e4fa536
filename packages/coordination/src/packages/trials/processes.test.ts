import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isLongProof } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { documentFile, packageFiles } from '../../testing/packages/package-files.ts';
import { ruleRow } from '../../testing/processes/processes.ts';
import { makeCallable } from '../../testing/results/invocations.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const agent = documentFile('Agent', 'desk', { displayName: 'Desk', identity: { kind: 'agent' } });
const started = { send: { observation: 'ready', payload: { data: { n: 3 } } } };

/** A definition that an observation starts, with one stage of these steps. */
const specOf = (steps: object[], more: object = {}) => ({
  version: 1,
  displayName: 'A test',
  identity: { agent: 'desk' },
  owner: [{ role: 'owners' }],
  data: { type: 'object', additionalProperties: true },
  start: { on: { observation: 'ready' }, key: '"one"', set: { n: 'event.payload.data.n' } },
  stages: [{ id: 'main', steps }],
  ...more,
});

const run = (...files: object[]) =>
  done(baton.admin.post('/packages:test', { package: packageFiles(agent, ...files) }));

/** Runs one test of a process. */
async function runSteps(definition: object, steps: object[], more: object = {}) {
  const report = await run(
    documentFile('Process', 'p', definition),
    documentFile('Test', 't', { subject: 'process', object: 'p', steps, ...more }),
  );
  assert.deepEqual(
    report.problems.filter(({ severity }: any) => severity === 'error'),
    [],
  );
  return { ...report, test: report.tests[0] };
}

async function passes(definition: object, steps: object[], more: object = {}) {
  const report = await runSteps(definition, steps, more);
  assert.deepEqual(report.test.failures, []);
  assert.deepEqual([report.status, report.test.status], ['passed', 'passed']);
  return report;
}

const human = (id: string, more: object = {}, step: object = {}) => ({
  id,
  human: { taskType: 'task', title: 'Review {{ data.n }}', ...more },
  ...step,
});

describe('a test of a process', () => {
  test('sends, completes, decides and advances time, with every kind of expectation', async () => {
    const definition = specOf([
      human('look', { assign: [{ role: 'reviewer' }] }, { export: { as: { seen: 'step.result.seen' } } }),
      { id: 'agree', approve: { approvers: [{ role: 'boss' }, { agent: 'desk' }], title: 'Agree?' } },
      { id: 'pause', wait: 'PT2H' },
      { id: 'hear', listen: { any: [{ event: 'task.created' }] } },
      { id: 'end', complete: { outcome: 'done' } },
    ]);
    const { test: result } = await passes(definition, [
      {
        ...started,
        expect: {
          status: 'running',
          open: ['look'],
          data: { n: 3 },
          created: [
            { kind: 'task', match: { taskType: 'task', title: 'Review 3', assign: 'role:reviewer' } },
            { kind: 'instance', match: { key: 'one' } },
          ],
          problems: [],
        },
      },
      {
        complete: { element: 'look', output: { seen: true } },
        expect: {
          open: ['agree'],
          data: { seen: true },
          created: [
            { kind: 'approval', match: { approver: 'role:boss', comment: 'Agree?' } },
            { kind: 'approval', match: { approver: 'agent:desk' } },
          ],
        },
      },
      { decide: { element: 'agree', outcome: 'approve', by: 'agent:desk' }, expect: { open: ['agree'] } },
      { decide: { element: 'agree', outcome: 'approve' }, expect: { open: ['pause'], created: [] } },
      { advance: 'PT1H59M', expect: { open: ['pause'] } },
      { advance: 'PT1M', expect: { open: ['hear'] } },
      { send: { event: 'task.completed' }, expect: { open: ['hear'] } },
      { send: { event: 'task.created' }, expect: { status: 'completed', open: [] } },
      { complete: { element: 'look' }, expect: { refused: 'invalid_process_instance_state' } },
    ]);
    const { durationMs, ...rest } = result;
    assert.ok(durationMs >= 0 && (!isLongProof || durationMs < 2000), `${durationMs} ms`);
    assert.deepEqual(rest, {
      file: 'Test/t.yaml',
      name: 't',
      subject: 'process',
      object: 'p',
      process: 'p',
      status: 'passed',
      failures: [],
    });
  });

  test('fails with the expected and the actual value, at the first step that differs', async () => {
    const wrong: [object, string, unknown, unknown][] = [
      [{ status: 'completed' }, 'the status differs', 'completed', 'running'],
      [{ open: ['b'] }, 'other elements are open', ['b'], ['a']],
      [{ data: { n: 4 } }, 'data differ', { n: 4 }, { n: 3 }],
      [{ data: { m: null } }, 'data differ', { m: null }, { n: 3 }],
      [{ problems: ['expression_error'] }, 'problems differ', ['expression_error'], []],
      [{ refused: 'not_found' }, 'the act should have been refused', 'not_found', null],
    ];
    for (const [expect, message, expected, actual] of wrong) {
      const steps = [started, { complete: { element: 'a' } }].slice(0, 1);
      const report = await runSteps(specOf([human('a')]), [{ ...steps[0], expect }, { advance: 'PT1S' }]);
      assert.equal(report.status, 'failed');
      assert.equal(report.test.status, 'failed');
      assert.deepEqual(report.test.failures, [{ step: 1, message, expected, actual }]);
    }
    const created = await runSteps(specOf([human('a')]), [
      { ...started, expect: { created: [{ kind: 'task', match: { title: 'Review 4' } }] } },
    ]);
    const [failure] = created.test.failures;
    assert.equal(failure.message, 'what was created does not match');
    assert.deepEqual(
      failure.actual.map(({ kind }: any) => kind),
      ['instance', 'task'],
    );
    const nothing = await runSteps(specOf([human('a')]), [{ ...started, expect: { created: [] } }]);
    assert.equal(nothing.test.failures[0].message, 'something was created');
  });

  test('fails for a refusal and for a problem that it does not expect', async () => {
    const refused = await runSteps(specOf([human('a')]), [started, { complete: { element: 'b' } }]);
    assert.deepEqual(refused.test.failures, [
      { step: 2, message: 'the act was refused', expected: null, actual: 'not_found' },
    ]);
    const broken = specOf([{ id: 's', set: { n: 'data.absent + 1' } }]);
    const faulty = await runSteps(broken, [started]);
    assert.deepEqual(faulty.test.failures, [
      { step: 1, message: 'problems differ', expected: [], actual: ['expression_error'] },
    ]);
    await passes(broken, [{ ...started, expect: { problems: ['expression_error'], status: 'suspended' } }]);
  });

  test('fails the object that a step waits for, so that a try catches it', async () => {
    const caught = (step: object, on: string) =>
      specOf([
        {
          id: 'guard',
          try: { do: [step], catch: [{ on: [on], do: [{ id: 'note', set: { failed: '"yes"' } }] }] },
        },
      ]);
    await passes(caught(human('a'), 'task_cancelled'), [
      started,
      {
        send: { event: 'task.cancelled', payload: { element: 'a' } },
        expect: { status: 'completed', data: { failed: 'yes' } },
      },
    ]);
    const child = documentFile('Process', 'child', specOf([human('c')]));
    const report = await run(
      child,
      documentFile(
        'Process',
        'p',
        caught({ id: 'sub', call: { process: 'child', input: { n: '1' } } }, 'boom'),
      ),
      documentFile('Test', 't', {
        subject: 'process',
        object: 'p',
        steps: [
          {
            ...started,
            expect: { created: [{ kind: 'process', match: { process: 'child', data: { n: 1 } } }] },
          },
          {
            send: { event: 'process.failed', payload: { element: 'sub', error: { code: 'boom' } } },
            expect: { data: { failed: 'yes' } },
          },
        ],
      }),
    );
    assert.deepEqual([report.status, report.tests[0].failures], ['passed', []]);
  });

  test('completes calls of skills, agents and processes with their results', async () => {
    const { name, version } = await makeCallable(baton.admin);
    const definition = specOf([
      { id: 'skill', call: { skill: `${name}@${version}`, input: { n: 'data.n' } }, export: { as: 'a' } },
      { id: 'agent', call: { agent: 'desk', taskType: 'task' }, export: { as: 'b' } },
      {
        id: 'sub',
        call: { process: 'p' },
        export: { as: { c: 'step.result.data.x', d: 'step.result.outcome' } },
      },
    ]);
    await passes(definition, [
      {
        ...started,
        expect: { created: [{ kind: 'call', match: { skill: `${name}@${version}`, inputs: { n: 3 } } }] },
      },
      {
        complete: { element: 'skill', output: 5 },
        expect: { data: { a: 5 }, created: [{ kind: 'task', match: { assign: 'agent:desk' } }] },
      },
      { complete: { element: 'agent', output: { y: 1 } }, expect: { data: { b: { y: 1 } } } },
      {
        complete: { element: 'sub', output: { outcome: 'ok', data: { x: 7 } } },
        expect: { status: 'completed', data: { c: 7, d: 'ok' } },
      },
    ]);
    const failing = await passes(definition, [
      started,
      {
        send: { event: 'skill.invocation_failed', payload: { element: 'skill', error: { code: 'boom' } } },
        expect: { status: 'failed' },
      },
    ]);
    assert.equal(failing.status, 'passed');
  });

  test('counts working time by a calendar of the package, and of the tenant', async () => {
    const years = [{ year: 2026, holidays: ['2026-01-06'] }];
    const hours = { intervals: [{ from: '09:00', to: '17:00' }] };
    const calendar = { displayName: 'Office', timezone: 'UTC', years, workingHours: hours };
    const definition = (key: string) =>
      specOf([
        human('look', {
          due: { workhours: 10, calendar: key },
          escalations: [{ after: 'due', action: 'remind', to: [{ role: 'boss' }] }],
        }),
      ]);
    // From Monday 09:00, ten working hours, with a holiday on Tuesday: Wednesday 11:00.
    const steps = [
      { ...started, expect: { created: [{ kind: 'task', match: { dueAt: '2026-01-07T11:00:00.000Z' } }] } },
      { advance: 'P2DT1H59M', expect: { created: [] } },
      {
        advance: 'PT1M',
        expect: {
          created: [{ kind: 'escalation', match: { level: 1, action: 'remind', to: ['role:boss'] } }],
        },
      },
    ];
    const inPackage = await run(
      documentFile('Calendar', 'office', calendar),
      documentFile('Process', 'p', definition('office')),
      documentFile('Test', 't', { subject: 'process', object: 'p', steps }),
    );
    assert.deepEqual(inPackage.tests[0].failures, []);
    assert.deepEqual(inPackage.coverage[0].handlers, { covered: 1, total: 1, missing: [] });
    const key = `c${newId()}`;
    await done(baton.admin.post('/calendars', { key, spec: calendar }), 201);
    await passes(definition(key), steps);
    // The same ten working hours, started on Friday at noon, end on Monday at 14:00.
    await passes(
      definition(key),
      [{ ...started, expect: { created: [{ kind: 'task', match: { dueAt: '2026-01-12T14:00:00.000Z' } }] } }],
      { now: '2026-01-09T12:00:00Z' },
    );
  });

  test('opens no task of a package type if its custom fields are invalid', async () => {
    const type = (required: string[]) =>
      documentFile('TaskType', 'review', {
        displayName: 'Review',
        fieldSchema: { type: 'object', properties: { seen: { type: 'boolean' } }, required },
      });
    const definition = documentFile('Process', 'p', specOf([human('a', { taskType: 'review' })]));
    const steps = [
      started,
      {
        complete: { element: 'a', output: { seen: 1 } },
        expect: { refused: 'custom_fields_invalid', open: ['a'] },
      },
      { complete: { element: 'a', output: { seen: true } }, expect: { status: 'completed' } },
    ];
    const tested = { subject: 'process', object: 'p', steps };
    const report = await run(type([]), definition, documentFile('Test', 't', tested));
    assert.deepEqual(report.tests[0].failures, []);
    const unmet = await run(type(['seen']), definition, documentFile('Test', 't', tested));
    assert.deepEqual(unmet.tests[0].failures, [
      { step: 1, message: 'problems differ', expected: [], actual: ['custom_fields_invalid'] },
    ]);
  });

  test('refuses a completion whose output does not match the form, and reads only the fields of the form', async () => {
    const form = { type: 'object', required: ['seen'], properties: { seen: { type: 'boolean' } } };
    const definition = documentFile(
      'Process',
      'p',
      specOf([{ ...human('a', { form }), export: { as: 'result' } }]),
    );
    const steps = [
      started,
      { complete: { element: 'a' }, expect: { refused: 'custom_fields_invalid', open: ['a'] } },
      {
        complete: { element: 'a', output: { seen: true, more: 1 } },
        expect: { status: 'completed', data: { result: { seen: true } } },
      },
    ];
    const tested = { subject: 'process', object: 'p', steps };
    const report = await run(definition, documentFile('Test', 't', tested));
    assert.deepEqual(report.tests[0].failures, []);
  });

  test('people who did the work do not vote if duties are separated', async () => {
    const definition = specOf([
      human('do', { assign: [{ role: 'doer' }] }),
      { id: 'check', approve: { approvers: [{ role: 'doer' }, { role: 'boss' }], separationOfDuties: true } },
    ]);
    await passes(definition, [
      started,
      {
        complete: { element: 'do' },
        expect: { created: [{ kind: 'approval', match: { approver: 'role:boss' } }] },
      },
      { decide: { element: 'check', outcome: 'approve', by: 'role:doer' }, expect: { refused: 'not_found' } },
      { decide: { element: 'check', outcome: 'reject' }, expect: { status: 'completed' } },
    ]);
  });

  test('an event correlates with the instance of its key, and starts none if one is running', async () => {
    const definition = specOf([human('a')], {
      start: {
        on: { event: 'task.created', where: 'event.payload.k != "x"' },
        key: 'event.payload.k',
        set: { n: '1' },
      },
      correlate: [{ on: { event: 'task.updated' }, key: 'event.payload.k', set: { hits: '"yes"' } }],
    });
    const send = (event: string, k: string) => ({ send: { event, payload: { k } } });
    const report = await passes(definition, [
      { ...send('task.created', 'x'), expect: { open: [], created: [] } },
      {
        ...send('task.created', 'one'),
        expect: { created: [{ kind: 'instance', match: { key: 'one' } }, { kind: 'task' }] },
      },
      { ...send('task.created', 'one'), expect: { created: [] } },
      { ...send('task.updated', 'two'), expect: { data: {} } },
      { ...send('task.created', 'two'), expect: { open: ['a'], data: {} } },
      { ...send('task.updated', 'two'), expect: { data: { hits: 'yes' } } },
      { complete: { element: 'a' }, expect: { status: 'completed', data: { hits: 'yes' } } },
    ]);
    assert.deepEqual(report.coverage[0].handlers, { covered: 1, total: 1, missing: [] });
  });

  test('tests that use unsimulated features end as errors with the reason, never as passed', async () => {
    const definition = specOf([human('a'), { id: 's', call: { process: 'p' } }]);
    const notSimulated: [object[], number, RegExp][] = [
      [
        [{ send: { event: 'task.cancelled', payload: { element: 's' } } }],
        2,
        /which does not wait for this event/,
      ],
      [[{ complete: { element: 'a', output: 5 } }], 2, /not an object/],
      [[{ advance: 'P999999D' }, { advance: 'P999999D' }, { advance: 'P999999D' }], 4, /beyond the year/],
    ];
    for (const [steps, at, message] of notSimulated) {
      const report = await runSteps(definition, [started, ...steps]);
      assert.deepEqual([report.status, report.test.status], ['failed', 'error']);
      assert.equal(report.test.failures[0].step, at);
      assert.match(report.test.failures[0].message, message);
    }
  });
});

test('coverage counts elements, exits, rows and handlers over all tests of a process', async () => {
  const definition = specOf(
    [
      { id: 'ask', when: 'data.n > 1', approve: { approvers: [{ role: 'boss' }] } },
      { id: 'pick', decide: { table: 'sizes' }, export: { as: 'size' } },
      { id: 'fork', fork: { branches: [branch('left'), branch('right')] } },
    ],
    {
      data: { type: 'object', properties: { n: { type: 'number' }, size: {} } },
      start: { on: { observation: 'ready' }, key: '"one"', set: { n: 'double(event.payload.data.n)' } },
      timers: [
        {
          id: 'late',
          at: 'instance.startedAt + duration("P1D")',
          do: [{ id: 'after', set: { size: 'null' } }],
        },
      ],
      decisions: [
        {
          id: 'sizes',
          inputs: [{ id: 'n', expr: 'data.n' }],
          outputs: [{ id: 'size' }],
          rules: [
            ruleRow(['n > 10.0'], ['"large"']),
            ruleRow(['n > 2.0'], ['"middle"']),
            ruleRow(['true'], ['"small"']),
          ],
        },
      ],
    },
  );
  const sent = (n: number) => ({ send: { observation: 'ready', payload: { data: { n } } } });
  const testOf = (key: string, steps: object[]) =>
    documentFile('Test', key, { subject: 'process', object: 'p', steps });
  const report = await run(
    documentFile('Process', 'p', definition),
    testOf('small', [{ ...sent(1), expect: { open: ['fork', 'left-look', 'right-look'] } }]),
    testOf('large', [sent(20), { decide: { element: 'ask', outcome: 'reject' } }]),
  );
  assert.deepEqual(
    report.tests.map(({ status, failures }: any) => [status, failures]),
    [
      ['passed', []],
      ['passed', []],
    ],
  );
  assert.deepEqual(report.coverage, [
    {
      key: 'p',
      elements: { covered: 8, total: 10, missing: ['late', 'after'] },
      transitions: {
        covered: 3,
        total: 8,
        missing: [
          'after:completed',
          'ask:approved',
          'fork:completed',
          'left-look:completed',
          'right-look:completed',
        ],
      },
      decisionRows: { covered: 2, total: 3, missing: ['sizes/rules/1'] },
      handlers: { covered: 0, total: 1, missing: ['late'] },
    },
  ]);
});

const branch = (id: string) => ({ id, do: [human(`${id}-look`)] });

test('memory queries and observations work without a memory service, and an event resumes a suspended instance', async () => {
  const definition = specOf(
    [
      { id: 'ask', recall: { anchors: ['policy:{{ data.n }}'] }, export: { as: 'known' } },
      { id: 'tell', remember: { kind: 'seen', content: 'Saw {{ data.n }}', data: { n: 'data.n' } } },
      { id: 'stop', suspend: { reason: 'wait' } },
      human('look'),
    ],
    {
      retrospective: { taskType: 'task', title: 'Look back' },
      correlate: [{ on: { observation: 'go' }, key: '"one"', do: [{ id: 'on', resume: {} }] }],
    },
  );
  await passes(definition, [
    {
      ...started,
      expect: {
        open: ['ask'],
        created: [{ kind: 'recall', match: { question: { anchors: ['policy:3'] } } }],
      },
    },
    {
      complete: { element: 'ask', output: { nodes: [] } },
      expect: {
        status: 'suspended',
        data: { known: { nodes: [] } },
        created: [{ kind: 'observation', match: { observed: 'seen', content: 'Saw 3', data: { n: 3 } } }],
      },
    },
    { send: { observation: 'go' }, expect: { status: 'running', open: ['look'] } },
    {
      complete: { element: 'look' },
      expect: {
        status: 'completed',
        created: [{ kind: 'task', match: { element: null, title: 'Look back' } }],
      },
    },
  ]);
});
