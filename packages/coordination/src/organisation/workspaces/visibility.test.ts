import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { endpoints } from '../../app/endpoints.ts';
import { sightOf } from '../../app/within-sight.sql.ts';
import { isAtPath } from '../../app/within-sight.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { claimTask, done, makeTask, makeWorker, openSession, refused } from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { insertContextPack } from '../../testing/memory/contexts.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { writeInstance } from '../../testing/processes/process-instances.ts';
import { processSpec } from '../../testing/processes/processes.ts';
import { agentSpec, publishAgent } from '../../testing/registry/agents.ts';
import { invoke, makeCallable } from '../../testing/results/invocations.ts';
import { makeRule, writeEvaluation } from '../../testing/rules/rules.ts';
import { openStream } from '../../testing/stream/stream-client.ts';
import { until } from '../../testing/wait-until.ts';

let baton: TestCoordination;
let member: Actor;
/** top > mine > below, and top > other; the member belongs to mine. */
let top: any;
let mine: any;
let below: any;
let other: any;
/** Creates a task in each workspace, with related objects. */
let seen: Filed;
let hidden: Filed;
let unfiled: Filed;

interface Filed {
  taskId: string;
  claimId: string;
  sessionId: string;
  runId: string;
  approvalId: string;
  artifactId: string;
  invocationId: string;
  contextPackId: string;
  handleId: string;
  goalId: string;
  referenceId: string;
  projectId: string;
  roleId: string;
  ruleId: string;
  processKey: string;
  processId: string;
  agentKey: string;
  evaluationId: string;
  instanceId: string;
  /** The workspace of the object, or a visible one for objects without a workspace. */
  workspaceId: string;
}

before(async () => {
  baton = await startCoordination({ CP_WS_POLL_INTERVAL_SECONDS: '1' });
  member = await baton.actor({ kind: 'human' });
  top = await makeWorkspace(baton);
  mine = await makeWorkspace(baton, { parentId: top.id });
  below = await makeWorkspace(baton, { parentId: mine.id });
  other = await makeWorkspace(baton, { parentId: top.id });
  seen = await file(below.id);
  hidden = await file(other.id);
  unfiled = await file(null);
  const { principalId } = member;
  await done(baton.admin.post(`/workspaces/${mine.id}/members`, { principalId }), 201);
  await setVisibility(member, 'members');
});
after(() => baton.close());

/** Changes the store directly: the binding is cached, but must be read on each request. */
async function setVisibility({ principalId }: Actor, visibility: string): Promise<void> {
  await baton.pool.run(
    sql`update iam_bindings set visibility = ${visibility} where principal_id = ${principalId}`,
  );
}

