import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import type { Actor, TestCoordination } from '../../testing/coordination.ts';
import { done, makeRun, makeTask, makeWorker, refused } from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { requestContext, startWithMemory, type WithMemory } from '../../testing/memory/contexts.ts';
import type { TestMemory } from '../../testing/memory/memory-service.ts';
import { configure, makeProject, makeSubproject } from '../../testing/organisation/projects.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';

let started: WithMemory;
let baton: TestCoordination;
let memory: TestMemory;
let admin: Actor;
let tenants: string;
before(async () => {
  started = await startWithMemory();
  ({ baton, memory } = started);
  ({ admin } = baton);
  tenants = `tenant:${baton.tenantId}`;
});
after(() => started.close());

/** The last request to this path that the memory service received. */
const lastCall = (path = '/api/memory/context') => memory.calls.findLast((call) => call.path === path);

describe('the operational part', () => {
  test('is the harness context, focused on a task: its artifacts and its inputs', async () => {
    await done(admin.post('/artifact-types', { key: 'plan', displayName: 'Plan', mediaTypes: ['*/*'] }), 201);
    const inputs = [{ key: 'plan', type: 'plan', from: 'parent', required: true }];
    const type = { key: 'planned', displayName: 'Planned', artifactSchema: { inputs } };
    await done(admin.post('/task-types', type), 201);
    const parent = await makeTask(baton);
    const plan = await done(admin.post('/artifacts', { type: 'plan', name: 'plan', task: parent.id }), 201);
    const task = await makeTask(baton, { typeKey: 'planned', parentTask: parent.id, description: 'All.' });
    for (let n = 0; n < 21; n += 1)
      await done(admin.post('/artifacts', { type: 'note', name: `note ${n}`, task: task.id }), 201);
    const { operational, instructions, taskContext } = await requestContext(admin, { task: task.publicId });
    const { focus, project, ...harness } = operational;
    const { eventCursor: _, ...alone } = await done(admin.get('/harness/context'));
    assert.deepEqual({ ...harness, eventCursor: undefined }, { ...alone, eventCursor: undefined });
    assert.equal(project, null);
    const { id, publicId, title, description, status, priority, workspaceId, version } = task;
    assert.deepEqual(focus.task, {
      ...{ id, publicId, title, description, status, priority, workspaceId, version },
      activeClaimId: null,
    });
    assert.deepEqual(focus.inputs, [{ ...inputs[0], artifactId: plan.id }]);
    assert.equal(focus.artifacts.length, 20);
    assert.equal(focus.artifacts[0].name, 'note 20');
    assert.deepEqual([instructions, taskContext], [{ layers: [], hash: null }, undefined]);
  });

  test('needs no query: a harness that specifies a task sends an empty query to memory', async () => {
    const task = await makeTask(baton);
    const { operational, memoryStatus } = await done(admin.post('/context', { task: task.id }));
    assert.equal(operational.focus.task.id, task.id);
    assert.deepEqual([memoryStatus, lastCall()?.body.query], ['ok', '']);
    assert.equal((await done(admin.post('/context', {}))).operational.focus, null);
    await refused(admin.post('/context', { query: null }), 400, 'invalid_request');
  });

  test('without a focus it has none, and no instructions', async () => {
    const { operational, instructions, taskContext } = await requestContext(admin);
    assert.deepEqual([operational.focus, instructions, taskContext], [null, undefined, undefined]);
  });

  test('is for every caller, without artifacts for callers who may not read them, and for a run', async () => {
    const worker = await makeWorker(baton);
    const { task, claim, run } = await makeRun(baton, worker);
    const reader = await baton.actor({ permissions: ['tasks.read'] });
    const { operational, memoryStatus } = await requestContext(reader, { runId: run.id });
    assert.deepEqual(
      [operational.focus.task.id, operational.focus.task.activeClaimId, operational.focus.artifacts],
      [task.id, claim.id, null],
    );
    assert.equal(memoryStatus, 'forbidden');
    const nobody = await baton.actor({ permissions: [] });
    assert.equal((await requestContext(nobody)).operational.principal.id, nobody.principalId);
  });

  test('has the instructions of the type, by layer, with the hash that a run stores', async () => {
    const instructions = 'Read the plan first.';
    const type = { key: 'instructed', displayName: 'Instructed', instructions };
    await done(admin.post('/task-types', type), 201);
    const worker = await makeWorker(baton);
    const { task, run } = await makeRun(baton, worker, { task: { typeKey: 'instructed' } });
    const answer = await requestContext(admin, { task: task.id });
    assert.deepEqual(answer.instructions, {
      layers: [{ source: 'taskType', ref: 'taskType:instructed@1', version: 1, text: instructions }],
      hash: `sha256:${createHash('sha256').update(instructions).digest('hex')}`,
    });
    assert.equal(answer.instructions.hash, run.instructionsHash);
  });

  test("has the effective instructions of the task's project before those of its type", async () => {
    const instructions = 'Read the plan first.';
    await done(admin.post('/task-types', { key: 'advised', displayName: 'Advised', instructions }), 201);
    const above = await makeProject(baton);
    await configure(baton, above.id, { settings: { agentInstructions: 'Confirm before you delete.' } });
    const project = await makeSubproject(baton, above);
    const task = await makeTask(baton, { typeKey: 'advised', workspaceId: project.workspaceId });
    const { layers, hash } = (await requestContext(admin, { task: task.id })).instructions;
    assert.deepEqual(layers, [
      { source: 'project', ref: `project:${project.id}`, version: 1, text: 'Confirm before you delete.' },
      { source: 'taskType', ref: 'taskType:advised@1', version: 1, text: instructions },
    ]);
    const text = `Confirm before you delete.\n\n${instructions}`;
    assert.equal(hash, `sha256:${createHash('sha256').update(text).digest('hex')}`);
  });

  test('has the requested project, its effective values with their origins, and its workspaces', async () => {
    const project = await makeProject(baton);
    await configure(baton, project.id, { settings: { tone: 'plain' } });
    const inside = await makeWorkspace(baton, { parentId: project.workspaceId });
    const below = await makeSubproject(baton, project);
    const { operational } = await requestContext(admin, { projectId: project.id });
    const { effectiveConfig, configProvenance, workspaceScope, includeSubprojects, ...alone } =
      operational.project;
    assert.deepEqual(alone, await done(admin.get(`/projects/${project.id}`)));
    const { config, provenance } = await done(admin.get(`/projects/${project.id}/effective-config`));
    assert.deepEqual([effectiveConfig, configProvenance], [config, provenance]);
    assert.deepEqual([workspaceScope, includeSubprojects], [[project.workspaceId, inside.id], false]);
    const { namespaces } = lastCall()?.body.scope ?? {};
    assert.ok(JSON.stringify(namespaces).includes(project.workspaceId));
    const wide = await requestContext(admin, { projectId: project.id, includeSubprojects: true });
    assert.deepEqual(
      [wide.operational.project.workspaceScope.toSorted(), wide.operational.project.includeSubprojects],
      [[project.workspaceId, inside.id, below.workspaceId].toSorted(), true],
    );
  });
});

