import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { delegate, done, endDelegation, endSessionLease, eventsOf, refused } from '../../testing/leases.ts';

let baton: TestCoordination;
let agent: Actor;

before(async () => {
  baton = await startCoordination();
  agent = await baton.actor();
});
after(() => baton.close());

const form = { clientName: 'test-harness' };
const open = (actor: Actor, more: object = {}) => done(actor.post('/sessions', { ...form, ...more }), 201);
const lifeSeconds = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 1000;

test('POST /sessions opens an active session with the usual lease of 300 seconds', async () => {
  const session = await open(agent);
  assert.equal(session.status, 'active');
  assert.equal(session.principalId, agent.principalId);
  assert.equal(session.tenantId, baton.tenantId);
  assert.equal(lifeSeconds(session.startedAt, session.expiresAt), 300);
  assert.equal(session.controlLevel, 'connected');
  for (const absent of ['harnessType', 'harnessVersion', 'protocolVersion', 'hostname', 'environment'])
    assert.equal(session[absent], null);
  assert.equal(session.harnessCapabilities, null);
  assert.deepEqual(session.metadata, {});
  const [opened] = await eventsOf(baton, session.id);
  assert.equal(opened?.type, 'session.opened');
  assert.equal(opened?.actor_id, agent.principalId);
  assert.deepEqual(opened?.payload, {
    clientName: 'test-harness',
    harnessType: null,
    controlLevel: 'connected',
    protocolVersion: null,
    onBehalfOf: null,
    expiresAt: session.expiresAt,
  });
});

test('only known capabilities of a harness are recorded, without duplicates and in the given order', async () => {
  const session = await open(agent, {
    clientVersion: '1.2',
    metadata: { team: 'blue' },
    ttlSeconds: 10,
    harness: {
      type: 'acme.runner_2-x',
      version: '7',
      protocolVersion: '2',
      hostname: 'build-7',
      capabilities: ['resume', 'telepathy', 'checkpoints', 'resume', 'skills.protocol.mcp'],
      environment: { os: 'linux' },
    },
  });
  assert.deepEqual(session.harnessCapabilities, ['resume', 'checkpoints', 'skills.protocol.mcp']);
  assert.equal(session.harnessType, 'acme.runner_2-x');
  assert.equal(session.protocolVersion, '2');
  assert.equal(session.hostname, 'build-7');
  assert.deepEqual(session.environment, { os: 'linux' });
  assert.deepEqual(session.metadata, { team: 'blue' });
  assert.equal(lifeSeconds(session.startedAt, session.expiresAt), 10);
});

test('a harness without a version uses protocol version 1', async () => {
  const session = await open(agent, { harness: { type: 'plain' } });
  assert.equal(session.protocolVersion, '1');
  assert.equal(session.harnessVersion, '');
  assert.deepEqual(session.harnessCapabilities, []);
});

test('controlLevel is human_operated for a human', async () => {
  assert.equal((await open(await baton.actor({ kind: 'human' }))).controlLevel, 'human_operated');
  assert.equal((await open(await baton.actor({ kind: 'service' }))).controlLevel, 'connected');
});

test('POST /sessions refuses in the order protocol version, harness type, ttl', async () => {
  const wrong = { harness: { type: 'Not OK', protocolVersion: '3' }, ttlSeconds: 9 };
  const version = await refused(
    agent.post('/sessions', { ...form, ...wrong }),
    422,
    'unsupported_protocol_version',
  );
  assert.deepEqual(version, { requested: '3', supported: ['1', '2'] });
  const type = { ...form, ...wrong, harness: { type: 'Not OK' } };
  await refused(agent.post('/sessions', type), 422, 'invalid_harness');
  const ttl = await refused(agent.post('/sessions', { ...form, ttlSeconds: 9 }), 422, 'invalid_ttl');
  assert.deepEqual(ttl, { min: 10, max: 3600 });
  await refused(agent.post('/sessions', { ...form, ttlSeconds: 3601 }), 422, 'invalid_ttl');
  await refused(agent.post('/sessions', { ...form, harness: { type: 7 } }), 400, 'invalid_request');
});

test('metadata and environment are limited documents', async () => {
  await refused(
    agent.post('/sessions', { ...form, metadata: { text: 'x'.repeat(70_000) } }),
    422,
    'payload_too_large',
  );
  const deep = JSON.parse(`${'{"a":'.repeat(30)}1${'}'.repeat(30)}`);
  await refused(
    agent.post('/sessions', { ...form, harness: { type: 'x', environment: deep } }),
    422,
    'payload_too_deep',
  );
});

