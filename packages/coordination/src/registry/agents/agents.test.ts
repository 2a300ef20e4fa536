import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import type { Permission } from '../../service/permissions.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { applyDocuments, newKey } from '../../testing/packages/package-sources.ts';
import {
  agentKey,
  agentPermissions,
  agentSpec,
  linkAgent,
  publishAgent,
} from '../../testing/registry/agents.ts';
import { makeCallable } from '../../testing/results/invocations.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const publish = (spec: object, key = agentKey(), actor = baton.admin) => actor.post('/agents', { key, spec });
const typesOf = async (id: string) => (await eventsOf(baton, id)).map(({ type }: { type: string }) => type);
const word = () => `w${newId()}`;

const placed = (more: object = {}) =>
  agentSpec({
    executor: { kind: 'script' },
    placement: { requires: ['gpu'], resources: { cpus: 2 }, replicas: 2, ...more },
  });

test('the first POST of a key creates the agent with revision 1 and writes its event', async () => {
  const key = agentKey();
  const { status, body } = await publish(placed(), key);
  assert.equal(status, 201, JSON.stringify(body));
  const { id, createdAt, updatedAt, revision, ...rest } = body;
  assert.ok(createdAt && updatedAt);
  assert.deepEqual(rest, {
    tenantId: baton.tenantId,
    key,
    displayName: 'Builder',
    status: 'active',
    state: 'running',
    replicas: 2,
    currentRevision: 1,
    package: null,
    principalId: null,
    workspaceId: null,
    retiredAt: null,
    retiredBy: null,
    version: 1,
  });
  const { id: revisionId, createdAt: published, ...said } = revision;
  assert.ok(revisionId && published);
  assert.match(said.specHash, /^sha256:[0-9a-f]{64}$/);
  assert.deepEqual(
    { ...said, specHash: '' },
    {
      agentId: id,
      agentKey: key,
      revision: 1,
      spec: {
        displayName: 'Builder',
        identity: { kind: 'agent', permissions: [...agentPermissions], roles: [], capabilities: [] },
        connections: [],
        executor: { kind: 'script', params: {}, instructions: '' },
        placement: { requires: ['gpu'], secrets: [], resources: { cpus: 2 }, replicas: 2, drainSeconds: 0 },
        state: 'running',
      },
      specHash: '',
      createdBy: baton.admin.principalId,
    },
  );
  const [event, ...more] = await eventsOf(baton, id);
  assert.deepEqual(more, []);
  assert.deepEqual(
    [event?.type, event?.payload],
    [
      'agent.revision_published',
      {
        key,
        revision: 1,
        specHash: said.specHash,
        previousRevision: null,
        executorKind: 'script',
        placed: true,
        permissionsChanged: true,
      },
    ],
  );
});

test('an equal spec returns 200 and writes nothing, in any order of its keys; a different one is the next revision', async () => {
  const first = await publishAgent(baton.admin, placed());
  const { identity, displayName, ...sections } = placed();
  const again = await publish({ ...sections, displayName, identity }, first.key);
  assert.deepEqual([again.status, again.body], [200, first]);
  const second = await publish(
    { ...placed(), description: 'Builds.', identity: { ...identity, permissions: ['tasks.read'] } },
    first.key,
  );
  assert.deepEqual([second.status, second.body.currentRevision, second.body.version], [201, 2, 2]);
  const third = await publish(placed(), first.key);
  assert.deepEqual([third.status, third.body.currentRevision], [201, 3]);
  assert.equal(third.body.revision.specHash, first.revision.specHash);
  const events = await eventsOf(baton, first.id);
  assert.deepEqual(
    events.map(({ payload }: any) => [
      payload.revision,
      payload.previousRevision,
      payload.permissionsChanged,
    ]),
    [
      [1, null, true],
      [2, 1, true],
      [3, 2, true],
    ],
  );
  const { items, nextCursor } = await done(baton.admin.get(`/agents/${first.key}/revisions`));
  assert.equal(nextCursor, null);
  assert.deepEqual(
    items.map(({ revision, active, changedFields, source }: any) => [
      revision,
      active,
      changedFields,
      source,
    ]),
    [
      [3, true, ['description', 'identity.permissions'], { kind: 'manual' }],
      [2, false, ['description', 'identity.permissions'], { kind: 'manual' }],
      [1, false, null, { kind: 'manual' }],
    ],
  );
  const page = await done(baton.admin.get(`/agents/${first.key}/revisions?limit=2`));
  assert.deepEqual(
    page.items.map(({ revision }: any) => revision),
    [3, 2],
  );
  const rest = await done(
    baton.admin.get(`/agents/${first.key}/revisions?limit=2&cursor=${page.nextCursor}`),
  );
  assert.deepEqual([rest.items.map(({ revision }: any) => revision), rest.nextCursor], [[1], null]);
  await refused(baton.admin.get(`/agents/${first.key}/revisions?cursor=x`), 422, 'invalid_cursor');
  await refused(baton.admin.get(`/agents/${agentKey()}/revisions`), 404, 'not_found');
});

