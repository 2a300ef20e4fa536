import assert from 'node:assert/strict';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth, isLongProof, longTest } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { documentFile, packageFiles } from '../../testing/packages/package-files.ts';
import { ruleRow } from '../../testing/processes/processes.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const agent = documentFile('Agent', 'desk', { displayName: 'Desk', identity: { kind: 'agent' } });
const processOf = (more: object = {}, key = 'p') =>
  documentFile('Process', key, {
    version: 1,
    displayName: 'A test',
    identity: { agent: 'desk' },
    owner: [{ role: 'owners' }],
    data: { type: 'object', additionalProperties: true },
    start: { on: { observation: 'ready' }, key: '"one"' },
    stages: [{ id: 'main', steps: [{ id: 'set', set: { n: '1' } }] }],
    ...more,
  });
const stepsOf = (...steps: object[]) => ({ stages: [{ id: 'main', steps }] });
const testOf = (spec: object = {}, key = 't') =>
  documentFile('Test', key, {
    subject: 'process',
    object: 'p',
    steps: [{ send: { observation: 'ready' }, expect: { status: 'completed' } }],
    ...spec,
  });
const post = (files: object[], more: object = {}, query = '') =>
  baton.admin.post(`/packages:test${query}`, { package: packageFiles(...files), ...more });
const run = (...files: object[]) => done(post(files));

describe('POST /packages:test', () => {
  test('accepts a package without tests, and writes nothing', async () => {
    const countRows = () =>
      baton.pool.row(sql<{ rows: string }>`
        select (select count(*) from events) || '/' || (select count(*) from idempotency_keys) || '/' ||
          (select count(*) from package_objects) || '/' || (select count(*) from process_definitions) as rows`);
    const before = await countRows();
    const report = await done(
      baton.admin.post(
        '/packages:test',
        { package: packageFiles(agent, processOf(), testOf()) },
        { 'idempotency-key': newId() },
      ),
    );
    assert.equal(report.status, 'passed');
    assert.deepEqual(await countRows(), before);
    const { durationMs, ...empty } = await run();
    assert.ok(durationMs >= 0);
    assert.deepEqual(empty, {
      status: 'passed',
      checkOnly: false,
      problems: [],
      tests: [],
      coverage: [],
      ruleCoverage: [],
      taskTypeCoverage: [],
    });
  });

  test('runs tests from files outside of the package', async () => {
    const outside = { ...testOf({}, 'outside'), path: 'elsewhere/t.yaml' };
    const report = await done(post([agent, processOf(), testOf()], { tests: [outside] }));
    assert.deepEqual(
      report.tests.map(({ file, name, status }: any) => [file, name, status]),
      [
        ['Test/t.yaml', 't', 'passed'],
        ['elsewhere/t.yaml', 'outside', 'passed'],
      ],
    );
    const wrong = await done(post([agent], { tests: [processOf()] }));
    assert.deepEqual(
      wrong.problems
        .filter(({ code }: any) => code === 'invalid_document')
        .map(({ message }: any) => message),
      ['is not a test'],
    );
  });

  test('with checkOnly it reports problems, and runs no test', async () => {
    const files = [
      agent,
      processOf(),
      testOf({ steps: [{ send: { event: 'a.b' }, expect: { status: 'x' } }] }),
    ];
    const { durationMs: _, ...report } = await done(post(files, {}, '?checkOnly=true'));
    assert.deepEqual(report, {
      status: 'passed',
      checkOnly: true,
      problems: [],
      tests: [],
      coverage: [],
      ruleCoverage: [],
      taskTypeCoverage: [],
    });
    const wrong = await done(post([agent, processOf({ version: 'x' })], {}, '?checkOnly=true'));
    assert.deepEqual([wrong.status, wrong.checkOnly], ['invalid', true]);
  });

  test('requires packages.test and processes.read, and a workspace that the caller sees', async () => {
    const body = { package: packageFiles() };
    const onlyTest = await baton.actor({ permissions: ['packages.test'] });
    const onlyRead = await baton.actor({ permissions: ['processes.read'] });
    const both = await baton.actor({ permissions: ['packages.test', 'processes.read'] });
    await refused(onlyTest.post('/packages:test', body), 403, 'permission_denied');
    await refused(onlyRead.post('/packages:test', body), 403, 'permission_denied');
    await done(both.post('/packages:test', body));
    await refused(both.post('/packages:test', { ...body, workspaceId: newId() }), 404, 'not_found');
    const workspace = await makeWorkspace(baton);
    await done(both.post('/packages:test', { ...body, workspaceId: workspace.id }));
    const { person, mine, other } = await makeNarrowPerson(baton);
    await done(person.post('/packages:test', { ...body, workspaceId: mine.id }));
    await refused(person.post('/packages:test', { ...body, workspaceId: other.id }), 404, 'not_found');
  });
});

