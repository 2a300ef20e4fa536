import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';
import { makeTemplate } from '../../testing/organisation/projects.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const create = (more: object = {}) =>
  baton.admin.post('/project-templates', { key: `t${newId()}`, displayName: 'Launch', ...more });

test('POST returns 201 with the defaults of omitted fields, and writes the event', async () => {
  const key = `t${newId()}`;
  const template = await make({ key });
  const { id, createdAt, updatedAt, ...rest } = template;
  assert.equal(createdAt, updatedAt);
  assert.deepEqual(rest, {
    tenantId: baton.tenantId,
    key,
    version: 1,
    displayName: 'Launch',
    description: '',
    fieldSchema: {},
    lifecycleSchema: {
      initialStatus: 'planned',
      statuses: [
        { key: 'planned', category: 'planned', displayName: 'planned' },
        { key: 'active', category: 'active', displayName: 'active' },
        { key: 'paused', category: 'paused', displayName: 'paused' },
        { key: 'completed', category: 'terminal_success', displayName: 'completed' },
        { key: 'cancelled', category: 'terminal_cancelled', displayName: 'cancelled' },
      ],
      transitions: [
        { from: 'planned', to: ['active', 'cancelled'] },
        { from: 'active', to: ['paused', 'completed', 'cancelled'] },
        { from: 'paused', to: ['active', 'cancelled'] },
      ],
    },
    defaultConfig: {
      settings: {},
      governance: {},
      memory: {},
      inheritance: { inheritableSettings: ['*'], lockedSettings: [] },
    },
    defaultViews: [],
    governanceSchema: {},
    memoryDefaults: {},
    status: 'active',
    createdBy: baton.admin.principalId,
    package: null,
  });
  assert.deepEqual(await done(baton.admin.get(`/project-templates/${id}`)), template);
  const [event] = await eventsOf(baton, id);
  assert.deepEqual(
    [event?.type, event?.payload],
    ['project_template.created', { key, version: 1, displayName: 'Launch', initialStatus: 'planned' }],
  );
});
const make = (more: object = {}) => makeTemplate(baton, more);

test('the version is the next of the key, also under concurrent requests', async () => {
  const key = `t${newId()}`;
  const made = await Promise.all([1, 2, 3, 4, 5].map(() => make({ key })));
  assert.deepEqual(made.map(({ version }) => version).sort(), [1, 2, 3, 4, 5]);
  assert.equal(
    (await done(baton.otherAdmin.post('/project-templates', { key, displayName: 'x' }), 201)).version,
    1,
  );
});

test('governance of defaultConfig overrides governanceSchema; lists are sorted', async () => {
  const { defaultConfig, governanceSchema } = await make({
    governanceSchema: { maxRunActions: 5, allowedTaskPriorities: ['low', 'high', 'low'] },
    defaultConfig: { governance: { maxRunActions: 9 } },
  });
  assert.deepEqual(governanceSchema, { maxRunActions: 5, allowedTaskPriorities: ['high', 'low'] });
  assert.deepEqual(defaultConfig.governance, { maxRunActions: 9, allowedTaskPriorities: ['high', 'low'] });
});

test('POST refuses in the documented order', async () => {
  const wrong = {
    fieldSchema: { type: 'zebra' },
    lifecycleSchema: {},
    defaultConfig: { colour: 1 },
    defaultViews: Array.from({ length: 51 }, () => ({})),
    governanceSchema: { speed: 1 },
    memoryDefaults: { password: 'x' },
  };
  const { field } = await refused(create(wrong), 422, 'invalid_json_schema');
  assert.equal(field, 'fieldSchema');
  const { fieldSchema: _, ...second } = wrong;
  assert.deepEqual(await refused(create(second), 422, 'invalid_lifecycle_schema'), {
    field: 'lifecycleSchema',
    path: '/statuses',
    message: 'must be a list of 1 to 100 statuses',
  });
  const { lifecycleSchema: __, ...third } = second;
  assert.deepEqual(await refused(create(third), 422, 'unknown_config_section'), {
    unknown: ['colour'],
    known: ['settings', 'views', 'governance', 'memory', 'inheritance'],
  });
  const { defaultConfig: ___, ...fourth } = third;
  assert.deepEqual(await refused(create(fourth), 422, 'invalid_template'), {
    field: 'defaultViews',
    maxItems: 50,
  });
  const { defaultViews: ____, ...fifth } = fourth;
  const { path, known } = await refused(create(fifth), 422, 'unknown_governance_field');
  assert.equal(path, '/governanceSchema/speed');
  assert.equal(known.length, 9);
  const { governanceSchema: _____, ...last } = fifth;
  await refused(create(last), 422, 'secret_material_rejected');
});

