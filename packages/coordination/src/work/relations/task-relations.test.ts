import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess, byDepth, longTest } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { claimTask, done, eventsOf, makeTask, makeWorker, refused } from '../../testing/leases.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const relate = (from: string, toTask: string, type: string) =>
  baton.admin.post(`/tasks/${from}/relations`, { toTask, type });

const makeTasks = (count: number): Promise<any[]> =>
  Promise.all(Array.from({ length: count }, () => makeTask(baton)));

const complete = (id: string, version: number) =>
  baton.admin.post(`/tasks/${id}:complete`, {}, { 'if-match': `task-${version}` });

const claimabilityOf = (id: string) => done(baton.admin.get(`/tasks/${id}/claimability`));

test('POST returns 201 with the relation and writes task.relation_added on the from-task', async () => {
  const [a, b] = await makeTasks(2);
  const { status, body } = await relate(a.publicId.toLowerCase(), b.publicId, 'depends_on');
  assert.equal(status, 201);
  const { id, createdAt, ...rest } = body;
  assert.ok(createdAt);
  assert.deepEqual(rest, {
    fromTaskId: a.id,
    toTaskId: b.id,
    type: 'depends_on',
    createdByPrincipalId: baton.admin.principalId,
  });
  const [, event] = await eventsOf(baton, a.id);
  assert.deepEqual(
    [event?.type, event?.payload],
    ['task.relation_added', { relationId: id, toTaskId: b.id, type: 'depends_on' }],
  );
  assert.equal((await eventsOf(baton, b.id)).length, 1);
});

test('refuses in the order type, 404, self, exists, cycle', async () => {
  const [a, b] = await makeTasks(2);
  const foreign = await done(baton.otherAdmin.post('/tasks', { title: 'elsewhere' }), 201);
  const known = await refused(relate(newId(), newId(), 'friend_of'), 422, 'invalid_relation_type');
  assert.deepEqual(known, { known: ['parent', 'blocks', 'depends_on', 'spawned_by', 'related_to'] });
  for (const [from, to] of [
    [newId(), a.id],
    [a.id, newId()],
    [a.id, 'TASK-999999'],
    [a.id, foreign.id],
    [foreign.id, a.id],
  ])
    await refused(relate(from as string, to as string, 'blocks'), 404, 'not_found');
  for (const type of ['parent', 'blocks', 'related_to'])
    await refused(relate(a.id, a.publicId, type), 422, 'invalid_relation');
  for (const type of ['parent', 'blocks', 'spawned_by']) {
    const { id } = await done(relate(a.id, b.id, type), 201);
    assert.deepEqual(await refused(relate(a.id, b.id, type), 409, 'relation_exists'), { relationId: id });
  }
  const cycle = await refused(relate(b.id, a.id, 'blocks'), 422, 'dependency_cycle');
  assert.deepEqual(cycle, { fromTaskId: b.id, toTaskId: a.id, type: 'blocks' });
});

test('cycles are refused among parents, and in the joint graph of blocks and depends_on', async () => {
  const [a, b, c] = await makeTasks(3);
  await done(relate(a.id, b.id, 'parent'), 201);
  await done(relate(b.id, c.id, 'parent'), 201);
  await refused(relate(c.id, a.id, 'parent'), 422, 'dependency_cycle');
  await refused(relate(b.id, a.id, 'parent'), 422, 'dependency_cycle');
  // c waits for b, and b waits for a; the relations are expressed in opposite directions.
  await done(relate(b.id, c.id, 'blocks'), 201);
  await done(relate(b.id, a.id, 'depends_on'), 201);
  await refused(relate(a.id, c.id, 'depends_on'), 422, 'dependency_cycle');
  await refused(relate(c.id, a.id, 'blocks'), 422, 'dependency_cycle');
  await refused(relate(a.id, b.id, 'depends_on'), 422, 'dependency_cycle');
  // The two graphs are independent, and relations of the other types can't form a cycle.
  await done(relate(a.id, c.id, 'blocks'), 201);
  for (const type of ['spawned_by', 'related_to']) {
    await done(relate(a.id, b.id, type), 201);
    await done(relate(b.id, a.id, type), 201);
  }
});

test('GET lists all relations in both directions, oldest first', async () => {
  const [a, b, c] = await makeTasks(3);
  const first = await done(relate(a.id, b.id, 'related_to'), 201);
  const second = await done(relate(c.id, a.id, 'blocks'), 201);
  const third = await done(relate(a.id, c.id, 'related_to'), 201);
  const { items, nextCursor } = await done(baton.admin.get(`/tasks/${a.publicId}/relations`));
  assert.deepEqual([items, nextCursor], [[first, second, third], null]);
  assert.deepEqual((await done(baton.admin.get(`/tasks/${b.id}/relations`))).items, [first]);
  await refused(baton.admin.get(`/tasks/${newId()}/relations`), 404, 'not_found');
});

