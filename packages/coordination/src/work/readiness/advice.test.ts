import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import type { Actor } from '../../testing/coordination.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import { claimTask, done, makeTask, makeWorker } from '../../testing/leases.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const word = () => crypto.randomUUID().slice(0, 8);
const claimability = async (id: string, by: Actor = baton.admin) => done(by.get(`/tasks/${id}/claimability`));
/** Returns the remedies for a reason, each with whether the caller may apply it. */
const actsOf = ({ remedies }: any) => remedies.map(({ act, allowed }: any) => [act, allowed]);
const dependOn = async (id: string, toTask: string) =>
  done(baton.admin.post(`/tasks/${id}/relations`, { toTask, type: 'depends_on' }), 201);

test('a claimed task: since its claim, and the principals that may release it', async () => {
  const worker = await makeWorker(baton);
  const task = await makeTask(baton);
  const claim = await claimTask(worker, task.id);
  const path = `/claims/${claim.id}:release`;
  for (const [by, permission] of [
    [worker.actor, 'tasks.claim'],
    [baton.admin, 'claims.manage'],
  ] as const) {
    const { reasons } = await claimability(task.id, by);
    assert.equal(reasons[0].since, claim.acquiredAt);
    const act = { act: 'release_claim', method: 'POST', path, permission, allowed: true };
    assert.deepEqual(reasons[0].remedies, [act]);
  }
  const reader = await baton.actor({ permissions: ['tasks.read'] });
  assert.deepEqual(actsOf((await claimability(task.id, reader)).reasons[0]), [['release_claim', false]]);
});

test('a waiting task: since the oldest relation, with the obstacles of each prerequisite', async () => {
  const worker = await makeWorker(baton);
  const role = await done(baton.admin.post('/roles', { slug: `r-${word()}`, name: 'R' }), 201);
  const [task, held, waiting, further, cancelled, foreign] = [
    ...[await makeTask(baton), await makeTask(baton), await makeTask(baton), await makeTask(baton)],
    ...[await makeTask(baton), await makeTask(baton, { requirements: { roles: [role.slug] } })],
  ];
  const first = await dependOn(task.id, held.id);
  const relations = [first];
  for (const { id } of [waiting, cancelled, foreign]) relations.push(await dependOn(task.id, id));
  await dependOn(waiting.id, further.id);
  await claimTask(worker, held.id);
  await done(baton.admin.patch(`/tasks/${cancelled.id}`, { status: 'cancelled' }, { 'if-match': 'task-1' }));
  const [reason] = (await claimability(task.id)).reasons;
  assert.equal(reason.since, first.createdAt);
  assert.deepEqual(
    reason.blockedBy.map(({ taskId, reasons }: any) => [taskId, reasons]),
    [
      [held.id, [{ code: 'task_already_claimed', holderId: worker.actor.principalId }]],
      [waiting.id, [{ code: 'task_not_ready' }]],
      [cancelled.id, [{ code: 'task_not_claimable' }]],
      [foreign.id, [{ code: 'not_eligible' }]],
    ],
  );
  const paths = reason.remedies.map(({ method, path }: any) => `${method} ${path}`);
  assert.deepEqual(paths.slice(0, 2), [
    `POST /tasks/${held.id}:complete`,
    `DELETE /tasks/${task.id}/relations/${first.id}`,
  ]);
  assert.equal(paths.length, 7, 'a cancelled one cannot be completed');
  const reader = await baton.actor({ permissions: ['tasks.read'] });
  const [read] = (await claimability(task.id, reader)).reasons;
  assert.ok(read.remedies.every(({ allowed }: any) => !allowed));
});

test('a pending gate: since the oldest, and the principals that may decide or cancel it', async () => {
  const task = await makeTask(baton);
  const { principalId } = await baton.actor({ kind: 'human' });
  const gate = await done(
    baton.admin.post('/approvals', { task: task.id, assignedPrincipalId: principalId, gate: true }),
    201,
  );
  const [reason] = (await claimability(task.id)).reasons;
  assert.equal(reason.since, gate.createdAt);
  assert.deepEqual(
    reason.remedies.map(({ path, permission }: any) => [path, permission]),
    [
      [`/approvals/${gate.id}:approve`, 'approvals.decide'],
      [`/approvals/${gate.id}:cancel`, 'approvals.manage'],
    ],
  );
});

test('an ended task: since its end, and reopened only if its lifecycle has a transition back', async () => {
  const task = await makeTask(baton);
  const { completedAt } = await done(
    baton.admin.post(`/tasks/${task.id}:complete`, {}, { 'if-match': 'task-1' }),
  );
  const [reason] = (await claimability(task.id)).reasons;
  assert.deepEqual([reason.since, reason.remedies], [completedAt, []]);
  const typeId = await insertTestType(baton, {
    key: 'reopened',
    lifecycle: {
      statuses: [
        { key: 'open', category: 'active', displayName: 'Open' },
        { key: 'done', category: 'terminal_success', displayName: 'Done' },
      ],
      initialStatus: 'open',
      completionStatus: 'done',
      transitions: [
        { from: 'open', to: ['done'] },
        { from: 'done', to: ['open'] },
      ],
    } as never,
  });
  const other = await makeTask(baton, { typeId });
  await done(baton.admin.post(`/tasks/${other.id}:complete`, {}, { 'if-match': 'task-1' }));
  const [back] = (await claimability(other.id)).reasons;
  assert.deepEqual(back.remedies, [
    { act: 'reopen', method: 'PATCH', path: `/tasks/${other.id}`, permission: 'tasks.write', allowed: true },
  ]);
});

test('a caller with missing requirements: the missing grants, and the absence of eligible principals', async () => {
  const role = await done(baton.admin.post('/roles', { slug: `r-${word()}`, name: 'R' }), 201);
  const capability = await done(baton.admin.post('/capabilities', { name: word() }), 201);
  const task = await makeTask(baton, {
    requirements: { roles: [role.slug], capabilities: [capability.name] },
  });
  const actor = await baton.actor();
  const codes = async () => (await claimability(task.id, actor)).reasons.map(({ code }: any) => code);
  const [lack, nobody] = (await claimability(task.id, actor)).reasons;
  assert.deepEqual([lack.code, lack.since], ['not_eligible', null]);
  const at = `/principals/${actor.principalId}`;
  assert.deepEqual(
    lack.remedies.map(({ act, path, permission }: any) => [act, path, permission]),
    [
      ['assign_role', `${at}/roles`, 'org.manage'],
      ['assign_capability', `${at}/capabilities`, 'org.manage'],
      ['change_requirements', `/tasks/${task.id}`, 'tasks.write'],
    ],
  );
  assert.deepEqual([nobody.code, nobody.since], ['no_eligible_principal', null]);
  assert.equal(nobody.remedies[0].path, '/principals/{id}/roles');
  const other = await baton.actor();
  const give = (path: string, body: object) =>
    done(baton.admin.post(`/principals/${other.principalId}/${path}`, body), 201);
  await give('roles', { roleId: role.id });
  assert.deepEqual(await codes(), ['not_eligible', 'no_eligible_principal'], 'half is not enough');
  await give('capabilities', { capabilityId: capability.id });
  assert.deepEqual(await codes(), ['not_eligible']);
  await baton.pool.run(sql`update principals set status = 'disabled' where id = ${other.principalId}`);
  assert.deepEqual(await codes(), ['not_eligible', 'no_eligible_principal'], 'a disabled one does not count');
});
