import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, endClaimLease, makeTask, makeWorker, openSession } from '../../testing/leases.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const titlesOf = (items: any[]) => items.map((item) => (item.task ?? item).title);

/** Titles of the available work of a workspace, page by page. */
async function offered(by: Actor, query: string, limit = 200): Promise<string[]> {
  const titles: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await done(by.get(`/work/available?${query}&limit=${limit}${cursor}`));
    titles.push(...titlesOf(page.items));
    if (page.nextCursor === null) return titles;
    assert.equal(page.items.length, limit, 'pages are full');
    cursor = `&cursor=${page.nextCursor}`;
  }
}

/** Tasks in a new workspace: some assigned to the caller, some to another principal, some unassigned. */
async function world() {
  const [{ actor, sessionId }, other, { id: workspaceId }] = await Promise.all([
    makeWorker(baton),
    baton.actor(),
    makeWorkspace(baton),
  ]);
  const make = (title: string, priority: string, assigneeId: string | null = null) =>
    makeTask(baton, { title, priority, assigneeId, workspaceId });
  await make('open medium', 'medium');
  await make('mine low', 'low', actor.principalId);
  await make('theirs critical', 'critical', other.principalId);
  await make('open critical', 'critical');
  await make('mine high', 'high', actor.principalId);
  await make('theirs low', 'low', other.principalId);
  return { actor, sessionId, other, workspaceId };
}

const ownFirst = ['mine high', 'mine low', 'open critical', 'open medium'];
const byPriority = ['theirs critical', 'open critical', 'mine high', 'open medium', 'mine low', 'theirs low'];

test("the caller's own tasks are first, those of others excluded; with includeAssigned, all by priority", async () => {
  const { actor, workspaceId } = await world();
  const scope = `workspaceId=${workspaceId}`;
  for (const limit of [200, 1, 2, 3, 4]) {
    assert.deepEqual(await offered(actor, scope, limit), ownFirst, `pages of ${limit}`);
    assert.deepEqual(await offered(actor, `${scope}&includeAssigned=true`, limit), byPriority);
  }
  assert.deepEqual(await offered(actor, `${scope}&includeAssigned=false`), ownFirst);
  assert.deepEqual(await offered(actor, `${scope}&assignedToMe=true`), ['mine high', 'mine low']);
});

test('the same for the whole tenant, without filters', async () => {
  const { actor, other } = await world();
  const listed = await offered(actor, '');
  assert.deepEqual(listed.slice(0, 2), ['mine high', 'mine low']);
  assert.ok(!listed.includes('theirs critical'), 'those of others are omitted');
  assert.deepEqual(await offered(actor, '', 2), listed);
  assert.ok((await offered(actor, 'includeAssigned=true')).includes('theirs critical'));
  assert.deepEqual(await offered(actor, `assigneeId=${other.principalId}`), [
    'theirs critical',
    'theirs low',
  ]);
});

test("claim-next assigns the caller's own tasks first, then unassigned ones, and those of others only on request", async () => {
  const { actor, sessionId, workspaceId } = await world();
  const next = async (more: object): Promise<string[]> =>
    titlesOf((await done(actor.post('/work:claim-next', { sessionId, workspaceId, ...more }))).items);
  assert.deepEqual(await next({}), ['mine high']);
  assert.deepEqual(await next({ count: 2 }), ['mine low', 'open critical']);
  assert.deepEqual(await next({ count: 5 }), ['open medium']);
  assert.deepEqual(await next({ count: 5 }), []);
  assert.deepEqual(await next({ count: 5, includeAssigned: true }), ['theirs critical', 'theirs low']);
});

test('also without a filter: an own task is claimed before a more urgent unassigned one', async () => {
  const { actor, sessionId } = await world();
  const { items } = await done(actor.post('/work:claim-next', { sessionId, count: 3 }));
  assert.deepEqual(titlesOf(items).slice(0, 2), ['mine high', 'mine low']);
  assert.match(titlesOf(items)[2], /critical/);
});

test('a task that is reassigned leaves the queue of others, and returns with the assignment', async () => {
  const { actor, other, workspaceId } = await world();
  const scope = `workspaceId=${workspaceId}`;
  const { items } = await done(actor.get(`/work/available?${scope}`));
  const task = items.find(({ title }: any) => title === 'open critical');
  const assign = async (assigneeId: string | null) => {
    const { version } = await done(baton.admin.get(`/tasks/${task.id}`));
    await done(baton.admin.patch(`/tasks/${task.id}`, { assigneeId }, { 'if-match': `task-${version}` }));
  };
  await assign(other.principalId);
  assert.deepEqual(await offered(actor, scope), ['mine high', 'mine low', 'open medium']);
  assert.deepEqual(
    await offered(other, scope),
    ['open critical', 'theirs critical', 'theirs low', 'open medium'].sort((a, b) => byPlace(a) - byPlace(b)),
  );
  await assign(null);
  assert.deepEqual(await offered(actor, scope), ownFirst);
});

/** Of two critical tasks the older one comes first. */
const byPlace = (title: string) =>
  ['theirs critical', 'open critical', 'theirs low', 'open medium'].indexOf(title);

test('a direct claim of a task that is assigned to another principal is granted', async () => {
  const { actor, sessionId, other } = await world();
  const task = await makeTask(baton, { assigneeId: other.principalId });
  await done(actor.post(`/tasks/${task.id}:claim`, { sessionId }));
});

test('own tasks with requirements are only available to a principal that meets them', async () => {
  const { actor, sessionId } = await makeWorker(baton);
  const name = `c${Date.now()}`;
  const capability = await done(baton.admin.post('/capabilities', { name }), 201);
  const { id: workspaceId } = await makeWorkspace(baton);
  const task = await makeTask(baton, {
    assigneeId: actor.principalId,
    workspaceId,
    requirements: { capabilities: [name] },
  });
  assert.deepEqual(await offered(actor, `workspaceId=${workspaceId}`), []);
  const path = `/principals/${actor.principalId}/capabilities`;
  await done(baton.admin.post(path, { capabilityId: capability.id }), 201);
  assert.deepEqual(await offered(actor, `workspaceId=${workspaceId}`), ['wanted']);
  const { items } = await done(actor.post('/work:claim-next', { sessionId }));
  assert.equal(items[0].task.id, task.id);
});

test('a person with restricted visibility finds their own visible tasks first', async () => {
  const { person, mine, other } = await makeNarrowPerson(baton);
  const assigneeId = person.principalId;
  await makeTask(baton, { title: 'open', workspaceId: mine.id, priority: 'critical' });
  await makeTask(baton, { title: 'own', workspaceId: mine.id, priority: 'low', assigneeId });
  await makeTask(baton, { title: 'own, hidden', workspaceId: other.id, assigneeId });
  assert.deepEqual((await offered(person, '')).slice(0, 2), ['own', 'open']);
  assert.ok(!(await offered(person, '')).includes('own, hidden'));
  const sessionId = await openSession(person);
  const { items } = await done(person.post('/work:claim-next', { sessionId, count: 2 }));
  assert.deepEqual(titlesOf(items), ['own', 'open']);
});

test('an own task with an expired lease is available before the expiry is recorded', async () => {
  const { actor, sessionId, workspaceId } = await world();
  const { items } = await done(actor.post('/work:claim-next', { sessionId, workspaceId }));
  assert.deepEqual(await offered(actor, `workspaceId=${workspaceId}`), ownFirst.slice(1));
  await endClaimLease(baton, items[0].task.id);
  assert.deepEqual(await offered(actor, `workspaceId=${workspaceId}`), ownFirst);
});