describe('refuses', () => {
  const asking = (actor: Actor, more: object) => actor.post('/context', { query: '', ...more });

  test('malformed anchors, and more than ten, before anything else', async () => {
    const nobody = await baton.actor({ permissions: [] });
    for (const anchors of [Array(11).fill('a:b'), ['service'], [':x'], ['a: b']])
      await refused(asking(nobody, { anchors, task: newId() }), 422, 'invalid_context_request');
    await requestContext(admin, { anchors: Array(10).fill('service:billing') });
  });

  test('a task or a run without tasks.read, then a missing one', async () => {
    const nobody = await baton.actor({ permissions: [] });
    const task = await makeTask(baton);
    for (const focus of [{ task: task.id }, { runId: newId() }]) {
      const details = await refused(asking(nobody, focus), 403, 'permission_denied');
      assert.deepEqual(details, { required: ['tasks.read'] });
    }
    for (const focus of [{ task: newId() }, { runId: newId() }, { task: 'TASK-999999' }])
      await refused(asking(admin, focus), 404, 'not_found');
    const { run } = await makeRun(baton, await makeWorker(baton));
    const details = await refused(
      asking(admin, { task: task.id, runId: run.id }),
      422,
      'invalid_context_request',
    );
    assert.deepEqual(details, { field: 'runId' });
  });

  test('a project without projects.read, then a missing one, then a workspace', async () => {
    const reader = await baton.actor({ permissions: ['tasks.read'] });
    const both = { projectId: newId(), workspaceId: newId() };
    const details = await refused(asking(reader, both), 403, 'permission_denied');
    assert.deepEqual(details, { required: ['projects.read'] });
    const absent = await refused(asking(admin, both), 404, 'not_found');
    assert.deepEqual(absent, { projectId: both.projectId });
    await refused(asking(reader, { task: newId(), projectId: newId() }), 404, 'not_found');
    const { workspaceId } = both;
    assert.deepEqual(await refused(asking(admin, { workspaceId }), 404, 'not_found'), { workspaceId });
  });

  test('a malformed body: an unknown field or strategy, an instant without offset, a budget out of range', async () => {
    for (const wrong of [
      { namespace: 'tenant:x' },
      { strategy: 'all' },
      { asOf: '2026-01-01T00:00:00' },
      { maxTokens: 0 },
      { maxTokens: 1_000_001 },
      { query: 'x'.repeat(2001) },
    ])
      await refused(asking(admin, wrong), 400, 'invalid_request');
  });
});