test('a lifecycle declares each status once, with a category of projects, and transitions between them', async () => {
  const statuses = [{ key: 'a', category: 'planned' }];
  const lifecycle = (more: object) => ({ lifecycleSchema: { initialStatus: 'a', statuses, ...more } });
  const made = await make(lifecycle({}));
  assert.deepEqual(made.lifecycleSchema, {
    initialStatus: 'a',
    statuses: [{ key: 'a', category: 'planned', displayName: 'a' }],
    transitions: [],
  });
  for (const [more, path] of [
    [{ statuses: [] }, '/statuses'],
    [
      { statuses: Array.from({ length: 101 }, (_, n) => ({ key: `s${n}`, category: 'active' })) },
      '/statuses',
    ],
    [{ statuses: [...statuses, ...statuses] }, '/statuses/1/key'],
    [{ statuses: [{ key: 'a', category: 'backlog' }] }, '/statuses/0/category'],
    [{ statuses: [{ key: '', category: 'active' }] }, '/statuses/0/key'],
    [{ initialStatus: 'b' }, '/initialStatus'],
    [{ transitions: [{ from: 'b', to: [] }] }, '/transitions/0/from'],
    [{ transitions: [{ from: 'a', to: ['b'] }] }, '/transitions/0/to/0'],
    [
      {
        transitions: [
          { from: 'a', to: [] },
          { from: 'a', to: [] },
        ],
      },
      '/transitions/1/from',
    ],
    [{ completionStatus: 'a' }, '/completionStatus'],
  ] as const) {
    const details = await refused(create(lifecycle(more)), 422, 'invalid_lifecycle_schema');
    assert.deepEqual([details.field, details.path], ['lifecycleSchema', path]);
  }
  for (const text of ['none', [], 7])
    await refused(create({ lifecycleSchema: text }), 422, 'invalid_lifecycle_schema');
});

test('documents are objects of bounded size and depth, without secrets', async () => {
  for (const field of ['fieldSchema', 'defaultConfig', 'governanceSchema', 'memoryDefaults'])
    assert.deepEqual(await refused(create({ [field]: [] }), 422, 'invalid_document'), { field });
  await refused(create({ defaultViews: {} }), 400, 'invalid_request');
  const large = { a: 'x'.repeat(65_536) };
  await refused(create({ defaultConfig: { memory: large } }), 422, 'payload_too_large');
  await refused(create({ defaultViews: [large] }), 422, 'payload_too_large');
  let deep: object = {};
  for (let level = 0; level < 30; level += 1) deep = { deep };
  await refused(create({ memoryDefaults: deep }), 422, 'payload_too_deep');
  for (const defaultConfig of [
    { settings: { apiKey: 'x' } },
    { views: [{ token: 'x' }] },
    { memory: { a: { secret: 1 } } },
    { settings: { note: 'sk-aaaaaaaaaaaaaaaaaaaa' } },
  ])
    await refused(create({ defaultConfig }), 422, 'secret_material_rejected');
  await refused(create({ defaultViews: [{ password: 'x' }] }), 422, 'secret_material_rejected');
});

