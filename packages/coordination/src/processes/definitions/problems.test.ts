import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import {
  look,
  newProcessKey,
  processSpec,
  ruleRow,
  stageOf,
  withSteps,
} from '../../testing/processes/processes.ts';
import { agentSpec, publishAgent } from '../../testing/registry/agents.ts';
import { makeCallable } from '../../testing/results/invocations.ts';

let baton: TestCoordination;
let skill: string;
before(async () => {
  baton = await startCoordination();
  const made = await makeCallable(baton.admin, {
    contract: { inputs: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } } },
  });
  skill = `${made.name}@${made.version}`;
  await publishCalendar('hours', { intervals: [{ from: '09:00', to: '17:00' }] });
  await publishCalendar('days', null);
  await publishCalendar('old', null);
  await done(baton.admin.post('/calendars/old:retire', { reason: 'over' }));
});
after(() => baton.close());

const publishCalendar = (key: string, workingHours: object | null) => {
  const spec = { displayName: key, timezone: 'UTC', workingHours, years: [{ year: 2026 }] };
  return done(baton.admin.post('/calendars', { key, spec }), 201);
};

interface Problem {
  code: string;
  severity: string;
  path: string;
  line?: number;
}

/** The problems of a refused definition. */
async function problemsOf(spec: unknown, actor: Actor = baton.admin): Promise<Problem[]> {
  const details = await refused(
    actor.post('/process-definitions', { key: newProcessKey(), spec }),
    422,
    'invalid_process',
  );
  return details['problems'] as Problem[];
}

async function found(spec: unknown): Promise<string[]> {
  return (await problemsOf(spec)).map(({ code, path }) => `${code} ${path}`);
}

const step = (id: string, kind: object, more: object = {}) => ({ id, ...kind, ...more });
const end = (id: string, more: object = {}) => step(id, { complete: { outcome: 'done' } }, more);
const table = (more: object) => ({
  id: 'risk',
  inputs: [{ id: 'amount', expr: 'data.amount' }],
  outputs: [{ id: 'level' }],
  rules: [ruleRow(['true'], ['"high"'])],
  ...more,
});
const rules = (...rows: readonly (readonly string[])[]) => ({
  rules: rows.map((when) => ruleRow(when, ['1'])),
});
const workdayBy = (key: string) => `cal.isWorkday(timestamp('2026-01-01T00:00:00Z'), '${key}')`;
/** Adds an error, so that the definition is refused and the response lists its warnings. */
const refusedAnyway = (spec: Record<string, unknown>) => ({ ...spec, identity: undefined });
const withWarning = (more: object) => refusedAnyway(processSpec({ owner: undefined, ...more }));

