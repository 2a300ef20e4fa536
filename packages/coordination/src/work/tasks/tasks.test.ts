import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const make = (body: object) => baton.admin.post('/tasks', { title: 'a task', ...body });

describe('POST /tasks', () => {
  test('returns 201 with the whole record, version 1 and its ETag', async () => {
    const { status, body, headers } = await make({ title: 'first of all', description: 'words' });
    assert.equal(status, 201);
    assert.equal(headers.get('etag'), '"task-1"');
    const { id, createdAt, updatedAt, typeId, publicId, ...rest } = body;
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.match(publicId, /^TASK-\d{6,}$/);
    assert.equal(createdAt, updatedAt);
    assert.ok(typeId);
    assert.deepEqual(rest, {
      tenantId: baton.tenantId,
      workspaceId: null,
      projectId: null,
      typeKey: 'task',
      typeVersion: 1,
      title: 'first of all',
      description: 'words',
      status: 'todo',
      systemStatusCategory: 'active',
      priority: 'medium',
      ownerId: null,
      assigneeId: null,
      customFields: {},
      startDate: null,
      dueDate: null,
      goalId: null,
      origin: { kind: 'human', evidence: [] },
      acceptance: [],
      acceptanceChecks: 0,
      evidence: [],
      version: 1,
      claimEpoch: 0,
      activeClaimId: null,
      createdBy: baton.admin.principalId,
      completedAt: null,
      availableAt: null,
      verification: null,
    });
    assert.deepEqual((await baton.admin.get(`/tasks/${id}`)).body, body);
  });

  test('accepts every field of a task, and null for optional ones', async () => {
    const worker = await baton.actor();
    const { status, body } = await make({
      priority: 'critical',
      status: 'backlog',
      ownerId: baton.admin.principalId.toUpperCase(),
      assigneeId: worker.principalId,
      customFields: { estimate: 3, nested: { list: [1, null, 'x'] } },
      startDate: '2026-03-01',
      dueDate: '2026-03-01T12:00:00+02:00',
      requirements: { roles: [], capabilities: [] },
      origin: { kind: 'external', ref: 'ticket-7', ruleId: null },
      acceptance: [
        {
          key: 'reviewed',
          kind: 'human',
          description: 'somebody looked',
          spec: { approver: newId() },
          when: null,
        },
        {
          key: 'built.1',
          kind: 'external_state',
          description: 'it builds',
          when: ['$.task.customFields.built'],
        },
        { key: 'plain', kind: 'external_state', description: 'no spec needed' },
        { key: 'judged', kind: 'llm_judge', description: 'reads well', spec: { rubric: 'short sentences' } },
      ],
      evidence: [
        {
          kind: 'external',
          externalRef: { system: 'ci', id: '12', url: 'https://ci.example/12' },
          check: 'built.1',
        },
        {
          kind: 'external',
          externalRef: { system: 'ci', id: '12' },
          note: 'again, for no check',
          check: null,
        },
      ],
      workspaceId: null,
      goalId: null,
      parentTask: null,
      typeId: null,
    });
    assert.equal(status, 201, JSON.stringify(body));
    assert.equal(body.status, 'backlog');
    assert.equal(body.ownerId, baton.admin.principalId);
    assert.equal(body.assigneeId, worker.principalId);
    assert.deepEqual(
      [body.startDate, body.dueDate],
      ['2026-03-01T00:00:00.000Z', '2026-03-01T10:00:00.000Z'],
    );
    assert.deepEqual(body.customFields, { estimate: 3, nested: { list: [1, null, 'x'] } });
    assert.deepEqual(body.origin, { kind: 'external', ref: 'ticket-7', evidence: [] });
    assert.equal(body.acceptanceChecks, 4);
    const members = ['addedByPrincipalId', 'description', 'key', 'kind', 'spec'];
    assert.deepEqual(Object.keys(body.acceptance[0]).sort(), members);
    assert.deepEqual(body.evidence[1], {
      kind: 'external',
      externalRef: { system: 'ci', id: '12' },
      note: 'again, for no check',
    });
  });

  test('evidence may be an artifact of the tenant, in the origin too', async () => {
    const made = { type: 'log', name: 'build' };
    const artifact = await done(baton.admin.post('/artifacts', made), 201);
    const foreign = await done(baton.otherAdmin.post('/artifacts', made), 201);
    const item = { kind: 'artifact', artifactId: artifact.id };
    const origin = { kind: 'human', evidence: [item] };
    const { body, status } = await make({ evidence: [item], origin });
    assert.deepEqual([status, body.evidence, body.origin], [201, [item], origin]);
    const missing = [{ artifactId: foreign.id }, { artifactId: newId() }];
    for (const target of missing) {
      const evidence = [item, { kind: 'artifact', ...target }];
      assert.deepEqual(await refused(make({ evidence }), 404, 'not_found'), target);
    }
    for (const target of [{ observationId: newId() }, { contextPackId: newId() }]) {
      const kind = 'observationId' in target ? 'observation' : 'context_pack';
      assert.deepEqual(await refused(make({ evidence: [{ kind, ...target }] }), 404, 'not_found'), target);
    }
    const ifMatch = { 'if-match': `task-${body.version}` };
    const patch = (evidence: object[]) => baton.admin.patch(`/tasks/${body.id}`, { evidence }, ifMatch);
    await refused(patch([{ kind: 'artifact', artifactId: foreign.id }]), 404, 'not_found');
    assert.deepEqual((await done(patch([]))).evidence, []);
  });

  test('numbers the tasks of a tenant consecutively, concurrent ones too, without duplicates', async () => {
    const first = (await make({})).body.publicId;
    await refused(make({ title: ' ' }), 422, 'invalid_title');
    const rivals = await Promise.all(Array.from({ length: 20 }, () => make({})));
    const numbers = rivals.map(({ body }) => Number(body.publicId.slice(5))).sort((a, b) => a - b);
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => Number(first.slice(5)) + 1 + index),
    );
    const other = await baton.otherAdmin.post('/tasks', { title: 'elsewhere' });
    assert.equal(other.body.publicId, 'TASK-000001');
  });

  test('emits task.created with references and safe fields only', async () => {
    const secret = `ghp_${'a1B2'.repeat(9)}`;
    const { body } = await make({
      title: `rotate ${secret} ${'é'.repeat(100)}`,
      description: 'private words',
      customFields: { contents: 'private' },
      origin: { kind: 'external', ref: 'https://tracker.example/private', evidence: [] },
      acceptance: [{ key: 'a', kind: 'human', description: 'private' }],
    });
    const [event, ...more] = await eventsOf(baton, body.id);
    assert.equal(more.length, 0);
    assert.equal(event?.type, 'task.created');
    assert.equal(event?.actor_id, baton.admin.principalId);
    assert.deepEqual(event?.payload, {
      publicId: body.publicId,
      title: `rotate [redacted] ${'é'.repeat(100)}`,
      status: 'todo',
      systemStatusCategory: 'active',
      typeKey: 'task',
      typeVersion: 1,
      priority: 'medium',
      workspaceId: null,
      startDate: null,
      dueDate: null,
      customFields: true,
      goalId: null,
      origin: { kind: 'external', evidence: 0 },
      acceptanceChecks: 1,
    });
  });

  test('with parentTask it becomes a child: origin parent, and a relation with its event', async () => {
    const parent = (await make({ title: 'parent' })).body;
    const { status, body } = await make({ title: 'child', parentTask: parent.publicId.toLowerCase() });
    assert.equal(status, 201);
    assert.deepEqual(body.origin, { kind: 'parent', ref: `task:${parent.id}`, evidence: [] });
    const events = await eventsOf(baton, body.id);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['task.created', 'task.relation_added'],
    );
    assert.equal(events[1]?.payload['toTaskId'], parent.id);
    assert.equal(events[1]?.payload['type'], 'parent');
    assert.deepEqual((events[0]?.payload as { origin: object }).origin, {
      kind: 'parent',
      ref: `task:${parent.id}`,
      evidence: 0,
    });
    const given = await make({ parentTask: parent.id, origin: { kind: 'human' } });
    assert.equal(given.body.origin.kind, 'human');
    await refused(make({ parentTask: newId() }), 404, 'not_found');
    await refused(make({ parentTask: 'TASK-999999' }), 404, 'not_found');
    const foreign = (await baton.otherAdmin.post('/tasks', { title: 'elsewhere' })).body.id;
    await refused(make({ parentTask: foreign }), 404, 'not_found');
  });

  test('origin is human for a human writer, else harness', async () => {
    const agent = await baton.actor();
    assert.equal((await agent.post('/tasks', { title: 'found by an agent' })).body.origin.kind, 'harness');
  });

  test('refuses schema violations with 400', async () => {
    for (const body of [
      { title: '' },
      { title: 'x'.repeat(501) },
      { status: '' },
      { status: 'x'.repeat(65) },
      { typeVersion: 0 },
      { assigneeId: 'somebody' },
      { acceptance: Array.from({ length: 51 }, () => ({})) },
      { evidence: Array.from({ length: 201 }, () => ({})) },
      { requirements: { roles: Array.from({ length: 51 }, () => 'r') } },
      { startDate: 'soon' },
      { startDate: '9999-12-31T23:30:00-01:00' },
      { dueDate: '0000-01-01' },
      { description: null },
      { nonsense: 1 },
    ])
      await refused(make(body), 400, 'invalid_request');
  });

  test('checks in the documented order, each with its code', async () => {
    const somebody = newId();
    const deep = JSON.parse(`${'{"a":'.repeat(21)}1${'}'.repeat(21)}`);
    const check = { key: 'a', kind: 'human', description: 'd' };
    const fact = { kind: 'external', externalRef: { system: 's', id: '1' } };
    // Each row has its own defect and those of all later rows.
    const rows: [object, number, string][] = [
      [{ title: '\t ' }, 422, 'invalid_title'],
      [{ priority: 'urgent' }, 422, 'invalid_priority'],
      [{ typeKey: 'unheard-of' }, 404, 'not_found'],
      [{ status: 'unheard-of' }, 422, 'status_not_in_lifecycle'],
      [{ status: 'done' }, 422, 'invalid_status'],
      [{ customFields: ['list'] }, 422, 'invalid_document'],
      [{ startDate: '2026-02-02', dueDate: '2026-02-01' }, 422, 'invalid_planned_dates'],
      [{ assigneeId: 'agent:builder' }, 422, 'unknown_agent'],
      [{ assigneeId: undefined, ownerId: somebody }, 404, 'not_found'],
      [{ ownerId: undefined, workspaceId: somebody }, 404, 'not_found'],
      [{ workspaceId: undefined, acceptance: [{ kind: 'human' }] }, 422, 'invalid_acceptance'],
      [{ acceptance: undefined, evidence: [{ kind: 'rumour' }] }, 422, 'invalid_evidence'],
      [{ evidence: [{ ...fact, check: 'b' }] }, 422, 'unknown_acceptance_check'],
      [{ evidence: undefined, origin: { kind: 'process' } }, 422, 'invalid_origin'],
      [
        { origin: { kind: 'rule', ruleId: 'r', evidence: [{ kind: 'artifact', artifactId: somebody }] } },
        404,
        'not_found',
      ],
      [{ origin: undefined, goalId: somebody }, 404, 'not_found'],
      [{ goalId: undefined, requirements: { roles: ['Not A Slug'] } }, 422, 'invalid_requirement'],
      [{ requirements: { roles: ['builder'] } }, 422, 'unknown_requirement'],
      [{ requirements: undefined, parentTask: 'nothing' }, 404, 'not_found'],
    ];
    const wrong = rows.map(([body]) => body);
    for (const [index, [, status, code]] of rows.entries()) {
      const body = Object.assign({}, ...wrong.slice(index).reverse());
      await refused(make(body), status, code);
    }
    await refused(make({ customFields: deep }), 422, 'payload_too_deep');
    await refused(make({ customFields: { text: 'x'.repeat(66_000) } }), 422, 'payload_too_large');
    await refused(
      make({ customFields: { many: Array.from({ length: 5001 }, () => 1) } }),
      422,
      'payload_too_large',
    );
    const named = await refused(
      make({ customFields: { a: [{ 'api-key': 'x' }] } }),
      422,
      'secret_material_rejected',
    );
    assert.equal(named['path'], '/a/0/api-key');
    await refused(make({ acceptance: [check, check] }), 422, 'duplicate_check_key');
    await refused(make({ acceptance: [{ ...check, spec: { a: 1 } }] }), 422, 'invalid_acceptance_spec');
    await refused(make({ evidence: [fact, fact] }), 422, 'duplicate_evidence');
  });

  test('a status must be the initial one or of category backlog', async () => {
    const details = await refused(make({ status: 'waiting' }), 422, 'status_not_in_lifecycle');
    assert.deepEqual(details['known'], ['backlog', 'todo', 'in_progress', 'blocked', 'done', 'cancelled']);
    assert.equal(details['statusKey'], 'waiting');
    for (const status of ['in_progress', 'blocked', 'done', 'cancelled'])
      await refused(make({ status }), 422, 'invalid_status');
    assert.equal((await make({ status: 'todo' })).status, 201);
  });

  test('custom fields must match the schema of the type: at most 20 errors, shape before schema before secrets', async () => {
    const typeId = await insertTestType(baton, {
      key: 'estimate',
      fieldSchema: {
        type: 'object',
        properties: { points: { type: 'integer', maximum: 13 }, token: { type: 'string' } },
        required: ['points'],
        additionalProperties: { type: 'integer' },
      },
    });
    const fits = await make({ typeKey: 'estimate', customFields: { points: 8 } });
    assert.deepEqual([fits.status, fits.body.typeId], [201, typeId]);
    const details = await refused(
      make({ typeId, customFields: { points: 21 } }),
      422,
      'custom_fields_invalid',
    );
    assert.deepEqual(details['errors'], [{ path: '/points', message: 'must be <= 13' }]);
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`f${n}`, 'x']));
    const listed = await refused(make({ typeId, customFields: many }), 422, 'custom_fields_invalid');
    assert.equal((listed['errors'] as unknown[]).length, 20);
    await refused(make({ typeId, customFields: { token: 'x' } }), 422, 'custom_fields_invalid');
    await refused(make({ typeId, customFields: { points: 1, token: 'x' } }), 422, 'secret_material_rejected');
    await refused(make({ typeId }), 422, 'custom_fields_invalid');
  });

  test('a type is found by id, by key and version, or by key alone: the newest active version', async () => {
    const versions = [];
    for (const version of [1, 2, 3])
      versions.push(
        await insertTestType(baton, {
          key: 'release',
          version,
          status: version === 3 ? 'deprecated' : 'active',
        }),
      );
    assert.equal((await make({ typeKey: 'release' })).body.typeVersion, 2);
    assert.equal((await make({ typeKey: 'release', typeVersion: 1 })).body.typeId, versions[0]);
    assert.equal((await make({ typeKey: 'release', typeVersion: 3 })).body.typeVersion, 3);
    assert.equal((await make({ typeId: versions[2], typeKey: 'ignored' })).body.typeVersion, 3);
    const details = await refused(make({ typeKey: 'release', typeVersion: 4 }), 404, 'not_found');
    assert.deepEqual(details, { taskTypeKey: 'release', taskTypeVersion: 4 });
    const foreign = await insertTestType(baton, { key: 'theirs', tenantId: baton.otherTenantId });
    await refused(make({ typeId: foreign }), 404, 'not_found');
    await refused(make({ typeId: newId() }), 404, 'not_found');
  });

  test('a failed command stores no task and no event', async () => {
    const count = () =>
      baton.pool.row<{ tasks: number; events: number }>(sql`
        select (select count(*) from tasks) as tasks, (select count(*) from events) as events`);
    const before = await count();
    await refused(make({ parentTask: newId() }), 404, 'not_found');
    assert.deepEqual(await count(), before);
  });
});

describe('GET /tasks/{ref}', () => {
  test('finds by id and by public id in any case, with an ETag', async () => {
    const { id, publicId } = (await make({})).body;
    for (const ref of [id, id.toUpperCase(), publicId, publicId.toLowerCase()]) {
      const { status, body, headers } = await baton.admin.get(`/tasks/${ref}`);
      assert.deepEqual([status, body.id, headers.get('etag')], [200, id, '"task-1"']);
    }
  });

  test("returns 404 for an absent or malformed id and for another tenant's task", async () => {
    const foreign = (await baton.otherAdmin.post('/tasks', { title: 'elsewhere' })).body;
    for (const ref of [newId(), 'TASK-999999', 'TASK-1', 'TASK-99999999999999999', 'x', foreign.id])
      await refused(baton.admin.get(`/tasks/${ref}`), 404, 'not_found');
  });
});
