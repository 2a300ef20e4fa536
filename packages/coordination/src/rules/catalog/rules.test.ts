import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { publishAgent } from '../../testing/registry/agents.ts';
import { makeRule, observed, ruleBody } from '../../testing/rules/rules.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const post = (more: Record<string, unknown> = {}) => baton.admin.post('/rules', ruleBody(more));
const patch = (id: string, body: object, version = 1) =>
  baton.admin.patch(`/rules/${id}`, body, { 'if-match': `rule-${version}` });
const cursor = () =>
  baton.pool.row(sql`
    select 1 from event_consumers where tenant_id = ${baton.tenantId} and consumer = 'work-rules'`);

test('POST returns 201 with the rule and writes rule.created; the rule acts for its creator', async () => {
  const workspace = await makeWorkspace(baton);
  const goal = await done(baton.admin.post('/goals', { title: 'g', workspaceId: workspace.id }), 201);
  const given = {
    key: `first-${newId()}`,
    description: 'Files a review.',
    workspaceId: workspace.id,
    goalId: goal.id,
    trigger: { kind: 'event', type: 'task.completed' },
    condition: { eq: [{ var: 'task.priority' }, 'high'] },
    action: { kind: 'ensure_work', taskType: 'task', fields: { title: 'Review {{ task.title }}' } },
  };
  const { status, body, headers } = await baton.admin.post('/rules', given);
  assert.equal(status, 201, JSON.stringify(body));
  assert.equal(headers.get('etag'), '"rule-1"');
  const { id, createdAt, updatedAt, enabledAt, ...rest } = body;
  assert.ok(createdAt && updatedAt && enabledAt);
  const { principalId } = baton.admin;
  const more = {
    tenantId: baton.tenantId,
    version: 1,
    status: 'enabled',
    interpretation: null,
    identity: null,
  };
  assert.deepEqual(rest, {
    ...given,
    ...more,
    authorityPrincipalId: principalId,
    nextRunAt: null,
    createdBy: principalId,
    package: null,
    warnings: [],
  });
  const [event] = await eventsOf(baton, id);
  const summary = {
    ruleId: id,
    key: given.key,
    version: 1,
    status: 'enabled',
    workspaceId: workspace.id,
    goalId: goal.id,
    trigger: given.trigger,
    skill: null,
    action: { kind: 'ensure_work', taskType: 'task' },
  };
  assert.deepEqual(event && [event.type, event.payload], ['rule.created', summary]);
  const details = await refused(baton.admin.post('/rules', given), 409, 'rule_key_taken');
  assert.deepEqual(details, { key: given.key, ruleId: id });
  const { warnings: _, ...rule } = body;
  assert.deepEqual(await done(baton.admin.get(`/rules/${id}`)), rule);
});

test('a disabled rule has no authority, and its tenant has no cursor until a rule is enabled', async () => {
  await baton.pool.run(sql`delete from event_consumers where consumer = 'work-rules'`);
  const rule = await makeRule(baton.admin, { status: 'disabled' });
  assert.deepEqual([rule.status, rule.authorityPrincipalId, rule.enabledAt], ['disabled', null, null]);
  assert.equal(await cursor(), undefined);
  const other = await baton.actor();
  const enabled = await done(other.post(`/rules/${rule.id}:enable`));
  assert.deepEqual(
    [enabled.status, enabled.version, enabled.authorityPrincipalId],
    ['enabled', 1, other.principalId],
  );
  assert.ok(await cursor());
  await done(baton.admin.post(`/rules/${rule.id}:enable`));
  await done(baton.admin.post(`/rules/${rule.id}:disable`));
  await done(baton.admin.post(`/rules/${rule.id}:disable`));
  const events = await eventsOf(baton, rule.id);
  assert.deepEqual(
    events.map(({ type }) => type),
    ['rule.created', 'rule.enabled', 'rule.disabled'],
  );
});

