import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { byDepth } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import { done, eventsOf, makeTask, refused } from '../../testing/leases.ts';
import { systemExecution, systemLifecycle } from './system-type.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const list = (query = '', by = baton.admin) => by.get(`/task-types?${query}`);

test('every tenant has the type task in version 1, with the system lifecycle', async () => {
  const { items, nextCursor } = await done(list('', baton.otherAdmin));
  assert.equal(nextCursor, null);
  const [{ id, createdAt, updatedAt, ...type }, ...more] = items;
  assert.equal(more.length, 0);
  assert.equal(createdAt, updatedAt);
  assert.deepEqual(type, {
    tenantId: baton.otherTenantId,
    key: 'task',
    version: 1,
    displayName: 'Task',
    description: '',
    fieldSchema: {},
    lifecycleSchema: systemLifecycle,
    execution: systemExecution,
    approvalSchema: {},
    contextSchema: {},
    completionSchema: {},
    artifactSchema: {},
    instructions: '',
    acceptance: [],
    status: 'active',
    createdBy: baton.otherAdmin.principalId,
    package: null,
  });
  assert.deepEqual(await done(baton.otherAdmin.get(`/task-types/${id}`)), items[0]);
});

test('GET lists types in pages, newest first, filtered by key and status', async () => {
  for (const version of [1, 2, 3])
    await insertTestType(baton, { key: 'build', version, status: version === 1 ? 'deprecated' : 'active' });
  const versionsOf = async (query: string) =>
    (await done(list(query))).items.map(({ version }: { version: number }) => version);
  assert.deepEqual(await versionsOf('key=build'), [3, 2, 1]);
  assert.deepEqual(await versionsOf('key=build&status=active'), [3, 2]);
  assert.deepEqual(await versionsOf('status=deprecated'), [1]);
  assert.deepEqual(await versionsOf('key=unheard-of'), []);
  assert.deepEqual(await versionsOf('key=build&package=none'), []);
  const first = await done(list('key=build&limit=2'));
  assert.equal(first.items.length, 2);
  assert.deepEqual(await versionsOf(`key=build&limit=2&cursor=${first.nextCursor}`), [1]);
});

test('an unknown status and a foreign cursor are refused', async () => {
  assert.deepEqual(await refused(list('status=retired'), 422, 'invalid_status'), {
    allowed: ['active', 'deprecated'],
  });
  await done(baton.admin.post('/tasks', { title: 'x' }), 201);
  await done(baton.admin.post('/tasks', { title: 'y' }), 201);
  const { nextCursor } = await done(baton.admin.get('/tasks?limit=1'));
  await refused(list(`cursor=${nextCursor}`), 422, 'invalid_cursor');
});

test('an unknown type gets 404, and so does one of another tenant', async () => {
  const [{ id }] = (await done(list('', baton.otherAdmin))).items;
  for (const absent of [newId(), id])
    await refused(baton.admin.get(`/task-types/${absent}`), 404, 'not_found');
});

const make = (body: object = {}, by = baton.admin) =>
  by.post('/task-types', { key: 'made', displayName: 'Made', ...body });

const lifecycleSchema = {
  statuses: [
    { key: 'new', category: 'backlog' },
    { key: 'on it', category: 'active', displayName: 'On it!' },
    { key: 'stuck', category: 'blocked' },
    { key: 'good', category: 'terminal_success' },
    { key: 'better', category: 'terminal_success' },
    { key: 'off', category: 'terminal_cancelled' },
  ],
  initialStatus: 'new',
  transitions: [
    { from: 'new', to: ['on it', 'off', 'on it'] },
    { from: 'on it', to: ['new', 'good', 'better'] },
  ],
  claimStatus: 'on it',
  releaseStatus: 'new',
  completionStatus: 'better',
};

