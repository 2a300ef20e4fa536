import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { raceRounds } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, makeTask, refused } from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const create = (more: object = {}) => baton.admin.post('/goals', { title: 'wanted', ...more });
const make = (more: object = {}) => done(create(more), 201);
const change = (id: string, version: number, body: object) =>
  baton.admin.patch(`/goals/${id}`, body, { 'if-match': `goal-${version}` });
const secret = `the token: ${'abcd1234'.repeat(4)}`;
const criterion = { key: 'fast', kind: 'human', description: 'It is fast.' };

describe('POST /goals', () => {
  test('returns 201 with the goal and its tag, and writes goal.created in its workspace', async () => {
    const { id: workspaceId } = await makeWorkspace(baton);
    const parent = await make();
    const criteria = [
      { ...criterion, spec: { any: ['thing'] } },
      { ...criterion, key: 'b', kind: 'llm_judge' },
    ];
    const createdFrom = { kind: 'external', ref: 'ticket-7', evidence: [] };
    const body = {
      title: 'T',
      desiredState: 'D',
      criteria,
      workspaceId,
      parentGoalId: parent.id,
      createdFrom,
    };
    const answer = await create({ ...body, ownerId: baton.admin.principalId });
    assert.deepEqual([answer.status, answer.headers.get('etag')], [201, '"goal-1"']);
    const { id, createdAt, updatedAt, ...rest } = answer.body;
    assert.equal(createdAt, updatedAt);
    assert.deepEqual(rest, {
      ...body,
      tenantId: baton.tenantId,
      ownerId: baton.admin.principalId,
      createdBy: baton.admin.principalId,
      status: 'active',
      version: 1,
      closedAt: null,
    });
    const [event] = await eventsOf(baton, id);
    assert.deepEqual(
      [event?.type, event?.schema_version, event?.payload],
      [
        'goal.created',
        1,
        {
          goalId: id,
          title: 'T',
          status: 'active',
          workspaceId,
          ownerId: baton.admin.principalId,
          parentGoalId: parent.id,
          criteriaCount: 2,
          createdFrom: { kind: 'external', ref: 'ticket-7', evidence: 0 },
        },
      ],
    );
    await journalIsStable(baton.pool);
    const { items } = await done(baton.admin.get(`/events?entityId=${id}`));
    assert.equal(items[0].workspaceId, workspaceId);
    const read = await baton.admin.get(`/goals/${id}`);
    assert.deepEqual([read.body, read.headers.get('etag')], [answer.body, '"goal-1"']);
  });

  test('createdFrom is human for a person, harness for a program', async () => {
    assert.deepEqual((await make()).createdFrom, { kind: 'human', evidence: [] });
    const agent = await baton.actor({ kind: 'agent' });
    const { createdFrom } = await done(agent.post('/goals', { title: 'x' }), 201);
    assert.deepEqual(createdFrom, { kind: 'harness', evidence: [] });
  });

  test('refuses in the documented order', async () => {
    const gone = await makeWorkspace(baton);
    await done(baton.admin.post(`/workspaces/${gone.id}:archive`));
    const [here, there] = [await makeWorkspace(baton), await makeWorkspace(baton)];
    const foreign = await make({ workspaceId: there.id });
    const wrong: [object, number, string][] = [
      [{ title: '  ' }, 422, 'invalid_title'],
      [{ title: secret }, 422, 'secret_material_rejected'],
      [{ desiredState: secret }, 422, 'secret_material_rejected'],
      [{ criteria: [{ ...criterion, kind: 'odd' }] }, 422, 'invalid_acceptance'],
      [{ criteria: [{ ...criterion, when: ['$.task.priority'] }] }, 422, 'invalid_acceptance'],
      [{ criteria: [{ ...criterion, key: 'A' }] }, 422, 'invalid_acceptance'],
      [{ criteria: [{ ...criterion, description: '' }] }, 422, 'invalid_acceptance'],
      [{ criteria: [{ ...criterion, description: secret }] }, 422, 'secret_material_rejected'],
      [{ criteria: [{ ...criterion, spec: { apiKey: 'x' } }] }, 422, 'secret_material_rejected'],
      [{ criteria: [{ ...criterion, spec: { a: 'x'.repeat(16_400) } }] }, 422, 'payload_too_large'],
      [{ criteria: [criterion, criterion] }, 422, 'duplicate_check_key'],
      [{ desiredState: 'x'.repeat(10_001) }, 422, 'invalid_desired_state'],
      [{ createdFrom: { kind: 'parent' } }, 422, 'invalid_origin'],
      [{ createdFrom: { kind: 'human', evidence: [{ kind: 'odd' }] } }, 422, 'invalid_origin'],
      [
        { createdFrom: { kind: 'human', evidence: [{ kind: 'artifact', artifactId: newId() }] } },
        404,
        'not_found',
      ],
      [{ ownerId: newId() }, 404, 'not_found'],
      [{ workspaceId: newId() }, 404, 'not_found'],
      [{ workspaceId: gone.id }, 422, 'workspace_archived'],
      [{ parentGoalId: newId() }, 404, 'not_found'],
      [{ parentGoalId: foreign.id }, 422, 'goal_workspace_mismatch'],
      [{ parentGoalId: foreign.id, workspaceId: here.id }, 422, 'goal_workspace_mismatch'],
    ];
    const later: Record<string, unknown> = { parentGoalId: newId() };
    for (const [body, status, code] of wrong.toReversed()) {
      await refused(create({ ...later, ...body }), status, code);
      for (const [name, value] of Object.entries(body)) if (name !== 'title') later[name] ??= value;
    }
    await refused(create({ title: '' }), 400, 'invalid_request');
    await refused(create({ title: 'x'.repeat(501) }), 400, 'invalid_request');
    await refused(create({ criteria: Array(51).fill(criterion) }), 400, 'invalid_request');
    await refused(create({ status: 'active' }), 400, 'invalid_request');
    assert.equal((await make({ desiredState: '😀'.repeat(10_000) })).version, 1);
  });

  test('goals have at most 32 levels: 422 goal_too_deep, also for a moved goal with subgoals', async () => {
    const chain = async (levels: number) => {
      const ids: string[] = [];
      for (let n = 0; n < levels; n += 1) ids.push((await make({ parentGoalId: ids.at(-1) ?? null })).id);
      return ids;
    };
    const [high, low] = [await chain(32), await chain(3)];
    assert.deepEqual(await refused(create({ parentGoalId: high[31] }), 422, 'goal_too_deep'), {
      maxLevels: 32,
    });
    await refused(change(low[0] as string, 1, { parentGoalId: high[29] }), 422, 'goal_too_deep');
    await done(change(low[0] as string, 1, { parentGoalId: high[28] }));
  });
});

