import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';
import { contractOf } from '../../testing/results/invocations.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

let number = 0;
const makeSkill = (more: object = {}) =>
  done(baton.admin.post('/skills', { name: `deploy ${(number += 1)}`, protocol: 'mcp', ...more }), 201);
const change = (id: string, body: object, version = 1) =>
  baton.admin.patch(`/skills/${id}`, body, { 'if-match': `skill-${version}` });

test('POST returns 201 with the skill and writes skill.registered', async () => {
  const given = {
    ...{ name: 'build', version: '2.0', description: 'Builds.', protocol: 'local', config: { queue: 'a' } },
    ...{ sideEffects: 'external_read', riskLevel: 'low', inputSchema: {}, outputSchema: {} },
  };
  const { status, body, headers } = await baton.admin.post('/skills', given);
  assert.equal(status, 201);
  const { id, createdAt, updatedAt, ...rest } = body;
  assert.ok(createdAt && updatedAt);
  const facts = { tenantId: baton.tenantId, contract: null, status: 'active', rowVersion: 1, package: null };
  assert.deepEqual(rest, { ...given, ...facts });
  assert.equal(headers.get('etag'), '"skill-1"');
  const [event] = await eventsOf(baton, id);
  const { name, version, protocol, sideEffects, riskLevel } = given;
  assert.deepEqual(event && [event.type, event.payload], [
    'skill.registered',
    { name, version, protocol, invocable: false, sideEffects, riskLevel },
  ]);
  const again = await refused(baton.admin.post('/skills', given), 409, 'skill_exists');
  assert.deepEqual(again, { name: 'build', version: '2.0' });
});

test('the defaults of a skill', async () => {
  const { version, description, config, inputSchema, outputSchema, sideEffects, riskLevel } =
    await makeSkill();
  assert.deepEqual(
    [version, description, config, inputSchema, outputSchema, sideEffects, riskLevel],
    ['1.0.0', '', {}, null, null, null, null],
  );
});

describe('a contract', () => {
  const sent = (contract: object = {}, implementation: object = {}) => ({
    ...{ name: `called ${(number += 1)}`, sideEffects: 'none', riskLevel: 'low' },
    contract: contractOf(contract, implementation),
  });
  const post = (body: object) => baton.admin.post('/skills', body);

  test('creates a callable skill with the defaults', async () => {
    const body = sent();
    const skill = await done(post(body), 201);
    assert.deepEqual(skill.contract, {
      ...body.contract,
      ...{ requiredPermissions: [], preconditions: [], postconditions: [], timeoutSeconds: 60 },
      ...{ retryPolicy: { maxAttempts: 1, backoffSeconds: 0 }, idempotency: 'none' },
    });
    assert.deepEqual([skill.protocol, skill.inputSchema, skill.outputSchema], ['local', null, null]);
    const [event] = await eventsOf(baton, skill.id);
    assert.deepEqual([event?.payload['invocable'], event?.payload['protocol']], [true, 'local']);
  });

  test('is refused with the invalid field', async () => {
    const http = { protocol: 'http', entrypoint: null, endpoint: 'https://tools.example.com/a' };
    const wrong: [string, object][] = [
      ['contract.outputs', sent({ outputs: null })],
      ['contract.colour', sent({ colour: 'red' })],
      ['contract.implementation.protocol', sent({}, { protocol: 'opencode' })],
      ['contract.implementation.endpoint', sent({}, { ...http, endpoint: null })],
      ['contract.implementation.endpoint', sent({}, { ...http, endpoint: 'ftp://tools.example.com' })],
      ['contract.implementation.endpoint', sent({}, { ...http, endpoint: 'https://me:x@tools.example.com' })],
      ['contract.implementation.endpoint', sent({}, { endpoint: http.endpoint })],
      ['contract.implementation.entrypoint', sent({}, { ...http, entrypoint: 'a:b' })],
      ['contract.implementation.entrypoint', sent({}, { entrypoint: 'module' })],
      ['contract.implementation.entrypoint', sent({}, { protocol: 'mcp', entrypoint: null })],
      ['contract.implementation.auth.scopes', sent({}, { auth: { scopes: Array(21).fill('a') } })],
      ['contract.requiredPermissions.0', sent({ requiredPermissions: ['fly'] })],
      ['contract.timeoutSeconds', sent({ timeoutSeconds: 3601 })],
      ['contract.retryPolicy.maxAttempts', sent({ retryPolicy: { maxAttempts: 11 } })],
      ['contract.retryPolicy.backoffSeconds', sent({ retryPolicy: { backoffSeconds: -1 } })],
      ['contract.idempotency', sent({ idempotency: 'maybe' })],
      ['contract.costModel.estimate', sent({ costModel: { unit: 'eur', estimate: -1 } })],
      ['sideEffects', { ...sent(), sideEffects: null }],
      ['riskLevel', { ...sent(), riskLevel: null }],
      [
        'contract.retryPolicy.maxAttempts',
        { ...sent({ retryPolicy: { maxAttempts: 2 } }), sideEffects: 'external_write' },
      ],
      ['protocol', { ...sent(), protocol: 'http' }],
      ['inputSchema', { ...sent(), inputSchema: {} }],
      ['outputSchema', { ...sent(), outputSchema: {} }],
    ];
    for (const [field, body] of wrong) {
      const details = await refused(post(body), 422, 'invalid_skill_contract');
      assert.equal(details.field, field);
    }
    for (const list of ['preconditions', 'postconditions'])
      assert.deepEqual(await refused(post(sent({ [list]: [{}] })), 422, 'unsupported_skill_condition'), {
        field: `contract.${list}`,
      });
  });

  test('has valid schemas, and no secrets', async () => {
    const { field } = await refused(post(sent({ inputs: { type: 'nonsense' } })), 422, 'invalid_json_schema');
    assert.equal(field, 'contract.inputs');
    await refused(post(sent({ outputs: { $ref: 'https://a.example.com' } })), 422, 'invalid_json_schema');
    await refused(post(sent({}, { auth: { apiKey: 'x' } })), 422, 'secret_material_rejected');
    await refused(
      post(sent({}, { auth: { note: `ghp_${'a'.repeat(36)}` } })),
      422,
      'secret_material_rejected',
    );
    const secretly = `https://tools.example.com/ghp_${'a'.repeat(36)}`;
    const http = { protocol: 'http', entrypoint: null };
    await refused(post(sent({}, { ...http, endpoint: secretly })), 422, 'secret_material_rejected');
    await refused(post({ ...sent(), contract: 'text' }), 422, 'invalid_document');
    await refused(post(sent({ inputs: { title: 'x'.repeat(70_000) } })), 422, 'payload_too_large');
    await done(post(sent({ inputs: { properties: { apiKey: { type: 'string' } } } })), 201);
  });

  test('its endpoint may change, but no other field', async () => {
    const http = { protocol: 'http', entrypoint: null, endpoint: 'https://tools.example.com/a' };
    const skill = await done(post(sent({}, http)), 201);
    const endpoint = 'https://new.example.com/b';
    const moved = await done(change(skill.id, { endpoint }));
    assert.deepEqual(moved.contract, { ...skill.contract, implementation: { ...http, endpoint } });
    const [, event] = await eventsOf(baton, skill.id);
    assert.deepEqual(event?.payload, {
      changedFields: ['endpoint'],
      rowVersion: 2,
      endpoint: { from: http.endpoint, to: endpoint },
    });
    assert.deepEqual(await done(change(skill.id, { endpoint }, 2)), moved);
    await refused(change(skill.id, { endpoint: 'nowhere' }, 2), 422, 'invalid_skill_contract');
    const local = await done(post(sent()), 201);
    const details = await refused(change(local.id, { endpoint }), 422, 'invalid_skill_contract');
    assert.equal(details.field, 'endpoint');
    await refused(change(local.id, { inputSchema: {} }), 409, 'skill_version_immutable');
  });
});