const shapes: [string, Record<string, unknown>, string][] = [
  ['an unknown member', { odd: 1 }, 'schema_violation '],
  ['a version that is not a positive number', { version: 0 }, 'schema_violation /version'],
  ['no stages', { stages: [] }, 'schema_violation /stages'],
  [
    'a step with two kinds',
    withSteps(step('a', { wait: 'PT1S', set: { change: '"x"' } })),
    'schema_violation /stages/0/steps/0',
  ],
  ['a step without a kind', withSteps({ id: 'a' }), 'schema_violation /stages/0/steps/0'],
  ['an id with a capital', withSteps(look({ id: 'Look' })), 'schema_violation /stages/0/steps/0/id'],
  ['a duration of a month', withSteps(step('a', { wait: 'P1M' })), 'schema_violation /stages/0/steps/0/wait'],
  ['an assignee with two kinds', { owner: [{ role: 'aa', expr: '"x"' }] }, 'schema_violation /owner/0'],
  ['eleven assignees', { owner: Array(11).fill({ role: 'aa' }) }, 'schema_violation /owner'],
  ['a due date with two kinds', { due: { workdays: 1, duration: 'P1D' } }, 'schema_violation /due'],
  [
    'a trigger with two kinds',
    { start: { on: { event: 'a.b', observation: 'c' }, key: '"x"' } },
    'schema_violation /start/on',
  ],
  [
    'a source of an event',
    { start: { on: { event: 'a.b', source: 'c' }, key: '"x"' } },
    'schema_violation /start/on/source',
  ],
  [
    'an escalation without recipients',
    withSteps(look({}, { escalations: [{ after: 'due', action: 'notify' }] })),
    'schema_violation /stages/0/steps/0/human/escalations/0/to',
  ],
  [
    'a raise without an error',
    withSteps(look({}, { escalations: [{ after: 'due', action: 'raise' }] })),
    'schema_violation /stages/0/steps/0/human/escalations/0/error',
  ],
  [
    'a call with two targets',
    withSteps(step('a', { call: { skill: 'a@1', process: 'b' } })),
    'schema_violation /stages/0/steps/0/call',
  ],
  [
    'a fork with one branch',
    withSteps(step('a', { fork: { branches: [{ id: 'b', do: [end('c')] }] } })),
    'schema_violation /stages/0/steps/0/fork/branches',
  ],
  ['data that is not a schema', { data: { type: 'object', properties: 1 } }, 'schema_violation /data'],
  ['data that is not an object', { data: { type: 'string' } }, 'schema_violation /data'],
  [
    'a form with a hostile pattern',
    withSteps(look({}, { form: { type: 'object', properties: { a: { pattern: '(a{500}){500}' } } } })),
    'schema_violation /stages/0/steps/0/human/form',
  ],
  [
    'a step to compensate that does not exist',
    withSteps(step('a', { compensate: ['b'] })),
    'schema_violation /stages/0/steps/0/compensate',
  ],
  [
    'a migration of a later version',
    { migrations: [{ from: 2, to: 1, policy: 'pin' }] },
    'schema_violation /migrations/0/from',
  ],
  [
    'a migration to another version',
    { migrations: [{ from: 1, to: 2, policy: 'pin' }] },
    'schema_violation /migrations/0/to',
  ],
  [
    'a migration to an element that does not exist',
    { version: 2, migrations: [{ from: 1, to: 2, policy: 'migrate', map: { a: 'b' } }] },
    'schema_violation /migrations/0/map',
  ],
  [
    'a text of more than 20,000 characters',
    { description: 'x'.repeat(20_001) },
    'schema_violation /description',
  ],
  [
    'an install variable',
    { displayName: 'Release of ${product.name}' },
    'unresolved_install_variable /displayName',
  ],
  [
    'an unresolved reference',
    { data: { type: 'object', properties: { a: { $ref: '#/$defs/none' } } } },
    'unresolved_data_ref /data/properties/a',
  ],
];

for (const [name, more, expected] of shapes)
  test(`${name}: ${expected.split(' ')[0]}`, async () => {
    const problems = await found(
      more['stages'] === undefined || !('start' in more) ? processSpec(more) : more,
    );
    assert.ok(
      problems.some((one) => one.startsWith(expected)),
      problems.join('\n'),
    );
  });