describe('PATCH /goals/{id}', () => {
  test('changes the given fields; the event has values, a flag for the state and a count for criteria', async () => {
    const parent = await make();
    const { id } = await make();
    const ownerId = baton.admin.principalId;
    const body = { title: 'New', desiredState: 'D', criteria: [criterion], ownerId, parentGoalId: parent.id };
    const changed = await done(change(id, 1, body));
    assert.deepEqual([changed.version, changed.title, changed.parentGoalId], [2, 'New', parent.id]);
    assert.deepEqual(await done(change(id, 2, body)), changed, 'restated values change nothing');
    const cleared = await done(change(id, 2, { ownerId: null, parentGoalId: null }));
    assert.deepEqual([cleared.ownerId, cleared.parentGoalId], [null, null]);
    const events = await eventsOf(baton, id);
    assert.deepEqual(
      events.slice(1).map(({ type, payload }) => [type, payload]),
      [
        ['goal.updated', { goalId: id, changes: { ...body, desiredState: true, criteria: 1 }, version: 2 }],
        ['goal.updated', { goalId: id, changes: { ownerId: null, parentGoalId: null }, version: 3 }],
      ],
    );
  });

  test('a goal is closed, closed with another status and reopened', async () => {
    const { id } = await make();
    const achieved = await done(change(id, 1, { status: 'achieved' }));
    assert.deepEqual([achieved.status, achieved.closedAt], ['achieved', achieved.updatedAt]);
    const kept = await done(change(id, 2, { title: 'other' }));
    assert.equal(kept.closedAt, achieved.closedAt);
    const abandoned = await done(change(id, 3, { status: 'abandoned' }));
    assert.equal(abandoned.closedAt, abandoned.updatedAt);
    const active = await done(change(id, 4, { status: 'active' }));
    assert.deepEqual([active.status, active.closedAt], ['active', null]);
    const events = await eventsOf(baton, id);
    const last = { goalId: id, changes: { status: 'active' }, version: 5, status: 'active' };
    assert.deepEqual(events.at(-1)?.payload, { ...last, fromStatus: 'abandoned' });
  });

  test('refuses in the documented order', async () => {
    const [here, there] = [await makeWorkspace(baton), await makeWorkspace(baton)];
    const { id } = await make({ workspaceId: here.id });
    const child = await make({ workspaceId: here.id, parentGoalId: id });
    const foreign = await make({ workspaceId: there.id });
    await refused(change(newId(), 1, {}), 404, 'not_found');
    assert.deepEqual(await refused(change(id, 9, {}), 409, 'version_conflict'), {
      goalId: id,
      entity: 'goal',
      id,
      expectedVersion: 9,
      currentVersion: 1,
    });
    await refused(change(id, 1, {}), 422, 'empty_update');
    const wrong: [object, number, string][] = [
      [{ title: ' ' }, 422, 'invalid_title'],
      [{ desiredState: secret }, 422, 'secret_material_rejected'],
      [{ criteria: [{}] }, 422, 'invalid_acceptance'],
      [{ criteria: [criterion, criterion] }, 422, 'duplicate_check_key'],
      [{ desiredState: 'x'.repeat(10_001) }, 422, 'invalid_desired_state'],
      [{ ownerId: newId() }, 404, 'not_found'],
      [{ status: 'done' }, 422, 'invalid_goal_status'],
      [{ parentGoalId: id }, 422, 'goal_cycle'],
      [{ parentGoalId: newId() }, 404, 'not_found'],
      [{ parentGoalId: child.id }, 422, 'goal_cycle'],
      [{ parentGoalId: foreign.id }, 422, 'goal_workspace_mismatch'],
    ];
    for (const [body, status, code] of wrong)
      await refused(change(id, 1, { parentGoalId: foreign.id, ...body }), status, code);
    for (const field of ['title', 'desiredState', 'criteria', 'status'])
      assert.deepEqual(await refused(change(id, 1, { [field]: null }), 422, 'invalid_field'), { field });
    for (const field of ['workspaceId', 'createdFrom'])
      await refused(change(id, 1, { [field]: null }), 400, 'invalid_request');
  });
});

