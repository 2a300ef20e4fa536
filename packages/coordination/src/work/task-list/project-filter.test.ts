import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/kernel/ids';
import { sql } from '@baton/kernel/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask, refused } from '../../testing/leases.ts';
import { makeProject, makeTemplate } from '../../testing/projects.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/workspaces.ts';

let baton: TestCoordination;
let templateId: string;
before(async () => {
  baton = await startCoordination();
  templateId = (await makeTemplate(baton)).id;
});
after(() => baton.close());

const make = (more: object = {}) => makeProject(baton, { templateId, ...more });
const idsOf = async (path: string, by = baton.admin): Promise<string[]> =>
  (await done(by.get(path))).items.map(({ id }: any) => id).sort();

test('tasks and work of a project, of those below it, and within a workspace', async () => {
  const top = await make();
  const inside = await makeWorkspace(baton, { parentId: top.workspaceId });
  const nested = await make({ parentWorkspaceId: inside.id });
  await makeTask(baton, { workspaceId: (await makeWorkspace(baton)).id });
  const [a, b, c] = await Promise.all(
    [top.workspaceId, inside.id, nested.workspaceId].map((workspaceId) => makeTask(baton, { workspaceId })),
  );
  const ids = (...tasks: any[]) => tasks.map(({ id }) => id).sort();
  assert.deepEqual([a.projectId, b.projectId, c.projectId], [top.id, top.id, nested.id]);
  for (const path of ['/tasks', '/work/available']) {
    assert.deepEqual(await idsOf(`${path}?projectId=${top.id}`), ids(a, b), path);
    assert.deepEqual(await idsOf(`${path}?projectId=${top.id}&includeSubprojects=true`), ids(a, b, c));
    assert.deepEqual(await idsOf(`${path}?projectId=${nested.id}&includeSubprojects=true`), ids(c));
    const both = `projectId=${top.id}&workspaceId=${inside.id}`;
    assert.deepEqual(await idsOf(`${path}?${both}`), ids(b));
    assert.deepEqual(await idsOf(`${path}?${both}&includeDescendants=true`), ids(b));
    assert.deepEqual(
      await idsOf(`${path}?${both}&includeDescendants=true&includeSubprojects=true`),
      ids(b, c),
    );
    assert.deepEqual(await idsOf(`${path}?projectId=${nested.id}&workspaceId=${inside.id}`), []);
    for (const id of [newId(), a.id])
      assert.deepEqual(await refused(baton.admin.get(`${path}?projectId=${id}`), 404, 'not_found'), {
        projectId: id,
      });
    await refused(baton.otherAdmin.get(`${path}?projectId=${top.id}`), 404, 'not_found');
  }
  const { items } = await done(baton.admin.get(`/tasks?projectId=${top.id}&q=wanted`));
  assert.deepEqual(
    items.map(({ projectId }: any) => projectId),
    [top.id, top.id],
  );
  await refused(
    baton.admin.get(`/tasks?projectId=${top.id}&includeSubprojects=true&cursor=x`),
    422,
    'invalid_cursor',
  );
  const worker = await baton.actor();
  const sessionId = (await done(worker.post('/sessions', { clientName: 'x' }), 201)).id;
  const next = { sessionId, projectId: top.id, count: 9 };
  const claimed = async (more: object) =>
    (await done(worker.post('/work:claim-next', { ...next, ...more }))).items
      .map(({ task }: any) => task.id)
      .sort();
  assert.deepEqual(await claimed({}), ids(a, b));
  assert.deepEqual(await claimed({ includeSubprojects: true }), ids(c));
});

test('a project out of sight is 404, one in sight shows its tasks', async () => {
  const { person, mine, other } = await makeNarrowPerson(baton);
  const [seen, hidden] = [await make({ workspaceId: mine.id }), await make({ workspaceId: other.id })];
  const task = await makeTask(baton, { workspaceId: mine.id });
  for (const path of ['/tasks', '/work/available']) {
    assert.deepEqual(await idsOf(`${path}?projectId=${seen.id}`, person), [task.id]);
    await refused(person.get(`${path}?projectId=${hidden.id}`), 404, 'not_found');
  }
});

test('pages of a project are those of all tasks, however its tasks lie among the others', async () => {
  const top = await make();
  const places: string[] = [top.workspaceId];
  for (let n = 0; n < 6; n += 1)
    places.push((await makeWorkspace(baton, { parentId: places[n % places.length] })).id);
  const rare = await make({ workspaceId: places[5] });
  const { tenantId } = baton;
  await baton.pool.run(sql`
    insert into tasks (id, tenant_id, public_number, workspace_id, type_id, title, status, category, priority, origin, created_by,
      created_at, due_date)
    select gen_random_uuid(), ${tenantId}, nextval(task_numbers(${tenantId})::regclass),
      case when n between 400 and 480 then (${places}::uuid[])[1 + n % 7] when n % 97 = 0 then (${places}::uuid[])[1 + n % 7] end,
      (select id from task_types where tenant_id = ${tenantId} limit 1), 'x', 'todo', 'active',
      2, '{"kind":"human","evidence":[]}', ${baton.admin.principalId}, now() - (n / 4) * interval '1 minute',
      case when n % 3 = 0 then now() + n * interval '1 minute' end
    from generate_series(1, 1500) n`);
  const walk = async (query: string, limit = 40) => {
    const items: any[] = [];
    for (let cursor = ''; ; ) {
      const page = await done(baton.admin.get(`/tasks?limit=${limit}&${query}${cursor}`));
      items.push(...page.items);
      if (page.nextCursor === null) return items;
      cursor = `&cursor=${page.nextCursor}`;
    }
  };
  for (const sort of ['', '&sort=dueDate', '&systemStatusCategory=active']) {
    const all = await walk(sort, 200);
    for (const [query, within] of [
      [`projectId=${top.id}&includeSubprojects=true`, (task: any) => places.includes(task.workspaceId)],
      [`projectId=${top.id}`, (task: any) => task.projectId === top.id],
      [`projectId=${rare.id}`, (task: any) => task.projectId === rare.id],
      [`workspaceId=${places[1]}&includeDescendants=true&projectId=${top.id}`, undefined],
    ] as const) {
      const found = (await walk(`${query}${sort}`)).map(({ id }) => id);
      if (within !== undefined)
        assert.deepEqual(
          found,
          all.filter(within).map(({ id }) => id),
          `${query}${sort}`,
        );
      assert.equal(new Set(found).size, found.length);
    }
  }
});
