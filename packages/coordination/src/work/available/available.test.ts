import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { byDepth } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  claimTask,
  done,
  endClaimLease,
  endSessionLease,
  makeTask,
  makeWorker,
  openSession,
  refused,
} from '../../testing/leases.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const work = (query = '', by = baton.admin) => by.get(`/work/available?${query}`);
/** Ids of the available work, in pages of `limit`. */
async function availableTo(assigneeId: string, limit = 50): Promise<string[]> {
  const ids: string[] = [];
  let cursor = '';
  for (;;) {
    const page = await done(work(`assigneeId=${assigneeId}&limit=${limit}${cursor}`));
    ids.push(...page.items.map(({ id }: { id: string }) => id));
    if (page.nextCursor === null) return ids;
    assert.equal(page.items.length, limit, 'pages are full');
    cursor = `&cursor=${page.nextCursor}`;
  }
}

/** Tasks of a new principal, so that the tests don't see each other's work. */
async function assignee(): Promise<{ actor: Actor; make(more?: object): Promise<any> }> {
  const actor = await baton.actor();
  return { actor, make: (more = {}) => makeTask(baton, { assigneeId: actor.principalId, ...more }) };
}

test('returns whole records, by priority, then age', async () => {
  const other = await baton.actor({ tenantId: baton.otherTenantId });
  const made = new Map<string, any>();
  for (const [title, priority] of [
    ['d', 'low'],
    ['b', 'high'],
    ['a', 'critical'],
    ['c', 'medium'],
    ['b2', 'high'],
  ])
    made.set(title as string, await done(other.post('/tasks', { title, priority }), 201));
  const { items, nextCursor } = await done(work('', other));
  assert.deepEqual(
    items,
    ['a', 'b', 'b2', 'c', 'd'].map((title) => made.get(title)),
  );
  assert.equal(nextCursor, null);
  const first = await done(work('limit=2', other));
  assert.equal(first.items.length, 2);
  const second = await done(work(`limit=2&cursor=${first.nextCursor}`, other));
  assert.deepEqual(
    second.items.map(({ title }: { title: string }) => title),
    ['b2', 'c'],
  );
});

test('excludes terminal and blocked tasks; backlog is included, and so is a task that leaves a blocked status', async () => {
  const { actor, make } = await assignee();
  const [backlog, blocked, completed, cancelled] = [
    await make({ status: 'backlog' }),
    await make(),
    await make(),
    await make(),
  ];
  const move = (id: string, status: string, version = 1) =>
    done(baton.admin.patch(`/tasks/${id}`, { status }, { 'if-match': `task-${version}` }));
  await move(blocked.id, 'blocked');
  await move(cancelled.id, 'cancelled');
  await done(baton.admin.post(`/tasks/${completed.id}:complete`, {}, { 'if-match': 'task-1' }));
  assert.deepEqual(await availableTo(actor.principalId), [backlog.id]);
  await move(blocked.id, 'todo', 2);
  assert.deepEqual(await availableTo(actor.principalId), [backlog.id, blocked.id]);
});

test('excludes waiting tasks, until every prerequisite is done or the relation is removed', async () => {
  const { actor, make } = await assignee();
  const [task, first, second] = [await make(), await make(), await make()];
  const relate = (from: string, toTask: string, type: string) =>
    done(baton.admin.post(`/tasks/${from}/relations`, { toTask, type }), 201);
  await relate(task.id, first.id, 'depends_on');
  const { id: relationId } = await relate(second.id, task.id, 'blocks');
  await relate(task.id, second.id, 'related_to');
  await relate(task.id, second.id, 'parent');
  assert.deepEqual(await availableTo(actor.principalId), [first.id, second.id]);
  await done(baton.admin.post(`/tasks/${first.id}:complete`, {}, { 'if-match': 'task-1' }));
  assert.deepEqual(await availableTo(actor.principalId), [second.id]);
  await done(baton.admin.patch(`/tasks/${second.id}`, { status: 'cancelled' }, { 'if-match': 'task-1' }));
  assert.deepEqual(await availableTo(actor.principalId), []);
  await done(baton.admin.delete(`/tasks/${task.id}/relations/${relationId}`), 204);
  assert.deepEqual(await availableTo(actor.principalId), [task.id]);
});

test('excludes tasks with a live claim, and includes them again when claim or session is dead', async () => {
  const { actor, make } = await assignee();
  const worker = await makeWorker(baton);
  const { id } = await make();
  await claimTask(worker, id);
  assert.deepEqual(await availableTo(actor.principalId), []);
  await endClaimLease(baton, id);
  assert.deepEqual(await availableTo(actor.principalId), [id]);
  const sessionId = await openSession(worker.actor);
  const claim = await claimTask({ ...worker, sessionId }, id);
  assert.deepEqual(await availableTo(actor.principalId), []);
  await endSessionLease(baton, sessionId);
  assert.deepEqual(await availableTo(actor.principalId), [id]);
  const again = await claimTask(worker, id);
  assert.notEqual(again.id, claim.id);
  await done(worker.actor.post(`/claims/${again.id}:release`, {}));
  assert.deepEqual(await availableTo(actor.principalId), [id]);
});

