import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { watchEventLoop } from '@baton/kernel/testing/process/processor-time';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { look, newProcessKey, processSpec, ruleRow, stageOf } from '../../testing/processes/processes.ts';
import { agentSpec, publishAgent } from '../../testing/registry/agents.ts';

let baton: TestCoordination;
let agent: string;
before(async () => {
  baton = await startCoordination();
  ({ key: agent } = await publishAgent(baton.admin));
});
after(() => baton.close());

const specOf = (more: Record<string, unknown> = {}) => processSpec({ identity: { agent }, ...more });
const publish = (key: string, spec: unknown, actor = baton.admin) =>
  actor.post('/process-definitions', { key, spec });

test('publishes immutable versions with increasing numbers', async () => {
  const key = newProcessKey();
  const first = await done(publish(key, specOf({ governedBy: ['policy-7'] })), 201);
  assert.match(first.definitionHash, /^sha256:[0-9a-f]{64}$/);
  const { id, spec, warnings, createdAt: _, definitionHash, ...record } = first;
  assert.deepEqual(record, {
    tenantId: baton.tenantId,
    workspaceId: null,
    key,
    version: 1,
    latestVersion: 1,
    displayName: 'Release of a change',
    identityAgent: agent,
    owner: [{ role: 'release-managers' }],
    expressionProfile: 'cp/1',
    engineRevision: 1,
    status: 'active',
    retired: null,
    package: null,
    createdBy: baton.admin.principalId,
  });
  assert.deepEqual(
    warnings.map(({ code }: { code: string }) => code),
    ['governed_by_unchecked'],
  );
  assert.deepEqual([spec.version, spec.timers, spec.stages[0].steps[0].human.escalations], [1, [], []]);
  assert.deepEqual(await done(publish(key, specOf({ governedBy: ['policy-7'] }))), first);

  const third = await done(publish(key, specOf({ version: 3, displayName: 'Later' })), 201);
  assert.deepEqual([third.version, third.latestVersion, third.displayName], [3, 3, 'Later']);
  assert.deepEqual(await done(baton.admin.get(`/process-definitions/${key}`)), third);
  assert.deepEqual(await done(baton.admin.get(`/process-definitions/${key}@1`)), {
    ...first,
    latestVersion: 3,
  });
  const { items } = await done(baton.admin.get(`/process-definitions/${key}/versions`));
  assert.deepEqual(items, [third, { ...first, latestVersion: 3 }]);
  assert.deepEqual(await done(publish(key, specOf({ governedBy: ['policy-7'] }))), {
    ...first,
    latestVersion: 3,
  });

  const conflict = (version: number, more: object = {}) => ({ key, version, latestVersion: 3, ...more });
  for (const [version, details] of [
    [1, conflict(1, { definitionHash })],
    [2, conflict(2)],
    [3, conflict(3, { definitionHash: third.definitionHash })],
  ] as const)
    assert.deepEqual(
      await refused(publish(key, specOf({ version, displayName: 'Other' })), 409, 'process_version_conflict'),
      details,
    );
  await refused(publish(key, { version: 2, odd: true }), 409, 'process_version_conflict');

  const events = await eventsOf(baton, id, third.id);
  assert.deepEqual(
    events.map(({ type, payload }) => [type, payload]),
    [first, third].map((one, n) => [
      'process.definition_published',
      {
        key,
        version: one.version,
        definitionHash: one.definitionHash,
        previousVersion: n === 0 ? null : 1,
        workspaceId: null,
        identityAgent: agent,
        displayName: one.displayName,
        governedBy: n === 0 ? ['policy-7'] : [],
        elements: [
          { id: 'review', kind: 'stage' },
          { id: 'look', kind: 'human' },
        ],
      },
    ]),
  );
});

test('equivalent definitions have the same hash, with omitted defaults and different notations of numbers and letters', async () => {
  const key = newProcessKey();
  const due = { workhours: 7.5 };
  const calendar = `c${newId()}`;
  const years = [{ year: 2026 }];
  const workingHours = { intervals: [{ from: '09:00', to: '17:00' }] };
  await done(
    baton.admin.post('/calendars', {
      key: calendar,
      spec: { displayName: 'x', timezone: 'UTC', workingHours, years },
    }),
    201,
  );
  const first = await done(publish(key, specOf({ calendar, due, description: '\u00e9' })), 201);
  const again = specOf({
    description: 'e\u0301',
    timers: [],
    due: { warnBefore: undefined, ...due },
    calendar,
  });
  assert.equal((await done(publish(key, again))).definitionHash, first.definitionHash);
});

