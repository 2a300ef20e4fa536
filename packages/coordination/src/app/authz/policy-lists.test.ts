import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '@baton/values/ids';
import { isCheckedOn } from '../../access/policy/catalogue.ts';
import type { Permission } from '../../service/permissions.ts';
import { policyModeOfFile } from '../../testing/access/policy-mode.ts';
import type { TestPolicy } from '../../testing/access/policy-service.ts';
import type { Actor, TestCoordination } from '../../testing/coordination.ts';
import { done, makeRun, makeTask, openSession, refused } from '../../testing/leases.ts';
import { makeProject } from '../../testing/organisation/projects.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { endpoints } from '../endpoints.ts';
import { listed } from './listed-objects.ts';

/** CP_AUTHZ_MODE policy: lists intersect with the objects that a decision point lists. */

let baton: TestCoordination;
let policy: TestPolicy;
let admin: Actor;
const { grant, grantActions, askedOf } = policyModeOfFile((mode) => {
  ({ baton, policy } = mode);
  admin = baton.admin;
});

test('lists contain only the objects that the point lists; if it lists none, the page is empty', async () => {
  const tasks = [];
  for (let n = 0; n < 7; n += 1) tasks.push(await makeTask(baton, { title: `listed ${n}` }));
  const reader = await baton.actor({ permissions: [] });
  const ids = tasks.map(({ id }) => id);
  const mine = [ids[1], ids[3], ids[4]];
  assert.deepEqual(await done(reader.get('/tasks')), { items: [], nextCursor: null });
  policy.list((who, action, type) =>
    who === reader.iamPrincipalId && `${action} ${type}` === 'tasks.read task' ? mine : [],
  );
  assert.deepEqual(await walk(reader, '/tasks', 50), [...mine].reverse());
  assert.deepEqual(await walk(reader, '/tasks', 2), [...mine].reverse());
  assert.deepEqual(await walk(reader, '/tasks?q=listed', 1), [...mine].reverse());
  assert.deepEqual((await walk(reader, '/work/available', 1)).sort(), [...mine].sort());
  assert.deepEqual(askedOf(reader), [], 'list-objects only');
  await refused(reader.get('/tasks?limit=0'), 422, 'invalid_limit');
  await refused(reader.get('/tasks?cursor=none'), 422, 'invalid_cursor');
  const elsewhere = await makeTask(baton);
  policy.list(() => [elsewhere.id, newId(), 'no uuid', '*', ids[0]?.toUpperCase() as string]);
  assert.deepEqual(await walk(reader, '/tasks', 50), [elsewhere.id, ids[0]]);
});

test('each list uses its own kind of objects', async () => {
  grant(() => true);
  const actor = await baton.actor();
  const worker = { actor, sessionId: await openSession(actor) };
  const [one, two] = [await makeRun(baton, worker), await makeRun(baton, worker)];
  const approve = (taskId: string) =>
    done(admin.post('/approvals', { task: taskId, assignedPrincipalId: admin.principalId }), 201);
  const [approval] = [await approve(one.task.id), await approve(two.task.id)];
  const write = (taskId: string) =>
    done(actor.post('/artifacts', { task: taskId, type: 'note', name: 'n' }), 201);
  const [artifact] = [await write(one.task.id), await write(two.task.id)];
  const [workspace, other] = [await makeWorkspace(baton), await makeWorkspace(baton)];
  const aim = (workspaceId?: string) =>
    done(admin.post('/goals', { title: 'g', ...(workspaceId && { workspaceId }) }), 201);
  const [goal, , free] = [await aim(workspace.id), await aim(other.id), await aim()];
  const order = (key: string, workspaceId: string) =>
    done(
      admin.post('/rules', {
        key,
        workspaceId,
        trigger: { kind: 'event', type: 'task.completed' },
        action: { kind: 'ensure_work', taskType: 'task', fields: { title: 'follow up' } },
      }),
      201,
    );
  const [rule] = [await order('one', workspace.id), await order('two', other.id)];
  const [project] = [await makeProject(baton), await makeProject(baton)];
  const granted: Record<string, string> = {
    'tasks.read task': one.task.id,
    'tasks.read run': one.run.id,
    'approvals.read approval': approval.id,
    'artifacts.read artifact': artifact.id,
    'workspaces.read workspace': workspace.id,
    'goals.read workspace': workspace.id,
    'rules.read workspace': workspace.id,
    'projects.read project_profile': project.id,
  };
  policy.list((_who, action, type) => [granted[`${action} ${type}`] ?? newId()]);
  grant(() => false);
  const reader = await baton.actor();
  assert.deepEqual(await walk(reader, '/claims', 1), [one.claim.id]);
  assert.deepEqual(await walk(reader, '/runs', 1), [one.run.id]);
  assert.deepEqual(await walk(reader, '/approvals', 1), [approval.id]);
  assert.deepEqual(await walk(reader, '/artifacts', 1), [artifact.id]);
  assert.deepEqual(await walk(reader, '/workspaces', 1), [workspace.id]);
  assert.deepEqual(await walk(reader, '/goals', 1), [goal.id]);
  assert.deepEqual(await walk(reader, '/rules', 1), [rule.id]);
  assert.deepEqual(await walk(reader, '/projects', 1), [project.id]);
  grant(({ resource }) => resource === `tenant:${baton.tenantId}`);
  assert.deepEqual(await walk(reader, '/goals', 1), [free.id, goal.id], 'filed in the tenant itself');
});