test('a revision names the package it was published from, by a request or an apply; the oldest ones have none', async () => {
  const from = { key: 'desk', version: '2.1' };
  const first = await publishAgent(baton.admin);
  const say = (spec: object, more: object = {}) =>
    baton.admin.post('/agents', { key: first.key, spec, ...more });
  await done(say(agentSpec({ description: 'One.' }), { package: from }), 201);
  await done(say(agentSpec({ description: 'One.' }), { package: { ...from, version: '3' } }));
  await done(baton.admin.post('/agents:validate', { key: first.key, spec: agentSpec(), package: from }));
  const named = { key: newKey('p'), version: '7' };
  const applied = agentKey();
  await applyDocuments(baton.admin, named, [{ kind: 'Agent', key: applied, spec: agentSpec() }]);
  const sources = async (key: string) =>
    (await done(baton.admin.get(`/agents/${key}/revisions`))).items.map(({ source }: any) => source);
  assert.deepEqual(await sources(first.key), [{ kind: 'package', package: from }, { kind: 'manual' }]);
  assert.deepEqual(await sources(applied), [{ kind: 'package', package: named }]);
  assert.equal((await done(baton.admin.get(`/agents/${first.key}`))).package, null);
  await baton.pool.run(sql`update agent_revisions set source = null where agent_id = ${first.id}`);
  assert.deepEqual(await sources(first.key), [{ kind: 'unknown' }, { kind: 'unknown' }]);
  await refused(say(agentSpec(), { package: { key: 'Desk', version: '1' } }), 400, 'invalid_request');
});

test('a page of revisions ends once its specs reach 4 MiB, and continues by cursor', async () => {
  const { key } = await publishAgent(baton.admin);
  const params = Object.fromEntries([1, 2, 3].map((n) => [`p${n}`, 'x'.repeat(65_000)]));
  for (let n = 1; n <= 24; n += 1)
    await done(publish(agentSpec({ executor: { kind: 'script', params: { ...params, n } } }), key), 201);
  const seen: number[] = [];
  let pages = 0;
  for (let cursor: string | null = ''; cursor !== null; pages += 1) {
    const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const page = await done(baton.admin.get(`/agents/${key}/revisions?limit=200${query}`));
    seen.push(...page.items.map(({ revision }: any) => revision));
    cursor = page.nextCursor;
  }
  assert.equal(pages, 2);
  assert.deepEqual(
    seen,
    Array.from({ length: 25 }, (_, n) => 25 - n),
  );
});

