import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { claimTask, done, makeTask, makeWorker, type Worker } from '../../testing/leases.ts';
import { makeProject, makeTemplate } from '../../testing/organisation/projects.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';
import { synchronizeWorkQueue } from './offers.ts';

let baton: TestCoordination;
let worker: Worker;
let background: ReturnType<typeof makeWorkerTools>;
let templateId: string;
before(async () => {
  baton = await startCoordination();
  background = makeWorkerTools(baton);
  worker = await makeWorker(baton);
  templateId = (await makeTemplate(baton)).id;
});
after(async () => {
  await background.close();
  await baton.close();
});

const make = (more: object = {}) => makeProject(baton, { templateId, ...more });
const act = (project: any, action: string) => done(baton.admin.post(`/projects/${project.id}:${action}`));
const offered = async (workspaceId: string): Promise<string[]> =>
  (
    await done(worker.actor.get(`/work/available?workspaceId=${workspaceId}&includeDescendants=true`))
  ).items.map(({ id }: any) => id);
const queued = async (workspaceId: string): Promise<string[]> =>
  (
    await baton.pool.rows<{ task_id: string }>(
      sql`select q.task_id from work_queue q join workspaces w on w.id = q.workspace_id
        where ${workspaceId} = any (w.path) order by q.task_id desc`,
    )
  ).map(({ task_id: id }) => id);

async function settle(): Promise<void> {
  const job = synchronizeWorkQueue(background.tools);
  while ((await job.run()) > 0);
}

/** A project with a workspace below it, and below that a workspace with its own project; each has a task. */
async function world() {
  const top = await make();
  const inside = await makeWorkspace(baton, { parentId: top.workspaceId });
  const nested = await make({ parentWorkspaceId: inside.id });
  const places = [top.workspaceId, inside.id, nested.workspaceId];
  const [own, within, other] = (await Promise.all(
    places.map(async (workspaceId) => (await makeTask(baton, { workspaceId })).id),
  )) as [string, string, string];
  return { top, inside, nested, own, within, other };
}

test('the tasks of an archived project are unavailable, down to a nested project, until it is restored', async () => {
  const { top, nested, own, within, other } = await world();
  const all = [own, within, other].sort();
  assert.deepEqual((await offered(top.workspaceId)).sort(), all);
  await act(top, 'archive');
  assert.deepEqual(await offered(top.workspaceId), [other]);
  assert.deepEqual(await queued(top.workspaceId), [other]);
  const { items } = await done(
    worker.actor.post('/work:claim-next', {
      sessionId: worker.sessionId,
      workspaceId: top.workspaceId,
      includeDescendants: true,
      count: 5,
    }),
  );
  assert.deepEqual(
    items.map(({ task }: any) => task.id),
    [other],
  );
  await done(worker.actor.post(`/claims/${items[0].claim.id}:release`, {}));
  await act(nested, 'archive');
  assert.deepEqual(await offered(top.workspaceId), []);
  await act(top, 'restore');
  assert.deepEqual((await offered(top.workspaceId)).sort(), [own, within].sort());
  await act(nested, 'restore');
  assert.deepEqual((await offered(top.workspaceId)).sort(), all);
  await settle();
  assert.deepEqual((await queued(top.workspaceId)).sort(), all);
});

test('tasks that change while a project is archived are unavailable until it is restored; :claim still accepts them', async () => {
  const { top, own } = await world();
  const held = await claimTask(worker, own);
  await act(top, 'archive');
  const late = await makeTask(baton, { workspaceId: top.workspaceId, priority: 'low' });
  await done(baton.admin.patch(`/tasks/${late.id}`, { priority: 'high' }, { 'if-match': 'task-1' }));
  await done(worker.actor.post(`/claims/${held.id}:release`, {}));
  assert.equal((await queued(top.workspaceId)).length, 1, 'that of the nested project');
  const claim = await claimTask(worker, late.id);
  await done(worker.actor.post(`/claims/${claim.id}:release`, {}));
  const away = await makeWorkspace(baton);
  const { version } = await done(baton.admin.get(`/tasks/${late.id}`));
  await done(
    baton.admin.patch(`/tasks/${late.id}`, { workspaceId: away.id }, { 'if-match': `task-${version}` }),
  );
  assert.deepEqual(await offered(away.id), [late.id]);
  await act(top, 'restore');
  assert.ok((await offered(top.workspaceId)).includes(own));
});

