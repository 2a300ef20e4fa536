import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '@baton/kernel/http/refusal';
import { processorMsOf } from '@baton/kernel/testing/process/processor-time';
import { newId } from '@baton/values/ids';
import type { Json } from '@baton/values/wire';
import type { Context } from '../context.ts';
import { parseApprovalSchema } from './approval-schema.ts';
import { parseCompletionSchema } from './completion-schema.ts';
import {
  type Expression,
  findTextFault,
  UnresolvedExpression,
  valueOfDocument,
  valueOfText,
} from './expressions.ts';

const context = {} as Context;
const work = { type: 'task', key: 'k-$.task.publicId', title: 'Follow up on $.task.title' };
const approved = (...actions: unknown[]) => ({ gates: { default: { outcomes: { approved: actions } } } });
const approvedIf = (precondition: object) => ({
  gates: { default: { preconditions: { approved: [precondition] }, outcomes: {} } },
});
const completed = (...actions: unknown[]) => ({ onComplete: { actions } });
const observed = { observation: { kind: 'ci.passed' }, reason: 'tests' };

async function refusal(parsing: Promise<unknown>): Promise<Record<string, unknown>> {
  const error = await parsing.then(
    () => assert.fail('it was accepted'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof Refusal, String(error));
  return { code: error.code, ...error.details };
}

test('empty documents and documents with every field are accepted unchanged', async () => {
  const everything = {
    ...work,
    description: 'See $.spawnedBy.publicId: $.task.artifact[report].metadata.risk|truncate:80',
    assignee: '$.task.customFields.reviewer!',
    relation: 'spawned_by',
    priority: 'high',
    workspace: newId(),
    customFields: { region: '$.task.customFields.region', list: [1, { deep: 'x $.task.title' }], flag: true },
    requestApproval: { approver: '$.task.ownerId!', comment: 'May $.task.title go on?' },
  };
  const whole = {
    gates: {
      default: {
        preconditions: {
          approved: [
            {
              observation: {
                kind: 'deploy.checked',
                source: 'ci:main',
                task: '$.task.id',
                externalRef: { system: 'github', id: '$.task.customFields.pr' },
              },
              condition: {
                and: [
                  true,
                  { not: { eq: [{ var: 'payload.ok' }, false] } },
                  { in: ['a', ['a', { const: {} }]] },
                ],
              },
              reason: 'The pipeline must be green.',
            },
          ],
        },
        outcomes: {
          approved: [
            { ensureWork: everything },
            { comment: { body: 'Approved by $.approval.decidedBy', task: '$.spawnedBy.id' } },
            { completeTask: {} },
          ],
          rejected: [{ transition: { status: 'blocked', task: 'TASK-000042' } }],
        },
      },
      'second-gate': { outcomes: {} },
    },
  };
  assert.deepEqual(await parseApprovalSchema(context, {}), {});
  assert.deepEqual(await parseApprovalSchema(context, whole), whole);
  const onComplete = {
    onComplete: {
      when: ['$.task.customFields.url!'],
      actions: [{ ensureWork: everything }, { comment: { body: 'done' } }],
    },
  };
  assert.deepEqual(await parseCompletionSchema(context, {}), {});
  assert.deepEqual(await parseCompletionSchema(context, onComplete), onComplete);
});

test('the path of each fault is returned as a JSON pointer', async () => {
  const gate = '/gates/default/outcomes/approved/0';
  const many = (count: number) => Array(count).fill({ completeTask: {} });
  const faults: [unknown, string][] = [
    [{ gate: {} }, ''],
    [{ gates: [] }, '/gates'],
    [{ gates: { default: {} } }, '/gates/default/outcomes'],
    [{ gates: { 'Not-a-key': { outcomes: {} } } }, '/gates/Not-a-key'],
    [JSON.parse('{"gates":{"__proto__":{"outcomes":{}}}}'), '/gates'],
    [
      { gates: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`g${n}`, { outcomes: {} }])) },
      '/gates',
    ],
    [{ gates: { default: { outcomes: { cancelled: [] } } } }, '/gates/default/outcomes'],
    [approved(...many(21)), '/gates/default/outcomes/approved'],
    [approved('completeTask'), gate],
    [approved({}), gate],
    [approved({ completeTask: {}, comment: { body: 'x' } }), gate],
    [approved({ launch: {} }), `${gate}/launch`],
    [approved({ toString: {} }), `${gate}/toString`],
    [approved({ completeTask: { when: true } }), `${gate}/completeTask`],
    [approved({ completeTask: { task: 'next' } }), `${gate}/completeTask/task`],
    [approved({ transition: {} }), `${gate}/transition/status`],
    [approved({ comment: { body: '' } }), `${gate}/comment/body`],
    [approved({ comment: { body: 'x'.repeat(10_001) } }), `${gate}/comment/body`],
    [approved({ comment: { body: 'by $.user.name' } }), `${gate}/comment/body`],
    [approved({ comment: { body: '$.task.secretField' } }), `${gate}/comment/body`],
    [approved({ comment: { body: '$.task.title|truncate:0' } }), `${gate}/comment/body`],
    [approved({ comment: { body: '$.task.title|truncate:100001' } }), `${gate}/comment/body`],
    [approved({ comment: { body: '$.invocation.id' } }), `${gate}/comment/body`],
    [approved({ ensureWork: { type: 'task', key: 'k' } }), `${gate}/ensureWork/title`],
    [approved({ ensureWork: { ...work, type: '$.task.typeKey' } }), `${gate}/ensureWork/type`],
    [approved({ ensureWork: { ...work, assignee: 'Bob' } }), `${gate}/ensureWork/assignee`],
    [approved({ ensureWork: { ...work, priority: 'urgent' } }), `${gate}/ensureWork/priority`],
    [approved({ ensureWork: { ...work, relation: 'friend' } }), `${gate}/ensureWork/relation`],
    [approved({ ensureWork: { ...work, customFields: { 'a b': 1 } } }), `${gate}/ensureWork/customFields`],
    [
      approved({ ensureWork: { ...work, customFields: { a: [{ b: '$.nope' }] } } }),
      `${gate}/ensureWork/customFields`,
    ],
    [
      approved({
        ensureWork: {
          ...work,
          customFields: Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`f${n}`, n])),
        },
      }),
      `${gate}/ensureWork/customFields`,
    ],
    [approved({ ensureWork: { ...work, requestApproval: {} } }), `${gate}/ensureWork/requestApproval`],
    [
      approved({ ensureWork: { ...work, requestApproval: { approver: newId(), approverRole: newId() } } }),
      `${gate}/ensureWork/requestApproval`,
    ],
    [approvedIf({ ...observed, reason: '' }), '/gates/default/preconditions/approved/0/reason'],
    [
      approvedIf({ ...observed, observation: { kind: 'Not A Kind' } }),
      '/gates/default/preconditions/approved/0/observation/kind',
    ],
    [
      approvedIf({ observation: { kind: 'k', task: '$.approval.id' }, reason: 'r' }),
      '/gates/default/preconditions/approved/0/observation/task',
    ],
    [
      { gates: { default: { preconditions: { approved: Array(11).fill(observed) }, outcomes: {} } } },
      '/gates/default/preconditions/approved',
    ],
  ];
  for (const [document, path] of faults) {
    const { code, field, path: found } = await refusal(parseApprovalSchema(context, document));
    assert.deepEqual(
      [code, field, found],
      ['invalid_approval_schema', 'approvalSchema', path],
      JSON.stringify(document).slice(0, 300),
    );
  }
});