test('DELETE removes it from either end, with its event on the task in the path', async () => {
  const [a, b, c] = await makeTasks(3);
  const { id } = await done(relate(a.id, b.id, 'blocks'), 201);
  const remove = (task: string, relation: string) =>
    baton.admin.delete(`/tasks/${task}/relations/${relation}`);
  await refused(remove(c.id, id), 404, 'not_found');
  await refused(remove(newId(), id), 404, 'not_found');
  await refused(baton.otherAdmin.delete(`/tasks/${b.id}/relations/${id}`), 404, 'not_found');
  const { status, body } = await remove(b.publicId, id);
  assert.deepEqual([status, body], [204, '']);
  const [, event] = await eventsOf(baton, b.id);
  assert.deepEqual(
    [event?.type, event?.payload],
    ['task.relation_removed', { relationId: id, fromTaskId: a.id, toTaskId: b.id, type: 'blocks' }],
  );
  await refused(remove(b.id, id), 404, 'not_found');
  await done(relate(b.id, a.id, 'blocks'), 201);
});

test('claimability lists every obstacle, and a cancelled prerequisite keeps blocking', async () => {
  const worker = await makeWorker(baton);
  const [task, first, second] = await makeTasks(3);
  assert.deepEqual(await claimabilityOf(task.publicId), {
    taskId: task.id,
    publicId: task.publicId,
    claimable: true,
    reasons: [],
  });
  const claim = await claimTask(worker, task.id);
  await done(relate(task.id, first.id, 'depends_on'), 201);
  await done(relate(second.id, task.id, 'blocks'), 201);
  await done(baton.admin.patch(`/tasks/${second.id}`, { status: 'cancelled' }, { 'if-match': 'task-1' }));
  const blocker = ({ id, publicId }: { id: string; publicId: string }, status: string, category: string) => ({
    taskId: id,
    publicId,
    status,
    systemStatusCategory: category,
  });
  const { claimable, reasons } = await claimabilityOf(task.id);
  assert.equal(claimable, false);
  const shown = ({ since, remedies, ...reason }: any) => {
    assert.ok(since && Array.isArray(remedies));
    return reason;
  };
  const blockers = [blocker(first, 'todo', 'active'), blocker(second, 'cancelled', 'terminal_cancelled')];
  const [notReady, claimed] = reasons;
  assert.equal(notReady.code, 'task_not_ready');
  assert.deepEqual(
    notReady.blockedBy.map(({ reasons: own, ...task }: any) => (assert.ok(own), task)),
    blockers.sort((left, right) => (left.publicId < right.publicId ? -1 : 1)),
  );
  assert.deepEqual(shown(claimed), {
    code: 'task_already_claimed',
    claimId: claim.id,
    holderId: worker.actor.principalId,
    expiresAt: claim.expiresAt,
  });
  assert.equal(reasons.length, 2);
  await done(complete(first.id, 1));
  const [still] = (await claimabilityOf(task.id)).reasons;
  assert.deepEqual(still.blockedBy, [
    { ...blocker(second, 'cancelled', 'terminal_cancelled'), reasons: [{ code: 'task_not_claimable' }] },
  ]);
  assert.deepEqual((await claimabilityOf(first.id)).reasons.map(shown), [
    { code: 'task_not_claimable', status: 'done', systemStatusCategory: 'terminal_success' },
  ]);
  await refused(baton.admin.get(`/tasks/${newId()}/claimability`), 404, 'not_found');
});

test('transitions and requirements of a task', async () => {
  const task = await makeTask(baton, { status: 'backlog' });
  const moves = await done(baton.admin.get(`/tasks/${task.publicId}/transitions`));
  const { targets, ...about } = moves;
  assert.deepEqual(about, {
    taskId: task.id,
    publicId: task.publicId,
    typeId: task.typeId,
    typeKey: 'task',
    typeVersion: 1,
    status: 'backlog',
    systemStatusCategory: 'backlog',
  });
  assert.deepEqual(targets, [
    { status: 'todo', displayName: 'To do', systemStatusCategory: 'active', route: 'update' },
    { status: 'in_progress', displayName: 'In progress', systemStatusCategory: 'active', route: 'update' },
    { status: 'blocked', displayName: 'Blocked', systemStatusCategory: 'blocked', route: 'update' },
    { status: 'done', displayName: 'Done', systemStatusCategory: 'terminal_success', route: 'complete' },
    {
      status: 'cancelled',
      displayName: 'Cancelled',
      systemStatusCategory: 'terminal_cancelled',
      route: 'update',
    },
  ]);
  const required = await done(baton.admin.get(`/tasks/${task.id}/requirements`));
  assert.deepEqual(required, { roles: [], capabilities: [], skills: [] });
  for (const what of ['transitions', 'requirements'])
    await refused(baton.admin.get(`/tasks/${newId()}/${what}`), 404, 'not_found');
});