test('PATCH writes the next version on behalf of the writer; unchanged values write none', async () => {
  const other = await baton.actor();
  const rule = await makeRule(other);
  const { body: same } = await patch(rule.id, { description: '', trigger: rule.trigger });
  assert.deepEqual([same.version, same.authorityPrincipalId], [1, other.principalId]);
  const { body } = await patch(rule.id, { description: 'new', condition: { exists: 'task.title' } });
  assert.deepEqual(
    [body.version, body.description, body.authorityPrincipalId],
    [2, 'new', baton.admin.principalId],
  );
  const { body: always } = await patch(rule.id, { condition: null, goalId: null, identity: null }, 2);
  assert.deepEqual([always.version, always.condition], [3, true]);
  const events = (await eventsOf(baton, rule.id)).filter(({ type }) => type === 'rule.updated');
  assert.deepEqual(
    events.map(({ payload }) => [payload['version'], payload['changes']]),
    [
      [2, ['description', 'condition']],
      [3, ['condition']],
    ],
  );
  const { items } = await done(baton.admin.get(`/rules/${rule.id}/versions`));
  assert.deepEqual(
    items.map((one: any) => [one.version, one.description, one.condition]),
    [
      [3, 'new', true],
      [2, 'new', { exists: 'task.title' }],
      [1, '', true],
    ],
  );
  const { id, status, key, createdBy } = items[2];
  assert.deepEqual([id, status, key, createdBy], [rule.id, 'enabled', rule.key, other.principalId]);
  const first = await done(baton.admin.get(`/rules/${rule.id}/versions?limit=2`));
  const rest = await done(baton.admin.get(`/rules/${rule.id}/versions?cursor=${first.nextCursor}`));
  assert.deepEqual([...first.items, ...rest.items], items);
});

test('PATCH refuses in order: missing, archived, another version, an empty change, then the documents', async () => {
  const rule = await makeRule(baton.admin);
  await refused(patch(newId(), {}), 404, 'not_found');
  await refused(patch(rule.id, {}, 9), 409, 'version_conflict');
  await refused(patch(rule.id, {}), 422, 'empty_update');
  await refused(patch(rule.id, { description: null }), 422, 'invalid_field');
  await refused(
    patch(rule.id, { trigger: { kind: 'event', type: 'rule.created' } }),
    422,
    'invalid_rule_trigger',
  );
  await refused(patch(rule.id, { goalId: newId() }), 404, 'not_found');
  await done(baton.admin.delete(`/rules/${rule.id}`), 204);
  await refused(patch(rule.id, {}, 9), 409, 'rule_archived');
});

test('DELETE archives: the key becomes free, and only DELETE is still accepted', async () => {
  const rule = await makeRule(baton.admin);
  await done(baton.admin.delete(`/rules/${rule.id}`), 204);
  await done(baton.admin.delete(`/rules/${rule.id}`), 204);
  for (const verb of ['enable', 'disable'])
    await refused(baton.admin.post(`/rules/${rule.id}:${verb}`), 409, 'rule_archived');
  await done(post({ key: rule.key }), 201);
  const events = await eventsOf(baton, rule.id);
  assert.deepEqual(
    events.map(({ type }) => type),
    ['rule.created', 'rule.archived'],
  );
  const ids = async (query: string) =>
    (await done(baton.admin.get(`/rules?limit=200${query}`))).items.map((item: any) => item.id);
  assert.ok(!(await ids('')).includes(rule.id));
  assert.ok((await ids('&status=archived')).includes(rule.id));
});

test('the list is filtered by status, workspace, key and kind of trigger', async () => {
  const workspace = await makeWorkspace(baton);
  const rule = await makeRule(baton.admin, {
    workspaceId: workspace.id,
    trigger: observed('seen'),
    status: 'disabled',
  });
  const found = async (query: string) =>
    (await done(baton.admin.get(`/rules?limit=200&${query}`))).items.map((item: any) => item.id);
  for (const query of [`workspaceId=${workspace.id}`, `key=${rule.key}`])
    assert.deepEqual(await found(query), [rule.id]);
  for (const query of ['status=disabled', 'triggerKind=observation'])
    assert.ok((await found(query)).includes(rule.id));
  for (const query of ['status=enabled', 'triggerKind=event', `key=${newId()}`])
    assert.ok(!(await found(query)).includes(rule.id));
  await refused(baton.admin.get('/rules?status=odd'), 422, 'invalid_status');
  await refused(baton.admin.get('/rules?triggerKind=odd'), 422, 'invalid_rule_trigger');
  assert.deepEqual((await done(baton.admin.get('/rules?package=x'))).items, []);
});

const action = (more: object) => ({
  action: { kind: 'ensure_work', taskType: 'task', fields: { title: 'x' }, ...more },
});
const closing = (more: object = {}) =>
  action({ kind: 'complete_work', taskType: undefined, fields: undefined, dedupKeyTemplate: 'k', ...more });
let deep: object = { exists: 'payload.a' };
for (let level = 1; level < 17; level += 1) deep = { not: deep };