test('GET /goals lists newest first, by status, workspace, owner and parent', async () => {
  const { id: workspaceId } = await makeWorkspace(baton);
  const { principalId: ownerId } = await baton.actor();
  const first = await make({ workspaceId });
  const second = await make({ ownerId, parentGoalId: first.id }).catch(() => undefined);
  assert.equal(second, undefined, "a goal of the whole tenant can't be below one of a workspace");
  const child = await make({ ownerId, workspaceId, parentGoalId: first.id });
  await done(change(first.id, 1, { status: 'abandoned' }));
  const list = async (query: string) =>
    (await done(baton.admin.get(`/goals?${query}`))).items.map(({ id }: { id: string }) => id);
  assert.deepEqual(await list(`workspaceId=${workspaceId}`), [child.id, first.id]);
  assert.deepEqual(await list(`workspaceId=${workspaceId}&status=active`), [child.id]);
  assert.deepEqual((await list('status=abandoned'))[0], first.id);
  assert.deepEqual(await list(`ownerId=${ownerId}`), [child.id]);
  assert.deepEqual(await list(`parentGoalId=${first.id}`), [child.id]);
  assert.deepEqual(await list(`parentGoalId=${newId()}`), []);
  const { nextCursor } = await done(baton.admin.get('/goals?limit=1'));
  assert.deepEqual(await list(`limit=1&cursor=${nextCursor}`), [first.id]);
  assert.deepEqual(await refused(baton.admin.get('/goals?status=gone'), 422, 'invalid_status'), {
    allowed: ['active', 'achieved', 'abandoned'],
  });
  await refused(baton.admin.get('/goals?cursor=x'), 422, 'invalid_cursor');
});