describe('problems make a package invalid, and no test runs', () => {
  const expr = (text: string) => processOf(stepsOf({ id: 'set', set: { n: text } }));
  const human = (more: object) =>
    processOf(stepsOf({ id: 'look', human: { taskType: 'task', title: 'Look', ...more } }));
  const closed = { data: { type: 'object', properties: { n: { type: 'number' }, t: { type: 'string' } } } };
  const table = (more: object) =>
    processOf({
      ...stepsOf({ id: 'pick', decide: { table: 'sizes' } }),
      decisions: [
        {
          id: 'sizes',
          inputs: [{ id: 'n', expr: '1' }],
          outputs: [{ id: 'size' }],
          rules: [ruleRow(['true'], ['1'])],
          ...more,
        },
      ],
    });
  const wrong: Record<string, object[]> = {
    invalid_yaml: [{ path: 'a.yaml', content: 'a: [' }],
    invalid_document: [documentFile('Nothing', 'x', {})],
    unresolved_install_variable: [processOf({ displayName: 'Of ${TEAM}' })],
    schema_violation: [processOf({ version: 'x' })],
    unresolved_data_ref: [processOf({ data: { type: 'object', properties: { a: { $ref: '#/$defs/x' } } } })],
    expression_syntax_error: [expr('1 +')],
    expression_type_error: [expr('1 + "a"')],
    expression_too_complex: [expr(`1${'+1'.repeat(100)}`)],
    unknown_data_field: [processOf({ ...closed, ...stepsOf({ id: 's', set: { x: '1' } }) })],
    data_type_mismatch: [processOf({ ...closed, ...stepsOf({ id: 's', set: { t: '1' } }) })],
    unknown_skill: [processOf(stepsOf({ id: 'c', call: { skill: 'absent@1' } }))],
    unknown_task_type: [human({ taskType: 'absent' })],
    unknown_agent: [processOf({ identity: { agent: 'absent' } })],
    unknown_calendar: [human({ due: { workdays: 1, calendar: 'absent' } })],
    unknown_decision_table: [processOf(stepsOf({ id: 'pick', decide: { table: 'absent' } }))],
    duplicate_element_id: [processOf(stepsOf({ id: 'a', set: { n: '1' } }, { id: 'a', set: { n: '1' } }))],
    unreachable_step: [
      processOf(stepsOf({ id: 'a', complete: { outcome: 'x' } }, { id: 'b', set: { n: '1' } })),
    ],
    invalid_table_cell: [table({ rules: [ruleRow([], ['1'])] })],
    table_overlap: [
      table({
        hitPolicy: 'unique',
        rules: [ruleRow(['true'], ['1']), ruleRow(['true'], ['2'])],
      }),
    ],
    sla_calendar_missing: [human({ due: { workdays: 1 } })],
    sla_calendar_without_hours: [
      documentFile('Calendar', 'days', { displayName: 'D', timezone: 'UTC', years: [{ year: 2026 }] }),
      human({ due: { workhours: 1, calendar: 'days' } }),
    ],
    invalid_calendar: [
      documentFile('Calendar', 'c', { displayName: 'D', timezone: 'Mars', years: [{ year: 2026 }] }),
    ],
    invalid_lifecycle_schema: [documentFile('TaskType', 't', { displayName: 'T', lifecycleSchema: {} })],
    invalid_json_schema: [documentFile('TaskType', 't', { displayName: 'T', fieldSchema: { type: 5 } })],
    invalid_rule_trigger: [documentFile('WorkRule', 'r', { trigger: {}, action: {} })],
    invalid_rule_condition: [
      documentFile('WorkRule', 'r', { trigger: { kind: 'event', type: 'a.b' }, condition: 5, action: {} }),
    ],
    invalid_rule_action: [
      documentFile('WorkRule', 'r', { trigger: { kind: 'event', type: 'a.b' }, action: {} }),
    ],
  };
  for (const [code, files] of Object.entries(wrong))
    test(code, async () => {
      const report = await run(agent, ...files, processOf({}, 'other'), testOf({ object: 'other' }));
      assert.equal(report.status, 'invalid');
      assert.deepEqual(report.tests, []);
      const found = report.problems.find((one: any) => one.code === code);
      assert.ok(found, JSON.stringify(report.problems));
      assert.deepEqual([found.severity, typeof found.file], ['error', 'string']);
    });

  test('element_kind_changed compared with the existing version', async () => {
    const key = `p${newId()}`;
    const { key: agentKey } = await done(
      baton.admin.post('/agents', {
        key: `a${newId()}`,
        spec: { displayName: 'A', identity: { kind: 'agent', permissions: ['tasks.read'] } },
      }),
      201,
    );
    const published = JSON.parse(processOf({ identity: { agent: agentKey } }, key).content);
    await done(baton.admin.post('/process-definitions', { key, spec: published.spec }), 201);
    const report = await run(agent, processOf({ version: 2, ...stepsOf({ id: 'set', wait: 'PT1S' }) }, key));
    assert.deepEqual(
      report.problems.map(({ code, path }: any) => [code, path]),
      [['element_kind_changed', '/spec/stages/0/steps/0']],
    );
  });

  test('warnings alone do not make it invalid', async () => {
    const report = await run(agent, processOf({ owner: undefined }), testOf());
    assert.deepEqual(
      report.problems.map(({ code, severity }: any) => [code, severity]),
      [['process_owner_missing', 'warning']],
    );
    assert.equal(report.status, 'passed');
  });

  test('invalid tests: their form, object and settings, and too many of them', async () => {
    const messages = async (...files: object[]) => {
      const report = await run(agent, processOf(), ...files);
      assert.equal(report.status, 'invalid');
      return report.problems.map(({ code, path, message }: any) => [code, path, message]);
    };
    const step = (one: object) => testOf({ steps: [one] });
    assert.deepEqual(await messages(step({})), [
      [
        'invalid_document',
        '/spec/steps/0',
        'must have exactly one of send, complete, decide, advance, transition, evaluate',
      ],
    ]);
    assert.deepEqual(await messages(step({ transition: { status: 'x' } })), [
      ['invalid_document', '/spec/steps/0/transition', 'is not possible for a process'],
    ]);
    assert.deepEqual(
      (await messages(step({ send: { event: 'a.b', observation: 'c' } })))[0]?.[2],
      'must contain exactly one of event and observation',
    );
    assert.deepEqual((await messages(step({ advance: 'P1Y' }))).length, 1);
    assert.deepEqual(
      (await messages(testOf({ steps: Array(101).fill({ advance: 'PT1S' }) })))[0]?.[1],
      '/spec/steps',
    );
    assert.deepEqual(
      await messages(
        testOf({ subject: 'rule', object: 'r', steps: [{ advance: 'PT1S', expect: { open: [] } }] }),
      ),
      [['invalid_document', '/spec/steps/0/expect/open', 'cannot be expected of a rule']],
    );
    assert.deepEqual(await messages(testOf({ object: 'q' })), [
      ['invalid_document', '/spec/object', 'Process/q is not a document of the package'],
    ]);
    const settings = documentFile('Settings', 'settings', {
      title: 'S',
      schema: { type: 'object', properties: { n: { type: 'number' } } },
    });
    assert.deepEqual(await messages(testOf({ settings: {} })), [
      ['invalid_document', '/spec/settings', 'the package declares none'],
    ]);
    assert.deepEqual(
      (await messages(settings, testOf({ settings: { n: 'x' } })))[0]?.[1],
      '/spec/settings/n',
    );
    assert.equal((await run(agent, processOf(), settings, testOf({ settings: { n: 1 } }))).status, 'passed');
    const many = (count: number, spec: object) =>
      Array.from({ length: count }, (_, n) => testOf(spec, `t${n}`));
    assert.deepEqual(await messages(...many(501, {})), [
      ['invalid_document', '', 'has 501 tests; at most 500 run in one call'],
    ]);
    const rule = documentFile('WorkRule', 'r', {
      trigger: { kind: 'event', type: 'a.b' },
      action: { kind: 'ensure_work', taskType: 'task', fields: { title: 'x' } },
    });
    const ofRule = { subject: 'rule', object: 'r', steps: [{ evaluate: { event: { type: 'a.b' } } }] };
    assert.deepEqual(await messages(rule, ...many(101, ofRule)), [
      ['invalid_document', '', 'has 101 tests of rules and task types; at most 100 run in one call'],
    ]);
  });
});