const faults: [string, string, Record<string, unknown>][] = [
  ['invalid_rule_trigger', 'trigger', { trigger: 'x' }],
  ['invalid_rule_trigger', 'trigger.kind', { trigger: { kind: 'odd', type: 'x' } }],
  ['invalid_rule_trigger', 'trigger.type', { trigger: { kind: 'event', type: 'work.derived' } }],
  ['invalid_rule_trigger', 'trigger.type', { trigger: { kind: 'event', type: 'rule.created' } }],
  ['invalid_rule_trigger', 'trigger.type', { trigger: { kind: 'event', type: 'skill.invocation_failed' } }],
  ['invalid_rule_trigger', 'trigger.type', { trigger: { kind: 'event', type: 'observation.recorded' } }],
  ['invalid_rule_trigger', 'trigger', { trigger: { kind: 'event', type: 'task.created', more: 1 } }],
  ['invalid_rule_trigger', 'trigger.source', { trigger: observed('x', { source: 'A b' }) }],
  [
    'invalid_rule_trigger',
    'trigger.everySeconds',
    { trigger: { kind: 'schedule', type: 'interval', everySeconds: 59 } },
  ],
  ['invalid_rule_condition', 'condition', { condition: { odd: [1, 2] } }],
  ['invalid_rule_condition', 'condition', { condition: { exists: 'skill.output' } }],
  ['invalid_rule_condition', 'condition', { condition: deep }],
  ['invalid_rule_condition', 'condition', { condition: { and: [] } }],
  [
    'invalid_rule_interpretation',
    'interpretation',
    { ...action({}), trigger: { kind: 'schedule', type: 'interval', everySeconds: 60 } },
  ],
  ['invalid_rule_action', 'action.kind', action({ kind: 'odd' })],
  ['invalid_rule_action', 'action.taskType', action({ taskType: undefined })],
  ['invalid_rule_action', 'action.taskType', action({ taskType: 'No Key' })],
  ['invalid_rule_action', 'action.taskTypes', action({ taskType: '{{ payload.a }}' })],
  ['invalid_rule_action', 'action.taskTypes', action({ taskTypes: ['task'] })],
  ['invalid_rule_action', 'action.taskTypes', action({ taskTypes: Array(21).fill('task') })],
  ['invalid_rule_action', 'action.fields.title', action({ fields: {} })],
  ['invalid_rule_action', 'action.fields.title', action({ fields: { title: 'x'.repeat(501) } })],
  ['invalid_rule_action', 'action.fields.title', action({ fields: { title: '{{ item.a }}' } })],
  ['invalid_rule_action', 'action.fields.title', action({ fields: { title: '{{ payload' } })],
  ['invalid_rule_action', 'action.fields.title', action({ fields: { title: '{{ payload..a }}' } })],
  ['invalid_rule_action', 'action.dedupKeyTemplate', action({ dedupKeyTemplate: 'x'.repeat(201) })],
  ['invalid_rule_action', 'action.forEach', action({ forEach: 'item.a' })],
  ['invalid_rule_action', 'action.where', action({ where: true })],
  ['invalid_rule_action', 'action.where', action({ forEach: 'payload.a', where: { odd: 1 } })],
  ['invalid_rule_action', 'action.check', action({ check: 'x' })],
  ['invalid_rule_action', 'action.target', action({ target: 'dedup' })],
  ['invalid_rule_action', 'action.fields.approver', action({ fields: { title: 'x', approver: 'y' } })],
  ['invalid_rule_action', 'action.fields.approver', action({ kind: 'request_decision' })],
  [
    'invalid_rule_action',
    'action.taskType',
    action({ kind: 'request_decision', taskType: '{{ payload.a }}', fields: { title: 'x', approver: 'y' } }),
  ],
  [
    'invalid_rule_action',
    'action.fields.customFields',
    action({
      fields: {
        title: 'x',
        customFields: Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`f${n}`, 1])),
      },
    }),
  ],
  [
    'invalid_rule_action',
    'action.fields.relations.dependsOn',
    action({ fields: { title: 'x', relations: { dependsOn: Array(51).fill('x') } } }),
  ],
  [
    'invalid_rule_action',
    'action.acceptance[0].spec',
    action({ acceptance: [{ ...human(), spec: { odd: 1 } }] }),
  ],
  ['invalid_rule_action', 'action.taskType', closing({ taskType: 'task' })],
  ['invalid_rule_action', 'action.fields', closing({ fields: { title: 'x' } })],
  ['invalid_rule_action', 'action.acceptance', closing({ acceptance: [human()] })],
  ['invalid_rule_action', 'action.dedupKeyTemplate', closing({ dedupKeyTemplate: undefined })],
  ['invalid_rule_action', 'action.dedupKeyTemplate', closing({ target: 'task' })],
  ['invalid_rule_action', 'action.target', closing({ target: 'task', dedupKeyTemplate: undefined })],
  [
    'invalid_rule_action',
    'action.fields',
    action({ kind: 'update_work', taskType: undefined, fields: {}, dedupKeyTemplate: 'k' }),
  ],
];