test('element_kind_changed and element_removed: the meaning of an id in the previous version', async () => {
  const key = newProcessKey();
  await done(publish(key, specOf({ stages: [stageOf('review', [look(), look({ id: 'again' })])] })), 201);
  const changed = specOf({ version: 2, stages: [stageOf('review', [{ id: 'look', wait: 'PT1S' }])] });
  const { problems } = await refused(publish(key, changed), 422, 'invalid_process');
  assert.deepEqual(
    problems.map(({ code, path }: { code: string; path: string }) => `${code} ${path}`),
    ['element_kind_changed /stages/0/steps/0', 'element_removed '],
  );
  const { warnings } = await done(publish(key, specOf({ version: 2 })), 201);
  assert.deepEqual(
    warnings.map(({ code }: { code: string }) => code),
    ['element_removed'],
  );
});

test('retires a process once, previews it with dryRun, and a new version reactivates it', async () => {
  const key = newProcessKey();
  const made = await done(publish(key, specOf()), 201);
  const path = `/process-definitions/${key}:retire`;
  const nothing = { key, status: 'active', retired: null, openInstances: 0, byVersion: [] };
  assert.deepEqual(await done(baton.admin.post(`${path}?dryRun=true`, { reason: 'x' })), nothing);
  const retired = await done(baton.admin.post(path, { reason: 'over' }));
  const { at, ...said } = retired.retired;
  assert.ok(Date.parse(at) > 0);
  assert.deepEqual(said, { by: baton.admin.principalId, reason: 'over' });
  assert.deepEqual({ ...retired, retired: null }, { ...nothing, status: 'retired' });
  assert.deepEqual(await done(baton.admin.post(path, { reason: 'again' })), retired);
  const { status, retired: known } = await done(baton.admin.get(`/process-definitions/${key}`));
  assert.deepEqual([status, known], ['retired', retired.retired]);
  // Publishing the same version again changes nothing: the process stays retired.
  assert.equal((await done(publish(key, specOf()))).status, 'retired');
  const next = await done(publish(key, specOf({ version: 2 })), 201);
  assert.deepEqual([next.status, next.retired], ['active', null]);
  assert.equal((await done(baton.admin.get(`/process-definitions/${key}@1`))).status, 'active');
  const events = await eventsOf(baton, made.id, next.id);
  assert.deepEqual(
    events.map(({ type }) => type),
    [
      'process.definition_published',
      'process.definition_retired',
      'process.definition_published',
      'process.definition_restored',
    ],
  );
  assert.deepEqual(events[1]?.payload, {
    key,
    latestVersion: 1,
    workspaceId: null,
    reason: 'over',
    openInstances: 0,
    byVersion: [],
  });
  assert.deepEqual(events[3]?.payload, { key, latestVersion: 2, packageKey: null, packageVersion: null });
});

test('lists the latest versions, newest first, by key, workspace, status and governing document', async () => {
  const workspace = await makeWorkspace(baton);
  const [one, two] = [newProcessKey(), newProcessKey()];
  const document = newId();
  await done(publish(one, specOf({ governedBy: [document] })), 201);
  await done(publish(two, specOf({ workspaceId: workspace.id })), 201);
  await done(publish(one, specOf({ version: 2, governedBy: [document, 'other'] })), 201);
  await done(baton.admin.post(`/process-definitions/${two}:retire`, { reason: 'over' }));
  const listed = async (query: string) => {
    const { items } = await done(baton.admin.get(`/process-definitions?${query}`));
    return items.map(({ key, version }: { key: string; version: number }) => `${key}@${version}`);
  };
  assert.deepEqual((await listed('')).slice(0, 2), [`${one}@2`, `${two}@1`]);
  assert.deepEqual(await listed(`key=${one}`), [`${one}@2`]);
  assert.deepEqual(await listed(`governedBy=${document}`), [`${one}@2`]);
  assert.deepEqual(await listed(`workspaceId=${workspace.id}`), [`${two}@1`]);
  assert.ok((await listed('status=retired')).includes(`${two}@1`));
  assert.ok(!(await listed('status=active')).includes(`${two}@1`));
  assert.deepEqual(await refused(baton.admin.get('/process-definitions?status=odd'), 422, 'invalid_status'), {
    allowed: ['active', 'retired'],
  });
  assert.deepEqual(await listed('package=none'), []);
  await done(publish(one, specOf({ version: 3 })), 201);
  assert.deepEqual(await listed(`governedBy=${document}`), []);
});

test('pages of definitions and of versions follow each other', async () => {
  const key = newProcessKey();
  for (const version of [1, 2, 3]) await done(publish(key, specOf({ version })), 201);
  const pages = async (path: string) => {
    const first = await done(baton.admin.get(path));
    const second = await done(baton.admin.get(`${path}&cursor=${first.nextCursor}`));
    return [...first.items, ...second.items].map(({ version }: { version: number }) => version);
  };
  assert.deepEqual(await pages(`/process-definitions/${key}/versions?limit=2`), [3, 2, 1]);
  const one = await done(baton.admin.get('/process-definitions?limit=1'));
  const next = await done(baton.admin.get(`/process-definitions?limit=1&cursor=${one.nextCursor}`));
  assert.notEqual(one.items[0].key, next.items[0].key);
  await refused(baton.admin.get('/process-definitions?cursor=odd'), 422, 'invalid_cursor');
});