test('state and replicas are excluded from the hash: changing only them writes agent.state_changed and no revision', async () => {
  const { id, key, revision } = await publishAgent(baton.admin, placed());
  const { status, body } = await publish({ ...placed({ replicas: 5 }), state: 'stopped' }, key);
  assert.deepEqual(
    [status, body.currentRevision, body.state, body.replicas, body.version],
    [200, 1, 'stopped', 5, 2],
  );
  assert.deepEqual(body.revision, revision);
  const [, event] = await eventsOf(baton, id);
  assert.deepEqual(
    [event?.type, event?.payload],
    [
      'agent.state_changed',
      { key, state: 'stopped', replicas: 5, previousState: 'running', previousReplicas: 2 },
    ],
  );
  const unplaced = await publish(agentSpec({ executor: { kind: 'script' }, placement: 'none' }), key);
  assert.deepEqual([unplaced.status, unplaced.body.state, unplaced.body.replicas], [201, 'running', 0]);
  assert.deepEqual(await typesOf(id), [
    'agent.revision_published',
    'agent.state_changed',
    'agent.revision_published',
    'agent.state_changed',
  ]);
});

test(':validate previews a publication, refuses the same requests, and writes nothing', async () => {
  const key = agentKey();
  const ask = (spec: object) => baton.admin.post('/agents:validate', { key, spec });
  const fresh = await done(ask(placed()));
  assert.deepEqual(
    [fresh.key, fresh.currentRevision, fresh.wouldCreateRevision, fresh.wouldChangeState],
    [key, null, true, false],
  );
  await refused(baton.admin.get(`/agents/${key}`), 404, 'not_found');
  const made = await publishAgent(baton.admin, placed(), key);
  assert.equal(fresh.specHash, made.revision.specHash);
  assert.deepEqual(await done(ask(placed())), {
    ...fresh,
    currentRevision: 1,
    wouldCreateRevision: false,
    wouldChangeState: false,
  });
  const moved = await done(ask({ ...placed(), state: 'stopped' }));
  assert.deepEqual([moved.wouldCreateRevision, moved.wouldChangeState], [false, true]);
  await linkAgent(baton, key);
  await refused(ask(agentSpec({ identity: { kind: 'service' } })), 409, 'agent_identity_conflict');
  await done(baton.admin.post(`/agents/${key}:retire`, { reason: 'x' }));
  await refused(ask(placed()), 409, 'agent_retired');
});

test('a spec may only refer to existing objects, and the details contain the path of a missing one', async () => {
  const role = await done(baton.admin.post('/roles', { slug: word(), name: 'R' }), 201);
  const workspace = await makeWorkspace(baton);
  const ofWorkspace = await done(
    baton.admin.post('/roles', { slug: word(), name: 'R', workspaceId: workspace.id }),
    201,
  );
  const foreign = await done(baton.otherAdmin.post('/workspaces', { slug: word(), name: 'T' }), 201);
  const [twice, archived] = [word(), await makeWorkspace(baton)];
  for (const parentId of [workspace.id, null])
    await done(baton.admin.post('/workspaces', { slug: twice, name: 'W', parentId }), 201);
  await done(baton.admin.post(`/workspaces/${archived.id}:archive`));
  const permissions = [...agentPermissions, 'skills.invoke'];
  const cases: [string, unknown, object][] = [
    ['/identity/roles/1', 'none', { identity: { roles: [role.slug, 'none'] } }],
    ['/identity/roles/0', ofWorkspace.slug, { identity: { roles: [ofWorkspace.slug] } }],
    ['/identity/capabilities/0', 'flying', { identity: { capabilities: ['flying'] } }],
    ['/skills/invoke/0', 'none@1', { identity: { permissions }, skills: { invoke: ['none@1'] } }],
    ['/connections/0', 'github', { connections: ['github'] }],
    ['/work/workspace', foreign.id, { work: { workspace: foreign.id } }],
    ['/work/workspace', 'nowhere', { work: { workspace: 'nowhere' } }],
    ['/work/workspace', twice, { work: { workspace: twice } }],
    ['/work/workspace', archived.id, { work: { workspace: archived.id } }],
    ['/work/project', role.id, { work: { project: role.id } }],
    ['/work/taskTypes/1', 'none', { work: { taskTypes: ['task', 'none'] } }],
  ];
  for (const [path, value, sections] of cases)
    for (const where of ['/agents', '/agents:validate'])
      assert.deepEqual(
        await refused(
          baton.admin.post(where, { key: agentKey(), spec: agentSpec(sections) }),
          422,
          'unknown_reference',
        ),
        { path, value },
      );
});