test('a decision calls a skill with inputs of the task, and reacts to the end of the call', async () => {
  const comment = {
    comment: { body: '$.invocation.output.url of $.invocation.skill: $.invocation.error.message' },
  };
  const call = {
    skill: 'deploy@1',
    inputs: { branch: '$.task.customFields.branch', by: ['$.approval.decidedBy'] },
    expect: { passed: true },
    onSuccess: [comment, { completeTask: {} }],
    onFailure: [{ transition: { status: 'todo', task: '$.invocation.output.task' } }],
  };
  const document = approved({ invokeSkill: call });
  assert.deepEqual(await parseApprovalSchema(context, document), document);
  const at = '/gates/default/outcomes/approved/0/invokeSkill';
  const faults: [object, string][] = [
    [{ skill: 'a@b@c' }, `${at}/skill`],
    [{ skill: 'a', inputs: [] }, `${at}/inputs`],
    [{ skill: 'a', inputs: { of: '$.invocation.id' } }, `${at}/inputs`],
    [{ skill: 'a', onSuccess: [{ invokeSkill: call }] }, `${at}/onSuccess/0/invokeSkill`],
    [
      { skill: 'a', onFailure: [{ comment: { body: '$.invocation.inputs' } }] },
      `${at}/onFailure/0/comment/body`,
    ],
    [{ skill: 'a', retries: 3 }, at],
  ];
  for (const [wrong, path] of faults) {
    const found = await refusal(parseApprovalSchema(context, approved({ invokeSkill: wrong })));
    assert.deepEqual([found['code'], found['path']], ['invalid_approval_schema', path]);
  }
});