describe('POST creates the next version of the key', () => {
  test('with every document, and the event has a summary of its declarations', async () => {
    await done(
      baton.admin.post('/artifact-types', {
        key: 'report',
        displayName: 'R',
        mediaTypes: ['text/*', 'image/png'],
      }),
      201,
    );
    const documents = {
      fieldSchema: { properties: { points: { type: 'integer' }, password: { const: 1 } } },
      execution: { progressTimeoutSeconds: 60 },
      approvalSchema: { gates: { default: { outcomes: { approved: [{ comment: { body: 'Yes.' } }] } } } },
      completionSchema: { onComplete: { actions: [{ comment: { body: 'Done.' } }] } },
      contextSchema: {
        anchors: ['task:{publicId}', 'service:{customFields.name}/{workspaceId}', 'p:{projectId}'],
        kinds: ['decision'],
        relations: ['owns'],
        depth: 3,
        maxTokens: 32_000,
        strategy: 'recent',
        asOf: 'now',
      },
      artifactSchema: {
        inputs: [{ key: 'plan', type: 'report', from: 'depends_on', required: true }],
        outputs: [
          {
            key: 'text',
            type: 'report',
            required: true,
            mediaTypes: ['text/plain', 'text/*', 'IMAGE/PNG'],
            content: 'optional',
          },
          { key: 'plan', type: 'report' },
        ],
      },
      instructions: 'Do it.',
      acceptance: [{ key: 'seen', kind: 'human', description: 'A person has looked.' }],
    };
    const { id, createdAt, ...type } = await done(
      make({ key: 'whole', description: 'd', lifecycleSchema, ...documents }),
      201,
    );
    assert.deepEqual(type, {
      tenantId: baton.tenantId,
      key: 'whole',
      version: 1,
      displayName: 'Made',
      description: 'd',
      ...documents,
      execution: { progressTimeoutSeconds: 60, ...systemExecution },
      lifecycleSchema: {
        ...lifecycleSchema,
        statuses: lifecycleSchema.statuses.map((status) => ({
          ...status,
          displayName: status.displayName ?? status.key,
        })),
        transitions: [
          { from: 'new', to: ['on it', 'off'] },
          { from: 'on it', to: ['new', 'good', 'better'] },
        ],
      },
      status: 'active',
      createdBy: baton.admin.principalId,
      updatedAt: createdAt,
      package: null,
    });
    const events = await eventsOf(baton, id);
    assert.deepEqual(
      events.map(({ type: name, schema_version: version }) => [name, version]),
      [['task_type.created', 2]],
    );
    assert.deepEqual(events[0]?.payload, {
      key: 'whole',
      version: 1,
      displayName: 'Made',
      initialStatus: 'new',
      completionStatus: 'better',
      execution: { progressTimeoutSeconds: 60, ...systemExecution },
      declaresApprovalOutcomes: true,
      declaresContextProfile: true,
      declaresInstructions: true,
      declaresCompletionWork: true,
      declaresArtifactSchema: true,
      inputs: 1,
      outputs: 2,
    });
  });

  test('with only a key and a name: the lifecycle of the built-in type, its attempts, and no documents', async () => {
    const type = await done(make({ key: 'bare' }), 201);
    const { fieldSchema, execution, contextSchema, artifactSchema, instructions, acceptance } = type;
    assert.deepEqual(type.lifecycleSchema, systemLifecycle);
    assert.deepEqual(
      [fieldSchema, execution, contextSchema, artifactSchema, instructions, acceptance],
      [{}, systemExecution, {}, {}, '', []],
    );
    assert.deepEqual(
      (await done(make({ key: 'bare', lifecycleSchema: null, execution: null }), 201)).version,
      2,
    );
    const [event] = await eventsOf(baton, type.id);
    const {
      declaresContextProfile,
      declaresInstructions,
      declaresArtifactSchema,
      execution: stored,
    } = event?.payload ?? {};
    assert.deepEqual(
      [declaresContextProfile, declaresInstructions, declaresArtifactSchema, stored],
      [false, false, false, systemExecution],
    );
  });

  test('concurrent versions get different numbers, without a gap', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => make({ key: 'rush' })));
    const versions = answers.map(({ status, body }) => (assert.equal(status, 201), body.version));
    assert.deepEqual(
      versions.sort((a, b) => a - b),
      Array.from({ length: 12 }, (_, n) => n + 1),
    );
  });

  test('tasks follow its lifecycle: they are claimed, released and completed along its transitions', async () => {
    const { id: typeId } = await done(make({ key: 'moving', lifecycleSchema }), 201);
    const task = await makeTask(baton, { typeId });
    assert.deepEqual([task.status, task.systemStatusCategory], ['new', 'backlog']);
    const session = await done(baton.admin.post('/sessions', { clientName: 'c' }), 201);
    const claim = await done(baton.admin.post(`/tasks/${task.id}:claim`, { sessionId: session.id }));
    assert.equal((await done(baton.admin.get(`/tasks/${task.id}`))).status, 'on it');
    await done(baton.admin.post(`/claims/${claim.id}:release`));
    assert.equal((await done(baton.admin.get(`/tasks/${task.id}`))).status, 'new');
  });
});