async function file(workspaceId: string | null): Promise<Filed> {
  const { id: taskId } = await makeTask(baton, { workspaceId });
  const worker = await makeWorker(baton);
  const { claimId, fencingToken } = await claimTask(worker, taskId);
  const run = await done(worker.actor.post(`/tasks/${taskId}:start-run`, { claimId, fencingToken }), 201);
  const approval = await done(
    baton.admin.post('/approvals', { task: taskId, assignedPrincipalId: member.principalId }),
    201,
  );
  const artifact = await done(
    worker.actor.post('/artifacts', { task: taskId, type: 'report', name: 'r', content: {} }),
    201,
  );
  const key = { 'idempotency-key': newId() };
  const named = { entityType: 'task', entityId: taskId, externalSystem: 's', externalType: 't' };
  const reference = await done(
    baton.admin.post('/external-references', { ...named, externalId: newId() }),
    201,
  );
  const child = { correlationId: 'a', title: 'part' };
  const launched = await done(worker.actor.post(`/runs/${run.id}/child-handles`, child, key), 201);
  const role = await done(baton.admin.post('/roles', { slug: `r${newId()}`, name: 'r', workspaceId }), 201);
  const filedRule = await makeRule(baton.admin, { workspaceId, status: 'disabled' });
  const work = workspaceId === null ? {} : { work: { workspace: workspaceId } };
  const agent = await publishAgent(baton.admin, agentSpec(work), newId());
  const process = processSpec({ workspaceId, identity: { agent: agent.key } });
  const definition = await done(
    baton.admin.post('/process-definitions', { key: newId(), spec: process }),
    201,
  );
  return {
    agentKey: agent.key,
    processKey: definition.key,
    processId: definition.id,
    ruleId: filedRule.id,
    evaluationId: await writeEvaluation(baton, filedRule),
    instanceId: await writeInstance(baton, workspaceId),
    referenceId: reference.id,
    projectId: await projectIn(workspaceId ?? mine.id),
    goalId: (await done(baton.admin.post('/goals', { title: 'g', workspaceId }), 201)).id,
    handleId: launched.childHandle.id,
    roleId: role.id,
    taskId,
    claimId,
    sessionId: worker.sessionId,
    runId: run.id,
    approvalId: approval.id,
    artifactId: artifact.id,
    invocationId: (await done(invoke(baton.admin, await makeCallable(baton.admin), { taskId }), 201)).id,
    contextPackId: await insertContextPack(baton, worker.actor, { taskId, claimId }),
    workspaceId: workspaceId ?? mine.id,
  };
}

async function projectIn(workspaceId: string): Promise<string> {
  const key = `t${newId()}`;
  const template = await done(baton.admin.post('/project-templates', { key, displayName: 'T' }), 201);
  return (await done(baton.admin.post('/projects', { workspaceId, templateId: template.id }), 201)).id;
}

const idsOf = async (actor: Actor, path: string): Promise<string[]> =>
  (await done(actor.get(`${path}${path.includes('?') ? '&' : '?'}limit=200`))).items.map(
    (item: any) => item.id ?? item.claimId,
  );

