import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';
import { agentPermissions, agentSpec, linkAgent, publishAgent } from '../../testing/registry/agents.ts';
import { makeConnection, newToken } from '../../testing/registry/connections.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const instant = (secondsAhead = 0) => new Date(Date.now() + secondsAhead * 1000).toISOString();
const permissions = [...agentPermissions, 'connections.status.write'];
const read = (key: string) => done(baton.admin.get(`/connections/${key}`));
const connect = (key: string) =>
  done(baton.admin.put(`/connections/${key}/token`, { account: 'acme', token: newToken() }));

/** A connected account, and an agent that has this connection. */
async function makeUsed() {
  const { id, key } = await makeConnection(baton.admin);
  await connect(key);
  const spec = agentSpec({ identity: { permissions }, connections: [key] });
  const { key: agentKey } = await publishAgent(baton.admin, spec);
  return { id, key, agentKey, spec, agent: await linkAgent(baton, agentKey) };
}

test('an agent reads only the connections in its spec; the connection lists its agents', async () => {
  const { key, agentKey, agent, spec } = await makeUsed();
  const { key: other } = await makeConnection(baton.admin);
  const { agents, ...record } = await read(key);
  assert.deepEqual(agents, [agentKey]);
  assert.deepEqual(await done(agent.get('/agents/me/connections')), { items: [record] });
  assert.deepEqual(await done(agent.get(`/agents/me/connections/${key}`)), record);
  await refused(agent.get(`/agents/me/connections/${other}`), 404, 'not_found');
  await refused(baton.admin.get('/agents/me/connections'), 404, 'not_found');
  await refused(baton.admin.get(`/agents/me/connections/${key}`), 404, 'not_found');
  await done(baton.admin.post('/agents', { key: agentKey, spec: { ...spec, connections: [other] } }), 201);
  assert.deepEqual((await read(key)).agents, []);
  await refused(agent.get(`/agents/me/connections/${key}`), 404, 'not_found');
  await refused(
    agent.put(`/connections/${key}/status`, { status: 'active', checkedAt: instant() }),
    403,
    'connection_not_assigned',
  );
});

test('a retired agent no longer has a connection', async () => {
  const { key, agentKey } = await makeUsed();
  await done(baton.admin.post(`/agents/${agentKey}:retire`, { reason: 'x' }));
  assert.deepEqual((await read(key)).agents, []);
});

test('a report of a working connection stores the time of the check; one of an expired connection writes an event', async () => {
  const { id, key, agent } = await makeUsed();
  const report = (body: object) => agent.put(`/connections/${key}/status`, body);
  const { version } = await read(key);
  const checkedAt = instant();
  const checked = await done(report({ status: 'active', checkedAt }));
  assert.deepEqual([checked.status, checked.lastCheckedAt, checked.version], ['active', checkedAt, version]);
  const later = await done(report({ status: 'active', checkedAt: '2999-01-01T00:00:00Z' }));
  assert.ok(Date.parse(later.lastCheckedAt) <= Date.now() + 1000, 'a future time counts as now');
  const message = `Response with token: ${'abcd'.repeat(8)}`;
  await new Promise((done) => setTimeout(done, 20));
  const lost = await done(
    report({ status: 'expired', reason: 'token_rejected', message, checkedAt: instant() }),
  );
  assert.deepEqual(
    [lost.status, lost.statusReason, lost.version],
    ['expired', 'token_rejected', version + 1],
  );
  assert.doesNotMatch(lost.statusMessage, /abcdabcd/);
  await new Promise((done) => setTimeout(done, 20));
  const again = await done(report({ status: 'expired', reason: 'still', checkedAt: instant() }));
  assert.deepEqual([again.statusReason, again.version], ['token_rejected', version + 1]);
  const changes = (await eventsOf(baton, id)).filter(({ type }) => type === 'connection.status_changed');
  assert.deepEqual(
    changes.map(({ payload }) => payload),
    [
      {
        key,
        type: lost.type,
        from: 'active',
        to: 'expired',
        reason: 'token_rejected',
        connectedBy: baton.admin.principalId,
      },
    ],
  );
});

test('refusals are returned in the documented order', async () => {
  const { key, agent } = await makeUsed();
  const { key: foreign } = await makeConnection(baton.admin);
  const report = (body: object, to = key) => agent.put(`/connections/${to}/status`, body);
  const checkedAt = instant(-3600);
  for (const wrong of [foreign, `c${newId()}`])
    await refused(report({ status: 'expired', checkedAt }, wrong), 403, 'connection_not_assigned');
  await refused(
    baton.admin.put(`/connections/${key}/status`, { status: 'active', checkedAt }),
    403,
    'connection_not_assigned',
  );
  await refused(report({ status: 'expired', checkedAt }), 409, 'stale_status_report');
  await refused(report({ status: 'expired', checkedAt: instant() }), 422, 'status_reason_required');
  await done(report({ status: 'expired', reason: 'gone', checkedAt: instant() }));
  const now = () => new Promise((done) => setTimeout(done, 20)).then(() => instant());
  await refused(report({ status: 'active', checkedAt: await now() }), 409, 'connection_status_conflict');
  await connect(key);
  await refused(report({ status: 'expired', reason: 'gone', checkedAt }), 409, 'stale_status_report');
  await done(baton.admin.post(`/connections/${key}:revoke`, {}));
  await refused(report({ status: 'active', checkedAt: await now() }), 409, 'connection_status_conflict');
  await refused(
    report({ status: 'expired', reason: 'gone', checkedAt: await now() }),
    409,
    'connection_status_conflict',
  );
  const poor = await baton.actor({ permissions: ['connections.read'] });
  await refused(
    poor.put(`/connections/${key}/status`, { status: 'active', checkedAt }),
    403,
    'permission_denied',
  );
});

test('of concurrent reports the latest check is kept, and a connection expires once', async () => {
  const { id, key, agent } = await makeUsed();
  const base = Date.now();
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      agent.put(`/connections/${key}/status`, {
        status: 'expired',
        reason: `r${n}`,
        checkedAt: new Date(base + n).toISOString(),
      }),
    ),
  );
  for (const { status, body } of answers)
    assert.ok(status === 200 || body.error.code === 'stale_status_report', JSON.stringify(body));
  const changes = (await eventsOf(baton, id)).filter(({ type }) => type === 'connection.status_changed');
  assert.equal(changes.length, 1);
});