test('an agent belongs to the workspace given by slug or id, or to that of its project', async () => {
  const workspace = await makeWorkspace(baton);
  const template = await done(baton.admin.post('/project-templates', { key: word(), displayName: 'T' }), 201);
  const project = await done(
    baton.admin.post('/projects', { workspaceId: workspace.id, templateId: template.id }),
    201,
  );
  for (const work of [{ workspace: workspace.id }, { workspace: workspace.slug }, { project: project.id }]) {
    const agent = await publishAgent(baton.admin, agentSpec({ work }));
    assert.equal(agent.workspaceId, workspace.id);
  }
  const { items } = await done(baton.admin.get(`/agents?workspaceId=${workspace.id}`));
  assert.equal(items.length, 3);
});

test('a spec with skills requires skills.invoke, and a type that a skill executes requires that skill', async () => {
  const skill = await makeCallable(baton.admin);
  const pinned = `${skill.name}@${skill.version}`;
  const permissions = [...agentPermissions, 'skills.invoke'];
  for (const where of ['/agents', '/agents:validate']) {
    const refuse = (spec: object, code: string) =>
      refused(baton.admin.post(where, { key: agentKey(), spec }), 422, code);
    await refuse(agentSpec({ skills: { invoke: [pinned] } }), 'skills_invoke_not_permitted');
    const key = word().slice(0, 30);
    const execution = { skill: skill.name, version: skill.version, inputs: {} };
    await done(baton.admin.post('/task-types', { key, displayName: 'T', execution }), 201);
    const details = await refuse(agentSpec({ work: { taskTypes: [key] } }), 'execution_skill_not_invoked');
    assert.deepEqual(details, { path: '/work/taskTypes/0', taskType: key, skill: pinned });
    const spec = agentSpec({
      identity: { permissions },
      skills: { invoke: [pinned] },
      work: { taskTypes: [key] },
    });
    if (where === '/agents') await publishAgent(baton.admin, spec);
  }
  await done(
    baton.admin.patch(
      `/skills/${skill.id}`,
      { status: 'disabled' },
      { 'if-match': `skill-${skill.rowVersion}` },
    ),
  );
  for (const where of ['/agents', '/agents:validate'])
    await refused(
      baton.admin.post(where, {
        key: agentKey(),
        spec: agentSpec({ identity: { permissions }, skills: { invoke: [pinned] } }),
      }),
      422,
      'skill_disabled',
    );
});

test('a caller cannot grant an agent what it lacks itself: permissions, roles, capabilities, skills, connections', async () => {
  const may = (...more: Permission[]) =>
    baton.actor({ permissions: ['agents.manage', ...agentPermissions, ...more] });
  const poor = await may();
  for (const where of ['/agents', '/agents:validate']) {
    const refuse = (sections: object, status: number, code: string, actor = poor) =>
      refused(actor.post(where, { key: agentKey(), spec: agentSpec(sections) }), status, code);
    const known = ['tasks.read', 'flying.read'];
    assert.deepEqual(await refuse({ identity: { permissions: known } }, 422, 'invalid_permissions'), {
      unknown: ['flying.read'],
    });
    for (const name of ['admin', 'approvals.decide'])
      assert.deepEqual(
        await refuse(
          { identity: { permissions: [name] } },
          422,
          'permissions_not_allowed_for_kind',
          baton.admin,
        ),
        { kind: 'agent', forbidden: [name] },
      );
    assert.deepEqual(
      await refuse(
        { identity: { permissions: ['tasks.write', 'tasks.read'] } },
        403,
        'permission_escalation',
      ),
      { missing: ['tasks.write'] },
    );
    const paths: [string, object][] = [
      ['/identity/roles', { identity: { roles: ['none'] } }],
      ['/identity/capabilities', { identity: { capabilities: ['none'] } }],
      ['/skills/invoke', { skills: { invoke: ['none@1'] } }],
      ['/connections', { connections: ['github'] }],
    ];
    for (const [path, sections] of paths)
      assert.deepEqual(await refuse(sections, 403, 'permission_escalation'), { path });
  }
  await publishAgent(poor);
  const rich = await may('org.manage', 'connections.manage');
  for (const [, sections] of [['/identity/roles', { identity: { roles: ['none'] } }]] as const)
    await refused(publish(agentSpec(sections), agentKey(), rich), 422, 'unknown_reference');
});