describe('hidden objects return the same responses as missing ones, byte for byte except for the ids', () => {
  const places: Record<string, (of: Filed) => string> = {
    '/tasks/{ref}': ({ taskId }) => taskId,
    '/claims/{id}': ({ claimId }) => claimId,
    '/sessions/{id}': ({ sessionId }) => sessionId,
    '/runs/{id}': ({ runId }) => runId,
    '/approvals/{id}': ({ approvalId }) => approvalId,
    '/artifacts/{id}': ({ artifactId }) => artifactId,
    '/skill-invocations/{id}': ({ invocationId }) => invocationId,
    '/context-packs/{id}': ({ contextPackId }) => contextPackId,
    '/child-handles/{id}': ({ handleId }) => handleId,
    '/child-handles/{idOrToken}': ({ handleId }) => handleId,
    '/roles/{id}': ({ roleId }) => roleId,
    '/goals/{id}': ({ goalId }) => goalId,
    '/agents/{key}': ({ agentKey }) => agentKey,
    '/process-definitions/{key}': ({ processKey }) => processKey,
    '/rules/{id}': ({ ruleId }) => ruleId,
    '/rule-evaluations/{id}': ({ evaluationId }) => evaluationId,
    '/process-instances/{id}': ({ instanceId }) => instanceId,
    '/external-references/{id}': ({ referenceId }) => referenceId,
    '/projects/{id}': ({ projectId }) => projectId,
    '/workspaces/{id}': ({ workspaceId }) => workspaceId,
  };
  const id = newId();
  const absent: Filed = {
    taskId: id,
    claimId: id,
    sessionId: id,
    runId: id,
    approvalId: id,
    artifactId: id,
    invocationId: id,
    contextPackId: id,
    workspaceId: id,
    handleId: id,
    goalId: id,
    referenceId: id,
    projectId: id,
    roleId: id,
    ruleId: id,
    agentKey: id,
    processKey: id,
    processId: id,
    evaluationId: id,
    instanceId: id,
  };
  const faceOf = (text: string) =>
    text.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|req_\w+/g, 'id');

  test('every kind of object at a path is checked, or belongs to the whole tenant', () => {
    const ofTenant = [
      '/principals/',
      '/people/',
      '/access-roles/',
      '/admission-rules/',
      '/api-keys/',
      '/iam-bindings/',
      '/delegations/',
      '/task-types/',
      '/artifact-types/',
      '/workspace-types/',
      '/project-templates/',
      '/calendars/',
      '/capabilities/',
      '/skills/',
      '/tools/',
      '/packages/',
      '/connection-types/',
      '/connections/',
      '/agents/me/connections/',
      '/operations/',
      '/knowledge/packs/',
      '/views/',
    ];
    const others = endpoints.filter(
      ({ path }) =>
        path.includes('{') &&
        !Object.keys(places).some((place) => isAtPath(path, place)) &&
        !ofTenant.some((start) => path.startsWith(start)),
    );
    assert.deepEqual(
      others.map(({ path }) => path),
      [],
    );
    // These two endpoints check visibility themselves.
    const looked = [...Object.keys(sightOf), '/child-handles/{idOrToken}', '/process-definitions/{key}'];
    assert.deepEqual(looked.toSorted(), Object.keys(places).toSorted());
  });

  for (const [place, idOf] of Object.entries(places))
    for (const endpoint of endpoints.filter(({ path }) => isAtPath(path, place)))
      test(`${endpoint.method} ${endpoint.path}`, async () => {
        const call = (of: Filed) => {
          const path = endpoint.path.replace(place, place.replace(/\{\w+\}/, idOf(of)));
          const headers: Record<string, string> = {
            ...(endpoint.ifMatch !== undefined && { 'if-match': `${endpoint.ifMatch}-1` }),
            ...(endpoint.idempotency === 'required' && { 'idempotency-key': newId() }),
          };
          const { example } = endpoint;
          return baton.request(endpoint.method, `/api/v1${path.replaceAll(/\{\w+\}/g, newId())}`, {
            token: member.token,
            headers,
            ...(example !== undefined && { body: example }),
          });
        };
        const [out, gone] = [await call(hidden), await call(absent)];
        assert.deepEqual(
          [out.status, faceOf(JSON.stringify(out.body))],
          [gone.status, faceOf(JSON.stringify(gone.body))],
        );
        assert.ok([404, 400, 422].includes(out.status), `${out.status}`);
        if (endpoint.method !== 'GET' || endpoint.path !== place) return;
        for (const filed of [seen, unfiled]) assert.equal((await call(filed)).status, 200);
      });

  test('a claim of a hidden task is refused in the same order as that of a missing one', async () => {
    const sessionId = await openSession(member);
    await refused(member.post(`/tasks/${hidden.taskId}:claim`, { sessionId: newId() }), 404, 'not_found');
    await refused(member.post(`/tasks/${hidden.taskId}:claim`, { sessionId }), 404, 'not_found');
    const { id } = await makeTask(baton, { workspaceId: mine.id });
    await done(member.post(`/tasks/${id}:claim`, { sessionId }));
  });

  test('writes reveal no hidden objects: workspaces, parents, relations', async () => {
    const workspaceId = other.id;
    await refused(member.post('/tasks', { title: 'x', workspaceId }), 404, 'not_found');
    await refused(member.post('/tasks', { title: 'x', parentTask: hidden.taskId }), 404, 'not_found');
    const patch = (body: object) => member.patch(`/tasks/${seen.taskId}`, body, { 'if-match': 'task-1' });
    assert.equal(
      (await patch({ workspaceId })).status === 404 || (await patch({ workspaceId })).status === 409,
      true,
    );
    const { id, version } = await makeTask(baton, { workspaceId: mine.id });
    const headers = { 'if-match': `task-${version}` };
    await refused(member.patch(`/tasks/${id}`, { workspaceId }, headers), 404, 'not_found');
    const relation = { toTask: hidden.taskId, type: 'related_to' };
    await refused(member.post(`/tasks/${id}/relations`, relation), 404, 'not_found');
    await refused(
      member.patch(`/tasks/${hidden.taskId}`, { title: 'x' }, { 'if-match': 'task-1' }),
      404,
      'not_found',
    );
  });

  test('a task by its public id', async () => {
    const publicIdOf = async (id: string) => (await done(baton.admin.get(`/tasks/${id}`))).publicId;
    await refused(member.get(`/tasks/${await publicIdOf(hidden.taskId)}`), 404, 'not_found');
    await done(member.get(`/tasks/${await publicIdOf(seen.taskId)}`));
    await refused(member.get('/tasks/TASK-999999'), 404, 'not_found');
    await refused(member.get('/tasks/none'), 404, 'not_found');
  });

  test('a missing permission comes first', async () => {
    const reader = await baton.actor({ kind: 'human', permissions: ['events.read'] });
    await setVisibility(reader, 'members');
    await refused(reader.get(`/tasks/${hidden.taskId}`), 403, 'permission_denied');
    await refused(reader.get(`/workspaces/${other.id}`), 403, 'permission_denied');
  });
});

