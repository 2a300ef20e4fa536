import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { isLongProof } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask, refused } from '../../testing/leases.ts';
import { makeProject, makeTemplate } from '../../testing/organisation/projects.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';

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

test('an invisible project returns 404, a visible one lists its tasks', async () => {
  const { person, mine, other } = await makeNarrowPerson(baton);
  const [seen, hidden] = [await make({ workspaceId: mine.id }), await make({ workspaceId: other.id })];
  const task = await makeTask(baton, { workspaceId: mine.id });
  for (const path of ['/tasks', '/work/available']) {
    assert.deepEqual(await idsOf(`${path}?projectId=${seen.id}`, person), [task.id]);
    await refused(person.get(`${path}?projectId=${hidden.id}`), 404, 'not_found');
  }
});

/** Numbers of workspaces around which tasks-within.ts changes its strategy. */
for (const workspaces of [7, 300, 2100])
  test(`pages of a project with ${workspaces} workspaces are those of all tasks, for any distribution of its tasks`, async () => {
    const { tenantId, pool } = baton;
    const top = await make();
    const ids = Array.from({ length: workspaces - 1 }, newId);
    await pool.run(sql`
      insert into workspaces (id, tenant_id, parent_id, path, type_id, slug, name, project_id)
      select made.id, ${tenantId}, up.id, up.path || made.id, up.type_id, 'w' || made.n, 'x', ${top.id}
      from unnest(${ids}::uuid[]) with ordinality as made (id, n), workspaces up where up.id = ${top.workspaceId}`);
    const places = [top.workspaceId, ...ids];
    const nested = await make({ workspaceId: places[5] });
    const title = `of ${workspaces}`;
    await pool.run(sql`
      insert into tasks (id, tenant_id, public_number, workspace_id, type_id, title, status, category, priority, origin,
        created_by, created_at, due_date, assignee_id)
      select gen_random_uuid(), ${tenantId}, nextval(task_numbers(${tenantId})::regclass),
        case when n between 2300 and 2400 or n % 97 = 0 then (${places}::uuid[])[1 + n % ${workspaces}::integer] end,
        (select id from task_types where tenant_id = ${tenantId} limit 1), ${title}, 'todo',
        case when n % 2 = 0 then 'active' else 'backlog' end, 1 + n % 3, '{"kind":"human","evidence":[]}',
        ${baton.admin.principalId}, now() - (n / 4) * interval '1 minute',
        case when n % 3 = 0 then now() + n * interval '1 minute' end,
        case when n % 4 = 0 then ${baton.admin.principalId}::uuid end
      from generate_series(1, 2600) n`);
    // Without statistics, the query for a page of 2,100 workspaces hit the statement timeout on a busy machine.
    if (!isLongProof) await pool.run(sql`analyze tasks, workspaces, work_queue`);
    for (const [query, projects] of [
      [`projectId=${top.id}&includeSubprojects=true`, [top.id, nested.id]],
      [`projectId=${top.id}`, [top.id]],
      [`projectId=${nested.id}&includeSubprojects=true`, [nested.id]],
      [`workspaceId=${top.workspaceId}&includeDescendants=true`, [top.id, nested.id]],
      [`workspaceId=${top.workspaceId}&includeDescendants=true&projectId=${nested.id}`, [nested.id]],
    ] as const)
      for (const order of ['', '&sort=dueDate', '&systemStatusCategory=active']) {
        const expected = await pool.rows<{ id: string }>(sql`
          select t.id from tasks t join workspaces w on w.id = t.workspace_id
          where w.project_id = any (${projects}::uuid[]) and (${!order.includes('active')} or t.category = 'active')
          order by case when ${order.includes('due')} then coalesce(t.due_date, 'infinity') end, case when ${order.includes('due')} then t.id end,
            t.created_at desc, t.id desc`);
        assert.deepEqual(
          await walk(`${query}${order}`),
          expected.map(({ id }) => id),
          `${query}${order}`,
        );
      }
    for (const [query, projects] of [
      [`projectId=${top.id}&includeSubprojects=true`, [top.id, nested.id]],
      [`projectId=${top.id}`, [top.id]],
      [`projectId=${nested.id}&includeSubprojects=true`, [nested.id]],
    ] as const)
      for (const [more, assigneeId, ownFirst] of [
        ['', null, true],
        ['&includeAssigned=true', null, false],
        [`&assigneeId=${baton.admin.principalId}`, baton.admin.principalId, false],
      ] as const) {
        const expected = await pool.rows<{ id: string }>(sql`
          select t.id from tasks t join workspaces w on w.id = t.workspace_id
          where w.project_id = any (${projects}::uuid[]) and (${assigneeId}::uuid is null or t.assignee_id = ${assigneeId}::uuid)
          order by ${ownFirst} and t.assignee_id is null, t.priority, t.created_at, t.id`);
        assert.deepEqual(
          await walk(`${query}${more}`, '/work/available'),
          expected.map(({ id }) => id),
          `${query}${more}`,
        );
      }
  });

async function walk(query: string, path = '/tasks'): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await done(baton.admin.get(`${path}?limit=40&${query}${cursor}`));
    ids.push(...page.items.map(({ id }: any) => id));
    if (page.nextCursor === null) return ids;
    cursor = `&cursor=${page.nextCursor}`;
  }
}