test('a malformed spec returns 400', async () => {
  const wrong: object[] = [
    agentSpec({ identity: { kind: 'human' } }),
    agentSpec({ identity: { permissions: [] } }),
    agentSpec({ identity: { permissions: Array.from({ length: 201 }, () => 'tasks.read') } }),
    agentSpec({ identity: { roles: ['a', 'a'] } }),
    agentSpec({ identity: { iam: { audiences: [], scopeCeiling: ['x'] } } }),
    agentSpec({ skills: { concurrency: 33 } }),
    agentSpec({ skills: { invoke: ['review'] } }),
    agentSpec({ skills: { protocols: ['smtp'] } }),
    agentSpec({ connections: Array.from({ length: 21 }, (_, n) => `c${n}`) }),
    agentSpec({ executor: { kind: 'Script' } }),
    agentSpec({ executor: { kind: 'script', image: 'ghcr.io/baton/agent' } }),
    agentSpec({ executor: { kind: 'script' }, placement: { resources: { cpus: 65 } } }),
    agentSpec({ executor: { kind: 'script' }, placement: { resources: { memoryMb: 100.5 } } }),
    agentSpec({ executor: { kind: 'script' }, placement: { replicas: 21 } }),
    agentSpec({ placement: { replicas: 1 } }),
    agentSpec({ state: 'sleeping' }),
    agentSpec({ unknown: 1 }),
    agentSpec({ displayName: '' }),
  ];
  for (const spec of wrong) await refused(publish(spec), 400, 'invalid_request');
  for (const key of ['', 'A', 'a_b', '-a', 'me', 'a'.repeat(64)])
    await refused(publish(agentSpec(), key), 400, 'invalid_request');
  for (const image of [
    'ghcr.io/baton/agent:1.2',
    'localhost:5000/agent:latest',
    `agent@sha256:${'a'.repeat(64)}`,
    `agent:1@sha256:${'a'.repeat(64)}`,
  ])
    await publishAgent(baton.admin, agentSpec({ executor: { kind: 'script', image } }));
});

