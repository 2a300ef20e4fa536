import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Answer, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { makeNarrowPerson } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

function refused(answer: Answer, status: number, code: string, details?: object): void {
  assert.deepEqual([answer.status, answer.body.error?.code], [status, code], JSON.stringify(answer.body));
  if (details !== undefined) assert.deepEqual(answer.body.error.details, details);
}

async function principal(kind = 'agent', status = 'active'): Promise<string> {
  const { body } = await baton.admin.post('/principals', { kind, displayName: kind, status });
  return body.id;
}

const issue = (principalId: string, body: object, headers?: Record<string, string>) =>
  baton.admin.post(`/principals/${principalId}/api-keys`, body, headers);

test('a key is shown once and stored as its SHA-256, and its permissions are sorted and unique', async () => {
  const id = await principal();
  const { status, body } = await issue(id, {
    permissions: ['tasks.read', 'tasks.claim', 'tasks.read'],
    expiresAt: '2099-01-01T02:00:00+02:00',
  });
  assert.equal(status, 201);
  assert.match(body.key, /^cp_[0-9a-f]{12}_[A-Za-z0-9_-]{43}$/);
  assert.equal(body.key.slice(3, 15), body.keyPrefix);
  assert.deepEqual(body.permissions, ['tasks.claim', 'tasks.read']);
  assert.deepEqual(
    [body.principalId, body.expiresAt, body.lastUsedAt, body.revokedAt],
    [id, '2099-01-01T00:00:00.000Z', null, null],
  );
  const row = await baton.pool.row<{ key_hash: string }>(
    sql`select key_hash from api_keys where id = ${body.id}`,
  );
  assert.equal(row?.key_hash, createHash('sha256').update(body.key).digest('hex'));
  const event = await baton.pool.row<{ type: string; payload: unknown }>(
    sql`select type, payload from events where entity_id = ${body.id}`,
  );
  assert.deepEqual(event, {
    type: 'api_key.created',
    payload: { principalId: id, keyPrefix: body.keyPrefix, permissions: ['tasks.claim', 'tasks.read'] },
  });
});

test('a repeated response has null instead of the key, and the key is stored nowhere', async () => {
  const id = await principal();
  const headers = { 'idempotency-key': newId() };
  const first = await issue(id, { permissions: ['tasks.read'] }, headers);
  const again = await issue(id, { permissions: ['tasks.read'] }, headers);
  assert.equal(again.headers.get('idempotency-replayed'), 'true');
  assert.deepEqual(again.body, { ...first.body, key: null });
  const secret = first.body.key.slice(16);
  const found = await baton.pool.row<{ found: boolean }>(sql`
    select exists (select from idempotency_keys where body::text like '%' || ${secret} || '%')
      or exists (select from events where payload::text like '%' || ${secret} || '%')
      or exists (select from api_keys k where to_jsonb(k)::text like '%' || ${secret} || '%') as found`);
  assert.deepEqual(found, { found: false });
});

test('requests are refused in the documented order', async () => {
  const agent = await principal();
  const paused = await principal('agent', 'paused');
  const writer = await baton.actor({ kind: 'human', permissions: ['principals.write', 'tasks.read'] });
  refused(await issue(newId(), { permissions: [] }), 400, 'invalid_request');
  refused(
    await issue(newId(), { permissions: ['zebra', 'tasks.read', 'zebra'] }),
    422,
    'invalid_permissions',
    {
      unknown: ['zebra'],
    },
  );
  const asWriter = (id: string, permissions: string[]) =>
    writer.post(`/principals/${id}/api-keys`, { permissions });
  refused(await asWriter(newId(), ['tasks.read', 'tasks.write', 'admin']), 403, 'permission_escalation', {
    missing: ['admin', 'tasks.write'],
  });
  refused(await issue(newId(), { permissions: ['tasks.read'] }), 404, 'not_found');
  refused(await issue(baton.otherAdmin.principalId, { permissions: ['tasks.read'] }), 404, 'not_found');
  for (const permission of ['admin', 'approvals.decide'])
    refused(await issue(paused, { permissions: [permission] }), 422, 'permissions_not_allowed_for_kind', {
      kind: 'agent',
      forbidden: [permission],
    });
  refused(await issue(paused, { permissions: ['tasks.read'] }), 422, 'principal_not_active');
  assert.equal((await asWriter(agent, ['tasks.read'])).status, 201);
});

test('a token without the admin scope cannot grant admin, whatever permissions its binding has', async () => {
  const human = await baton.actor({ kind: 'human', scopes: ['control-plane:read', 'control-plane:write'] });
  const answer = await human.post(`/principals/${baton.admin.principalId}/api-keys`, {
    permissions: ['admin'],
  });
  refused(answer, 403, 'permission_escalation', { missing: ['admin'] });
});

test('a person who sees only their workspaces issues no key to a principal that sees the tenant', async () => {
  const { person } = await makeNarrowPerson(baton);
  const key = { permissions: ['tasks.read'] };
  for (const kind of ['agent', 'service', 'human']) {
    const answer = await person.post(`/principals/${await principal(kind)}/api-keys`, key);
    refused(answer, 403, 'visibility_escalation');
  }
  assert.equal((await person.post(`/principals/${person.principalId}/api-keys`, key)).status, 201);
});

test('a revoked key stays revoked: a repeat changes and writes nothing', async () => {
  const { body: key } = await issue(await principal(), { permissions: ['tasks.read'] });
  const first = await baton.admin.post(`/api-keys/${key.id}:revoke`);
  assert.equal(first.status, 200);
  assert.ok(first.body.revokedAt !== null && !('key' in first.body));
  const again = await baton.admin.post(`/api-keys/${key.id}:revoke`, {});
  assert.deepEqual([again.status, again.body], [200, first.body]);
  const events = await baton.pool.rows<{ type: string; payload: unknown }>(sql`
    select type, payload from events where entity_id = ${key.id} and type = 'api_key.revoked'`);
  assert.deepEqual(events, [{ type: 'api_key.revoked', payload: { keyPrefix: key.keyPrefix } }]);
  refused(await baton.admin.post(`/api-keys/${newId()}:revoke`), 404, 'not_found');
  refused(await baton.otherAdmin.post(`/api-keys/${key.id}:revoke`), 404, 'not_found');
});