test('onBehalfOf needs an active person and a live delegation from them to the caller', async () => {
  const human = await baton.actor({ kind: 'human' });
  const onBehalfOf = human.principalId;
  await refused(agent.post('/sessions', { ...form, onBehalfOf: newId() }), 404, 'not_found');
  await refused(
    agent.post('/sessions', { ...form, onBehalfOf: baton.otherAdmin.principalId }),
    404,
    'not_found',
  );
  const details = await refused(agent.post('/sessions', { ...form, onBehalfOf }), 403, 'delegation_required');
  assert.deepEqual(details, { onBehalfOf });
  const other = await baton.actor();
  const delegationId = await delegate(human, agent, baton);
  const session = await open(agent, { onBehalfOf });
  assert.equal(session.onBehalfOf, onBehalfOf);
  assert.equal(session.onBehalfOfId, onBehalfOf);
  assert.equal(session.delegationId, delegationId);
  await refused(other.post('/sessions', { ...form, onBehalfOf }), 403, 'delegation_required');
  await baton.pool.run(sql`update principals set status = 'paused' where id = ${onBehalfOf}`);
  await refused(agent.post('/sessions', { ...form, onBehalfOf }), 403, 'delegation_required');
  await baton.pool.run(sql`update principals set status = 'active' where id = ${onBehalfOf}`);
  await endDelegation(baton, delegationId);
  await refused(agent.post('/sessions', { ...form, onBehalfOf }), 403, 'delegation_required');
});

test('a session can be read by its owner or with sessions.manage only', async () => {
  const session = await open(agent);
  const stranger = await baton.actor({ permissions: ['sessions.open'] });
  assert.deepEqual((await agent.get(`/sessions/${session.id}`)).body, session);
  assert.deepEqual((await baton.admin.get(`/sessions/${session.id}`)).body, session);
  const details = await refused(stranger.get(`/sessions/${session.id}`), 403, 'permission_denied');
  assert.deepEqual(details, { required: ['sessions.manage'] });
  await refused(baton.otherAdmin.get(`/sessions/${session.id}`), 404, 'not_found');
  await refused(agent.get(`/sessions/${newId()}`), 404, 'not_found');
});

test('GET /sessions pages newest first and filters by status', async () => {
  const manager = await baton.actor({ permissions: ['sessions.manage'] });
  const opened: string[] = [];
  for (let count = 0; count < 5; count += 1) opened.push((await open(agent)).id);
  await agent.post(`/sessions/${opened[0]}:close`);
  const seen: string[] = [];
  for (let cursor = ''; cursor !== 'end'; ) {
    const page = await manager.get(`/sessions?limit=3${cursor === '' ? '' : `&cursor=${cursor}`}`);
    assert.equal(page.status, 200);
    assert.ok(page.body.items.length <= 3);
    seen.push(...page.body.items.map(({ id }: { id: string }) => id));
    cursor = page.body.nextCursor ?? 'end';
  }
  assert.deepEqual(seen.slice(0, 5), [...opened].reverse());
  assert.equal(new Set(seen).size, seen.length);
  const closed = (await manager.get('/sessions?status=closed')).body.items;
  assert.ok(closed.some(({ id }: { id: string }) => id === opened[0]));
  assert.ok(closed.every(({ status }: { status: string }) => status === 'closed'));
  await refused(manager.get('/sessions?status=asleep'), 422, 'invalid_status');
  await refused(manager.get('/sessions?cursor=abc'), 422, 'invalid_cursor');
});

test('GET /sessions filters by principal, also together with the status', async () => {
  const manager = await baton.actor({ permissions: ['sessions.manage'] });
  const [one, other] = [await baton.actor(), await baton.actor()];
  const [first, second] = [await open(one), await open(one)];
  await open(other);
  await one.post(`/sessions/${first.id}:close`);
  const listed = async (query: string) =>
    (await manager.get(`/sessions?principalId=${one.principalId}${query}`)).body.items.map(
      ({ id }: { id: string }) => id,
    );
  assert.deepEqual(await listed(''), [second.id, first.id]);
  assert.deepEqual(await listed('&status=closed'), [first.id]);
  assert.deepEqual((await manager.get(`/sessions?principalId=${newId()}`)).body.items, []);
  assert.equal((await manager.get('/sessions?principalId=me')).status, 400);
});