test('the tasks of a workspace that moves between projects, or gets one, are available as in its project', async () => {
  const [archived, active] = [await make(), await make()];
  const moving = await makeWorkspace(baton, { parentId: active.workspaceId });
  const task = await makeTask(baton, { workspaceId: moving.id });
  await act(archived, 'archive');
  const move = (newParentId: string | null) =>
    done(baton.admin.post(`/workspaces/${moving.id}:move`, { newParentId }));
  const projectOf = async () => (await done(baton.admin.get(`/tasks/${task.id}`))).projectId;
  assert.equal(await projectOf(), active.id);
  await move(archived.workspaceId);
  assert.deepEqual([await offered(moving.id), await projectOf()], [[], archived.id]);
  await settle();
  assert.deepEqual(await queued(moving.id), []);
  await move(null);
  assert.deepEqual([await offered(moving.id), await projectOf()], [[task.id], null]);
  await move(archived.workspaceId);
  const own = await make({ workspaceId: moving.id });
  assert.deepEqual([await offered(moving.id), await projectOf()], [[task.id], own.id]);
});

test('the worker processes all tasks of a large project, in batches, and can be interrupted', async () => {
  const { id, workspaceId } = await make();
  const tasks = 2600;
  await baton.pool.run(sql`
    insert into tasks (id, tenant_id, public_number, workspace_id, type_id, title, status, category, priority, origin, created_by, created_at)
    select gen_random_uuid(), ${baton.tenantId}, nextval(task_numbers(${baton.tenantId})::regclass), ${workspaceId},
      (select id from task_types where tenant_id = ${baton.tenantId} limit 1), 'x', 'todo',
      case when n % 2 = 0 then 'active' else 'terminal_success' end, 2, '{"kind":"human","evidence":[]}',
      ${baton.admin.principalId}, now() - (n / 3) * interval '1 second'
    from generate_series(1, ${tasks}::integer) n`);
  await act({ id }, 'archive');
  assert.deepEqual(await offered(workspaceId), [], 'also the tasks that the worker has not processed yet');
  assert.equal((await queued(workspaceId)).length, tasks / 2 - 1000);
  await settle();
  assert.equal((await queued(workspaceId)).length, 0);
  await act({ id }, 'restore');
  const job = synchronizeWorkQueue(background.tools);
  await assert.rejects(
    baton.pool.transaction(async (tx) => {
      await tx.run(sql`select settle_offers(500)`);
      throw new Error('killed');
    }),
  );
  await job.run();
  await settle();
  assert.equal((await queued(workspaceId)).length, tasks / 2);
  const [left] = await baton.pool.rows<{ n: number }>(sql`select count(*)::integer as n from work_offers`);
  assert.equal(left?.n, 0);
});

test('claimability reports that the project is archived, without an effect on the decision', async () => {
  const { top, within } = await world();
  const { archivedAt } = await act(top, 'archive');
  const { claimable, reasons } = await done(worker.actor.get(`/tasks/${within}/claimability`));
  assert.equal(claimable, true);
  assert.deepEqual(reasons, [
    {
      code: 'project_archived',
      projectId: top.id,
      since: archivedAt,
      remedies: [
        {
          act: 'restore_project',
          method: 'POST',
          path: `/projects/${top.id}:restore`,
          permission: 'projects.manage',
          allowed: true,
        },
      ],
    },
  ]);
});
