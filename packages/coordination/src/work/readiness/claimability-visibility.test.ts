import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask, openSession, refused } from '../../testing/leases.ts';
import { makeNarrowPerson } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
/** The person sees `mine` and not `other`. */
let person: Actor;
let mine: any;
let other: any;
before(async () => {
  baton = await startCoordination();
  ({ person, mine, other } = await makeNarrowPerson(baton));
});
after(() => baton.close());

/** A task of `mine` that waits for tasks of these workspaces. */
async function makeWaiting(...workspaces: any[]) {
  const task = await makeTask(baton, { workspaceId: mine.id });
  const prerequisites = [];
  const relations = [];
  for (const { id: workspaceId } of workspaces) {
    const prerequisite = await makeTask(baton, { workspaceId });
    const path = `/tasks/${task.id}/relations`;
    const relation = { toTask: prerequisite.id, type: 'depends_on' };
    prerequisites.push(prerequisite);
    relations.push(await done(baton.admin.post(path, relation), 201));
  }
  return { task, prerequisites, relations };
}

const claimabilityOf = (id: string, by: Actor) => done(by.get(`/tasks/${id}/claimability`));

test('for invisible prerequisites, claimability and the refusal of a claim give only their number', async () => {
  const { task, prerequisites, relations } = await makeWaiting(mine, other, other);
  const [seen] = prerequisites as [any];
  const shown = {
    taskId: seen.id,
    publicId: seen.publicId,
    status: seen.status,
    systemStatusCategory: seen.systemStatusCategory,
  };
  const { claimable, reasons } = await claimabilityOf(task.id, person);
  assert.deepEqual(
    [claimable, reasons.length, reasons[0].code, reasons[0].blockedBy, reasons[0].blockedOutOfSight],
    [false, 1, 'task_not_ready', [{ ...shown, reasons: [] }], 2],
  );
  assert.deepEqual(
    reasons[0].remedies.map(({ path }: any) => path),
    [`/tasks/${seen.id}:complete`, `/tasks/${task.id}/relations/${relations[0].id}`],
  );
  const sessionId = await openSession(person);
  const claim = () => person.post(`/tasks/${task.id}:claim`, { sessionId });
  const refusal = { taskId: task.id, blockedBy: [shown], blockedOutOfSight: 2 };
  assert.deepEqual(await refused(claim(), 409, 'task_not_ready'), refusal);
  const whole = (await claimabilityOf(task.id, baton.admin)).reasons[0];
  assert.deepEqual([whole.blockedBy.length, Object.hasOwn(whole, 'blockedOutOfSight')], [3, false]);
});

test('a task that is blocked only by invisible tasks is reported without them', async () => {
  const { task } = await makeWaiting(other);
  const { claimable, reasons } = await claimabilityOf(task.id, person);
  const [{ since, ...reason }] = reasons;
  assert.ok(since);
  assert.deepEqual(
    [claimable, reason],
    [false, { code: 'task_not_ready', blockedBy: [], blockedOutOfSight: 1, remedies: [] }],
  );
});

test('relations to invisible tasks are neither listed nor removable, like unknown ones', async () => {
  const { task, relations } = await makeWaiting(mine, other);
  const [seen, hidden] = relations as [any, any];
  const list = async (by: Actor) => (await done(by.get(`/tasks/${task.id}/relations`))).items;
  assert.deepEqual(await list(person), [seen]);
  const remove = (id: string) => person.delete(`/tasks/${task.id}/relations/${id}`);
  const details = await refused(remove(hidden.id), 404, 'not_found');
  assert.deepEqual(details, { relationId: hidden.id });
  assert.deepEqual(await list(baton.admin), [seen, hidden]);
  await done(remove(seen.id), 204);
});