describe('lists omit hidden objects', () => {
  for (const [path, id] of [
    ['/tasks', 'taskId'],
    ['/claims', 'claimId'],
    ['/sessions', 'sessionId'],
    ['/runs', 'runId'],
    ['/approvals', 'approvalId'],
    ['/artifacts', 'artifactId'],
    ['/roles', 'roleId'],
    ['/goals', 'goalId'],
    ['/projects', 'projectId'],
    ['/rules', 'ruleId'],
    ['/process-definitions', 'processId'],
    ['/process-instances', 'instanceId'],
  ] as const)
    test(`GET ${path}`, async () => {
      const ids = await idsOf(member, path);
      assert.ok(ids.includes(seen[id]) && ids.includes(unfiled[id]));
      assert.ok(!ids.includes(hidden[id]));
      assert.ok((await idsOf(baton.admin, path)).includes(hidden[id]));
    });

  test('GET /work/available', async () => {
    const [shown, out] = [
      await makeTask(baton, { workspaceId: below.id }),
      await makeTask(baton, { workspaceId: other.id }),
    ];
    for (const query of [
      '',
      `?assigneeId=${member.principalId}`,
      `?workspaceId=${mine.id}&includeDescendants=true`,
    ]) {
      if (query.includes('assignee'))
        for (const { id } of [shown, out])
          await done(
            baton.admin.patch(`/tasks/${id}`, { assigneeId: member.principalId }, { 'if-match': 'task-1' }),
          );
      const ids = await idsOf(member, `/work/available${query}`);
      assert.deepEqual([ids.includes(shown.id), ids.includes(out.id)], [true, false], query);
    }
  });

  test('a filter by a hidden workspace returns 404', async () => {
    for (const path of ['tasks', 'work/available', 'events'])
      for (const id of [other.id, top.id])
        assert.deepEqual(await refused(member.get(`/${path}?workspaceId=${id}`), 404, 'not_found'), {
          workspaceId: id,
        });
    await done(member.get(`/tasks?workspaceId=${mine.id}&includeDescendants=true`));
  });

  test('GET /events and the stream return only events of visible workspaces or of none', async () => {
    const [own, others] = [await openSession(member), await openSession(baton.admin)];
    await journalIsStable(baton.pool);
    const entities = async (query: string) =>
      (await done(member.get(`/events?limit=200&${query}`))).items.map((event: any) => event.entityId);
    const all = await entities('');
    assert.ok([below.id, mine.id, seen.taskId, unfiled.taskId].every((id) => all.includes(id)));
    assert.ok([top.id, other.id, hidden.taskId, hidden.runId].every((id) => !all.includes(id)));
    assert.deepEqual(await entities(`entityId=${hidden.taskId}`), []);
    // A session belongs to no workspace, and its events may refer to work in a hidden workspace.
    for (const query of [`entityId=${others}`, `entityId=${others}&tail=5`])
      assert.deepEqual(await entities(query), []);
    assert.deepEqual(await entities(`entityId=${own}`), [own]);
    const [sessions, newest] = [await entities('types=session.'), await entities('tail=200')];
    for (const ids of [all, sessions, newest])
      assert.deepEqual([ids.includes(own), ids.includes(others)], [true, false]);
    const stream = openStream(baton.url, { token: member.token });
    const streamed = (await stream.received(all.length, 60_000)).map((event: any) => event.entityId);
    assert.deepEqual(streamed, all);
    const out = await makeTask(baton, { workspaceId: other.id });
    const shown = await makeTask(baton, { workspaceId: mine.id });
    const later = await stream.received(all.length + 1, 60_000);
    assert.deepEqual(
      later.slice(all.length).map((event: any) => event.entityId),
      [shown.id],
    );
    assert.ok(out.id);
    await stream.close();
  });

  test('an open stream narrows with the visibility of its principal', async () => {
    const person = await baton.actor({ kind: 'human' });
    await journalIsStable(baton.pool);
    const { nextCursor } = await done(person.get('/events?tail=1'));
    const stream = openStream(baton.url, { token: person.token, query: `?after=${nextCursor}` });
    const first = await makeTask(baton, { workspaceId: other.id });
    await stream.received(1, 60_000);
    await setVisibility(person, 'members');
    const began = performance.now();
    const shownOf = async (hidden: string) => {
      const shown = await makeTask(baton);
      const since = () => stream.events.map((event: any) => event.entityId);
      await until(() => since().includes(shown.id), 'the visible task');
      return since().includes(hidden) ? [hidden, shown.id] : [shown.id];
    };
    assert.equal((stream.events[0] as any).entityId, first.id);
    // Streams check their permissions every second.
    await until(async () => {
      const { id } = await makeTask(baton, { workspaceId: other.id });
      return (await shownOf(id)).length === 1;
    }, 'the narrower sight');
    assertTookLess(began, 2500, 'the narrower sight');
    const hidden = await makeTask(baton, { workspaceId: other.id });
    const before = stream.events.length;
    await shownOf(hidden.id);
    assert.equal(stream.events.length, before + 1);
    await stream.close();
  });
});

