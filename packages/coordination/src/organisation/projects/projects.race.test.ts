import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { raceRounds } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { sendRequest, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask } from '../../testing/leases.ts';
import { makeProject, makeTemplate } from '../../testing/organisation/projects.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
let second: { url: string };
let templateId: string;
before(async () => {
  baton = await startCoordination();
  second = await baton.another();
  templateId = (await makeTemplate(baton)).id;
});
after(() => baton.close());

/** Sends the request through one of two processes on the same store. @returns the code of the refusal, or `done` */
async function post(process: number, path: string, body: object = {}, ifMatch?: string): Promise<string> {
  const url = `${process % 2 === 0 ? baton.url : second.url}/api/v1${path}`;
  const headers: Record<string, string> = ifMatch === undefined ? {} : { 'if-match': ifMatch };
  const answer = await sendRequest(url, 'POST', { token: baton.admin.token, body, headers });
  return answer.body.error?.code ?? 'done';
}

/**
 * Checks that paths match the parents, that each workspace belongs to its nearest project, and that no archived node
 * contains an active one.
 */
async function assertTreeHolds(round: number): Promise<void> {
  const wrong = await baton.pool.rows(sql`
    select w.id from workspaces w left join workspaces up on up.id = w.parent_id
    left join projects own on own.workspace_id = w.id
    where w.path <> coalesce(up.path, '{}') || w.id
      or (w.status = 'active' and up.status = 'archived')
      or (w.status = 'archived' and own.status = 'active')
      or w.project_id is distinct from coalesce(own.id, up.project_id)`);
  assert.deepEqual(wrong, [], `round ${round}`);
}

/** Small pseudo-random numbers, the same in every run. */
function randomly(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

test('the tree stays consistent under concurrent random moves, archives, restores and new projects', async () => {
  const next = randomly(7);
  const workspaces: string[] = [];
  for (let n = 0; n < 12; n += 1)
    workspaces.push((await makeWorkspace(baton, { parentId: n < 3 ? null : workspaces[next(n)] })).id);
  const projects: string[] = [];
  const one = (ids: readonly string[]) => ids[next(ids.length)] as string;
  const results = new Map<string, number>();
  for (let round = 0; round < raceRounds; round += 1) {
    const commands = Array.from({ length: 10 }, (_, n): Promise<string> => {
      switch (next(6)) {
        case 0:
          return post(n, `/workspaces/${one(workspaces)}:move`, {
            newParentId: next(4) === 0 ? null : one(workspaces),
          });
        case 1:
          return post(n, `/workspaces/${one(workspaces)}:${next(2) === 0 ? 'archive' : 'restore'}`);
        case 2:
          return post(n, '/projects', { workspaceId: one(workspaces), templateId });
        case 3:
          return post(n, '/workspaces', { slug: `w${newId()}`, name: 'x', parentId: one(workspaces) });
        default:
          return projects.length === 0
            ? post(n, '/projects', { workspaceId: one(workspaces), templateId })
            : post(n, `/projects/${one(projects)}:${next(2) === 0 ? 'archive' : 'restore'}`);
      }
    });
    for (const code of await Promise.all(commands)) results.set(code, (results.get(code) ?? 0) + 1);
    const rows = await baton.pool.rows<{ id: string }>(sql`select id from projects order by id`);
    projects.splice(0, projects.length, ...rows.map(({ id }) => id));
    await assertTreeHolds(round);
  }
  const allowed = [
    ...['done', 'workspace_cycle', 'workspace_archived', 'workspace_has_active_children'],
    ...['workspace_has_active_project', 'project_exists', 'project_archived', 'workspace_slug_conflict'],
  ];
  assert.deepEqual(
    [...results.keys()].filter((code) => !allowed.includes(code)),
    [],
  );
  assert.ok((results.get('done') ?? 0) > 30);
});

test('of two projects created concurrently in one workspace, one succeeds', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { id: workspaceId } = await makeWorkspace(baton);
    const body = { workspaceId, templateId };
    const codes = await Promise.all([post(0, '/projects', body), post(1, '/projects', body)]);
    assert.deepEqual(codes.sort(), ['done', 'project_exists'], `round ${round}`);
  }
});

test('a project that is restored while its workspace is archived is restored first or refused', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const project = await makeProject(baton, { templateId });
    await done(baton.admin.post(`/projects/${project.id}:archive`));
    const codes = await Promise.all([
      post(0, `/projects/${project.id}:restore`),
      post(1, `/workspaces/${project.workspaceId}:archive`),
    ]);
    assert.ok(
      ['done,workspace_has_active_project', 'workspace_archived,done'].includes(codes.join()),
      codes.join(),
    );
    await assertTreeHolds(round);
  }
});

test('of concurrent changes with the same version, one succeeds', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { id } = await makeProject(baton, { templateId });
    await done(baton.admin.post(`/projects/${id}/config-revisions`, {}), 201);
    const tag = 'project-1';
    const codes = await Promise.all([
      post(0, `/projects/${id}:transition`, { statusKey: 'active' }, tag),
      post(1, `/projects/${id}:transition`, { statusKey: 'cancelled' }, tag),
      post(0, `/projects/${id}/config-revisions/1:activate`, {}, tag),
    ]);
    assert.deepEqual(codes.sort(), ['done', 'version_conflict', 'version_conflict'], `round ${round}`);
    assert.equal((await done(baton.admin.get(`/projects/${id}`))).version, 2);
  }
});

test('a template that is deprecated while a project is created from it is deprecated afterwards, or refuses the project', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const template = await makeTemplate(baton);
    const { id: workspaceId } = await makeWorkspace(baton);
    const codes = await Promise.all([
      post(0, '/projects', { workspaceId, templateId: template.id }),
      post(1, `/project-templates/${template.id}:deprecate`),
    ]);
    assert.ok(['done,done', 'template_deprecated,done'].includes(codes.join()), codes.join());
  }
});

test('a task that is created while its project is archived or restored has the availability of the project', async () => {
  const { id, workspaceId } = await makeProject(baton, { templateId });
  for (let round = 0; round < raceRounds; round += 1) {
    const action = round % 2 === 0 ? 'archive' : 'restore';
    const tasks = await Promise.all([
      makeTask(baton, { workspaceId }),
      makeTask(baton, { workspaceId }),
      post(1, `/projects/${id}:${action}`),
    ]);
    await baton.pool.run(sql`select settle_offers(500)`);
    const ids = tasks.flatMap((task) => (typeof task === 'string' ? [] : [task.id]));
    const queued = await baton.pool.rows(
      sql`select task_id from work_queue where task_id = any (${ids}::uuid[])`,
    );
    assert.equal(queued.length, action === 'archive' ? 0 : 2, `round ${round}`);
  }
});