describe('the goal of a task', () => {
  const changeTask = (id: string, version: number, body: object) =>
    baton.admin.patch(`/tasks/${id}`, body, { 'if-match': `task-${version}` });

  test('is set by POST and PATCH, included in the events, and cleared by null', async () => {
    const goal = await make();
    const task = await makeTask(baton, { goalId: goal.id });
    assert.equal(task.goalId, goal.id);
    assert.equal((await eventsOf(baton, task.id))[0]?.payload['goalId'], goal.id);
    assert.equal((await done(changeTask(task.id, 1, { goalId: null }))).goalId, null);
    const again = await done(changeTask(task.id, 2, { goalId: goal.id }));
    assert.deepEqual([again.goalId, again.version], [goal.id, 3]);
    assert.equal((await done(changeTask(task.id, 3, { goalId: goal.id }))).version, 3);
    const events = await eventsOf(baton, task.id);
    assert.deepEqual(
      events.slice(1).map(({ payload }) => payload['changes']),
      [{ goalId: null }, { goalId: goal.id }],
    );
  });

  test('belongs to the task’s workspace or to the whole tenant, otherwise 404; an abandoned one is 422, an achieved one accepted', async () => {
    const [here, there] = [await makeWorkspace(baton), await makeWorkspace(baton)];
    const local = await make({ workspaceId: here.id });
    const closed = await make();
    const post = (body: object) => baton.admin.post('/tasks', { title: 'x', ...body });
    const goalId = local.id;
    for (const body of [{ goalId }, { goalId, workspaceId: there.id }, { goalId: newId() }])
      assert.deepEqual(await refused(post(body), 404, 'not_found'), { goalId: body.goalId });
    const task = await done(post({ goalId, workspaceId: here.id }), 201);
    const free = await makeTask(baton);
    await refused(changeTask(free.id, 1, { goalId }), 404, 'not_found');
    await done(changeTask(free.id, 1, { goalId, workspaceId: here.id }));
    await done(change(closed.id, 1, { status: 'achieved' }));
    await done(post({ goalId: closed.id }), 201);
    await done(change(closed.id, 2, { status: 'abandoned' }));
    assert.deepEqual(await refused(post({ goalId: closed.id }), 422, 'goal_abandoned'), {
      goalId: closed.id,
    });
    await refused(changeTask(task.id, 1, { goalId: closed.id }), 422, 'goal_abandoned');
    const unknown = { kind: 'artifact', artifactId: newId() };
    assert.deepEqual(
      await refused(post({ goalId: newId(), evidence: [unknown] }), 404, 'not_found'),
      { artifactId: unknown.artifactId },
      'evidence is checked first',
    );
    await refused(post({ goalId: newId(), parentTask: newId() }), 404, 'not_found').then((details) =>
      assert.ok('goalId' in details, 'the parent last'),
    );
  });

  test("can't follow a task to another workspace: 422 goal_workspace_mismatch", async () => {
    const [here, there] = [await makeWorkspace(baton), await makeWorkspace(baton)];
    const [local, common] = [await make({ workspaceId: here.id }), await make()];
    const task = await makeTask(baton, { workspaceId: here.id, goalId: local.id });
    for (const workspaceId of [there.id, null])
      assert.deepEqual(
        await refused(changeTask(task.id, 1, { workspaceId }), 422, 'goal_workspace_mismatch'),
        { goalId: local.id, workspaceId, goalWorkspaceId: here.id },
      );
    await done(changeTask(task.id, 1, { workspaceId: there.id, goalId: common.id }));
    await done(changeTask(task.id, 2, { workspaceId: null }));
    const left = await makeTask(baton, { workspaceId: here.id, goalId: local.id });
    await done(changeTask(left.id, 1, { workspaceId: there.id, goalId: null }));
  });

  test('filters GET /tasks, also together with a workspace', async () => {
    const { id: workspaceId } = await makeWorkspace(baton);
    const goal = await make();
    const [a, b] = [
      await makeTask(baton, { goalId: goal.id }),
      await makeTask(baton, { goalId: goal.id, workspaceId }),
    ];
    await makeTask(baton, { workspaceId });
    const list = async (query: string) =>
      (await done(baton.admin.get(`/tasks?goalId=${goal.id}${query}`))).items.map(({ id }: any) => id);
    assert.deepEqual(await list(''), [b.id, a.id]);
    assert.deepEqual(await list(`&workspaceId=${workspaceId}`), [b.id]);
    assert.deepEqual(await refused(baton.otherAdmin.get(`/tasks?goalId=${goal.id}`), 404, 'not_found'), {
      goalId: goal.id,
    });
  });
});