describe('a defect of the lifecycle is refused with its path', () => {
  const { statuses, transitions } = lifecycleSchema;
  const status = { key: 'a', category: 'active' };
  const success = { key: 'z', category: 'terminal_success' };
  const cases: [string, unknown, string][] = [
    ['a text', 'x', ''],
    ['a list', [], ''],
    ['an unknown part', { ...lifecycleSchema, start: 'new' }, '/start'],
    ['no statuses', { ...lifecycleSchema, statuses: undefined }, '/statuses'],
    ['an empty list of statuses', { ...lifecycleSchema, statuses: [] }, '/statuses'],
    [
      '101 statuses',
      {
        ...lifecycleSchema,
        statuses: [...statuses, ...Array.from({ length: 95 }, (_, n) => ({ ...status, key: `s${n}` }))],
      },
      '/statuses',
    ],
    ['a string instead of a status', { ...lifecycleSchema, statuses: [...statuses, 'x'] }, '/statuses/6'],
    ['a status without a key', { ...lifecycleSchema, statuses: [{ category: 'active' }] }, '/statuses/0/key'],
    ['an empty key', { ...lifecycleSchema, statuses: [{ ...status, key: '' }] }, '/statuses/0/key'],
    [
      'a key of 65 characters',
      { ...lifecycleSchema, statuses: [{ ...status, key: 'k'.repeat(65) }] },
      '/statuses/0/key',
    ],
    [
      'a duplicate key',
      { ...lifecycleSchema, statuses: [...statuses, { ...status, key: 'off' }] },
      '/statuses/6/key',
    ],
    [
      'an unknown category',
      { ...lifecycleSchema, statuses: [{ ...status, category: 'done' }] },
      '/statuses/0/category',
    ],
    ['no category', { ...lifecycleSchema, statuses: [{ key: 'a' }] }, '/statuses/0/category'],
    [
      'an empty name',
      { ...lifecycleSchema, statuses: [{ ...status, displayName: '' }] },
      '/statuses/0/displayName',
    ],
    [
      'a long name',
      { ...lifecycleSchema, statuses: [{ ...status, displayName: 'x'.repeat(201) }] },
      '/statuses/0/displayName',
    ],
    [
      'an unknown part of a status',
      { ...lifecycleSchema, statuses: [{ ...status, color: 'red' }] },
      '/statuses/0/color',
    ],
    ['no initial status', { ...lifecycleSchema, initialStatus: undefined }, '/initialStatus'],
    ['an undeclared initial status', { ...lifecycleSchema, initialStatus: 'x' }, '/initialStatus'],
    ['a terminal initial status', { ...lifecycleSchema, initialStatus: 'good' }, '/initialStatus'],
    ['transitions that are not a list', { ...lifecycleSchema, transitions: {} }, '/transitions'],
    ['a string instead of a transition', { ...lifecycleSchema, transitions: ['new'] }, '/transitions/0'],
    [
      'a transition without a source',
      { ...lifecycleSchema, transitions: [{ from: 'x', to: [] }] },
      '/transitions/0/from',
    ],
    [
      'two transitions from one status',
      { ...lifecycleSchema, transitions: [...transitions, { from: 'new', to: [] }] },
      '/transitions/2/from',
    ],
    [
      'a transition without targets',
      { ...lifecycleSchema, transitions: [{ from: 'new' }] },
      '/transitions/0/to',
    ],
    [
      '101 targets',
      { ...lifecycleSchema, transitions: [{ from: 'new', to: Array(101).fill('new') }] },
      '/transitions/0/to',
    ],
    [
      'an undeclared target',
      { ...lifecycleSchema, transitions: [{ from: 'new', to: ['off', 'x'] }] },
      '/transitions/0/to/1',
    ],
    [
      'an unknown part of a transition',
      { ...lifecycleSchema, transitions: [{ from: 'new', to: [], when: 1 }] },
      '/transitions/0/when',
    ],
    ['an undeclared claim status', { ...lifecycleSchema, claimStatus: 'x' }, '/claimStatus'],
    ['a terminal claim status', { ...lifecycleSchema, claimStatus: 'good' }, '/claimStatus'],
    ['an undeclared release status', { ...lifecycleSchema, releaseStatus: 1 }, '/releaseStatus'],
    ['a cancelled release status', { ...lifecycleSchema, releaseStatus: 'off' }, '/releaseStatus'],
    ['an undeclared completion status', { ...lifecycleSchema, completionStatus: 'x' }, '/completionStatus'],
    ['an open completion status', { ...lifecycleSchema, completionStatus: 'new' }, '/completionStatus'],
    [
      'two completion statuses and none specified',
      { ...lifecycleSchema, completionStatus: undefined },
      '/completionStatus',
    ],
    ['no completion status', { statuses: [status], initialStatus: 'a' }, '/completionStatus'],
  ];
  for (const [name, document, path] of cases)
    test(name, async () => {
      const { message, ...details } = await refused(
        make({ lifecycleSchema: document }),
        422,
        'invalid_lifecycle_schema',
      );
      assert.deepEqual(details, { field: 'lifecycleSchema', path });
      assert.equal(typeof message, 'string');
    });

  test('a single completion status need not be specified', async () => {
    const least = { statuses: [status, success], initialStatus: 'a' };
    const { lifecycleSchema: stored } = await done(make({ key: 'least', lifecycleSchema: least }), 201);
    assert.deepEqual([stored.completionStatus, stored.transitions, stored.claimStatus], ['z', [], undefined]);
  });
});

