import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { documentFile, packageFiles } from '../../testing/packages/package-files.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const run = (...files: object[]) =>
  done(baton.admin.post('/packages:test', { package: packageFiles(...files) }));
const testOf = (steps: object[], subject = 'rule', object = 'r') =>
  documentFile('Test', 't', { subject, object, steps });
const look = (payload: object, more: object = {}) => ({
  evaluate: { event: { type: 'task.completed', payload, ...more } },
});

const ruleOf = (action: object, more: object = {}) =>
  documentFile('WorkRule', 'r', {
    trigger: { kind: 'event', type: 'task.completed' },
    condition: { ge: [{ var: 'payload.n' }, 2] },
    action: { kind: 'ensure_work', taskType: 'task', fields: { title: 'Follow {{ payload.n }}' }, ...action },
    ...more,
  });

async function runRule(rule: object, ...steps: object[]) {
  const report = await run(rule, testOf(steps));
  assert.deepEqual(report.problems, []);
  return { ...report, test: report.tests[0] };
}

async function passes(rule: object, ...steps: object[]) {
  const report = await runRule(rule, ...steps);
  assert.deepEqual(report.test.failures, []);
  assert.equal(report.test.status, 'passed');
  return report;
}

describe('a test of a rule', () => {
  test('an event may name the registry agent that wrote it', async () => {
    const observed = (agent?: string) => ({
      evaluate: {
        event: { type: 'observation.recorded', payload: { kind: 'k', n: 2 }, ...(agent && { agent }) },
      },
    });
    await passes(
      ruleOf({}, { trigger: { kind: 'observation', type: 'k', agent: 'scout' } }),
      { ...observed('scout'), expect: { status: 'matched' } },
      { ...observed('other'), expect: { status: 'not_triggered' } },
      { ...observed(), expect: { status: 'not_triggered' } },
    );
  });

  test('its identity has the format that its writer accepts', async () => {
    const { status, problems } = await run(ruleOf({}, { identity: { agent: 'Not A Key' } }));
    assert.deepEqual([status, problems[0].code], ['invalid', 'invalid_rule']);
  });

  test('evaluates an event: the tasks that it would create, once per key, and the cases in which it does not act', async () => {
    const report = await passes(
      ruleOf({ dedupKeyTemplate: 'n-{{ payload.n }}' }),
      { ...look({ n: 1 }), expect: { status: 'not_matched', created: [] } },
      {
        ...look({ n: 2 }),
        expect: {
          status: 'matched',
          problems: [],
          created: [{ kind: 'task', match: { dedupKey: 'n-2', taskType: 'task', title: 'Follow 2' } }],
        },
      },
      { ...look({ n: 2 }), expect: { status: 'matched', created: [] } },
      { ...look({ n: 3 }), expect: { created: [{ kind: 'task', match: { dedupKey: 'n-3' } }] } },
      { ...look({ n: 2 }, { type: 'task.created' }), expect: { status: 'not_triggered', created: [] } },
      { ...look({ n: 'x' }), expect: { status: 'failed', refused: 'rule_condition_error' } },
    );
    assert.equal(report.status, 'passed');
    assert.deepEqual(report.ruleCoverage, [{ key: 'r', outcomes: { covered: 2, total: 2, missing: [] } }]);
  });

  test('fails with the expected and the actual value', async () => {
    const {
      test: result,
      status,
      ruleCoverage,
    } = await runRule(ruleOf({}), {
      ...look({ n: 2 }),
      expect: { status: 'not_matched', problems: ['x'], created: [{ kind: 'approval' }] },
    });
    assert.deepEqual([status, result.status], ['failed', 'failed']);
    assert.deepEqual(
      result.failures.map(({ step, message, expected }: any) => [step, message, expected]),
      [
        [1, 'problems differ', ['x']],
        [1, 'the status differs', 'not_matched'],
        [1, 'what was created does not match', [{ kind: 'approval', match: {} }]],
      ],
    );
    assert.equal(result.failures[1].actual, 'matched');
    assert.deepEqual(ruleCoverage[0].outcomes.missing, ['not_matched']);
  });

  test('requests decisions, changes and closes tasks that it has created, and reports refused items', async () => {
    await passes(
      ruleOf({
        kind: 'request_decision',
        fields: { title: 'Decide {{ payload.n }}', approverRole: 'boss-{{ payload.n }}' },
      }),
      {
        ...look({ n: 2 }),
        expect: { created: [{ kind: 'task' }, { kind: 'approval', match: { approverRole: 'boss-2' } }] },
      },
    );
    const change = { taskType: undefined, dedupKeyTemplate: 'k' };
    await passes(ruleOf({ kind: 'update_work', ...change }), { ...look({ n: 2 }), expect: { created: [] } });
    await passes(ruleOf({ kind: 'cancel_work', fields: undefined, ...change }), {
      ...look({ n: 2 }),
      expect: { status: 'matched', created: [] },
    });
    const each = ruleOf({
      taskType: '{{ item }}',
      taskTypes: ['task', 'bug'],
      forEach: 'payload.types',
      dedupKeyTemplate: '{{ item }}',
    });
    await passes(
      each,
      { ...look({ n: 2, types: [] }), expect: { status: 'not_matched' } },
      {
        ...look({ n: 2, types: ['bug', 'other'] }),
        expect: {
          problems: ['task_type_not_allowed'],
          created: [{ kind: 'task', match: { taskType: 'bug' } }],
        },
      },
      {
        ...look({ n: 2, types: ['other'] }),
        expect: { status: 'failed', refused: 'work_items_refused', problems: ['task_type_not_allowed'] },
      },
    );
  });

  test('creates a task per item of a forEach without a template for keys', async () => {
    await passes(ruleOf({ forEach: 'payload.types', fields: { title: 'Do {{ item }}' } }), {
      ...look({ n: 2, types: ['a', 'a', 'b'] }),
      expect: {
        created: ['a', 'a', 'b'].map((item) => ({ kind: 'task', match: { title: `Do ${item}` } })),
      },
    });
  });

  test('reads the task and the goal of the event, and no other documents', async () => {
    const rule = ruleOf({ fields: { title: '{{ task.title }} for {{ goal.title }}' } });
    const brought = { task: { title: 'Build' }, goal: { title: 'growth' } };
    await passes(rule, {
      ...look({ n: 2 }, brought),
      expect: { created: [{ kind: 'task', match: { title: 'Build for growth' } }] },
    });
    const { test: missing } = await runRule(rule, look({ n: 2 }));
    assert.equal(missing.status, 'error');
    assert.match(missing.failures[0].message, /reads task/);
  });

  test('a rule that calls a skill waits; its action is not simulated', async () => {
    const { name, version } = await done(
      baton.admin.post('/skills', { name: 'judge', version: '1', protocol: 'mcp' }),
      201,
    );
    const rule = ruleOf({}, { interpretation: { skill: `${name}@${version}`, inputs: {} } });
    await passes(rule, { ...look({ n: 2 }), expect: { status: 'waiting' } });
    const { test: result, status } = await runRule(rule, { ...look({ n: 2 }), expect: { created: [] } });
    assert.deepEqual([status, result.status], ['failed', 'error']);
    assert.match(result.failures[0].message, /^not simulated: created/);
    const { test: schedule } = await runRule(rule, { advance: 'P1D' });
    assert.deepEqual(
      [schedule.status, schedule.failures[0].message],
      ['error', 'not simulated: the schedule of a rule'],
    );
  });
});

