import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { raceRounds } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import {
  type Answer,
  sendRequest,
  startCoordination,
  type TestCoordination,
} from '../../testing/coordination.ts';
import { makeTask } from '../../testing/leases.ts';
import { changeWorkspace, makeWorkspace, makeWorkspaceType } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
let second: { url: string };
before(async () => {
  baton = await startCoordination();
  second = await baton.another();
});
after(() => baton.close());

/** Sends the request through one of two processes on the same store. @returns the refusal's code, or `done` */
async function post(process: number, path: string, body: object = {}): Promise<string> {
  const url = `${process % 2 === 0 ? baton.url : second.url}/api/v1${path}`;
  return outcome(await sendRequest(url, 'POST', { token: baton.admin.token, body }));
}
const outcome = ({ body }: Answer): string => body.error?.code ?? 'done';
const make = (more: object = {}) => makeWorkspace(baton, more);
const move = (process: number, id: string, newParentId: string | null) =>
  post(process, `/workspaces/${id}:move`, { newParentId });

async function atOnce(...commands: Promise<string>[]): Promise<string[]> {
  return (await Promise.all(commands)).sort();
}

/**
 * Checks that every path consists of the parent's path and the id, and that no active workspace is below an archived
 * one.
 */
async function assertTreeHolds(round: number): Promise<void> {
  const wrong = await baton.pool.rows(sql`
    select w.id from workspaces w left join workspaces p on p.id = w.parent_id
    where w.path <> coalesce(p.path, '{}') || w.id or (w.status = 'active' and p.status = 'archived')`);
  assert.deepEqual(wrong, [], `round ${round}`);
}

test('two concurrent moves never close a cycle: one succeeds', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const [a, b] = [await make(), await make()];
    const codes = await atOnce(move(0, a.id, b.id), move(1, b.id, a.id));
    assert.deepEqual(codes, ['done', 'workspace_cycle'], `round ${round}`);
    await assertTreeHolds(round);
  }
});

test('of a concurrent move and archive of the new parent, the later one is refused', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const [to, moved] = [await make(), await make()];
    const codes = await atOnce(move(0, moved.id, to.id), post(1, `/workspaces/${to.id}:archive`));
    const allowed = ['done,workspace_archived', 'done,workspace_has_active_children'];
    assert.ok(allowed.includes(codes.join()), `round ${round}: ${codes}`);
    await assertTreeHolds(round);
  }
});

test('of two siblings created concurrently with the same slug, one succeeds', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const parentId = round % 2 === 0 ? null : (await make()).id;
    const body = { slug: `s${newId()}`, name: 'x', parentId };
    const codes = await atOnce(post(0, '/workspaces', body), post(1, '/workspaces', body));
    assert.deepEqual(codes, ['done', 'workspace_slug_conflict'], `round ${round}`);
  }
});

test('a workspace or a task that is created during an archive of its workspace is created first or refused', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { id } = await make();
    const codes = await Promise.all([
      post(0, `/workspaces/${id}:archive`),
      post(1, '/workspaces', { slug: `s${newId()}`, name: 'x', parentId: id }),
      post(1, '/tasks', { title: 'x', workspaceId: id }),
    ]);
    const [archived, child, task] = codes;
    const allowed = ['done,workspace_archived', 'workspace_has_active_children,done'];
    assert.ok(allowed.includes(`${archived},${child}`), `round ${round}: ${codes}`);
    assert.ok(task === 'done' || (task === 'workspace_archived' && archived === 'done'), `round ${round}`);
    await assertTreeHolds(round);
    const late = await baton.pool.rows(sql`
      select e.type from events e join events a on a.entity_id = ${id} and a.type = 'workspace.archived'
      where e.workspace_id = ${id} and (e.position, e.sequence) > (a.position, a.sequence)`);
    assert.deepEqual(late, [], `round ${round}: no task or workspace is added after the archive`);
  }
});

test('a task is never added to a workspace that no longer allows its type', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { id } = await make();
    const task = await makeTask(baton);
    const [narrowed, moved] = await Promise.all([
      changeWorkspace(baton, id, 1, { taskTypes: [] }).then(outcome),
      baton.admin.patch(`/tasks/${task.id}`, { workspaceId: id }, { 'if-match': 'task-1' }).then(outcome),
    ]);
    assert.equal(narrowed, 'done');
    const [first] = await baton.pool.rows<{ type: string }>(sql`
      select type from events where workspace_id = ${id} and type in ('workspace.updated', 'task.updated')
      order by position, sequence limit 1`);
    const expected = moved === 'done' ? 'task.updated' : 'workspace.updated';
    assert.equal(first?.type, expected, `round ${round}: ${moved}`);
    if (moved !== 'done') assert.equal(moved, 'task_type_not_allowed');
  }
});

test('of a concurrent archive of a type and a new workspace of that type, the later one is refused', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const type = await makeWorkspaceType(baton);
    const [archived, made] = await Promise.all([
      post(0, `/workspace-types/${type.id}:archive`),
      post(1, '/workspaces', { slug: `s${newId()}`, name: 'x', typeId: type.id }),
    ]);
    const allowed = ['done,workspace_type_archived', 'workspace_type_in_use,done'];
    assert.ok(allowed.includes(`${archived},${made}`), `round ${round}: ${archived},${made}`);
  }
});