test("a person's visibility in the tree narrows lists too", async () => {
  const { person, mine, other } = await makeNarrowPerson(baton);
  const [seen, unseen] = [
    await makeTask(baton, { workspaceId: mine.id }),
    await makeTask(baton, { workspaceId: other.id }),
  ];
  const denied = await makeTask(baton, { workspaceId: mine.id });
  policy.list(() => [seen.id, unseen.id]);
  assert.deepEqual(await walk(person, '/tasks', 1), [seen.id]);
  grant(({ resource }) => resource !== `task:${denied.id}`);
  await done(person.get(`/tasks/${seen.id}`));
  await refused(person.get(`/tasks/${unseen.id}`), 404, 'not_found');
  await refused(person.get(`/tasks/${denied.id}`), 403, 'permission_denied');
});

test('work is taken only from the tasks that the point lists', async () => {
  const actor = await baton.actor();
  grantActions('sessions.open');
  const sessionId = await openSession(actor);
  const workspace = await makeWorkspace(baton);
  const place = { workspaceId: workspace.id };
  const tasks = [];
  for (let n = 0; n < 6; n += 1) tasks.push(await makeTask(baton, place));
  const mine = [tasks[2]?.id, tasks[5]?.id];
  policy.list((who) => (who === actor.iamPrincipalId ? mine : []));
  const take = (count: number) => actor.post('/work:claim-next', { sessionId, count, ...place });
  const taken = async (count: number) =>
    (await done(take(count))).items.map(({ task }: { task: { id: string } }) => task.id);
  assert.deepEqual(await taken(1), [mine[0]]);
  assert.deepEqual(await taken(5), [mine[1]]);
  assert.deepEqual(await taken(5), []);
});

test('every list whose objects are authorized one by one is declared', () => {
  /** These lists show data that the whole tenant shares, or are authorized as a whole. */
  const whole = ['listTools', 'listTaskTypeExecutors', 'listWorkspaceTypes', 'listEvents', 'listEventTypes'];
  const types = ['task', 'run', 'approval', 'artifact', 'workspace', 'project_profile'] as const;
  const unknown = endpoints.filter(
    ({ id, method, path, paging, permission }) =>
      method === 'GET' &&
      paging &&
      !path.includes('{') &&
      permission.some((name) => types.some((type) => isCheckedOn(name as Permission, type))) &&
      listed[id] === undefined,
  );
  assert.deepEqual(
    unknown.map(({ id }) => id).filter((id) => !whole.includes(id)),
    [],
  );
});

async function walk(actor: Actor, path: string, limit: number): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const separator = path.includes('?') ? '&' : '?';
    const from: string = cursor === null ? '' : `&cursor=${cursor}`;
    const page = await done(actor.get(`${path}${separator}limit=${limit}${from}`));
    assert.ok(page.items.length <= limit);
    ids.push(...page.items.map((item: { id: string }) => item.id));
    cursor = page.nextCursor;
  } while (cursor !== null);
  return ids;
}
