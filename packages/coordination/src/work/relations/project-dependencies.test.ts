import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask, refused } from '../../testing/leases.ts';
import { makeProject, makeSubproject } from '../../testing/organisation/projects.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { criticalPathOf } from './critical-path.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const relate = (from: any, type: string, to: any) =>
  done(baton.admin.post(`/tasks/${from.id}/relations`, { toTask: to.id, type }), 201);
const read = (id: string, query = '', by = baton.admin) =>
  done(by.get(`/projects/${id}/dependencies${query}`));

test('lists the dependencies between tasks of the project, and the longest chain of unfinished ones', async () => {
  const project = await makeProject(baton);
  const below = await makeWorkspace(baton, { parentId: project.workspaceId });
  const make = (title: string, workspaceId = project.workspaceId) => makeTask(baton, { title, workspaceId });
  const [plan, build, review, ship] = [
    await make('plan'),
    await make('build', below.id),
    await make('review'),
    await make('ship'),
  ];
  const outside = await makeTask(baton);
  await make('alone');
  const first = await relate(build, 'depends_on', plan);
  const second = await relate(build, 'blocks', review);
  const third = await relate(ship, 'depends_on', review);
  const short = await relate(ship, 'depends_on', plan);
  await relate(ship, 'depends_on', outside);
  await relate(ship, 'related_to', build);
  await relate(review, 'parent', plan);
  const arrow = ({ id }: any, prerequisite: any, waiting: any) => ({
    relationId: id,
    prerequisiteTaskId: prerequisite.id,
    waitingTaskId: waiting.id,
  });
  const found = await read(project.id);
  assert.deepEqual(found, {
    projectId: project.id,
    tasks: [plan, build, review, ship].map((task) => ({
      id: task.id,
      publicId: task.publicId,
      title: task.title,
      status: task.status,
      systemStatusCategory: task.systemStatusCategory,
      assigneeId: null,
      dueDate: null,
      workspaceId: task.workspaceId,
    })),
    dependencies: [
      arrow(short, plan, ship),
      arrow(third, review, ship),
      arrow(second, build, review),
      arrow(first, plan, build),
    ],
    criticalPath: [plan.id, build.id, review.id, ship.id],
    isTruncated: false,
  });
  await done(baton.admin.post(`/tasks/${plan.id}:complete`, {}, { 'if-match': 'task-1' }));
  const { criticalPath } = await read(project.id);
  assert.deepEqual(criticalPath, [build.id, review.id, ship.id]);
});

test('tasks of projects below are included on request', async () => {
  const project = await makeProject(baton);
  const nested = await makeSubproject(baton, project);
  const [a, b] = [
    await makeTask(baton, { workspaceId: project.workspaceId }),
    await makeTask(baton, { workspaceId: nested.workspaceId }),
  ];
  await relate(a, 'blocks', b);
  assert.deepEqual((await read(project.id)).dependencies, []);
  assert.deepEqual((await read(project.id, '?includeSubprojects=true')).criticalPath, [a.id, b.id]);
  assert.deepEqual((await read(nested.id, '?includeSubprojects=true')).dependencies, []);
});

test('an unknown or invisible project is not found; both permissions are needed', async () => {
  const { person, mine, other } = await makeNarrowPerson(baton);
  const [seen, hidden] = [
    await makeProject(baton, { workspaceId: mine.id }),
    await makeProject(baton, { workspaceId: other.id }),
  ];
  assert.deepEqual((await read(seen.id, '', person)).criticalPath, []);
  for (const answer of [
    person.get(`/projects/${hidden.id}/dependencies`),
    baton.admin.get(`/projects/${newId()}/dependencies`),
    baton.otherAdmin.get(`/projects/${seen.id}/dependencies`),
  ])
    await refused(answer, 404, 'not_found');
  const reader = await baton.actor({ permissions: ['projects.read'] });
  await refused(reader.get(`/projects/${seen.id}/dependencies`), 403, 'permission_denied');
});

test('a project with more than 2,000 dependencies returns the newest', async () => {
  const project = await makeProject(baton);
  await baton.pool.run(sql`
    with made as (
      insert into tasks (id, tenant_id, public_number, workspace_id, type_id, title, status, category, priority, origin, created_by)
      select gen_random_uuid(), ${baton.tenantId}, next_task_number(${baton.tenantId}), ${project.workspaceId},
        (select id from task_types where tenant_id = ${baton.tenantId} and key = 'task'), 'x', 'todo', 'active', 2, '{}',
        ${baton.admin.principalId}
      from generate_series(1, 65)
      returning id
    )
    insert into task_relations (id, tenant_id, from_task_id, to_task_id, type, created_by)
    select gen_random_uuid(), ${baton.tenantId}, a.id, b.id, 'depends_on', ${baton.admin.principalId}
    from made a join made b on a.id > b.id`);
  const { tasks, dependencies, isTruncated } = await read(project.id);
  assert.deepEqual([tasks.length, dependencies.length, isTruncated], [65, 2000, true]);
});

test('the critical path is a longest chain, in any graph', () => {
  fc.assert(
    fc.property(
      fc
        .integer({ min: 1, max: 7 })
        .chain((size) =>
          fc.tuple(
            fc.constant(size),
            fc.array(fc.tuple(fc.nat(size - 1), fc.nat(size - 1)), { maxLength: 14 }),
          ),
        ),
      ([size, pairs]) => {
        const ids = Array.from({ length: size }, (_, n) => `task ${n}`);
        // Without cycles: a task waits only for those with a lower number.
        const edges = pairs
          .filter(([a, b]) => a !== b)
          .map(([a, b]) => ({
            prerequisiteTaskId: `task ${Math.min(a, b)}`,
            waitingTaskId: `task ${Math.max(a, b)}`,
          }));
        const chainFrom = (id: string): number =>
          1 +
          Math.max(
            0,
            ...edges
              .filter(({ prerequisiteTaskId }) => prerequisiteTaskId === id)
              .map(({ waitingTaskId }) => chainFrom(waitingTaskId)),
          );
        const longest = Math.max(...ids.map(chainFrom));
        const path = criticalPathOf(ids, edges);
        assert.equal(path.length, longest === 1 ? 0 : longest);
        for (const [n, id] of path.slice(1).entries())
          assert.ok(
            edges.some(
              ({ prerequisiteTaskId, waitingTaskId }) =>
                prerequisiteTaskId === path[n] && waitingTaskId === id,
            ),
          );
      },
    ),
    { numRuns: byDepth(200, 2000) },
  );
});

test('tasks of a cycle are left out of the critical path', () => {
  const arrow = (prerequisiteTaskId: string, waitingTaskId: string) => ({
    prerequisiteTaskId,
    waitingTaskId,
  });
  const edges = [arrow('a', 'b'), arrow('b', 'a'), arrow('c', 'd'), arrow('d', 'b')];
  assert.deepEqual(criticalPathOf(['a', 'b', 'c', 'd'], edges), ['c', 'd']);
});