test('a configuration has five sections, each with its own schema', async () => {
  for (const [defaultConfig, path] of [
    [{ settings: [] }, '/settings'],
    [{ governance: 'x' }, '/governance'],
    [{ memory: null }, '/memory'],
    [{ inheritance: 1 }, '/inheritance'],
    [{ views: {} }, '/views'],
    [{ views: Array.from({ length: 51 }, () => 1) }, '/views'],
    [{ inheritance: { inherits: [] } }, '/inheritance/inherits'],
    [{ inheritance: { lockedSettings: [''] } }, '/inheritance/lockedSettings'],
    [{ inheritance: { inheritableSettings: 'all' } }, '/inheritance/inheritableSettings'],
    [{ settings: { agentInstructions: 1 } }, '/settings/agentInstructions'],
  ] as const)
    assert.equal((await refused(create({ defaultConfig }), 422, 'invalid_config')).path, path);
  await refused(
    create({ defaultConfig: { settings: { governance: {} } } }),
    422,
    'governance_not_in_settings',
  );
  const agentInstructions = 'ä'.repeat(8193);
  assert.deepEqual(
    await refused(
      create({ defaultConfig: { settings: { agentInstructions } } }),
      422,
      'instructions_too_large',
    ),
    { path: '/settings/agentInstructions', maxBytes: 16_384, actualBytes: 16_386 },
  );
});

test('governance has a closed vocabulary, each field with its own values', async () => {
  const governance = {
    maxAutonomyLevel: 'assisted',
    memoryScopeSharing: 'none',
    requireApprovalForRun: true,
    requireApprovalForCompletion: false,
    allowedTaskPriorities: [],
    allowedSkillProtocols: ['http', 'mcp'],
    maxRunDurationSeconds: 0,
    maxRunActions: null,
    maxConcurrentRuns: 3,
  };
  assert.deepEqual((await make({ defaultConfig: { governance } })).defaultConfig.governance, governance);
  for (const [name, value] of [
    ['maxAutonomyLevel', 'free'],
    ['maxAutonomyLevel', null],
    ['memoryScopeSharing', 1],
    ['requireApprovalForRun', 'yes'],
    ['allowedTaskPriorities', ['urgent']],
    ['allowedTaskPriorities', 'high'],
    ['allowedSkillProtocols', [1]],
    ['maxRunDurationSeconds', -1],
    ['maxRunActions', 1.5],
    ['maxConcurrentRuns', '1'],
  ] as const) {
    const wrong = create({ defaultConfig: { governance: { [name]: value } } });
    assert.deepEqual(await refused(wrong, 422, 'invalid_governance'), { path: `/governance/${name}` });
  }
  for (const name of ['__proto__', 'constructor', 'maxruns']) {
    const body = `{"key":"t${newId()}","displayName":"x","defaultConfig":{"governance":{"${name}":1}}}`;
    await refused(baton.admin.post('/project-templates', body), 422, 'unknown_governance_field');
  }
});

test('a malformed key or name returns 400', async () => {
  for (const body of [
    { key: '-a' },
    { key: 'A' },
    { key: 'a'.repeat(64) },
    { displayName: '' },
    { package: {} },
  ])
    await refused(create(body), 400, 'invalid_request');
});

test('a repeated :deprecate returns 200 without an event', async () => {
  const { id, key } = await make();
  for (const _ of [1, 2])
    assert.equal((await done(baton.admin.post(`/project-templates/${id}:deprecate`))).status, 'deprecated');
  const events = await eventsOf(baton, id);
  assert.deepEqual(
    events.slice(1).map(({ type, payload }) => [type, payload]),
    [['project_template.deprecated', { key, version: 1 }]],
  );
});

test('GET lists newest first, by key and status and package', async () => {
  const key = `t${newId()}`;
  const [first, second] = [await make({ key }), await make({ key })];
  await done(baton.admin.post(`/project-templates/${first.id}:deprecate`));
  const list = async (query: string) =>
    (await done(baton.admin.get(`/project-templates?${query}`))).items.map(({ id }: { id: string }) => id);
  assert.deepEqual(await list(`key=${key}`), [second.id, first.id]);
  assert.deepEqual(await list(`key=${key}&status=deprecated`), [first.id]);
  assert.deepEqual(await list(`key=${key}&status=active`), [second.id]);
  assert.deepEqual(await list('key=absent'), []);
  assert.deepEqual(await refused(baton.admin.get('/project-templates?status=gone'), 422, 'invalid_status'), {
    allowed: ['active', 'deprecated'],
  });
  assert.deepEqual((await done(baton.admin.get('/project-templates?package=x'))).items, []);
  await refused(baton.admin.get('/project-templates?cursor=x'), 422, 'invalid_cursor');
});