test('an agent that the author may not see is unknown in every reference', async () => {
  const { person, mine, other } = await makeNarrowPerson(baton);
  const inside = (place: { id: string }) =>
    publishAgent(baton.admin, agentSpec({ work: { workspace: place.id } }));
  const [seen, hidden] = [await inside(mine), await inside(other)];
  const problemsWith = async (identity: { key: string }, assigned: { key: string }) => {
    const step = { id: 'look', human: { taskType: 'task', title: 'x', assign: [{ agent: assigned.key }] } };
    const spec = specOf({
      workspaceId: mine.id,
      identity: { agent: identity.key },
      stages: [{ id: 'main', steps: [step] }],
    });
    const { body } = await publish(newProcessKey(), spec, person);
    return body.error?.details.problems?.[0].code ?? body.error?.code;
  };
  assert.equal(await problemsWith(seen, seen), undefined);
  assert.equal(await problemsWith(seen, hidden), 'unknown_agent');
  assert.equal(await problemsWith(hidden, seen), 'unknown_agent');
});

test('unknown_agent, and permission_escalation for permissions beyond those of the caller', async () => {
  const unknown = await refused(
    publish(newProcessKey(), specOf({ identity: { agent: 'nobody' } })),
    422,
    'unknown_agent',
  );
  assert.deepEqual(unknown, { field: 'identity.agent', agentKey: 'nobody' });
  const retired = await publishAgent(baton.admin);
  await done(baton.admin.post(`/agents/${retired.key}:retire`, { reason: 'over' }));
  await refused(publish(newProcessKey(), specOf({ identity: { agent: retired.key } })), 422, 'unknown_agent');

  const strong = await publishAgent(
    baton.admin,
    agentSpec({ identity: { permissions: ['tasks.write', 'tasks.read'] } }),
  );
  const author = await baton.actor({ permissions: ['processes.write', 'processes.read', 'tasks.read'] });
  const spec = specOf({ identity: { agent: strong.key } });
  const missing = await refused(publish(newProcessKey(), spec, author), 403, 'permission_escalation');
  assert.deepEqual(missing, { missing: ['tasks.write'] });
  const able = await baton.actor({ permissions: ['processes.write', 'tasks.read', 'tasks.write'] });
  await done(publish(newProcessKey(), spec, able), 201);
});

test('the workspace must exist and be active: 404, workspace_archived', async () => {
  const workspaceId = newId();
  assert.deepEqual(await refused(publish(newProcessKey(), specOf({ workspaceId })), 404, 'not_found'), {
    workspaceId,
  });
  const workspace = await makeWorkspace(baton);
  await done(baton.admin.post(`/workspaces/${workspace.id}:archive`));
  await refused(publish(newProcessKey(), specOf({ workspaceId: workspace.id })), 422, 'workspace_archived');
});

test('a missing definition returns 404, by key, by version and in every path', async () => {
  const key = newProcessKey();
  const missing = { processDefinition: key };
  assert.deepEqual(await refused(baton.admin.get(`/process-definitions/${key}`), 404, 'not_found'), missing);
  await refused(baton.admin.get(`/process-definitions/${key}/versions`), 404, 'not_found');
  await refused(baton.admin.post(`/process-definitions/${key}:retire`, { reason: 'x' }), 404, 'not_found');
  await done(publish(key, specOf()), 201);
  await refused(baton.admin.get(`/process-definitions/${key}@2`), 404, 'not_found');
  await refused(baton.otherAdmin.get(`/process-definitions/${key}`), 404, 'not_found');
  await refused(baton.admin.get('/process-definitions/Not@key'), 404, 'not_found');
});

test('calendar_in_use: a calendar that an active process uses is not retired', async () => {
  const calendar = `c${newId()}`;
  const spec = { displayName: 'x', timezone: 'UTC', years: [{ year: 2026 }] };
  await done(baton.admin.post('/calendars', { key: calendar, spec }), 201);
  const key = newProcessKey();
  await done(publish(key, specOf({ calendar })), 201);
  const retire = (query = '') => baton.admin.post(`/calendars/${calendar}:retire${query}`, { reason: 'x' });
  const details = { calendar, processes: [key], total: 1 };
  assert.deepEqual(await refused(retire(), 409, 'calendar_in_use'), details);
  assert.deepEqual(await refused(retire('?dryRun=true'), 409, 'calendar_in_use'), details);
  await done(baton.admin.post(`/process-definitions/${key}:retire`, { reason: 'x' }));
  await done(retire());
  const { problems } = await refused(publish(key, specOf({ version: 2, calendar })), 422, 'invalid_process');
  assert.equal(problems[0].code, 'calendar_retired');
});