const problems: [string, Record<string, unknown>, string][] = [
  ['expression_syntax_error', withSteps(look({ when: '1 +' })), '/stages/0/steps/0/when'],
  ['expression_syntax_error', withSteps(look({}, { title: 'a {{ b' })), '/stages/0/steps/0/human/title'],
  ['expression_type_error', withSteps(look({ when: 'data.change + 1 == 2' })), '/stages/0/steps/0/when'],
  ['expression_type_error', withSteps(look({ when: 'data.change' })), '/stages/0/steps/0/when'],
  ['expression_type_error', withSteps(look({ when: 'event.type == "a"' })), '/stages/0/steps/0/when'],
  [
    'expression_type_error',
    withSteps(look({}, { title: '{{ data.nothing }}' })),
    '/stages/0/steps/0/human/title',
  ],
  [
    'expression_type_error',
    withSteps(look({}, { due: { at: 'data.change' } })),
    '/stages/0/steps/0/human/due/at',
  ],
  [
    'expression_type_error',
    withSteps(look({}, { assign: [{ expr: '1' }] })),
    '/stages/0/steps/0/human/assign/0/expr',
  ],
  [
    'expression_type_error',
    processSpec({ start: { on: { event: 'a.b', where: 'data.approved' }, key: '"x"' } }),
    '/start/on/where',
  ],
  ['expression_type_error', processSpec({ start: { on: { event: 'a.b' }, key: 'true' } }), '/start/key'],
  [
    'expression_type_error',
    processSpec({ correlate: [{ on: { event: 'a.b' }, key: 'data.change' }] }),
    '/correlate/0/key',
  ],
  [
    'expression_type_error',
    processSpec({ onEvent: [{ on: { event: 'a.b', where: '1' }, do: [end('x')] }] }),
    '/onEvent/0/on/where',
  ],
  ['expression_type_error', processSpec({ timers: [{ id: 't', at: '1', do: [end('x')] }] }), '/timers/0/at'],
  [
    'expression_type_error',
    withSteps(step('a', { listen: { any: [{ event: 'a.b', where: 'data.x' }] } })),
    '/stages/0/steps/0/listen/any/0/where',
  ],
  [
    'expression_type_error',
    withSteps(
      step('a', {
        fork: {
          branches: [
            { id: 'b', do: [look({ when: '1' })] },
            { id: 'c', do: [end('d')] },
          ],
        },
      }),
    ),
    '/stages/0/steps/0/fork/branches/0/do/0/when',
  ],
  [
    'expression_type_error',
    withSteps(step('a', { try: { do: [look()], catch: [{ do: [look({ id: 'b', when: '1' })] }] } })),
    '/stages/0/steps/0/try/catch/0/do/0/when',
  ],
  [
    'expression_type_error',
    withSteps(look({ onCompensate: [look({ id: 'b', when: '1' })] })),
    '/stages/0/steps/0/onCompensate/0/when',
  ],
  [
    'expression_type_error',
    processSpec({ memory: { case: { kind: 'case', key: 'true', title: 'x' } } }),
    '/memory/case/key',
  ],
  [
    'expression_too_complex',
    withSteps(look({ when: `${'true && '.repeat(40)}true` })),
    '/stages/0/steps/0/when',
  ],
  [
    'expression_too_complex',
    withSteps(look({ when: `"${'x'.repeat(4000)}" == "a"` })),
    '/stages/0/steps/0/when',
  ],
  ['unknown_data_field', withSteps(step('a', { set: { nothing: '1' } })), '/stages/0/steps/0/set/nothing'],
  ['unknown_data_field', withSteps(look({ export: { as: 'nothing' } })), '/stages/0/steps/0/export/as'],
  ['data_type_mismatch', withSteps(look({ export: { as: 'approved' } })), '/stages/0/steps/0/export/as'],
  [
    'data_type_mismatch',
    withSteps(
      look(
        { export: { as: 'approved' } },
        { form: { type: 'object', properties: { ok: { type: 'boolean' } } } },
      ),
    ),
    '/stages/0/steps/0/export/as',
  ],
  [
    'data_type_mismatch',
    withSteps(step('a', { approve: { approvers: [{ role: 'aa' }] } }, { export: { as: 'approved' } })),
    '/stages/0/steps/0/export/as',
  ],
  [
    'data_type_mismatch',
    withSteps(step('a', { wait: 'PT1S' }, { export: { as: 'change' } })),
    '/stages/0/steps/0/export/as',
  ],
  [
    'data_type_mismatch',
    withSteps(step('a', { listen: { any: [{ event: 'a.b' }] } }, { export: { as: 'change' } })),
    '/stages/0/steps/0/export/as',
  ],
  [
    'data_type_mismatch',
    withSteps(step('a', { call: { agent: 'release-desk', taskType: 'task' } }, { export: { as: 'amount' } })),
    '/stages/0/steps/0/export/as',
  ],
  [
    'data_type_mismatch',
    withSteps(step('a', { call: { process: 'other' } }, { export: { as: 'change' } })),
    '/stages/0/steps/0/export/as',
  ],
  [
    'data_type_mismatch',
    withSteps(look({ output: { as: '1 + 1' }, export: { as: 'change' } })),
    '/stages/0/steps/0/export/as',
  ],
  [
    'data_type_mismatch',
    withSteps(
      step(
        'a',
        {
          fork: {
            mode: 'compete',
            branches: [
              { id: 'b', do: [look()] },
              { id: 'c', do: [look({ id: 'd' })] },
            ],
          },
        },
        { export: { as: 'change' } },
      ),
    ),
    '/stages/0/steps/0/export/as',
  ],
  [
    'data_type_mismatch',
    processSpec({
      decisions: [table({})],
      stages: [stageOf('review', [step('a', { decide: { table: 'risk' } }, { export: { as: 'change' } })])],
    }),
    '/stages/0/steps/0/export/as',
  ],
  [
    'data_type_mismatch',
    withSteps(
      step(
        'a',
        { approve: { approvers: [{ role: 'aa' }] } },
        { export: { as: { approved: 'step.result.outcome' } } },
      ),
    ),
    '/stages/0/steps/0/export/as/approved',
  ],
  [
    'expression_type_error',
    withSteps(
      step(
        'a',
        { approve: { approvers: [{ role: 'aa' }] } },
        { export: { as: { change: 'step.result.outcom' } } },
      ),
    ),
    '/stages/0/steps/0/export/as/change',
  ],
  [
    'data_type_mismatch',
    withSteps(step('a', { set: { approved: '"yes"' } })),
    '/stages/0/steps/0/set/approved',
  ],
  ['data_type_mismatch', withSteps(step('a', { set: { change: 'null' } })), '/stages/0/steps/0/set/change'],
  [
    'data_type_mismatch',
    withSteps(look({ export: { as: { amount: 'step.id' } } })),
    '/stages/0/steps/0/export/as/amount',
  ],
  [
    'data_type_mismatch',
    processSpec({ start: { on: { event: 'a.b' }, key: '"x"', set: { change: 'event.time == null' } } }),
    '/start/set/change',
  ],
  ['unknown_task_type', withSteps(look({}, { taskType: 'nothing' })), '/stages/0/steps/0/human/taskType'],
  ['unknown_agent', refusedAnyway(processSpec()), '/identity'],
  [
    'unknown_agent',
    withSteps(look({}, { assign: [{ role: 'aa' }, { agent: 'nobody' }] })),
    '/stages/0/steps/0/human/assign/1/agent',
  ],
  [
    'unknown_agent',
    withSteps(step('a', { call: { agent: 'nobody', taskType: 'task' } })),
    '/stages/0/steps/0/call/agent',
  ],
  ['unknown_skill', withSteps(step('a', { call: { skill: 'none@1' } })), '/stages/0/steps/0/call/skill'],
  ['unknown_calendar', processSpec({ calendar: 'nothing' }), '/calendar'],
  [
    'unknown_calendar',
    withSteps(look({ when: 'cal.isWorkday(instance.clock, "nothing")' })),
    '/stages/0/steps/0/when',
  ],
  [
    'unknown_calendar',
    processSpec({ decisions: [table({ rules: [ruleRow(['true'], [workdayBy('nothing')])] })] }),
    '/decisions/0/rules/0/then/0',
  ],
  [
    'schema_violation',
    processSpec({
      decisions: [
        table({ rules: Array.from({ length: 101 }, (_, n) => ruleRow(['true'], [workdayBy(`c${n}`)])) }),
      ],
    }),
    '',
  ],
  [
    'expression_type_error',
    withSteps(look({ when: 'cal.isWorkday(instance.clock, data.change)' })),
    '/stages/0/steps/0/when',
  ],
  ['calendar_retired', processSpec({ calendar: 'old' }), '/calendar'],
  ['sla_calendar_missing', withSteps(look({}, { due: { workdays: 1 } })), '/stages/0/steps/0/human/due'],
  [
    'sla_calendar_missing',
    withSteps(look({ when: 'cal.isWorkday(instance.clock)' })),
    '/stages/0/steps/0/when',
  ],
  ['sla_calendar_without_hours', processSpec({ calendar: 'days', due: { workhours: 8 } }), '/due'],
  [
    'unknown_decision_table',
    withSteps(step('a', { decide: { table: 'nothing' } })),
    '/stages/0/steps/0/decide/table',
  ],
  ['duplicate_element_id', withSteps(look(), look()), '/stages/0/steps/1/id'],
  ['duplicate_element_id', processSpec({ stages: [stageOf('look', [look()])] }), '/stages/0/steps/0/id'],
  [
    'duplicate_element_id',
    processSpec({ stages: [stageOf('do', [step('stage', { do: [look()] })])] }),
    '/stages/0/steps/0/id',
  ],
  ['duplicate_element_id', processSpec({ decisions: [table({}), table({})] }), '/decisions/1/id'],
  ['unreachable_step', withSteps(end('a'), look()), '/stages/0/steps/1'],
  ['unreachable_step', withSteps(step('a', { raise: { type: 'x' } }), look()), '/stages/0/steps/1'],
  [
    'unreachable_stage',
    processSpec({ stages: [stageOf('a', [end('b')]), stageOf('c', [look()])] }),
    '/stages/1',
  ],
  ['unreachable_stage', processSpec({ stages: [stageOf('a', [look()], { entry: 'false' })] }), '/stages/0'],
  [
    'unreachable_stage',
    processSpec({ stages: [stageOf('a', [look()], { entry: 'stage.a.completed' })] }),
    '/stages/0',
  ],
  [
    'dead_end',
    processSpec({ stages: [stageOf('a', [look()], { entry: 'true', repeatable: true })] }),
    '/stages/0',
  ],
  ['invalid_table_cell', processSpec({ decisions: [table(rules([]))] }), '/decisions/0/rules/0/when'],
  [
    'invalid_table_cell',
    processSpec({ decisions: [table({ rules: [ruleRow(['true'], [])] })] }),
    '/decisions/0/rules/0/then',
  ],
  [
    'invalid_table_cell',
    processSpec({ decisions: [table(rules(['amount']))] }),
    '/decisions/0/rules/0/when/0',
  ],
  [
    'invalid_table_cell',
    processSpec({ decisions: [table(rules(['other > 1']))] }),
    '/decisions/0/rules/0/when/0',
  ],
  [
    'table_overlap',
    processSpec({
      decisions: [table({ hitPolicy: 'unique', ...rules(['amount > 1.0'], ['amount < 5.0']) })],
    }),
    '/decisions/0/rules/1',
  ],
];