test('an absent or unknown protocol, a malformed document and a secret are refused', async () => {
  const post = (more: object) => baton.admin.post('/skills', { name: 'x', protocol: 'mcp', ...more });
  await refused(post({ protocol: undefined }), 422, 'invalid_protocol');
  const details = await refused(post({ protocol: 'soap' }), 422, 'invalid_protocol');
  assert.deepEqual(details, { allowed: ['mcp', 'http', 'local', 'opencode', 'custom'] });
  await refused(post({ config: [] }), 422, 'invalid_document');
  await refused(post({ inputSchema: 'x' }), 422, 'invalid_document');
  await refused(post({ outputSchema: { type: 'nonsense' } }), 422, 'invalid_json_schema');
  await refused(post({ config: { apiKey: 'x' } }), 422, 'secret_material_rejected');
  await refused(post({ description: `use ghp_${'a'.repeat(36)}` }), 422, 'secret_material_rejected');
  await refused(post({ config: { a: 'x'.repeat(70_000) } }), 422, 'payload_too_large');
  let deep: object = {};
  for (let level = 0; level < 21; level += 1) deep = { deep };
  await refused(post({ config: deep }), 422, 'payload_too_deep');
  for (const more of [{ name: 'a@b' }, { version: '1@2' }, { name: '' }, { riskLevel: 'huge' }])
    await refused(post(more), 400, 'invalid_request');
});

