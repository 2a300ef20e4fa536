import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeRun, makeTask, makeWorker, refused } from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { makeNarrowPerson } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

test('an observation about a run is visible to those who see its task: in the journal, and as evidence', async () => {
  const { person, mine, other } = await makeNarrowPerson(baton);
  const worker = await makeWorker(baton);
  const told = [];
  for (const workspaceId of [mine.id, other.id]) {
    const { run, task } = await makeRun(baton, worker, { task: { workspaceId } });
    const body = { kind: 'finding', content: `found ${newId()}`, runId: run.id };
    const { id } = await done(worker.actor.post('/observations', body), 201);
    told.push({ id, content: body.content, runId: run.id, taskId: task.id, workspaceId });
  }
  const [seen, hidden] = told as [(typeof told)[0], (typeof told)[0]];
  await journalIsStable(baton.pool);
  const { items } = await done(person.get('/events?tail=100&limit=100'));
  const text = JSON.stringify(items);
  assert.deepEqual([text.includes(seen.content), text.includes(hidden.content)], [true, false]);
  const event = items.find(({ entityId }: any) => entityId === seen.id);
  const { observedAt: _, ...payload } = event.payload;
  assert.equal(event.workspaceId, mine.id);
  assert.deepEqual(
    payload,
    { kind: 'finding', content: seen.content, runId: seen.runId },
    'only the given fields',
  );
  const task = await makeTask(baton, { workspaceId: mine.id });
  const cite = (observationId: string) => {
    const evidence = [{ kind: 'observation', observationId }];
    return person.patch(`/tasks/${task.id}`, { evidence }, { 'if-match': 'task-1' });
  };
  await refused(cite(hidden.id), 404, 'not_found');
  await done(cite(seen.id));
});