for (const [code, spec, path] of problems)
  test(`${code} at ${path}`, async () => {
    const all = await found(spec);
    assert.ok(all.includes(`${code} ${path}`), all.join('\n'));
  });

test('skill_input_missing: a required input that the call omits', async () => {
  const call = (input: object) => withSteps(step('a', { call: { skill, input } }));
  assert.deepEqual(await found(call({})), ['skill_input_missing /stages/0/steps/0/call/input']);
  assert.ok(!(await found(refusedAnyway(call({ id: '"x"' })))).some((one) => one.startsWith('skill_')));
});

const warnings: [string, Record<string, unknown>, string][] = [
  ['process_owner_missing', {}, '/owner'],
  ['governed_by_unchecked', { governedBy: ['policy-7'] }, '/governedBy'],
  ['unwritten_data_field', { start: { on: { event: 'a.b' }, key: '"x"' } }, '/stages/0/steps/0/human/title'],
  [
    'unreachable_milestone',
    { stages: [stageOf('a', [look()], { milestones: [{ id: 'm', when: 'false' }] })] },
    '/stages/0/milestones/0',
  ],
  ['table_gap', { decisions: [table(rules(['amount > 5.0'], ['amount < 5.0']))] }, '/decisions/0'],
  [
    'table_rule_unreachable',
    { decisions: [table(rules(['amount > 1.0'], ['amount > 5.0 && amount < 7.0'], ['true']))] },
    '/decisions/0/rules/1',
  ],
];

