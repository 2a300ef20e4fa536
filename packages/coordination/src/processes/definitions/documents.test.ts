import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import type { Actor } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { startWithMemory, type WithMemory } from '../../testing/memory/contexts.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { newProcessKey, processSpec } from '../../testing/processes/processes.ts';
import { publishAgent } from '../../testing/registry/agents.ts';

// Tests the documents that govern a process (docs/reference/processes.md#problems), with a memory service.

let started: WithMemory;
let agent: string;
before(async () => {
  started = await startWithMemory();
  ({ key: agent } = await publishAgent(started.baton.admin));
});
after(() => started.close());

const store = (workspaceId: string, naturalKey: string) =>
  done(
    started.baton.admin.post('/knowledge/documents', {
      workspaceId,
      naturalKey,
      title: 'A policy',
      chunks: [{ text: 'Two people review a change.' }],
    }),
  );

/** The warnings about the governing documents of a process and of its step. */
async function warned(names: string[], ofStep: string[], actor: Actor = started.baton.admin) {
  const human = { taskType: 'task', title: 'Review {{ data.change }}' };
  const stages = [{ id: 'main', steps: [{ id: 'look', human, governedBy: ofStep }] }];
  const spec = processSpec({ identity: { agent }, owner: [{ agent }], governedBy: names, stages });
  const { warnings } = await done(actor.post('/process-definitions', { key: newProcessKey(), spec }), 201);
  return warnings
    .filter(({ code }: { code: string }) => code.startsWith('governed_by'))
    .map(({ code, path }: { code: string; path: string }) => `${code} ${path}`);
}

test('governed_by_unknown_document: a document that was never stored', async () => {
  const { id } = await makeWorkspace(started.baton);
  const [policy, missing] = [`policy/${newId()}`, `policy/${newId()}`];
  await store(id, policy);
  await store(id, policy);
  assert.deepEqual(await warned([policy], [policy]), []);
  assert.deepEqual(await warned([policy, missing], [missing, policy]), [
    'governed_by_unknown_document /governedBy/1',
    'governed_by_unknown_document /stages/0/steps/0/governedBy/0',
  ]);
});

test('a document that the author may not see counts as missing', async () => {
  const { person, mine, other } = await makeNarrowPerson(started.baton);
  const [seen, hidden] = [`policy/${newId()}`, `policy/${newId()}`];
  await store(mine.id, seen);
  await store(other.id, hidden);
  assert.deepEqual(await warned([seen, hidden], [], person), ['governed_by_unknown_document /governedBy/1']);
  assert.deepEqual(await warned([seen, hidden], []), []);
});
