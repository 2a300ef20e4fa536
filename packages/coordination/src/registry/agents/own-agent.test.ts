import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask, openSession, refused } from '../../testing/leases.ts';
import { agentSpec, linkAgent, publishAgent } from '../../testing/registry/agents.ts';

// The program of a registered agent needs the agent's credential and the revision with which its runs start.

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

test('an agent without agents.read reads its revision from /agents/me, starts a run, and adopts the next revision', async () => {
  const permissions = ['sessions.open', 'tasks.claim', 'tasks.read'];
  const { key } = await publishAgent(baton.admin, agentSpec({ identity: { permissions } }));
  const agent = await linkAgent(baton, key);
  const other = await linkAgent(baton, (await publishAgent(baton.admin)).key);
  await refused(agent.get(`/agents/${key}`), 403, 'permission_denied');
  const sessionId = await openSession(agent);
  const start = async (agentRevisionId?: string) => {
    const task = await makeTask(baton);
    const claim = await done(agent.post(`/tasks/${task.id}:claim`, { sessionId }));
    const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
    return agent.post(`/tasks/${task.id}:start-run`, { ...keys, agentRevisionId });
  };

  await refused(start(), 422, 'agent_revision_required');
  const foreign = await done(other.get('/agents/me'));
  await refused(start(foreign.revision.id), 422, 'agent_revision_mismatch');

  const first = await done(agent.get('/agents/me'));
  assert.deepEqual(
    [first.key, first.status, first.currentRevision, first.revision.revision, first.principalId],
    [key, 'active', 1, 1, agent.principalId],
  );
  assert.equal((await done(start(first.revision.id), 201)).agentRevisionId, first.revision.id);

  const spec = agentSpec({ identity: { permissions }, description: 'It builds faster.' });
  await publishAgent(baton.admin, spec, key);
  const second = await done(agent.get('/agents/me'));
  assert.deepEqual([second.currentRevision, second.revision.revision], [2, 2]);
  assert.notEqual(second.revision.id, first.revision.id);
  assert.equal((await done(start(second.revision.id), 201)).agentRevisionId, second.revision.id);
});