test('a completed task only creates work and comments, from values that are known then', async () => {
  const faults: [unknown, string][] = [
    [completed({ completeTask: {} }), '/onComplete/actions/0/completeTask'],
    [completed({ comment: { body: '$.approval.comment' } }), '/onComplete/actions/0/comment/body'],
    [completed(...Array(21).fill({ comment: { body: 'x' } })), '/onComplete/actions'],
    [{ onComplete: { actions: [], when: ['always'] } }, '/onComplete/when/0'],
    [{ onComplete: { actions: [], when: Array(9).fill('$.task.title') } }, '/onComplete/when'],
    [{ onComplete: {} }, '/onComplete/actions'],
    [{ onFail: {} }, ''],
  ];
  for (const [document, path] of faults) {
    const { code, field, path: found } = await refusal(parseCompletionSchema(context, document));
    assert.deepEqual([code, field, found], ['invalid_completion_schema', 'completionSchema', path]);
  }
});

test('a document has a limited size and no fields with names of secrets', async () => {
  assert.equal((await refusal(parseApprovalSchema(context, [])))['code'], 'invalid_document');
  const wide = completed(...Array(10).fill({ comment: { body: 'x'.repeat(9000) } }));
  assert.equal((await refusal(parseCompletionSchema(context, wide)))['code'], 'payload_too_large');
  const secret = completed({ ensureWork: { ...work, customFields: { apiKey: 'x' } } });
  assert.equal((await refusal(parseCompletionSchema(context, secret)))['code'], 'secret_material_rejected');
  let deep: Json = 'x';
  for (let level = 0; level < 25; level += 1) deep = [deep];
  const nested = completed({ ensureWork: { ...work, customFields: { deep } } });
  assert.equal((await refusal(parseCompletionSchema(context, nested)))['code'], 'payload_too_deep');
});

test('a condition consists of known operators, within limits', async () => {
  const good: Json[] = [
    false,
    { not: { not: true } },
    { exists: 'payload.a' },
    { ge: [{ var: 'a' }, 3] },
    { or: [true] },
  ];
  for (const condition of good) await parseApprovalSchema(context, approvedIf({ ...observed, condition }));
  const bad: Json[] = [
    null,
    'true',
    {},
    { and: [] },
    { and: Array(51).fill(true) },
    { eq: [1] },
    { eq: [{ var: 'a..b' }, 1] },
    { eq: [{ path: 'a' }, 1] },
    { exists: { var: 'a' } },
    { matches: ['a', 'b'] },
    { or: [true], and: [true] },
    { in: ['a', Array(300).fill(1)] },
    { eq: ['x'.repeat(17_000), 1] },
  ];
  for (const condition of bad)
    assert.equal(
      (await refusal(parseApprovalSchema(context, approvedIf({ ...observed, condition }))))['path'],
      '/gates/default/preconditions/approved/0/condition',
    );
});

const values: Record<string, Json> = {
  'task title': 'Ship it',
  'task customFields.count': 3,
  'task customFields.list': [1, 2],
  'spawnedBy publicId': null,
  'approval comment': 'ab😀cd',
};
const lookup = async ({ root, path }: Expression) => values[`${root} ${path}`] ?? null;

test('a text of one expression keeps the type of its value; within other text it is inserted as text', async () => {
  const cases: [string, Json][] = [
    ['$.task.customFields.count', 3],
    ['$.task.customFields.list', [1, 2]],
    ['$.spawnedBy.publicId', null],
    ['$.task.title: $.task.customFields.count, $.task.customFields.list.', 'Ship it: 3, [1,2].'],
    ['from $.spawnedBy.publicId', 'from '],
    ['$.approval.comment|truncate:3', 'ab😀'],
    ['$.approval.comment! | truncate:3 | more', 'ab😀 | more'],
    ['costs $5 or $.5', 'costs $5 or $.5'],
    ['', ''],
  ];
  for (const [text, value] of cases) assert.deepEqual(await valueOfText(text, lookup), value, text);
  const document = { a: ['$.task.title', 1, null], b: { c: 'x $.task.title' } };
  assert.deepEqual(await valueOfDocument(document, lookup), {
    a: ['Ship it', 1, null],
    b: { c: 'x Ship it' },
  });
});

test('a required expression without a value is an error at any depth', async () => {
  for (const text of ['$.spawnedBy.publicId!', 'from $.spawnedBy.publicId!|truncate:5'])
    await assert.rejects(valueOfText(text, lookup), UnresolvedExpression);
});

test('a text with the start of an expression must be valid, and is parsed in linear time', () => {
  const roots = ['task', 'spawnedBy', 'approval'] as const;
  for (const text of [
    '$.task',
    '$.task.',
    '$.task.titles',
    '$.x.y',
    '$.task.artifact[].metadata.a',
    '$.approval.title',
  ])
    assert.notEqual(findTextFault(text, roots), undefined, text);
  const tookMs = processorMsOf(() => {
    for (const text of ['$.', '$.task.artifact[', '$.task.customFields.', '$.task.title|', '$.task.title '])
      findTextFault(text.repeat(10_000 / text.length), roots);
  });
  // Parsing takes 5 ms.
  assert.ok(tookMs < 100, `${tookMs} ms`);
});
