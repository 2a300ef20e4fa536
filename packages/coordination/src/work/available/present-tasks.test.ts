import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { migrationsDirectory, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import { done, makeTask, makeWorker } from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

/**
 * Restores the state before the upgrade: the type and its tasks have no start, and the queue includes the tasks that
 * 0098 excludes.
 */
async function undo(): Promise<void> {
  await baton.pool.transaction(async (tx) => {
    await tx.run(sql`set local session_replication_role = replica`);
    await tx.run(sql`update task_types set holds_start = false, execution = null where key = 'task'`);
    await tx.run(sql`update tasks set starts_at = null, retry_at = null, available_at = null`);
    await tx.run(sql`delete from work_queue`);
    await tx.run(sql`
      insert into work_queue (task_id, tenant_id, set_id, workspace_id, assignee_id, priority, created_at, turn_at)
      select id, tenant_id, queue_set(id, is_addressed, requirement_set_id), workspace_id, assignee_id, priority, created_at, turn_at
      from tasks where category not like 'terminal%'`);
  });
}

test('the upgrade excludes existing tasks that start later or are blocked, and puts own ones first', async () => {
  const { actor } = await makeWorker(baton);
  const { id: workspaceId } = await makeWorkspace(baton);
  const other = await baton.actor();
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  const make = (title: string, more: object = {}) => makeTask(baton, { title, workspaceId, ...more });
  await make('open');
  const later = await make('later', { startDate: tomorrow });
  await make('started', { startDate: '2026-01-01' });
  const blocked = await make('blocked');
  await done(baton.admin.patch(`/tasks/${blocked.id}`, { status: 'blocked' }, { 'if-match': 'task-1' }));
  await make('mine', { assigneeId: actor.principalId, priority: 'low' });
  await make('theirs', { assigneeId: other.principalId });
  const changed = await make('changed meanwhile', { assigneeId: actor.principalId });
  const key = `t${newId()}`;
  await insertTestType(baton, { key });
  await make('published before', { typeKey: key, startDate: tomorrow });
  await undo();
  // Simulates a process that writes between the two migrations.
  await done(baton.admin.patch(`/tasks/${changed.id}`, { priority: 'low' }, { 'if-match': 'task-1' }));
  const migration = await readFile(
    join(migrationsDirectory, '0099_availability_of_present_tasks.sql'),
    'utf8',
  );
  for (const text of migration.split(/;$/m))
    if (text.trim() !== '') await baton.pool.run({ text, values: [] });
  const { items } = await done(actor.get(`/work/available?workspaceId=${workspaceId}`));
  assert.deepEqual(
    items.map(({ title }: any) => title),
    ['mine', 'changed meanwhile', 'open', 'started', 'published before'],
  );
  assert.equal((await done(baton.admin.get(`/tasks/${later.id}`))).availableAt, tomorrow);
  const { execution } = (await done(baton.admin.get('/task-types?key=task'))).items[0];
  assert.deepEqual(execution, {
    retry: { backoffSeconds: 60, maxBackoffSeconds: 3600 },
    startDateHolds: true,
  });
  assert.equal((await done(baton.admin.get(`/task-types?key=${key}`))).items[0].execution, null);
});
