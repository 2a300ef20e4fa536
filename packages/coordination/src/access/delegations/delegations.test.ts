import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import {
  type Actor,
  type Answer,
  startCoordination,
  type TestCoordination,
} from '../../testing/coordination.ts';

let baton: TestCoordination;
let human: string;
let agent: string;
before(async () => {
  baton = await startCoordination();
  human = await principal('human');
  agent = await principal('agent');
});
after(() => baton.close());

function refused(answer: Answer, status: number, code: string): void {
  assert.deepEqual([answer.status, answer.body.error?.code], [status, code], JSON.stringify(answer.body));
}

async function principal(kind: string): Promise<string> {
  const { body } = await baton.admin.post('/principals', { kind, displayName: kind });
  return body.id;
}

const delegate = (body: object = {}) =>
  baton.admin.post('/delegations', { humanPrincipalId: human, agentPrincipalId: agent, ...body });

test('a delegation starts now, and has no end and no permissions by default', async () => {
  const { status, body } = await delegate();
  assert.equal(status, 201);
  assert.deepEqual(
    [body.humanPrincipalId, body.agentPrincipalId, body.permissions, body.expiresAt, body.revokedAt],
    [human, agent, [], null, null],
  );
  assert.equal(body.startsAt, body.createdAt);
  const event = await baton.pool.row(sql`
    select type, schema_version, payload from events where entity_id = ${body.id}`);
  assert.deepEqual(event, {
    type: 'delegation.created',
    schema_version: 1,
    payload: { humanPrincipalId: human, agentPrincipalId: agent, permissions: [] },
  });
});

test('its period and permissions are stored as sent', async () => {
  const { status, body } = await delegate({
    permissions: ['tasks.write', 'tasks.claim', 'tasks.claim'],
    startsAt: '2099-01-01T00:00:00',
    expiresAt: '2099-01-02T00:00:00+01:00',
  });
  assert.equal(status, 201);
  assert.deepEqual(body.permissions, ['tasks.claim', 'tasks.write']);
  assert.deepEqual([body.startsAt, body.expiresAt], ['2099-01-01T00:00:00.000Z', '2099-01-01T23:00:00.000Z']);
});

test('a delegation is from a human to an agent, and ends after its start', async () => {
  const service = await principal('service');
  refused(await delegate({ humanPrincipalId: newId() }), 404, 'not_found');
  refused(await delegate({ agentPrincipalId: baton.otherAdmin.principalId }), 404, 'not_found');
  refused(await delegate({ humanPrincipalId: agent }), 422, 'invalid_delegation');
  refused(await delegate({ agentPrincipalId: human }), 422, 'invalid_delegation');
  refused(await delegate({ agentPrincipalId: service }), 422, 'invalid_delegation');
  const instant = '2099-01-01T00:00:00Z';
  refused(await delegate({ startsAt: instant, expiresAt: instant }), 422, 'invalid_delegation');
  refused(
    await delegate({ expiresAt: '2020-01-01T00:00:00Z', permissions: ['zebra'] }),
    422,
    'invalid_delegation',
  );
  refused(await delegate({ permissions: ['zebra'] }), 422, 'invalid_permissions');
});

test('GET returns pages, newest first', async () => {
  const made = [];
  for (let n = 0; n < 3; n += 1) made.push((await delegate()).body.id);
  const first = await baton.admin.get('/delegations?limit=2');
  assert.deepEqual(
    first.body.items.map(({ id }: { id: string }) => id),
    [made[2], made[1]],
  );
  const second = await baton.admin.get(`/delegations?limit=1&cursor=${first.body.nextCursor}`);
  assert.equal(second.body.items[0].id, made[0]);
  refused(await baton.admin.get('/delegations?cursor=zebra'), 422, 'invalid_cursor');
  assert.deepEqual((await baton.otherAdmin.get('/delegations')).body, { items: [], nextCursor: null });
});

test('a revoked delegation stays revoked: a repeat changes and writes nothing', async () => {
  const { body: made } = await delegate();
  const first = await baton.admin.post(`/delegations/${made.id}:revoke`);
  assert.equal(first.status, 200);
  assert.notEqual(first.body.revokedAt, null);
  const again = await baton.admin.post(`/delegations/${made.id}:revoke`, {});
  assert.deepEqual([again.status, again.body], [200, first.body]);
  const events = await baton.pool.rows(sql`
    select schema_version, payload from events where entity_id = ${made.id} and type = 'delegation.revoked'`);
  assert.deepEqual(events, [{ schema_version: 2, payload: {} }]);
  refused(await baton.admin.post(`/delegations/${newId()}:revoke`), 404, 'not_found');
  refused(await baton.otherAdmin.post(`/delegations/${made.id}:revoke`), 404, 'not_found');
});

test('an agent with delegations.manage cannot delegate from an administrator to itself; only that person can', async () => {
  const mallory = await baton.actor({ permissions: ['delegations.manage', 'sessions.open'] });
  const person = await baton.actor({ kind: 'human', permissions: ['delegations.manage'] });
  const other = await baton.actor({ kind: 'human', permissions: ['delegations.manage'] });
  const [boss, agentId] = [baton.admin.principalId, mallory.principalId];
  const delegateAs = (by: Actor, humanPrincipalId: string) =>
    by.post('/delegations', { humanPrincipalId, agentPrincipalId: agentId, permissions: ['tasks.write'] });
  const openFor = (onBehalfOf: string) => mallory.post('/sessions', { clientName: 'test', onBehalfOf });
  const journal = () =>
    baton.pool.row<{ events: number }>(sql`
      select count(*)::integer as events from events
      where type = 'delegation.created' and payload ->> 'agentPrincipalId' = ${agentId}`);

  for (const [by, from] of [
    [mallory, boss],
    [mallory, person.principalId],
    [mallory, agentId],
    [mallory, newId()],
    [other, boss],
    [other, person.principalId],
  ] as const) {
    const answer = await delegateAs(by, from);
    refused(answer, 403, 'permission_denied');
    assert.deepEqual(answer.body.error.details, { required: ['admin'] });
  }
  for (const from of [boss, person.principalId]) refused(await openFor(from), 403, 'delegation_required');
  assert.equal((await journal())?.events, 0);

  assert.equal((await delegateAs(person, person.principalId)).status, 201);
  const session = await openFor(person.principalId);
  assert.deepEqual([session.status, session.body.onBehalfOf], [201, person.principalId]);
  refused(await openFor(boss), 403, 'delegation_required');
  assert.equal((await delegateAs(baton.admin, other.principalId)).status, 201);
  assert.equal((await openFor(other.principalId)).status, 201);
  assert.equal((await journal())?.events, 2);
});

test('a token without the admin scope lets its administrator delegate only from their own principal', async () => {
  const scopes = ['control-plane:read', 'control-plane:write'];
  const permissions = ['admin', 'delegations.manage'] as const;
  const person = await baton.actor({ kind: 'human', permissions, scopes });
  const from = (humanPrincipalId: string) =>
    person.post('/delegations', { humanPrincipalId, agentPrincipalId: agent });
  refused(await from(human), 403, 'permission_denied');
  assert.equal((await from(person.principalId)).status, 201);
});