describe('a malformed type is refused with the code of the document', () => {
  const execution = { skill: 'build', version: '1.0' };
  const check = { key: 'seen', kind: 'human', description: 'd' };
  const deep = (levels: number): object => (levels === 0 ? {} : { not: deep(levels - 1) });
  const cases: [string, object, number, string, object?][] = [
    ['a key in capitals', { key: 'Made' }, 400, 'invalid_request'],
    ['a key of 64 characters', { key: 'a'.repeat(64) }, 400, 'invalid_request'],
    ['no name', { displayName: '' }, 400, 'invalid_request'],
    ['a long name', { displayName: 'x'.repeat(201) }, 400, 'invalid_request'],
    ['51 checks', { acceptance: Array(51).fill(check) }, 400, 'invalid_request'],
    [
      'an unregistered skill',
      { execution },
      422,
      'invalid_task_execution',
      { reason: 'not_found', skill: 'build@1.0' },
    ],
    [
      'a skill without version',
      { execution: { skill: 'build' } },
      422,
      'invalid_task_execution',
      { reason: 'malformed', field: 'execution.version', message: 'is missing' },
    ],
    [
      'a version without skill',
      { execution: { version: '1' } },
      422,
      'invalid_task_execution',
      { reason: 'malformed', field: 'execution.skill', message: 'is missing' },
    ],
    [
      'a skill with its version',
      { execution: { ...execution, skill: 'build@1' } },
      422,
      'invalid_task_execution',
    ],
    [
      'inputs that are not a path',
      { execution: { ...execution, inputs: 'customFields' } },
      422,
      'invalid_task_execution',
    ],
    [
      'a path of 501 characters',
      { execution: { ...execution, inputs: `$.${'a'.repeat(499)}` } },
      422,
      'invalid_task_execution',
    ],
    [
      '101 inputs',
      {
        execution: {
          ...execution,
          inputs: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`a${n}`, '$.title'])),
        },
      },
      422,
      'invalid_task_execution',
    ],
    [
      'well-formed inputs for an unknown skill',
      { execution: { ...execution, inputs: { a: '$.customFields.steps[0].name' } } },
      422,
      'invalid_task_execution',
      { reason: 'not_found', skill: 'build@1.0' },
    ],
    [
      'a stall time of 0 seconds',
      { execution: { progressTimeoutSeconds: 0 } },
      422,
      'invalid_task_execution',
    ],
    [
      'a stall time of 31 days',
      { execution: { progressTimeoutSeconds: 2_592_001 } },
      422,
      'invalid_task_execution',
    ],
    ['an unknown part of execution', { execution: { image: 'x' } }, 422, 'invalid_task_execution'],
    ['a string instead of an execution', { execution: 'build' }, 422, 'invalid_task_execution'],
    ['fields that are not an object', { fieldSchema: [] }, 422, 'invalid_document', { field: 'fieldSchema' }],
    ['a large schema', { fieldSchema: { description: 'x'.repeat(65_536) } }, 422, 'payload_too_large'],
    [
      'a deeply nested schema',
      { fieldSchema: deep(21) },
      422,
      'payload_too_deep',
      { field: 'fieldSchema', maxDepth: 20 },
    ],
    ['a schema of another draft', { fieldSchema: { items: [{}] } }, 422, 'invalid_json_schema'],
    [
      'a schema with an external reference',
      { fieldSchema: { $ref: 'http://169.254.169.254/' } },
      422,
      'invalid_json_schema',
    ],
    [
      'a secret in a schema',
      { fieldSchema: { examples: ['AKIA0123456789ABCDEF'] } },
      422,
      'secret_material_rejected',
    ],
    [
      'unknown approval outcomes',
      { approvalSchema: { gates: { default: { outcomes: { approved: [{ dance: {} }] } } } } },
      422,
      'invalid_approval_schema',
      { field: 'approvalSchema', path: '/gates/default/outcomes/approved/0/dance' },
    ],
    [
      'unknown completion work',
      { completionSchema: { onComplete: { actions: [{ invokeSkill: {} }] } } },
      422,
      'invalid_completion_schema',
      { field: 'completionSchema', path: '/onComplete/actions/0/invokeSkill' },
    ],
    ['an approval document that is a list', { approvalSchema: [] }, 422, 'invalid_document'],
    [
      'instructions over 16 KiB',
      { instructions: 'é'.repeat(8193) },
      422,
      'payload_too_large',
      { field: 'instructions', maxBytes: 16_384, actualBytes: 16_386 },
    ],
    [
      'a secret in instructions',
      { instructions: 'Use sk-0123456789abcdef01' },
      422,
      'secret_material_rejected',
    ],
    ['a check without kind', { acceptance: [{ ...check, kind: undefined }] }, 422, 'invalid_acceptance'],
    ['a wrong spec', { acceptance: [{ ...check, spec: { approver: 'x' } }] }, 422, 'invalid_acceptance_spec'],
    [
      'a check of an artifact of an unknown type',
      { acceptance: [{ ...check, kind: 'deterministic', spec: { artifact: { type: 'unheard-of' } } }] },
      422,
      'invalid_acceptance_spec',
    ],
    ['a duplicate check', { acceptance: [check, check] }, 422, 'duplicate_check_key'],
    ['a reserved key of a check', { acceptance: [{ ...check, key: 'output.x' }] }, 422, 'invalid_acceptance'],
    ...[
      ['11 anchors', { anchors: Array(11).fill('a:b') }, '/anchors'],
      ['an anchor without key', { anchors: ['a:b', 'service'] }, '/anchors/1'],
      ['an unknown placeholder', { anchors: ['service:{title}'] }, '/anchors/0'],
      ['an open brace', { anchors: ['service:{publicId'] }, '/anchors/0'],
      ['a placeholder as the type', { anchors: ['{publicId}:x'] }, '/anchors/0'],
      ['21 kinds', { kinds: Array(21).fill('a') }, '/kinds'],
      ['11 relations', { relations: Array(11).fill('a') }, '/relations'],
      ['four levels', { depth: 4 }, '/depth'],
      ['no token', { maxTokens: 0 }, '/maxTokens'],
      ['32,001 tokens', { maxTokens: 32_001 }, '/maxTokens'],
      ['another time', { asOf: 'yesterday' }, '/asOf'],
      ['an unknown part', { depth: 1, namespace: 'x' }, '/namespace'],
    ].map(([name, contextSchema, path]): [string, object, number, string, object] => [
      `a context with ${name as string}`,
      { contextSchema },
      422,
      'invalid_context_schema',
      { path },
    ]),
    ...[
      [
        '33 outputs',
        { outputs: Array.from({ length: 33 }, (_, n) => ({ key: `k${n}`, type: 'paper' })) },
        'artifactSchema.outputs',
      ],
      [
        'a key of 57 characters',
        { outputs: [{ key: 'k'.repeat(57), type: 'paper' }] },
        'artifactSchema.outputs.0.key',
      ],
      [
        'a duplicate output',
        {
          outputs: [
            { key: 'a', type: 'paper' },
            { key: 'a', type: 'paper' },
          ],
        },
        'artifactSchema.outputs.1.key',
      ],
      [
        'a duplicate input',
        { inputs: Array(2).fill({ key: 'a', type: 'paper', from: 'parent' }) },
        'artifactSchema.inputs.1.key',
      ],
      [
        'an input without a source',
        { inputs: [{ key: 'a', type: 'paper' }] },
        'artifactSchema.inputs.0.from',
      ],
      [
        'an input from a sibling',
        { inputs: [{ key: 'a', type: 'paper', from: 'related_to' }] },
        'artifactSchema.inputs.0.from',
      ],
      [
        'content of another kind',
        { outputs: [{ key: 'a', type: 'paper', content: 'none' }] },
        'artifactSchema.outputs.0.content',
      ],
      [
        'an empty media type',
        { outputs: [{ key: 'a', type: 'paper', mediaTypes: [] }] },
        'artifactSchema.outputs.0.mediaTypes',
      ],
      [
        'a wider media type',
        { outputs: [{ key: 'a', type: 'paper', mediaTypes: ['text/plain', '*/*'] }] },
        'artifactSchema.outputs.0.mediaTypes.1',
      ],
      [
        'no media type at all',
        { outputs: [{ key: 'a', type: 'paper', mediaTypes: ['text'] }] },
        'artifactSchema.outputs.0.mediaTypes.0',
      ],
    ].map(([name, artifactSchema, field]): [string, object, number, string, object] => [
      `artifacts with ${name as string}`,
      { artifactSchema },
      422,
      'invalid_artifact_schema',
      { field },
    ]),
    [
      'an unknown output',
      {
        artifactSchema: {
          outputs: [
            { key: 'a', type: 'paper' },
            { key: 'b', type: 'absent' },
          ],
        },
      },
      422,
      'unknown_artifact_type',
      { field: 'artifactSchema.outputs.1.type', type: 'absent' },
    ],
    [
      'an unknown input',
      { artifactSchema: { inputs: [{ key: 'a', type: 'absent', from: 'parent' }] } },
      422,
      'unknown_artifact_type',
      { field: 'artifactSchema.inputs.0.type', type: 'absent' },
    ],
  ];
  before(() =>
    done(
      baton.admin.post('/artifact-types', { key: 'paper', displayName: 'P', mediaTypes: ['text/*'] }),
      201,
    ),
  );
  for (const [name, body, status, code, details] of cases)
    test(name, async () => {
      const given = await refused(make(body), status, code);
      for (const [key, value] of Object.entries(details ?? {})) assert.deepEqual(given[key], value);
    });

  test('a registered skill that is disabled or has no contract cannot be called', async () => {
    const register = async (version: string, status: string) => {
      const skill = { name: 'paint', version, protocol: 'http' };
      const { id } = await done(baton.admin.post('/skills', skill), 201);
      if (status !== 'active')
        await done(baton.admin.patch(`/skills/${id}`, { status }, { 'if-match': 'skill-1' }));
    };
    await register('1', 'active');
    await register('2', 'deprecated');
    await register('3', 'disabled');
    const reasonOf = (version: string, by = baton.admin) =>
      refused(make({ execution: { skill: 'paint', version } }, by), 422, 'invalid_task_execution');
    assert.deepEqual(await reasonOf('1'), { reason: 'no_contract', skill: 'paint@1' });
    assert.deepEqual(await reasonOf('2'), { reason: 'no_contract', skill: 'paint@2' });
    assert.deepEqual(await reasonOf('3'), { reason: 'disabled', skill: 'paint@3' });
    assert.deepEqual(await reasonOf('4'), { reason: 'not_found', skill: 'paint@4' });
    // Another tenant's skill is treated as absent.
    assert.deepEqual(await reasonOf('1', baton.otherAdmin), { reason: 'not_found', skill: 'paint@1' });
  });

  test('if there are two defects, the first in the documented order is returned', async () => {
    const faults: [string, object][] = [
      ['invalid_task_execution', { execution: 1 }],
      ['invalid_json_schema', { fieldSchema: { type: 1 } }],
      ['invalid_lifecycle_schema', { lifecycleSchema: [] }],
      ['invalid_approval_schema', { approvalSchema: { a: 1 } }],
      ['invalid_context_schema', { contextSchema: { a: 1 } }],
      ['payload_too_large', { instructions: 'x'.repeat(16_385) }],
      ['invalid_completion_schema', { completionSchema: { a: 1 } }],
      ['invalid_artifact_schema', { artifactSchema: { a: 1 } }],
      ['invalid_acceptance', { acceptance: [1] }],
    ];
    for (const [index, [code, body]] of faults.entries())
      await refused(
        make(Object.assign({}, ...faults.slice(index).map(([, other]) => other), body)),
        422,
        code,
      );
    await refused(
      make({ artifactSchema: { outputs: [{ key: 'a', type: 'absent' }] }, acceptance: [1] }),
      422,
      'unknown_artifact_type',
    );
  });

  test('nothing is written, and no version number is used', async () => {
    const before = (await done(make({ key: 'kept' }), 201)).version;
    await refused(make({ key: 'kept', acceptance: [1] }), 422, 'invalid_acceptance');
    assert.equal((await done(make({ key: 'kept' }), 201)).version, before + 1);
  });
});

