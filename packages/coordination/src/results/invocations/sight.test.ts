import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask } from '../../testing/leases.ts';
import { makeNarrowPerson } from '../../testing/organisation/workspaces.ts';
import { claimCall, invoke, makeCallable } from '../../testing/results/invocations.ts';

let baton: TestCoordination;
/** A person who executes calls, and sees the workspace `mine` but not `other`. */
let person: Actor;
let mine: { id: string };
let other: { id: string };

before(async () => {
  baton = await startCoordination();
  ({ person, mine, other } = await makeNarrowPerson(baton));
});
after(() => baton.close());

/** A call for a task in a workspace; null for no workspace. */
async function callIn(skill: { id: string }, workspaceId: string | null): Promise<{ id: string }> {
  const task = workspaceId === null ? {} : { taskId: (await makeTask(baton, { workspaceId })).id };
  return done(invoke(baton.admin, skill, { inputs: { of: workspaceId }, ...task }), 201);
}

test('a person with restricted visibility gets no call of a hidden workspace, neither the next one nor by its id', async () => {
  const skill = await makeCallable(baton.admin);
  const hidden = await callIn(skill, other.id);
  assert.equal((await claimCall(person, skill)).status, 204);
  assert.equal((await claimCall(person, skill, { invocationId: hidden.id })).status, 204);
  assert.equal((await person.get(`/skill-invocations/${hidden.id}`)).status, 404);

  const [shown, unfiled] = [await callIn(skill, mine.id), await callIn(skill, null)];
  const named = await done(claimCall(person, skill, { invocationId: shown.id }));
  assert.deepEqual(named.invocation.inputs, { of: mine.id });
  assert.equal((await done(claimCall(person, skill))).invocation.id, unfiled.id);
  assert.equal((await claimCall(person, skill)).status, 204);

  const wide = await baton.actor({ kind: 'human' });
  assert.equal((await done(claimCall(wide, skill))).invocation.id, hidden.id);
});

test('the oldest visible call comes first, regardless of its queue', async () => {
  const skills = [await makeCallable(baton.admin), await makeCallable(baton.admin)];
  const [first, second] = skills as [any, any];
  const calls = [
    await callIn(second, mine.id),
    await callIn(first, null),
    await callIn(first, other.id),
    await callIn(first, mine.id),
  ];
  const entrypoints = skills.map((skill) => skill.contract.implementation.entrypoint);
  const claim = () =>
    person.post('/skill-invocations:claim', { protocols: ['local'], localEntrypoints: entrypoints });
  const ids = [];
  for (let n = 0; n < 3; n += 1) ids.push((await done(claim())).invocation.id);
  assert.deepEqual(
    ids,
    [calls[0], calls[1], calls[3]].map((call) => call?.id),
  );
  assert.equal((await claim()).status, 204);
});

test('a call follows its task: one that was moved out of view is not assigned', async () => {
  const skill = await makeCallable(baton.admin);
  const task = await makeTask(baton, { workspaceId: mine.id });
  await done(invoke(baton.admin, skill, { taskId: task.id }), 201);
  const headers = { 'if-match': `task-${task.version}` };
  await done(baton.admin.patch(`/tasks/${task.id}`, { workspaceId: other.id }, headers));
  assert.equal((await claimCall(person, skill)).status, 204);
});