describe('in the tree a member sees own workspaces and their descendants', () => {
  test('GET, list and tree: the topmost visible workspace is a root', async () => {
    for (const { id } of [top, other])
      assert.deepEqual(await refused(member.get(`/workspaces/${id}`), 404, 'not_found'), { workspaceId: id });
    assert.equal((await done(member.get(`/workspaces/${mine.id}`))).parentId, null);
    assert.equal((await done(member.get(`/workspaces/${below.id}`))).parentId, mine.id);
    const { items } = await done(member.get('/workspaces'));
    assert.deepEqual(
      items.map(({ id, parentId }: any) => [id, parentId]),
      [
        [below.id, mine.id],
        [mine.id, null],
      ],
    );
    assert.deepEqual(await idsOf(member, '/workspaces?rootsOnly=true'), [mine.id]);
    assert.deepEqual(await idsOf(member, `/workspaces?parentId=${top.id}`), []);
    assert.deepEqual(await idsOf(member, `/workspaces?parentId=${mine.id}`), [below.id]);
    const { roots } = await done(member.get('/workspaces/tree'));
    assert.deepEqual(
      roots.map(({ id, parentId, children }: any) => [id, parentId, children.length]),
      [[mine.id, null, 1]],
    );
    await refused(member.get(`/workspaces/tree?rootId=${top.id}`), 404, 'not_found');
    await refused(member.get(`/workspaces/${other.id}/members`), 404, 'not_found');
    assert.deepEqual((await done(baton.admin.get('/workspaces'))).items.length, 4);
  });

  test('changes are limited to visible workspaces, and refusals reveal no hidden ones', async () => {
    const headers = { 'if-match': 'workspace-1' };
    await refused(member.patch(`/workspaces/${other.id}`, { name: 'x' }, headers), 404, 'not_found');
    for (const action of ['archive', 'restore', 'move'])
      await refused(
        member.post(`/workspaces/${other.id}:${action}`, action === 'move' ? { newParentId: null } : {}),
        404,
        'not_found',
      );
    await refused(member.post(`/workspaces/${below.id}:move`, { newParentId: top.id }), 404, 'not_found');
    await refused(
      member.post('/workspaces', { slug: `s${newId()}`, name: 'x', parentId: top.id }),
      404,
      'not_found',
    );
    const principalId = baton.admin.principalId;
    await refused(member.post(`/workspaces/${other.id}/members`, { principalId }), 404, 'not_found');
    const changed = await done(member.patch(`/workspaces/${mine.id}`, { name: 'Ours' }, headers));
    assert.deepEqual([changed.name, changed.parentId], ['Ours', null]);
    await done(member.post(`/projects/${seen.projectId}:archive`));
    const archived = await done(member.post(`/workspaces/${below.id}:archive`));
    assert.equal(archived.status, 'archived');
    await done(member.post(`/workspaces/${below.id}:restore`));
    await done(member.post(`/projects/${seen.projectId}:restore`));
  });

  test('a root that a member creates is returned, and hidden afterwards', async () => {
    const made = await done(member.post('/workspaces', { slug: `s${newId()}`, name: 'x' }), 201);
    await refused(member.get(`/workspaces/${made.id}`), 404, 'not_found');
  });
});