test('texts and documents are refused if too long, too deep, or with secrets or fractions', async () => {
  let deep: object = {};
  for (let level = 0; level < 25; level += 1) deep = { deep };
  const big = Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`p${n}`, 'x'.repeat(60_000)]));
  const secret = `ghp_${'a'.repeat(30)}`;
  const cases: [string, object, object][] = [
    [
      'payload_too_large',
      { displayName: 'n'.repeat(201) },
      { field: 'spec.displayName', maxCharacters: 200 },
    ],
    [
      'payload_too_large',
      { description: 'n'.repeat(2001) },
      { field: 'spec.description', maxCharacters: 2000 },
    ],
    [
      'payload_too_large',
      { executor: { kind: 'x', instructions: 'n'.repeat(65_537) } },
      { field: 'spec.executor.instructions', maxCharacters: 65_536 },
    ],
    [
      'payload_too_large',
      { workingCopy: { a: 'n'.repeat(65_537) } },
      { field: 'spec.workingCopy.a', maxCharacters: 65_536 },
    ],
    ['payload_too_deep', { workingCopy: deep }, { field: 'spec', maxDepth: 20 }],
    [
      'non_canonical_value',
      { executor: { kind: 'x', params: { share: 0.5 } } },
      { path: '/executor/params/share' },
    ],
    [
      'secret_material_rejected',
      { executor: { kind: 'x', params: { apiKey: 'x' } } },
      { field: 'spec.executor.params', path: '/apiKey' },
    ],
    [
      'secret_material_rejected',
      { executor: { kind: 'x', instructions: `Use ${secret}.` } },
      { field: 'spec.executor.instructions', match: 'github_token' },
    ],
    [
      'secret_material_rejected',
      { workingCopy: { url: secret } },
      { field: 'spec.workingCopy.url', match: 'github_token' },
    ],
  ];
  for (const where of ['/agents', '/agents:validate']) {
    for (const [code, sections, details] of cases)
      assert.deepEqual(
        await refused(baton.admin.post(where, { key: agentKey(), spec: agentSpec(sections) }), 422, code),
        details,
      );
    const tooBig = { key: agentKey(), spec: agentSpec({ executor: { kind: 'x', params: big } }) };
    const { maxBytes } = await refused(baton.admin.post(where, tooBig), 422, 'payload_too_large');
    assert.equal(maxBytes, 262_144);
  }
  const spec = agentSpec({ executor: { kind: 'x' }, placement: { secrets: ['github-token'] } });
  await publishAgent(baton.admin, spec);
});

test('texts in another normal form have the same hash', async () => {
  const { key } = await publishAgent(baton.admin, agentSpec({ displayName: 'Caf\u00e9' }));
  assert.equal((await publish(agentSpec({ displayName: 'Cafe\u0301' }), key)).status, 200);
});

test('lists by status, state and workspace, newest first; with include=status also the reported status', async () => {
  const [first, second] = [await publishAgent(baton.admin), await publishAgent(baton.admin, placed())];
  await done(baton.admin.patch(`/agents/${first.key}/state`, { state: 'stopped' }));
  await done(baton.admin.post(`/agents/${first.key}:retire`, { reason: 'x' }));
  const keys = async (query: string) =>
    (await done(baton.admin.get(`/agents?limit=200${query}`))).items.map(({ key }: any) => key);
  const all = await keys('');
  assert.ok(all.indexOf(second.key) < all.indexOf(first.key));
  assert.ok((await keys('&status=retired')).includes(first.key));
  assert.ok(!(await keys('&status=active')).includes(first.key));
  assert.ok((await keys('&state=running')).includes(second.key));
  assert.ok(!(await keys('&state=running')).includes(first.key));
  assert.deepEqual(await refused(baton.admin.get('/agents?status=asleep'), 422, 'invalid_status'), {
    allowed: ['active', 'retired'],
  });
  await refused(baton.admin.get('/agents?state=asleep'), 422, 'invalid_status');
  await refused(baton.admin.get('/agents?cursor=x'), 422, 'invalid_cursor');
  const [item] = (await done(baton.admin.get('/agents?limit=1'))).items;
  const { revision: _, ...record } = second;
  assert.deepEqual(item, record);
  const [shown] = (await done(baton.admin.get('/agents?limit=1&include=status'))).items;
  assert.equal(shown.observedStatus.phase, 'unknown');
});

test('reads an agent with its current revision, or another one', async () => {
  const first = await publishAgent(baton.admin);
  const second = await done(publish(agentSpec({ description: 'x' }), first.key), 201);
  assert.deepEqual(await done(baton.admin.get(`/agents/${first.key}`)), second);
  assert.deepEqual(await done(baton.admin.get(`/agents/${first.key}@1`)), {
    ...second,
    revision: first.revision,
  });
  for (const ref of [`${first.key}@3`, `${first.key}@0`, agentKey(), 'A'])
    await refused(baton.admin.get(`/agents/${ref}`), 404, 'not_found');
  await refused(baton.otherAdmin.get(`/agents/${first.key}`), 404, 'not_found');
});