test('assignedToMe overrides assigneeId, and false has no effect', async () => {
  const [mine, theirs] = [await assignee(), await assignee()];
  const task = await mine.make();
  const other = await theirs.make();
  const idsOf = async (query: string) =>
    (await done(work(query, mine.actor))).items.map(({ id }: { id: string }) => id);
  assert.deepEqual(await idsOf('assignedToMe=true'), [task.id]);
  assert.deepEqual(await idsOf(`assignedToMe=true&assigneeId=${theirs.actor.principalId}`), [task.id]);
  assert.deepEqual(await idsOf(`assignedToMe=false&assigneeId=${theirs.actor.principalId}`), [other.id]);
  assert.deepEqual(await idsOf(`assigneeId=${newId()}`), []);
});

test('an unknown workspace or project returns 404, a cursor of another list 422', async () => {
  await makeTask(baton);
  await makeTask(baton);
  for (const name of ['workspaceId', 'projectId']) {
    await refused(work(`${name}=${newId()}`), 404, 'not_found');
    await refused(
      work(`${name}=${newId()}&includeDescendants=true&includeSubprojects=true`),
      404,
      'not_found',
    );
  }
  const { nextCursor } = await done(baton.admin.get('/tasks?limit=1'));
  await refused(work(`cursor=${nextCursor}`), 422, 'invalid_cursor');
  const page = await done(work('limit=1'));
  await refused(baton.admin.get(`/tasks?cursor=${page.nextCursor}`), 422, 'invalid_cursor');
  await refused(work('assignedToMe=yes'), 400, 'invalid_request');
});

test('lists exactly the claimable tasks, in full pages, after any history', async () => {
  const worker = await makeWorker(baton);
  const count = 7;
  const index = fc.nat(count - 1);
  const step = fc.oneof(
    fc.record({ kind: fc.constantFrom('claim', 'die', 'complete', 'cancel'), at: index }),
    fc.record({ kind: fc.constant('relate'), at: index, other: index }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 20 }),
      fc.array(fc.constantFrom('critical', 'high', 'medium', 'low'), { minLength: count, maxLength: count }),
      fc.integer({ min: 1, max: 4 }),
      async (steps, priorities, limit) => {
        const { actor, make } = await assignee();
        const ids: string[] = [];
        for (const priority of priorities) ids.push((await make({ priority })).id);
        for (const { kind, at, ...more } of steps) {
          const id = ids[at] as string;
          // Steps that the task's state doesn't allow are rejected, which is not what this test is about.
          const task = await done(baton.admin.get(`/tasks/${id}`));
          const ifMatch = { 'if-match': `task-${task.version}` };
          if (kind === 'claim')
            await worker.actor.post(`/tasks/${id}:claim`, { sessionId: worker.sessionId });
          if (kind === 'die') await endClaimLease(baton, id);
          if (kind === 'complete') await baton.admin.post(`/tasks/${id}:complete`, {}, ifMatch);
          if (kind === 'cancel') await baton.admin.patch(`/tasks/${id}`, { status: 'cancelled' }, ifMatch);
          if ('other' in more)
            await baton.admin.post(`/tasks/${id}/relations`, { toTask: ids[more.other], type: 'depends_on' });
        }
        const claimable = [];
        for (const urgency of ['critical', 'high', 'medium', 'low'])
          for (const [at, id] of ids.entries()) {
            const answer = await done(baton.admin.get(`/tasks/${id}/claimability`));
            if (priorities[at] === urgency && answer.claimable) claimable.push(id);
          }
        assert.deepEqual(await availableTo(actor.principalId, limit), claimable);
      },
    ),
    { numRuns: byDepth(5, 15) },
  );
});

test('paging while others insert and claim neither repeats a task nor misses one that stays available', async () => {
  const { actor, make } = await assignee();
  const worker = await makeWorker(baton);
  const urgency = ['critical', 'high', 'medium', 'low'];
  const there: string[] = [];
  for (let n = 0; n < 24; n += 1) there.push((await make({ priority: urgency[n % 4] })).id);
  const taken = new Set<string>();
  const seen: string[] = [];
  let cursor: string | null = '';
  for (let page = 0; cursor !== null; page += 1) {
    const answer: any = await done(work(`assigneeId=${actor.principalId}&limit=3${cursor}`));
    seen.push(...answer.items.map(({ id }: { id: string }) => id));
    cursor = answer.nextCursor === null ? null : `&cursor=${answer.nextCursor}`;
    if (page > 3) continue;
    await make({ priority: urgency[page] });
    const id = there[page * 5] as string;
    await claimTask(worker, id);
    taken.add(id);
  }
  assert.equal(new Set(seen).size, seen.length);
  for (const id of there) assert.ok(taken.has(id) || seen.includes(id));
});