test('after any additions, removals and completions, a relation is stored iff it closes no cycle, and open prerequisites are counted correctly', async () => {
  const nodes = 6;
  const pair = { from: fc.nat(nodes - 1), to: fc.nat(nodes - 1) };
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom('blocks', 'depends_on', 'parent'), ...pair }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove'), ...pair }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('complete'), ...pair }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const tasks = await makeTasks(nodes);
      const completed = new Set<number>();
      let edges: { id: string; from: number; to: number; type: string }[] = [];
      const next = (graph: string, at: number) =>
        edges.flatMap(({ from, to, type }) => {
          if (graph === 'parent') return type === 'parent' && from === at ? [to] : [];
          if (type === 'depends_on') return from === at ? [to] : [];
          return type === 'blocks' && to === at ? [from] : [];
        });
      const reaches = (graph: string, at: number, goal: number): boolean =>
        at === goal || next(graph, at).some((other) => reaches(graph, other, goal));
      for (const { kind, from, to } of steps) {
        if (kind === 'complete') {
          if (!completed.has(from)) await done(complete(tasks[from].id, 1));
          completed.add(from);
          continue;
        }
        if (kind === 'remove') {
          const edge = edges.find((one) => one.from === from && one.to === to);
          if (edge === undefined) continue;
          await done(baton.admin.delete(`/tasks/${tasks[to].id}/relations/${edge.id}`), 204);
          edges = edges.filter((one) => one !== edge);
          continue;
        }
        const { status, body } = await relate(tasks[from].id, tasks[to].id, kind);
        const exists = edges.some((one) => one.from === from && one.to === to && one.type === kind);
        const closes = kind === 'blocks' ? reaches(kind, from, to) : reaches(kind, to, from);
        const code =
          from === to
            ? 'invalid_relation'
            : exists
              ? 'relation_exists'
              : closes
                ? 'dependency_cycle'
                : undefined;
        assert.equal(body.error?.code, code);
        if (status === 201) edges.push({ id: body.id, from, to, type: kind });
      }
      const rows = await baton.pool.rows<{ id: string; open_prerequisites: number }>(sql`
        select id, open_prerequisites from tasks where id = any (${tasks.map(({ id }) => id)})`);
      for (const [index, { id }] of tasks.entries()) {
        const open = next('waits', index).filter((other) => !completed.has(other)).length;
        assert.equal(rows.find((row) => row.id === id)?.open_prerequisites, open);
      }
    }),
    { numRuns: byDepth(5, 15) },
  );
});

longTest('the check for cycles stays fast in a chain of 10,000 tasks', async () => {
  const [first, last] = await makeTasks(2);
  const count = 10_000;
  await baton.pool.run(sql`
    insert into tasks (id, tenant_id, public_number, type_id, title, status, category, priority, origin, created_by)
    select md5('chain' || n)::uuid, tenant_id, 1000000 + n, type_id, 'link', 'todo', 'active', 3, origin, created_by
    from tasks, generate_series(1, ${count}::integer) n where tasks.id = ${first.id}`);
  await baton.pool.run(sql`
    insert into task_relations (id, tenant_id, from_task_id, to_task_id, type, created_by)
    select gen_random_uuid(), ${baton.tenantId}, f::uuid, t::uuid, type, ${baton.admin.principalId}
    from (
      select md5('chain' || n) as f, md5('chain' || n + 1) as t from generate_series(1, ${count - 1}::integer) n
      union all select ${first.id}, md5('chain1') union all select md5('chain' || ${count}::integer), ${last.id}
    ) link, (values ('depends_on'), ('parent')) types (type)`);
  for (const type of ['depends_on', 'parent']) {
    const started = performance.now();
    await refused(relate(last.id, first.id, type), 422, 'dependency_cycle');
    // This takes 30 ms on an idle machine; a plan that reads the table at every step takes 17 s.
    assertTookLess(started, 5000, type);
  }
});