test('GET finds a skill by id, by name@version and by name: the newest active one, or the newest not disabled', async () => {
  const first = await makeSkill({ version: '1' });
  const { name } = first;
  const second = await makeSkill({ name, version: '2' });
  const third = await makeSkill({ name, version: '3' });
  const read = async (ref: string) => (await done(baton.admin.get(`/skills/${encodeURIComponent(ref)}`))).id;
  assert.equal(await read(first.id), first.id);
  assert.equal(await read(`${name}@1`), first.id);
  assert.equal(await read(name), third.id);
  await done(change(third.id, { status: 'deprecated' }));
  assert.equal(await read(name), second.id);
  await done(change(second.id, { status: 'disabled' }));
  await done(change(first.id, { status: 'deprecated' }));
  assert.equal(await read(name), third.id, 'the newest deprecated one');
  assert.equal(await read(`${name}@2`), second.id, 'a pinned one in any status');
  await done(change(third.id, { status: 'disabled' }, 2));
  await done(change(first.id, { status: 'disabled' }, 2));
  for (const ref of [name, `${name}@4`, newId(), 'nothing'])
    await refused(baton.admin.get(`/skills/${encodeURIComponent(ref)}`), 404, 'not_found');
});

test('readers without org.read see no config', async () => {
  const skill = await makeSkill({ config: { queue: 'a' } });
  for (const permission of ['skills.invoke', 'skills.execute'] as const) {
    const actor = await baton.actor({ permissions: [permission] });
    const seen = await actor.get(`/skills/${skill.id}`);
    assert.deepEqual([seen.body, seen.headers.get('etag')], [{ ...skill, config: {} }, '"skill-1"']);
  }
  assert.deepEqual((await done(baton.admin.get(`/skills/${skill.id}`))).config, { queue: 'a' });
});

test('the list is newest first, by name and by status; an unknown status returns 422', async () => {
  const first = await makeSkill();
  const second = await makeSkill({ name: first.name, version: '2' });
  const gone = await done(change(second.id, { status: 'disabled' }));
  const list = async (query: string) => (await done(baton.admin.get(`/skills?${query}`))).items;
  assert.deepEqual(await list(`name=${first.name}`), [gone, first]);
  assert.deepEqual(await list(`name=${first.name}&status=active`), [first]);
  assert.deepEqual(await list(`name=${first.name}&package=x`), []);
  const page = await done(baton.admin.get(`/skills?name=${first.name}&limit=1`));
  const next = await done(baton.admin.get(`/skills?name=${first.name}&limit=1&cursor=${page.nextCursor}`));
  assert.deepEqual([page.items, next.items], [[gone], [first]]);
  const details = await refused(baton.admin.get('/skills?status=gone'), 422, 'invalid_status');
  assert.deepEqual(details, { allowed: ['active', 'deprecated', 'disabled'] });
  await refused(baton.admin.get('/skills?cursor=nonsense'), 422, 'invalid_cursor');
});

test('PATCH changes the description and the status, raises rowVersion and writes skill.updated', async () => {
  const skill = await makeSkill({ config: { queue: 'a' } });
  const changed = await baton.admin.patch(
    `/skills/${skill.id}`,
    { description: 'd', status: 'deprecated', config: { queue: 'a' }, inputSchema: null },
    { 'if-match': '"skill-1"' },
  );
  assert.deepEqual(
    [changed.body.description, changed.body.status, changed.body.rowVersion, changed.headers.get('etag')],
    ['d', 'deprecated', 2, '"skill-2"'],
  );
  const [, event] = await eventsOf(baton, skill.id);
  assert.deepEqual(event && [event.type, event.payload], [
    'skill.updated',
    { changedFields: ['description', 'status'], rowVersion: 2 },
  ]);
  assert.deepEqual(await done(change(skill.id, { description: 'd' }, 2)), changed.body);
  assert.equal((await eventsOf(baton, skill.id)).length, 2);
});

test('PATCH refuses in the documented order', async () => {
  const skill = await makeSkill();
  await refused(change(skill.id, { status: null }), 422, 'invalid_field');
  await refused(change(newId(), { status: 'gone' }), 404, 'not_found');
  const details = await refused(change(skill.id, { status: 'gone' }, 4), 409, 'version_conflict');
  assert.deepEqual([details.skillId, details.currentVersion], [skill.id, 1]);
  await refused(change(skill.id, { status: 'gone', config: { a: 1 } }), 422, 'invalid_status');
  const fixed = await refused(
    change(skill.id, { config: { a: 1 }, inputSchema: {}, endpoint: 'https://example.com' }),
    409,
    'skill_version_immutable',
  );
  assert.deepEqual(fixed, { fields: ['config', 'inputSchema'] });
  const uncallable = await refused(
    change(skill.id, { endpoint: 'https://example.com' }),
    409,
    'skill_not_invocable',
  );
  assert.deepEqual(uncallable, { reason: 'no_contract' });
  await refused(change(skill.id, {}), 422, 'empty_update');
  await refused(change(skill.id, { description: `ghp_${'a'.repeat(36)}` }), 422, 'secret_material_rejected');
  await done(change(skill.id, { status: 'deprecated' }));
  const back = await refused(change(skill.id, { status: 'active' }, 2), 409, 'invalid_status_transition');
  assert.deepEqual(back, { from: 'deprecated', to: 'active', allowed: ['disabled'] });
  await done(change(skill.id, { status: 'disabled' }, 2));
  await refused(change(skill.id, { status: 'deprecated' }, 3), 409, 'invalid_status_transition');
});