describe('what memory knows', () => {
  test('is requested with the query, its focus and its budget, in the namespaces of the tenant and of the tree', async () => {
    const root = await makeWorkspace(baton);
    const child = await makeWorkspace(baton, { parentId: root.id });
    const task = await makeTask(baton, { workspaceId: child.id, title: 'Ship it' });
    const tree = `${tenants}:ws:${root.id}`;
    memory.knowledge.know(tree, { entities: [{ kind: 'service', key: 'service:billing' }] });
    const answer = await requestContext(admin, {
      query: 'billing',
      task: task.id,
      anchors: ['service:billing'],
      strategy: 'hybrid',
      asOf: '2026-01-01T01:00:00+01:00',
      maxTokens: 1_000_000,
    });
    assert.equal(answer.memoryStatus, 'ok');
    assert.equal(answer.memory.sections[0].title, 'service:billing');
    assert.equal(answer.memoryTraceId, answer.memory.trace_id);
    const { body, headers } = lastCall() ?? assert.fail();
    assert.deepEqual(body, {
      query: 'billing',
      subject: { type: 'task', id: task.id },
      scopes: [
        { type: 'task', id: task.id },
        { type: 'workspace', id: child.id },
      ],
      anchors: ['service:billing'],
      ephemeral_context: {
        task: {
          id: task.id,
          publicId: task.publicId,
          title: 'Ship it',
          status: 'todo',
          priority: 'medium',
          version: 1,
        },
      },
      max_tokens: 16_000,
      strategy: 'hybrid',
      as_of: '2026-01-01T00:00:00.000Z',
      scope: { namespace: tenants, namespaces: [tenants, tree] },
    });
    assert.match(String(headers['x-run-id']), /^run_/);
  });

  test('has the default budget if none is requested, and forwards the trace run of the request', async () => {
    const headers = { 'x-run-id': 'run-of-the-test' };
    await done(admin.post('/context', { query: 'x', maxTokens: 10 }, headers));
    assert.equal(lastCall()?.body.max_tokens, 10);
    assert.equal(lastCall()?.headers['x-run-id'], 'run-of-the-test');
    await requestContext(admin, { workspaceId: (await makeWorkspace(baton)).id });
    const { max_tokens: usual, subject, ephemeral_context: ephemeral } = lastCall()?.body ?? {};
    assert.deepEqual([usual, subject.type, ephemeral], [8000, 'workspace', null]);
  });

  test('is omitted if it is not requested, and forbidden without events.read, in this order', async () => {
    const asked = memory.calls.length;
    const off = await requestContext(admin, { includeMemory: false });
    assert.deepEqual([off.memoryStatus, off.memory, off.memoryTraceId], ['disabled', null, null]);
    const reader = await baton.actor({ permissions: [] });
    assert.equal((await requestContext(reader)).memoryStatus, 'forbidden');
    assert.equal((await requestContext(reader, { includeMemory: false })).memoryStatus, 'disabled');
    assert.equal(memory.calls.length, asked);
    const without = await baton.another({ CP_CONTEXT_PROVIDER: 'none' });
    const response = await fetch(`${without.url}/api/v1/context`, {
      method: 'POST',
      headers: { authorization: `Bearer ${reader.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: 'x' }),
    });
    const body = (await response.json()) as { memoryStatus: string };
    assert.deepEqual([response.status, body.memoryStatus], [200, 'disabled']);
    await without.close();
  });

  test('is returned to a person with restricted visibility only from a tree that is visible as a whole', async () => {
    const { person, mine, other } = await makeNarrowPerson(baton);
    assert.equal((await requestContext(person)).memoryStatus, 'forbidden');
    await refused(person.post('/context', { query: 'x', workspaceId: other.id }), 404, 'not_found');
    assert.equal((await requestContext(person, { workspaceId: mine.id })).memoryStatus, 'ok');
    assert.deepEqual(lastCall()?.body.scope, { namespace: `${tenants}:ws:${mine.id}` });
    const inner = await makeWorkspace(baton, { parentId: other.id });
    const { principalId } = person;
    await done(admin.post(`/workspaces/${inner.id}/members`, { principalId }), 201);
    assert.equal((await requestContext(person, { workspaceId: inner.id })).memoryStatus, 'forbidden');
  });

  test('has its freshness: both cursors, the lag, and the event that blocks the delivery', async () => {
    await journalIsStable(baton.pool);
    const before = await requestContext(admin, { includeMemory: false });
    assert.deepEqual(before.freshness, {
      currentCursor: before.operational.eventCursor,
      memoryCursor: null,
      memoryLagEvents: null,
      memoryLagCapped: false,
      memoryIngest: {
        status: 'ok',
        lastError: null,
        lastDeliveryAt: null,
        parkedEventId: null,
        nextAttemptAt: null,
      },
    });
    const eventId = newId();
    await baton.pool.run(sql`
      insert into event_consumers (tenant_id, consumer, position, sequence, parked_at, parked_reason, parked_event_id,
        failure_count, next_attempt_at, last_delivery_at)
      values (${baton.tenantId}, 'context-adapter', 0, 0, now(), 'the memory service responded with 500', ${eventId}, 1, now(),
        now())`);
    const { freshness } = await requestContext(admin, { includeMemory: false });
    assert.match(freshness.memoryCursor, /^ec1_/);
    assert.ok(freshness.memoryLagEvents > 10 && freshness.memoryLagEvents <= 1000);
    const { status, lastError, parkedEventId, nextAttemptAt, lastDeliveryAt } = freshness.memoryIngest;
    assert.deepEqual(
      [status, lastError, parkedEventId],
      ['parked', 'the memory service responded with 500', eventId],
    );
    assert.ok(nextAttemptAt !== null && lastDeliveryAt !== null);
    // The event may belong to a hidden workspace, and the error may repeat it.
    const { person } = await makeNarrowPerson(baton);
    for (const actor of [person, await baton.actor({ permissions: ['tasks.read'] })]) {
      const { memoryIngest } = (await requestContext(actor, { includeMemory: false })).freshness;
      assert.deepEqual(memoryIngest, {
        ...freshness.memoryIngest,
        lastError: null,
        parkedEventId: null,
      });
    }
  });

  test("another tenant's focus is not found, and its namespaces are never requested", async () => {
    const task = await makeTask(baton);
    const workspace = await makeWorkspace(baton);
    const asked = memory.calls.length;
    for (const focus of [{ task: task.id }, { workspaceId: workspace.id }])
      await refused(baton.otherAdmin.post('/context', { query: 'x', ...focus }), 404, 'not_found');
    assert.equal(memory.calls.length, asked);
    await requestContext(baton.otherAdmin);
    assert.equal(lastCall()?.namespace, `tenant:${baton.otherTenantId}`);
  });
});