function human() {
  return { key: 'seen', kind: 'human', description: 'Somebody saw it.' };
}

test('a problem of a document has its code and field; :validate and :dry-run report the same', async () => {
  const paths = ['/rules:validate', '/rules', '/rules:dry-run'];
  for (const [n, [code, field, more]] of faults.entries()) {
    const body = ruleBody({ ...more, action: undefined });
    const sent = { ...body, ...more };
    for (const path of n % 8 === 0 ? paths : paths.slice(0, 1)) {
      const details = await refused(baton.admin.post(path, sent), 422, code);
      assert.equal(details.field, field, JSON.stringify([more, details]));
      assert.ok(details.errors.length >= 1 && details.errors.length <= 20);
    }
  }
  const acceptance = [{ ...human(), spec: { odd: 1 } }];
  const { cause } = await refused(post(action({ acceptance })), 422, 'invalid_rule_action');
  assert.equal(cause.code, 'invalid_acceptance_spec');
});

test('a refusal lists up to 20 faults, in order', async () => {
  const customFields = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`f${n}`, '{{ nothing.a }}']));
  const details = await refused(
    post(action({ fields: { title: 'x', customFields } })),
    422,
    'invalid_rule_action',
  );
  assert.equal(details.errors.length, 20);
  assert.equal(details.field, 'action.fields.customFields.f0');
  assert.deepEqual(details.errors[0].field, details.field);
});

test('references are looked up in order: workspace, goal, agent, type of task, role, identity', async () => {
  const nobody = newId();
  const workspace = await makeWorkspace(baton);
  await done(baton.admin.post(`/workspaces/${workspace.id}:archive`));
  const goal = await done(baton.admin.post('/goals', { title: 'g' }), 201);
  const abandoned = { status: 'abandoned' };
  await done(baton.admin.patch(`/goals/${goal.id}`, abandoned, { 'if-match': 'goal-1' }));
  const wrong: [number, string, Record<string, unknown>][] = [
    [422, 'invalid_status', { status: 'archived' }],
    [404, 'not_found', { workspaceId: nobody }],
    [422, 'workspace_archived', { workspaceId: workspace.id }],
    [404, 'not_found', { goalId: nobody }],
    [422, 'goal_abandoned', { goalId: goal.id }],
    [422, 'unknown_agent', { trigger: observed('x', { agent: 'ada' }) }],
    [422, 'unknown_task_type', action({ taskType: 'nothing' })],
    [422, 'unknown_task_type', action({ taskType: '{{ payload.a }}', taskTypes: ['task', 'nothing'] })],
    [422, 'unknown_agent', action({ fields: { title: 'x', assignee: 'agent:ada' } })],
    [422, 'unknown_role', action({ fields: { title: 'x', assignee: 'role:none' } })],
    [422, 'unknown_role', action({ kind: 'request_decision', fields: { title: 'x', approverRole: 'none' } })],
    [422, 'unknown_role', action({ kind: 'request_decision', fields: { title: 'x', approverRole: nobody } })],
    [422, 'unknown_agent', { identity: { agent: 'ada' } }],
    [
      422,
      'invalid_acceptance_spec',
      action({
        acceptance: [{ ...human(), kind: 'deterministic', spec: { artifact: { type: 'nothing' } } }],
      }),
    ],
    [422, 'secret_material_rejected', { description: `ghp_${'a'.repeat(36)}` }],
    [422, 'secret_material_rejected', action({ fields: { title: `ghp_${'a'.repeat(36)}` } })],
    [422, 'secret_material_rejected', action({ fields: { title: 'x', customFields: { api_key: 'y' } } })],
    [422, 'payload_too_large', action({ fields: { title: 'x', customFields: { a: 'x'.repeat(70_000) } } })],
    [400, 'invalid_request', { key: 'Upper' }],
    [400, 'invalid_request', { description: 'x'.repeat(2001) }],
  ];
  for (const [status, code, more] of wrong)
    await refused(baton.admin.post('/rules', { ...ruleBody(), ...more }), status, code);
  let nested: object = {};
  for (let level = 0; level < 21; level += 1) nested = { nested };
  await refused(post(action({ fields: { title: 'x', customFields: { nested } } })), 422, 'payload_too_deep');
  const details = await refused(post(action({ taskType: 'nothing' })), 422, 'unknown_task_type');
  assert.deepEqual(details, { field: 'action.taskType', taskType: 'nothing' });
});

