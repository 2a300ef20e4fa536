import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask, refused } from '../../testing/leases.ts';
import { checkBy, makeVerifier } from '../../testing/results/verification.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

test('an executor does not skip a person’s check of the type by changing the origin of its task', async () => {
  const person = await baton.actor({ kind: 'human' });
  const when = ['$.spawnedBy.customFields.production'];
  const check = checkBy('human', { key: 'signed', when, spec: { approver: person.principalId } });
  const type = { key: 'change', displayName: 'Change', acceptance: [check] };
  await done(baton.admin.post('/task-types', type), 201);
  const origin = await makeTask(baton, { customFields: { production: true } });
  const [task, other] = [await makeTask(baton, { typeKey: 'change' }), await makeTask(baton)];
  const relations = `/tasks/${task.id}/relations`;
  const { id } = await done(baton.admin.post(relations, { toTask: origin.id, type: 'spawned_by' }), 201);
  const agent = await baton.actor({ permissions: ['tasks.read', 'tasks.write'] });
  await done(agent.post(relations, { toTask: other.id, type: 'spawned_by' }), 201);
  for (const from of [task, origin])
    assert.deepEqual(
      await refused(agent.delete(`/tasks/${from.id}/relations/${id}`), 403, 'permission_denied'),
      { required: ['task_types.manage'] },
    );
  await done(agent.post(`/tasks/${task.id}:complete`, {}, { 'if-match': 'task-1' }));
  const judge = makeVerifier(baton);
  await judge.run().finally(() => judge.close());
  const { verification } = await done(agent.get(`/tasks/${task.id}`));
  assert.equal(verification.status, 'waiting_human');
});
