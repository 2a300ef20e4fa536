import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { setAccess } from '../../testing/access/set-access.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';
import { followPresets } from './follow-presets.ts';

let baton: TestCoordination;
let worker: ReturnType<typeof makeWorkerTools>;
before(async () => {
  baton = await startCoordination();
  worker = makeWorkerTools(baton);
});
after(async () => {
  await worker.close();
  await baton.close();
});

async function holder(accessRole: string, kind: 'human' | 'agent'): Promise<Actor> {
  const actor = await baton.actor({ kind });
  await setAccess(baton.admin, actor.principalId, { accessRole });
  return actor;
}

const bindingOf = async ({ principalId }: Actor) =>
  (await baton.admin.get(`/principals/${principalId}/iam-bindings`)).body.items[0];

const setPermissions = ({ principalId }: Actor, permissions: readonly string[]) =>
  baton.pool.run(
    sql`update iam_bindings set permissions = ${permissions} where principal_id = ${principalId}`,
  );

test('bindings get the permissions that their built-in role has in this release, with an event each', async () => {
  const person = await holder('member', 'human');
  const agent = await holder('viewer', 'agent');
  const [before, ofAgent] = [await bindingOf(person), await bindingOf(agent)];
  // The bindings as a previous release left them.
  await setPermissions(person, ['tasks.read']);
  await setPermissions(agent, ['tasks.read']);
  const eventsBefore = await count(before.id);
  const job = followPresets(worker.tools);
  assert.equal(await job.run(), 1);
  assert.deepEqual((await bindingOf(person)).permissions, before.permissions);
  assert.deepEqual((await bindingOf(agent)).permissions, ofAgent.permissions);
  assert.equal(await count(before.id), eventsBefore + 1);
  assert.equal(await job.run(), 0);
});

test('after a pass it pauses, so that two releases side by side do not undo each other all the time', async () => {
  const person = await holder('viewer', 'human');
  const job = followPresets(worker.tools);
  assert.equal(await job.run(), 0);
  await setPermissions(person, ['tasks.read']);
  assert.equal(await job.run(), 0);
  assert.deepEqual((await bindingOf(person)).permissions, ['tasks.read']);
  assert.equal(await followPresets(worker.tools).run(), 1);
});

test('permissions of their own, and revoked bindings, stay', async () => {
  const [own, revoked] = [await baton.actor({ kind: 'human' }), await holder('viewer', 'human')];
  await baton.admin.post(`/iam-bindings/${(await bindingOf(revoked)).id}:revoke`);
  await setPermissions(own, ['tasks.read']);
  await setPermissions(revoked, ['tasks.read']);
  assert.equal(await followPresets(worker.tools).run(), 0);
  assert.deepEqual((await bindingOf(own)).permissions, ['tasks.read']);
  assert.deepEqual((await bindingOf(revoked)).permissions, ['tasks.read']);
});

async function count(bindingId: string): Promise<number> {
  const row = await baton.pool.row<{ n: number }>(sql`
    select count(*)::int as n from events where entity_id = ${bindingId} and type = 'iam_binding.updated'`);
  return row?.n ?? 0;
}