test('warnings list parts that can never work: paths, types and event types', async () => {
  const warningsOf = async (more: Record<string, unknown>) =>
    (await done(baton.admin.post('/rules:validate', { ...ruleBody(), ...more }))).warnings.map(
      ({ field, code }: any) => `${field} ${code}`,
    );
  assert.deepEqual(await warningsOf({ trigger: { kind: 'event', type: 'task.exploded' } }), [
    'trigger.type unknown_event_type',
  ]);
  const conditions: [object, string[]][] = [
    [{ eq: [{ var: 'payload.publicId' }, 'TASK-000001'] }, []],
    [{ eq: [{ var: 'payload.version' }, 'one'] }, ['condition type_mismatch']],
    [{ exists: 'payload.absent' }, ['condition unknown_path']],
    [{ not: { gt: [{ var: 'payload.publicId' }, 3] } }, ['condition type_mismatch']],
    [{ lt: [{ var: 'task.title' }, true] }, ['condition type_mismatch']],
    [{ in: [{ var: 'task.priority' }, 'high'] }, ['condition type_mismatch']],
    [{ in: [{ var: 'task.priority' }, ['high', 'low']] }, []],
    [{ exists: 'task.customFields.region' }, []],
    [{ exists: 'task.verification.attempt' }, []],
    [{ exists: 'task.owner' }, ['condition unknown_path']],
    [{ exists: 'trigger.eventId' }, []],
    [{ exists: 'goal.name' }, ['condition unknown_path']],
  ];
  for (const [condition, expected] of conditions)
    assert.deepEqual(await warningsOf({ condition }), expected, JSON.stringify(condition));
  assert.deepEqual(
    await warningsOf({
      trigger: observed('x'),
      condition: { gt: [{ var: 'payload.data.n' }, 3] },
      action: {
        kind: 'ensure_work',
        taskType: 'task',
        forEach: 'payload.content',
        fields: { title: '{{ payload.assertions.0.fact }} {{ payload.nothing }}' },
      },
    }),
    ['action.fields.title unknown_path', 'action.forEach type_mismatch'],
  );
  const { warnings } = await done(post({ condition: { exists: 'payload.absent' } }), 201);
  assert.deepEqual(
    warnings.map(({ code }: any) => code),
    ['unknown_path'],
  );
});

test('the identity of a rule is part of its versions, and is removed by null', async () => {
  const [first, second] = [await publishAgent(baton.admin), await publishAgent(baton.admin)];
  const rule = await makeRule(baton.admin, { identity: { agent: first.key } });
  const again = await done(patch(rule.id, { identity: { agent: first.key } }));
  assert.equal(again.version, 1);
  const changed = await done(patch(rule.id, { identity: { agent: second.key } }));
  assert.deepEqual([changed.version, changed.identity], [2, { agent: second.key }]);
  assert.deepEqual((await done(patch(rule.id, { description: 'x' }, 2))).identity, { agent: second.key });
  assert.equal((await done(patch(rule.id, { identity: null }, 3))).identity, null);
  const { items } = await done(baton.admin.get(`/rules/${rule.id}/versions`));
  const kept = items.map(({ identity }: any) => identity?.agent ?? null);
  assert.deepEqual(kept, [null, second.key, second.key, first.key]);
  const updates = (await eventsOf(baton, rule.id)).filter(({ type }) => type === 'rule.updated');
  assert.deepEqual(
    updates.map(({ payload }) => payload['changes']),
    [['identity'], ['description'], ['identity']],
  );
});

test('the number of enabled rules of a tenant is limited', async () => {
  const small = await startCoordination({ CP_RULES_ENABLED_MAX: '2' });
  try {
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => small.admin.post('/rules', ruleBody())),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 201, 422, 422, 422]);
    const full = answers.find(({ status }) => status === 422);
    assert.equal(full?.body.error.code, 'invalid_rule');
    const { id } = await done(small.admin.post('/rules', ruleBody({ status: 'disabled' })), 201);
    await refused(small.admin.post(`/rules/${id}:enable`), 422, 'invalid_rule');
  } finally {
    await small.close();
  }
});

test('authz:check reports whether a rule may be enabled', async () => {
  const rule = await makeRule(baton.admin);
  const check = { action: 'disable', resourceType: 'rule', resourceId: rule.id };
  const ask = async (actor: typeof baton.admin) =>
    (await done(actor.post('/authz:check', { checks: [check] }))).results[0];
  assert.equal((await ask(baton.admin)).allowed, true);
  assert.equal((await ask(baton.otherAdmin)).reason.code, 'not_found');
  assert.equal((await ask(await baton.actor({ permissions: [] }))).reason.code, 'permission_denied');
});