test('a heartbeat extends or shortens the lease, and emits no event', async () => {
  const session = await open(agent, { ttlSeconds: 900 });
  const beat = (await agent.post(`/sessions/${session.id}:heartbeat`, { ttlSeconds: 60 })).body;
  assert.equal(lifeSeconds(beat.heartbeatAt, beat.expiresAt), 60);
  assert.ok(beat.heartbeatAt >= session.heartbeatAt);
  // `{}` and no body are equivalent: both renew the lease for its original length.
  for (const body of [{}, { ttlSeconds: null }, undefined]) {
    const renewed = (await agent.post(`/sessions/${session.id}:heartbeat`, body)).body;
    assert.equal(lifeSeconds(renewed.heartbeatAt, renewed.expiresAt), 900);
  }
  assert.equal((await baton.admin.post(`/sessions/${session.id}:heartbeat`)).status, 200);
  assert.deepEqual(
    (await eventsOf(baton, session.id)).map(({ type }) => type),
    ['session.opened'],
  );
});

test('a heartbeat refuses another principal, an unknown session, a closed one and an invalid ttl, in this order', async () => {
  const session = await open(agent);
  const stranger = await baton.actor({ permissions: ['sessions.open'] });
  await refused(
    stranger.post(`/sessions/${session.id}:heartbeat`, { ttlSeconds: 1 }),
    403,
    'permission_denied',
  );
  await refused(agent.post(`/sessions/${newId()}:heartbeat`), 404, 'not_found');
  await refused(baton.otherAdmin.post(`/sessions/${session.id}:heartbeat`), 404, 'not_found');
  const details = await refused(
    agent.post(`/sessions/${session.id}:heartbeat`, { ttlSeconds: 9 }),
    422,
    'invalid_ttl',
  );
  assert.deepEqual(details, { min: 10, max: 3600 });
  await agent.post(`/sessions/${session.id}:close`);
  const closed = await refused(
    agent.post(`/sessions/${session.id}:heartbeat`, { ttlSeconds: 9 }),
    409,
    'session_not_active',
  );
  assert.deepEqual(closed, { sessionId: session.id, status: 'closed' });
});

test('close returns the closed session, and a repeat has no effect and emits no event', async () => {
  const session = await open(agent);
  const closed = await agent.post(`/sessions/${session.id}:close`, {});
  assert.equal(closed.status, 200);
  assert.equal(closed.body.status, 'closed');
  assert.ok(closed.body.endedAt >= session.startedAt);
  assert.deepEqual((await agent.post(`/sessions/${session.id}:close`)).body, closed.body);
  assert.deepEqual(
    (await eventsOf(baton, session.id))
      .map(({ type, schema_version, payload }) => [type, schema_version, payload])
      .slice(1),
    [['session.closed', 2, { releasedClaims: 0 }]],
  );
  const stranger = await baton.actor({ permissions: ['sessions.open'] });
  await refused(stranger.post(`/sessions/${session.id}:close`), 403, 'permission_denied');
  await refused(agent.post(`/sessions/${newId()}:close`), 404, 'not_found');
});

test('a heartbeat after the lease has expired returns session_expired and still records it', async () => {
  const session = await open(agent);
  await endSessionLease(baton, session.id);
  await refused(agent.post(`/sessions/${session.id}:heartbeat`), 409, 'session_expired');
  const { body } = await agent.get(`/sessions/${session.id}`);
  assert.equal(body.status, 'stale');
  assert.notEqual(body.endedAt, null);
  const details = await refused(agent.post(`/sessions/${session.id}:heartbeat`), 409, 'session_not_active');
  assert.deepEqual(details, { sessionId: session.id, status: 'stale' });
  const [, expired, ...others] = await eventsOf(baton, session.id);
  assert.equal(expired?.type, 'session.expired');
  assert.equal(expired?.actor_id, agent.principalId);
  assert.deepEqual(expired?.payload, { expiresAt: body.expiresAt, releasedClaims: 0 });
  assert.deepEqual(others, []);
  assert.equal((await agent.post(`/sessions/${session.id}:close`)).body.status, 'closed');
});

test('a session whose delegation was revoked is closed by its next heartbeat', async () => {
  const human = await baton.actor({ kind: 'human' });
  const delegationId = await delegate(human, agent, baton);
  const session = await open(agent, { onBehalfOf: human.principalId });
  assert.equal((await agent.post(`/sessions/${session.id}:heartbeat`)).status, 200);
  await endDelegation(baton, delegationId);
  const details = await refused(agent.post(`/sessions/${session.id}:heartbeat`), 409, 'session_not_active');
  assert.deepEqual(details, { sessionId: session.id, status: 'closed' });
  assert.equal((await agent.get(`/sessions/${session.id}`)).body.status, 'closed');
  const events = await eventsOf(baton, session.id);
  assert.deepEqual(events.at(-1)?.payload, { releasedClaims: 0, reason: 'delegation_ended' });
});
