import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, openSession, refused } from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { agentKey, agentSpec, linkAgent, publishAgent } from '../../testing/registry/agents.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const instances = { desired: 1, ready: 1 };
const instant = (secondsAgo: number) => new Date(Date.now() - secondsAgo * 1000).toISOString();
const report = (key: string, more: object = {}, actor = baton.admin) =>
  actor.put(`/agents/${key}/status`, { phase: 'running', instances, observedAt: instant(60), ...more });
const changesOf = async (id: string) =>
  (await eventsOf(baton, id)).filter(({ type }: any) => type === 'agent.status_changed');

test('before the first report the phase is unknown; a report returns what is stored', async () => {
  const { id, key } = await publishAgent(baton.admin);
  const nothing = {
    phase: 'unknown',
    reason: null,
    observedRevision: null,
    node: null,
    instances: null,
    observedAt: null,
    reportedAt: null,
    reportedBy: null,
    lastSeenAt: null,
  };
  assert.deepEqual(await done(baton.admin.get(`/agents/${key}/status`)), nothing);
  const observedAt = instant(60);
  const reason = { code: 'oom', message: 'Out of memory, with password: abcdefghijklmnopqrstuvwxyz' };
  const { reportedAt, lastSeenAt, ...kept } = await done(
    report(key, { phase: 'crash_looping', reason, observedRevision: 1, node: 'node-1', observedAt }),
  );
  assert.equal(lastSeenAt, reportedAt);
  assert.deepEqual(
    { ...kept, reason: { ...kept.reason, message: '' } },
    {
      phase: 'crash_looping',
      reason: { code: 'oom', message: '' },
      observedRevision: 1,
      node: 'node-1',
      instances,
      observedAt,
      reportedBy: baton.admin.principalId,
    },
  );
  assert.doesNotMatch(kept.reason.message, /abcdefgh/);
  assert.deepEqual(await done(baton.admin.get(`/agents/${key}/status`)), { ...kept, reportedAt, lastSeenAt });
  const [event] = await changesOf(id);
  assert.deepEqual(event?.payload, {
    key,
    phase: 'crash_looping',
    node: 'node-1',
    reason: kept.reason,
    observedRevision: 1,
  });
  const { items } = await done(baton.admin.get('/agents?include=status&limit=1'));
  assert.deepEqual(items[0].observedStatus, { ...kept, reportedAt, lastSeenAt });
});

test('agent.status_changed is written when phase, reason, node or revision changed, not for counts and times', async () => {
  const workspace = await makeWorkspace(baton);
  const { id, key } = await publishAgent(baton.admin, agentSpec({ work: { workspace: workspace.id } }));
  const moves: [object, number][] = [
    [{}, 1],
    [{ instances: { desired: 2, ready: 0 } }, 1],
    [{ phase: 'pending' }, 2],
    [{ phase: 'pending', node: 'n' }, 3],
    [{ phase: 'pending', node: 'n', reason: { code: 'c' } }, 4],
    [{ phase: 'pending', node: 'n', reason: { code: 'c' }, observedRevision: 1 }, 5],
    [{ phase: 'pending', node: 'n', reason: { code: 'c' }, observedRevision: 1 }, 5],
  ];
  for (const [more, count] of moves) {
    await done(report(key, { ...more, observedAt: instant(30) }));
    const events = await changesOf(id);
    assert.equal(events.length, count, JSON.stringify(more));
  }
  const places = await baton.pool.rows<{ id: string }>(
    sql`select distinct workspace_id as id from events where entity_id = ${id}`,
  );
  assert.deepEqual(places, [{ id: workspace.id }]);
});

test('an older observation is refused, an equal one accepted; a time in the future is stored as now', async () => {
  const { key } = await publishAgent(baton.admin);
  const observedAt = instant(30);
  await done(report(key, { observedAt }));
  await done(report(key, { observedAt, phase: 'stopped' }));
  const details = await refused(report(key, { observedAt: instant(31) }), 409, 'stale_status_report');
  assert.deepEqual(details, { agent: key, storedObservedAt: observedAt });
  const future = await done(report(key, { observedAt: '2999-01-01T00:00:00Z' }));
  assert.ok(Date.parse(future.observedAt) <= Date.parse(future.reportedAt));
  await new Promise((later) => setTimeout(later, 20));
  await done(report(key, { observedAt: new Date().toISOString(), phase: 'pending' }));
});

test('of concurrent reports in any order, the latest observation is kept', async () => {
  const { id, key } = await publishAgent(baton.admin);
  const rounds = 40;
  const ages = Array.from({ length: rounds }, (_, n) => n + 1).sort(() => Math.random() - 0.5);
  const answers = await Promise.all(
    ages.map((age) => report(key, { observedAt: instant(1000 + age * 10), observedRevision: age })),
  );
  for (const { status, body } of answers)
    assert.ok(status === 200 || body.error.code === 'stale_status_report', JSON.stringify(body));
  assert.equal((await done(baton.admin.get(`/agents/${key}/status`))).observedRevision, 1);
  const told = (await changesOf(id)).map(({ payload }: any) => payload.observedRevision);
  assert.deepEqual(
    told,
    told.toSorted((one: number, other: number) => other - one),
  );
  assert.equal(told.length, answers.filter(({ status }) => status === 200).length);
});

test('a heartbeat of a session is a sign of life too', async () => {
  const { key } = await publishAgent(baton.admin);
  const actor = await linkAgent(baton, key);
  const sessionId = await openSession(actor);
  const { heartbeatAt } = await done(actor.post(`/sessions/${sessionId}:heartbeat`));
  assert.equal((await done(baton.admin.get(`/agents/${key}/status`))).lastSeenAt, heartbeatAt);
});

test('requires agents.status.write; the agent must exist, and may be retired', async () => {
  const { key } = await publishAgent(baton.admin);
  const node = await baton.actor({ permissions: ['agents.status.write'] });
  await done(report(key, {}, node));
  await refused(node.get(`/agents/${key}/status`), 403, 'permission_denied');
  const manager = await baton.actor({ permissions: ['agents.manage', 'agents.read'] });
  await refused(report(key, {}, manager), 403, 'permission_denied');
  await refused(report(agentKey()), 404, 'not_found');
  await refused(baton.admin.get(`/agents/${agentKey()}/status`), 404, 'not_found');
  await refused(report(key, {}, baton.otherAdmin), 404, 'not_found');
  for (const more of [
    { phase: 'unknown' },
    { reason: { code: 'x', message: 'm'.repeat(501) } },
    { instances: { desired: -1, ready: 0 } },
    { observedAt: 'today' },
  ])
    await refused(report(key, more), 400, 'invalid_request');
  await done(baton.admin.post(`/agents/${key}:retire`, { reason: 'x' }));
  await done(report(key, { phase: 'stopped' }));
});