for (const [code, more, path] of warnings)
  test(`${code}: a warning at ${path}`, async () => {
    const all = await problemsOf(withWarning(more));
    assert.ok(
      all.some((one) => one.code === code && one.path === path && one.severity === 'warning'),
      JSON.stringify(all),
    );
  });

test('tables without a gap, an overlap or an unreachable rule have no warning', async () => {
  const ranges = rules(['amount <= 1.0'], ['amount > 1.0 && amount < 5.0'], ['amount >= 5.0']);
  const two = {
    inputs: [
      { id: 'is-new', expr: 'data.approved' },
      { id: 'who', expr: 'data.change' },
    ],
    ...rules(['is_new', 'who in ["a", "b"]'], ['!is_new', 'who == "a"'], ['true', 'true']),
  };
  const all = await found(
    withWarning({ decisions: [table({ hitPolicy: 'unique', ...ranges }), table({ id: 'other', ...two })] }),
  );
  assert.deepEqual(
    all.filter((one) => one.startsWith('table')),
    [],
  );
});

test('a definition may be YAML; invalid_yaml has the line of the error', async () => {
  const yaml = `
version: 1
displayName: Release
data: {type: object, properties: {change: {type: string}}}
start:
  on: {observation: change-ready}
  key: event.payload.data.change
  set: {change: event.payload.data.change}
stages:
  - id: review
    steps:
      - id: look
        human: {taskType: task, title: 'Review {{ data.change }}'}
`;
  assert.deepEqual(await found(yaml), ['unknown_agent /identity', 'process_owner_missing /owner']);
  const [broken] = await problemsOf(`${yaml}\n  - [`);
  assert.equal(broken?.code, 'invalid_yaml');
  assert.ok((broken?.line ?? 0) > 10);
  assert.deepEqual(await found('version: 9007199254740993'), ['invalid_document /version']);
  assert.match((await found('a: &a [*a]'))[0] as string, /^invalid_document \/a\/0\/0/);
  const bomb = Array.from(
    { length: 9 },
    (_, n) => `a${n + 1}: &a${n + 1} [${Array(9).fill(`*a${n}`).join(',')}]`,
  );
  assert.match((await found(`a0: &a0 [x]\n${bomb.join('\n')}`))[0] as string, /^invalid_(document|yaml) /);
  assert.deepEqual(await found('just a text'), ['invalid_document ']);
});