describe('a hostile package', () => {
  /** 40,000 characters of data, which are measured whenever a field changes. */
  const large = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`t${n}`, `'${'x'.repeat(3500)}'`]));
  const again = (id: string, steps: object[]) => [{ id, try: { do: steps, retry: { limit: 20 } } }];
  /** Repeats an expensive computation 8,000 times, which takes seconds per event. */
  const endless = processOf({
    start: { on: { observation: 'ready' }, key: '"one"', set: { ...large, x: '0' } },
    ...stepsOf(
      ...again(
        'a',
        again(
          'b',
          again('c', [
            { id: 'waste', set: { x: 'data.x + 1' } },
            { id: 'end', raise: { type: 'no' } },
          ]),
        ),
      ),
    ),
  });

  test('of 500 tests ends within its time, blocks the event loop for short turns only, and passes none', async () => {
    // A test takes 25 ms, so 500 of them exceed the 10 s timeout of a call.
    const count = byDepth(8, 500);
    const tests = Array.from({ length: count }, (_, n) =>
      testOf({ steps: Array(100).fill({ send: { observation: 'ready' } }) }, `t${n}`),
    );
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    let isOver = false;
    const attack = done(post([agent, endless, ...tests])).finally(() => {
      isOver = true;
    });
    const waitsMs: number[] = [];
    while (!isOver) {
      const beganMs = performance.now();
      await done(baton.otherAdmin.get('/tasks?limit=1'));
      waitsMs.push(performance.now() - beganMs);
    }
    const report = await attack;
    delay.disable();
    assert.deepEqual([report.status, report.tests.length], ['failed', count]);
    assert.ok(report.tests.every(({ status }: any) => status === 'error'));
    const [first, last] = [report.tests[0], report.tests.at(-1)];
    assert.deepEqual(
      [first.failures, last.failures].map(([{ step, message }]: any) => [step, message]),
      [
        [1, 'one act takes more than 25 ms of the engine'],
        [1, isLongProof ? 'the call has used up its time' : 'one act takes more than 25 ms of the engine'],
      ],
    );
    // 10 s for the tests, plus a margin for other processes on the same processors.
    assert.ok(!isLongProof || report.durationMs < 20_000, `${report.durationMs} ms`);
    waitsMs.sort((a, b) => a - b);
    const medianMs = waitsMs[Math.floor(waitsMs.length / 2)] as number;
    assert.ok(!isLongProof || medianMs < 250, `calls of another tenant take ${medianMs} ms`);
    // At most 40 ms on an idle machine, but other processes may use all of its processors for a while.
    const turnMs = delay.percentile(99) / 1e6;
    assert.ok(!isLongProof || turnMs < 100, `the event loop was blocked for ${turnMs} ms`);
  });

  longTest('calls of one tenant wait for each other, and excess calls are refused', async () => {
    const tests = Array.from({ length: byDepth(5, 10) }, (_, n) => testOf({}, `t${n}`));
    const all = Array.from({ length: 12 }, () => post([agent, endless, ...tests]));
    const statuses = (await Promise.all(all)).map(
      ({ status, body }) => `${status} ${body.error?.code ?? ''}`,
    );
    const refusedOnes = statuses.filter((status) => status === '503 unavailable').length;
    assert.equal(statuses.filter((status) => status === '200 ').length + refusedOnes, 12);
    assert.ok(refusedOnes >= 4, statuses.join());
  });

  test('an act that never ends fails its own test, and other tests still pass', async () => {
    const timers = processOf(
      stepsOf({
        id: 'again',
        try: {
          do: [
            { id: 'nap', wait: 'PT1S' },
            { id: 'end', raise: { type: 'no' } },
          ],
          retry: { limit: 20 },
        },
      }),
    );
    const report = await run(
      agent,
      timers,
      testOf({
        steps: [{ send: { observation: 'ready' } }, { advance: 'P100D', expect: { status: 'failed' } }],
      }),
    );
    assert.deepEqual([report.status, report.tests[0].failures], ['passed', []]);
  });
});