test('PATCH state changes state and replicas; stored values write nothing', async () => {
  const { id, key } = await publishAgent(baton.admin, placed());
  const change = (body: object) => baton.admin.patch(`/agents/${key}/state`, body);
  const changed = await done(change({ state: 'stopped', replicas: 3 }));
  assert.deepEqual([changed.state, changed.replicas, changed.version], ['stopped', 3, 2]);
  assert.deepEqual(await done(change({ state: 'stopped', replicas: 3 })), changed);
  assert.equal((await done(change({ replicas: 0 }))).replicas, 0);
  for (const body of [{ replicas: 21 }, { replicas: -1 }, { state: 'x' }])
    await refused(change(body), 400, 'invalid_request');
  await refused(change({}), 422, 'empty_update');
  for (const field of ['state', 'replicas'])
    assert.deepEqual(await refused(change({ [field]: null }), 422, 'invalid_field'), { field });
  assert.deepEqual(await typesOf(id), [
    'agent.revision_published',
    'agent.state_changed',
    'agent.state_changed',
  ]);
  const unplaced = await publishAgent(baton.admin);
  await refused(baton.admin.patch(`/agents/${unplaced.key}/state`, { replicas: 1 }), 400, 'invalid_request');
  await refused(baton.admin.patch(`/agents/${agentKey()}/state`, { replicas: 1 }), 404, 'not_found');
  await done(baton.admin.post(`/agents/${key}:retire`, { reason: 'x' }));
  await refused(change({ state: 'running' }), 409, 'agent_retired');
});

test('permissions: agents.read to read, agents.manage to change', async () => {
  const { key } = await publishAgent(baton.admin);
  const reader = await baton.actor({ permissions: ['agents.read'] });
  await done(reader.get('/agents'));
  await done(reader.get(`/agents/${key}`));
  await refused(reader.patch(`/agents/${key}/state`, { state: 'stopped' }), 403, 'permission_denied');
  const manager = await baton.actor({ permissions: ['agents.manage'] });
  await refused(manager.get('/agents'), 403, 'permission_denied');
  await done(manager.patch(`/agents/${key}/state`, { state: 'stopped' }));
  const checked = async (resourceId: string, actor = manager) => {
    const checks = [{ action: 'update-state', resourceType: 'agent', resourceId }];
    const [{ allowed, reason }] = (await done(actor.post('/authz:check', { checks }))).results;
    return [allowed, reason?.code];
  };
  assert.deepEqual(await checked(key), [true, undefined]);
  assert.deepEqual(await checked(agentKey()), [false, 'not_found']);
  assert.deepEqual(await checked(key, reader), [false, 'permission_denied']);
});

test('a hidden agent is neither listed, read nor published again', async () => {
  const [mine, other] = [await makeWorkspace(baton), await makeWorkspace(baton)];
  const person = await baton.actor({ kind: 'human' });
  await done(baton.admin.post(`/workspaces/${mine.id}/members`, { principalId: person.principalId }), 201);
  await baton.pool.run(
    sql`update iam_bindings set visibility = 'members' where principal_id = ${person.principalId}`,
  );
  const seen = await publishAgent(baton.admin, agentSpec({ work: { workspace: mine.id } }));
  const hidden = await publishAgent(baton.admin, agentSpec({ work: { workspace: other.id } }));
  const keys = (await done(person.get('/agents?limit=200'))).items.map(({ key }: any) => key);
  assert.ok(keys.includes(seen.key) && !keys.includes(hidden.key));
  assert.deepEqual(await refused(person.get(`/agents/${hidden.key}@1`), 404, 'not_found'), {
    agent: `${hidden.key}@1`,
  });
  for (const where of ['/agents', '/agents:validate'])
    await refused(person.post(where, { key: hidden.key, spec: agentSpec() }), 404, 'not_found');
  await refused(
    person.post('/agents', { key: agentKey(), spec: agentSpec({ work: { workspace: other.id } }) }),
    422,
    'unknown_reference',
  );
});