test('invalid_document: values other than objects, and numbers that would be rounded', async () => {
  for (const spec of [null, 1, [], true]) assert.deepEqual(await found(spec), ['invalid_document ']);
  assert.deepEqual(await found({ ...processSpec(), version: 2 ** 60 }), ['invalid_document /version']);
});

test('at most 50 schema problems are reported, and none for a document that is too deep or too large', async () => {
  const many = Array.from({ length: 80 }, (_, n) => ({ id: `Bad ${n}`, wait: 'PT1S' }));
  assert.equal((await found(withSteps(...many))).length, 50);
  let nested: object = { id: 'a', wait: 'PT1S' };
  for (let level = 0; level < 40; level += 1) nested = { id: `a${level}`, do: [nested] };
  assert.deepEqual(await found(withSteps(nested)), ['schema_violation ']);
  assert.deepEqual(await found(processSpec({ migrations: Array(20_001).fill(0) })), ['schema_violation ']);
});

test('payload_too_large: more than 256 KiB of JSON, or 64 KiB of YAML', async () => {
  const key = newId();
  for (const spec of [processSpec({ description: 'x'.repeat(262_144) }), `a: ${'x'.repeat(65_536)}`])
    await refused(baton.admin.post('/process-definitions', { key, spec }), 422, 'payload_too_large');
});