test('a person without membership sees no workspace, but objects without a workspace', async () => {
  const nobody = await baton.actor({ kind: 'human' });
  await setVisibility(nobody, 'members');
  assert.deepEqual((await done(nobody.get('/workspaces'))).items, []);
  assert.deepEqual((await done(nobody.get('/workspaces/tree'))).roots, []);
  const ids = await idsOf(nobody, '/tasks');
  assert.ok(ids.includes(unfiled.taskId) && !ids.includes(seen.taskId));
});

test('one live binding with members is enough; a revoked one and those of agents do not count', async () => {
  const person = await baton.actor({ kind: 'human' });
  const agent = await baton.actor({ kind: 'agent' });
  await setVisibility(agent, 'members');
  await done(agent.get(`/tasks/${hidden.taskId}`));
  const second = {
    issuer: baton.issuer.issuer,
    iamTenantId: baton.tenantId,
    iamPrincipalId: newId(),
    permissions: ['tasks.read'],
    visibility: 'members',
  };
  const binding = await done(baton.admin.post(`/principals/${person.principalId}/iam-bindings`, second), 201);
  await refused(person.get(`/tasks/${hidden.taskId}`), 404, 'not_found');
  await done(baton.admin.post(`/iam-bindings/${binding.id}:revoke`));
  await done(person.get(`/tasks/${hidden.taskId}`));
});

test('membership and moves take effect with the next request', async () => {
  const person = await baton.actor({ kind: 'human' });
  const { principalId } = person;
  await setVisibility(person, 'members');
  const place = await makeWorkspace(baton);
  const task = await makeTask(baton, { workspaceId: place.id });
  await refused(person.get(`/tasks/${task.id}`), 404, 'not_found');
  await done(baton.admin.post(`/workspaces/${place.id}/members`, { principalId }), 201);
  await done(person.get(`/tasks/${task.id}`));
  await baton.admin.post(`/workspaces/${place.id}/members/${principalId}:remove`);
  await refused(person.get(`/tasks/${task.id}`), 404, 'not_found');
});