describe('a test of a task type', () => {
  const lifecycleSchema = {
    statuses: [
      { key: 'new', category: 'backlog' },
      { key: 'work', category: 'active' },
      { key: 'done', category: 'terminal_success' },
      { key: 'dropped', category: 'terminal_cancelled' },
    ],
    initialStatus: 'new',
    transitions: [
      { from: 'new', to: ['work', 'dropped'] },
      { from: 'work', to: ['done'] },
    ],
  };
  const typeOf = (more: object = {}) =>
    documentFile('TaskType', 'bug', {
      displayName: 'Bug',
      lifecycleSchema,
      fieldSchema: { type: 'object', properties: { severity: { type: 'integer' } } },
      ...more,
    });
  const runType = (type: object, ...steps: object[]) => run(type, testOf(steps, 'taskType', 'bug'));
  const move = (status: string, customFields?: object) => ({
    transition: { status, ...(customFields && { customFields }) },
  });

  test('moves through its lifecycle and sets fields, or is refused as a task would be', async () => {
    const report = await runType(
      typeOf(),
      { ...move('done'), expect: { refused: 'invalid_transition', status: 'new' } },
      { ...move('absent'), expect: { refused: 'status_not_in_lifecycle' } },
      { ...move('new', { severity: 1 }), expect: { refused: 'invalid_transition', status: 'new', data: {} } },
      {
        ...move('work', { severity: 'x' }),
        expect: { refused: 'custom_fields_invalid', status: 'new', data: {} },
      },
      { ...move('work', { severity: 2 }), expect: { status: 'work', data: { severity: 2 } } },
      { ...move('done'), expect: { status: 'done', data: { severity: 2 }, created: [] } },
      { ...move('done'), expect: { refused: 'task_already_completed' } },
      { ...move('work'), expect: { refused: 'invalid_transition', status: 'done' } },
    );
    assert.deepEqual(report.tests[0].failures, []);
    assert.equal(report.status, 'passed');
    assert.deepEqual(report.taskTypeCoverage, [
      {
        key: 'bug',
        statuses: { covered: 3, total: 4, missing: ['dropped'] },
        transitions: { covered: 2, total: 3, missing: ['new → dropped'] },
      },
    ]);
  });

  test('fails with the expected and the actual value', async () => {
    const { tests } = await runType(typeOf(), {
      ...move('work'),
      expect: { status: 'done', data: { a: 1 } },
    });
    assert.deepEqual(tests[0].failures, [
      { step: 1, message: 'the status differs', expected: 'done', actual: 'work' },
      { step: 1, message: 'data differ', expected: { a: 1 }, actual: {} },
    ]);
  });

  test('its checks, its declared work and its events are not simulated', async () => {
    const acceptance = [{ key: 'ok', kind: 'evidence', title: 'Evidence' }];
    const cases: [object, object[]][] = [
      [typeOf(), [{ evaluate: { event: { type: 'task.completed' } } }]],
      [typeOf({ acceptance }), [move('work'), move('done')]],
    ];
    for (const [type, steps] of cases) {
      const report = await runType(type, ...steps);
      assert.deepEqual(report.problems, []);
      assert.deepEqual([report.status, report.tests[0].status], ['failed', 'error']);
      assert.equal(report.tests[0].failures[0].step, steps.length);
    }
  });
});