test('secret_material_rejected: a text that is shaped like a credential', async () => {
  const spec = processSpec({ description: 'password: correct-horse-battery-staple' });
  await refused(
    baton.admin.post('/process-definitions', { key: newId(), spec }),
    422,
    'secret_material_rejected',
  );
});

test('the output of a skill is checked against its field; a matching one is published', async () => {
  const outputs = { type: 'object', properties: { image: { type: 'string' }, seconds: { type: 'number' } } };
  const made = await makeCallable(baton.admin, { name: `s-${newId()}`, contract: { outputs } });
  const { key: agent } = await publishAgent(baton.admin, agentSpec());
  const publish = (...steps: object[]) =>
    processSpec({ identity: { agent }, stages: [stageOf('review', steps)] });
  const call = (as: string | object, more: object = {}) =>
    publish(step('a', { call: { skill: `${made.name}@${made.version}` } }, { export: { as }, ...more }));
  const at = '/stages/0/steps/0/export/as';
  assert.deepEqual(await found(call('change')), [`data_type_mismatch ${at}`]);
  const field = { approved: 'step.result.image' };
  assert.deepEqual(await found(call(field)), [`data_type_mismatch ${at}/approved`]);
  const shaped = { output: { as: 'step.result.image' } };
  assert.deepEqual(await found(call('approved', shaped)), [`data_type_mismatch ${at}`]);

  const form = { type: 'object', properties: { hours: { type: 'number' }, ok: { type: 'boolean' } } };
  const fitting = [
    call({ change: 'step.result.image' }),
    call('change', shaped),
    // A schema without `additionalProperties` allows properties that it does not declare.
    call({ approved: 'step.result.more' }),
    // Whether a JSON number is an integer depends on its value, not on the type in the schema.
    call({ amount: 'step.result.seconds * 2' }),
    publish(
      look({ export: { as: { amount: 'step.result.hours + 1', approved: 'step.result.ok' } } }, { form }),
    ),
    publish(
      step(
        'vote',
        { approve: { approvers: [{ role: 'aa' }] } },
        {
          export: { as: { change: 'step.result.outcome', approved: 'step.result.outcome == "approved"' } },
        },
      ),
    ),
    // The received event is JSON, so its time is a string.
    publish(
      step(
        'hear',
        { listen: { any: [{ event: 'a.b' }] } },
        {
          output: { as: 'step.result.time.substring(0, 10)' },
          export: { as: 'change' },
        },
      ),
    ),
  ];
  for (const spec of fitting)
    await done(baton.admin.post('/process-definitions', { key: newProcessKey(), spec }), 201);
});

test('types with exponentially many mutual references are compared once', async () => {
  const levels = 60;
  const chain = (name: string) =>
    Array.from({ length: levels }, (_, n): [string, object] => {
      const next = n + 1 < levels ? { $ref: `#/$defs/${name}${n + 1}` } : { type: 'string' };
      return [`${name}${n}`, { type: 'object', properties: { x: next, y: next } }];
    });
  const spec = processSpec({
    data: {
      type: 'object',
      $defs: Object.fromEntries([...chain('a'), ...chain('b')]),
      properties: { a: { $ref: '#/$defs/a0' }, b: { $ref: '#/$defs/b0' }, n: { type: 'integer' } },
    },
    start: { on: { event: 'task.created' }, key: 'event.id' },
    stages: [stageOf('review', [step('one', { set: { a: 'data.b', n: 'data.b' } })])],
  });
  assert.deepEqual(
    (await found(spec)).filter((text) => text.startsWith('data_type_mismatch')),
    ['data_type_mismatch /stages/0/steps/0/set/n'],
  );
});