describe(':deprecate', () => {
  test('deprecates a version: new tasks only use it if they specify it; a repeat changes nothing', async () => {
    const [first, second] = [await done(make({ key: 'worn' }), 201), await done(make({ key: 'worn' }), 201)];
    const deprecated = await done(baton.admin.post(`/task-types/${second.id}:deprecate`));
    assert.deepEqual({ ...deprecated, updatedAt: 0 }, { ...second, status: 'deprecated', updatedAt: 0 });
    assert.deepEqual(await done(baton.admin.post(`/task-types/${second.id}:deprecate`)), deprecated);
    const events = (await eventsOf(baton, second.id)).slice(1);
    assert.deepEqual(
      events.map(({ type, payload }) => [type, payload]),
      [['task_type.deprecated', { key: 'worn', version: 2 }]],
    );
    assert.equal((await makeTask(baton, { typeKey: 'worn' })).typeVersion, first.version);
    assert.equal((await makeTask(baton, { typeKey: 'worn', typeVersion: 2 })).typeVersion, 2);
    await done(baton.admin.post(`/task-types/${first.id}:deprecate`));
    await refused(baton.admin.post('/tasks', { title: 'x', typeKey: 'worn' }), 404, 'not_found');
  });

  test('an unknown type gets 404, and so does one of another tenant', async () => {
    const [{ id }] = (await done(list('', baton.otherAdmin))).items;
    for (const absent of [newId(), id])
      await refused(baton.admin.post(`/task-types/${absent}:deprecate`), 404, 'not_found');
  });

  test('one version of the type task stays active, even if both are deprecated at once', async () => {
    for (let round = 0; round < byDepth(10, 50); round += 1) {
      const [old] = (await done(list('key=task&status=active'))).items;
      const { id } = await done(make({ key: 'task' }), 201);
      const answers = await Promise.all(
        [old.id, id].map((one) => baton.admin.post(`/task-types/${one}:deprecate`)),
      );
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 422], `round ${round}`);
      const refusal = answers.find(({ status }) => status === 422);
      assert.deepEqual(
        [refusal?.body.error.code, refusal?.body.error.details],
        ['system_task_type_required', { key: 'task' }],
      );
      assert.equal((await done(list('key=task&status=active'))).items.length, 1);
    }
  });
});