test('GET /goals/{id}/work pages the tasks of a goal, with those of its subgoals, of a category', async () => {
  const goal = await make();
  const sub = await make({ parentGoalId: goal.id });
  const below = await make({ parentGoalId: sub.id });
  const tasks: string[] = [];
  for (const goalId of [goal.id, below.id, goal.id, null]) tasks.push((await makeTask(baton, { goalId })).id);
  const [first, deep, second] = tasks as [string, string, string];
  await done(baton.admin.post(`/tasks/${first}:complete`, {}, { 'if-match': 'task-1' }));
  const work = async (query: string) =>
    (await done(baton.admin.get(`/goals/${goal.id}/work?${query}`))).items.map(({ id }: any) => id);
  assert.deepEqual(await work(''), [second, first]);
  assert.deepEqual(await work('includeSubgoals=true'), [second, deep, first]);
  assert.deepEqual(await work('includeSubgoals=true&systemStatusCategory=terminal_success'), [first]);
  const page = await done(baton.admin.get(`/goals/${goal.id}/work?includeSubgoals=true&limit=1`));
  assert.deepEqual(await work(`includeSubgoals=true&limit=2&cursor=${page.nextCursor}`), [deep, first]);
  await done(change(sub.id, 1, { parentGoalId: null }));
  assert.deepEqual(await work('includeSubgoals=true'), [second, first], 'a moved goal keeps its work');
  await refused(
    baton.admin.get(`/goals/${goal.id}/work?systemStatusCategory=x`),
    422,
    'invalid_status_category',
  );
  await refused(baton.admin.get(`/goals/${newId()}/work?systemStatusCategory=x`), 404, 'not_found');
  await refused(baton.admin.get(`/goals/${goal.id}/work?cursor=x`), 422, 'invalid_cursor');
  const reader = await baton.actor({ permissions: ['goals.read'] });
  assert.deepEqual(await refused(reader.get(`/goals/${newId()}/work`), 403, 'permission_denied'), {
    required: ['tasks.read'],
  });
});

describe('races', () => {
  test('two goals moved below each other at once never close a cycle: one move succeeds', async () => {
    for (let round = 0; round < raceRounds; round += 1) {
      const [a, b] = [await make(), await make()];
      const answers = await Promise.all([
        change(a.id, 1, { parentGoalId: b.id }),
        change(b.id, 1, { parentGoalId: a.id }),
      ]);
      const codes = answers.map(({ body }) => body.error?.code ?? 'done').sort();
      // The change that waited finds that the goal's path has changed, but not its version.
      assert.deepEqual(codes, ['done', 'goal_cycle'], `round ${round}`);
    }
    const wrong = await baton.pool.rows(sql`
      select g.id from goals g left join goals p on p.id = g.parent_goal_id
      where g.path <> coalesce(p.path, '{}') || g.id`);
    assert.deepEqual(wrong, []);
  });

  test('a task that is linked while its goal is abandoned is either first or refused', async () => {
    for (let round = 0; round < raceRounds; round += 1) {
      const goal = await make();
      const [linked, abandoned] = await Promise.all([
        baton.admin.post('/tasks', { title: 'x', goalId: goal.id }),
        change(goal.id, 1, { status: 'abandoned' }),
      ]);
      assert.equal(abandoned.status, 200);
      if (linked.status !== 201) {
        assert.equal(linked.body.error.code, 'goal_abandoned');
        continue;
      }
      const events = await eventsOf(baton, goal.id, linked.body.id);
      assert.deepEqual(
        events.map(({ type }) => type),
        ['goal.created', 'task.created', 'goal.updated'],
        `round ${round}`,
      );
    }
  });
});
