import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask } from '../../testing/leases.ts';
import { makeNarrowPerson } from '../../testing/organisation/workspaces.ts';
import {
  humanStep,
  makeProcessAgent,
  makeProcessWorker,
  publishProcess,
  specOf,
  startProcessInstance,
} from '../../testing/processes/process-instances.ts';
import { observe } from '../../testing/rules/rules.ts';

// Tests that processes whose authors have limited visibility receive no inputs about objects that those authors can't
// see.

let baton: TestCoordination;
let worker: ReturnType<typeof makeProcessWorker>;
let agent: Awaited<ReturnType<typeof makeProcessAgent>>;
let narrow: Awaited<ReturnType<typeof makeNarrowPerson>>;
before(async () => {
  baton = await startCoordination();
  worker = makeProcessWorker(baton);
  agent = await makeProcessAgent(baton);
  narrow = await makeNarrowPerson(baton);
});
after(async () => {
  await worker.close();
  await baton.close();
});

const get = (id: string) => done(baton.admin.get(`/process-instances/${id}`));
const instancesOf = async (key: string) =>
  (await done(baton.admin.get(`/process-instances?definitionKey=${key}&limit=200`))).items as any[];

test('events that an author may not see start none of the author’s processes', async () => {
  const observation = `k-${newId()}`;
  const start = {
    on: { observation },
    key: 'event.payload.data.name',
    set: { heard: 'event.payload.content' },
  };
  const { person, mine, other } = narrow;
  const keys = [];
  for (const workspaceId of [mine.id, null])
    keys.push(await publishProcess(person, specOf(agent.key, [humanStep('look')], { start, workspaceId })));
  const ofAll = await publishProcess(baton.admin, specOf(agent.key, [humanStep('look')], { start }));
  for (const [name, workspaceId] of [
    ['hidden', other.id],
    ['mine', mine.id],
    ['nowhere', null],
  ])
    await observe(baton.admin, observation, { name }, { workspaceId });
  await worker.run();
  const startedOf = async (key: string) => (await instancesOf(key)).map((one) => one.instanceKey).sort();
  for (const key of keys) assert.deepEqual(await startedOf(key), ['mine', 'nowhere']);
  assert.deepEqual(await startedOf(ofAll), ['hidden', 'mine', 'nowhere']);
});

test('events that an author may not see neither correlate with the author’s processes nor end a wait', async () => {
  const observation = `k-${newId()}`;
  const { person, mine, other } = narrow;
  const listening = { id: 'ear', listen: { any: [{ event: 'task.updated' }] }, export: { as: 'heard' } };
  const correlate = [
    { on: { observation }, key: 'event.payload.data.name', set: { told: 'event.payload.content' } },
  ];
  const key = await publishProcess(
    person,
    specOf(agent.key, [listening], { correlate, workspaceId: mine.id }),
  );
  const made = await startProcessInstance(person, key, {}, 'one');
  const hidden = await makeTask(baton, { workspaceId: other.id });
  await done(baton.admin.patch(`/tasks/${hidden.id}`, { title: 'Hidden' }, { 'if-match': 'task-1' }));
  await observe(baton.admin, observation, { name: 'one' }, { workspaceId: other.id });
  await worker.run();
  assert.deepEqual([(await get(made.id)).status, (await get(made.id)).data], ['running', {}]);
  await observe(baton.admin, observation, { name: 'one' }, { workspaceId: mine.id });
  const shown = await makeTask(baton, { workspaceId: mine.id });
  await done(baton.admin.patch(`/tasks/${shown.id}`, { title: 'Shown' }, { 'if-match': 'task-1' }));
  await worker.run();
  const { status, data } = await get(made.id);
  assert.deepEqual([status, data.told, typeof data.heard], ['completed', 'seen', 'object']);
});