test('of concurrent publications of a version, one succeeds and the others get that version or a conflict', async () => {
  const key = newProcessKey();
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, n) => publish(key, specOf({ displayName: `Name ${n % 2}` }))),
  );
  const statuses = answers.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [200, 200, 200, 201, 409, 409, 409, 409]);
  const { items } = await done(baton.admin.get(`/process-definitions/${key}/versions`));
  assert.equal(items.length, 1);
});

test('validation of the most expensive definitions terminates without blocking other requests', async () => {
  const long = `data.change == "${'x'.repeat(3970)}"`;
  const steps = (count: number, when: string, stage = 0) =>
    Array.from({ length: count }, (_, n) => ({ id: `s${stage}-${n}`, set: { change: '"x"' }, when }));
  const cells = (n: number) => [`amount > ${n}.0`];
  const decisions = [
    {
      id: 'risk',
      hitPolicy: 'unique',
      inputs: [{ id: 'amount', expr: 'data.amount' }],
      outputs: [{ id: 'level' }],
      rules: Array.from({ length: 500 }, (_, n) => ruleRow(cells(n), ['1'])),
    },
  ];
  const patterns = Array.from({ length: 60 }, (_, n) => ({
    id: `p${n}`,
    wait: 'PT1S',
    when: `data.change.matches("(a{100}){4}${n}")`,
  }));
  const worst = [
    specOf({ stages: [stageOf('a', steps(60, long))] }),
    specOf({ stages: Array.from({ length: 30 }, (_, n) => stageOf(`a${n}`, steps(100, 'true', n))) }),
    specOf({ decisions }),
    specOf({ stages: [stageOf('a', patterns)] }),
    specOf({ stages: [stageOf('a', steps(60, `${'['.repeat(31)}1${']'.repeat(31)} == []`))] }),
  ];
  for (const spec of worst) {
    const longestTurnMs = watchEventLoop();
    const { status } = await publish(newProcessKey(), spec);
    const held = longestTurnMs();
    assert.ok([201, 422].includes(status), String(status));
    assert.ok(held < 500, `blocked the event loop for ${held} ms`);
  }
});

test('versions in hidden workspaces are not listed', async () => {
  const [seen, hidden] = [await makeWorkspace(baton), await makeWorkspace(baton)];
  const key = newProcessKey();
  for (const [version, workspaceId] of [
    [1, hidden.id],
    [2, null],
    [3, seen.id],
  ])
    await done(publish(key, specOf({ version, workspaceId })), 201);
  const member = await baton.actor({ kind: 'human', permissions: ['processes.read', 'processes.write'] });
  await done(baton.admin.post(`/workspaces/${seen.id}/members`, { principalId: member.principalId }), 201);
  await baton.pool.run(
    sql`update iam_bindings set visibility = 'members' where principal_id = ${member.principalId}`,
  );
  const { items } = await done(member.get(`/process-definitions/${key}/versions`));
  assert.deepEqual(
    items.map(({ version }: { version: number }) => version),
    [3, 2],
  );
  await refused(member.get(`/process-definitions/${key}@1`), 404, 'not_found');
});

test('a page of large definitions ends before 4 MiB and has a cursor', async () => {
  const workspace = await makeWorkspace(baton);
  const key = newProcessKey();
  await done(publish(key, specOf({ workspaceId: workspace.id })), 201);
  await baton.pool.run(sql`
    insert into process_definitions (id, tenant_id, workspace_id, key, version, definition_hash, identity_agent, governed_by,
      expression_profile, engine_revision, spec, warnings, created_by)
    select gen_random_uuid(), tenant_id, workspace_id, key || n, 1, definition_hash, identity_agent, governed_by,
      expression_profile, engine_revision, jsonb_set(spec, '{description}', to_jsonb(repeat('x', 250000))), warnings, created_by
    from process_definitions, generate_series(1, 20) n where tenant_id = ${baton.tenantId} and key = ${key}`);
  const counts: number[] = [];
  for (let cursor = ''; counts.length < 5; ) {
    const path = `/process-definitions?limit=200&workspaceId=${workspace.id}${cursor}`;
    const page = await done(baton.admin.get(path));
    assert.ok(JSON.stringify(page).length < 4_194_304 + 1000);
    counts.push(page.items.length);
    if (page.nextCursor === null) break;
    cursor = `&cursor=${page.nextCursor}`;
  }
  assert.deepEqual([counts.length, counts.reduce((sum, count) => sum + count)], [2, 21]);
});
