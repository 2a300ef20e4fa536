import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Operator, startOperator } from '../../testing/access/operator.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { breakGlassCommand } from './break-glass.command.ts';

let baton: TestCoordination;
let operator: Operator;
before(async () => {
  baton = await startCoordination();
  operator = startOperator(baton);
});
after(async () => {
  await operator.close();
  await baton.close();
});

const run = (...args: string[]) => breakGlassCommand(operator.tools, args);
const issue = (principal: string, more: string[] = [], reason = 'identity is down') =>
  run('issue', '--principal', principal, '--reason', reason, ...more);
const keyIn = (printed: string) => /cp_bg\S+/.exec(printed)?.[0] ?? '';
const enter = async (key: string) =>
  (await baton.request('GET', '/api/v1/principals', { token: key })).status;
const refusesWith = (code: string) => (error: { code?: string }) => error.code === code;

async function principal(kind: string, status = 'active'): Promise<string> {
  return (await baton.admin.post('/principals', { kind, displayName: kind, status })).body.id;
}

test('it issues an admin key for an hour to an active human, and writes an event', async () => {
  const id = await principal('human');
  const printed = await issue(id, [], ' identity is down, token=abcdefghijklmnopqrstuv ');
  const key = keyIn(printed);
  assert.match(key, /^cp_bg[0-9a-f]{10}_[A-Za-z0-9_-]{43}$/);
  assert.equal(await enter(key), 200);
  const row = await baton.pool.row<{ id: string; life: number; permissions: string[] }>(sql`
    select id, extract(epoch from expires_at - created_at) as life, permissions from api_keys where principal_id = ${id}`);
  assert.deepEqual([row?.life, row?.permissions], [3600, ['admin']]);
  const event = await baton.pool.row<{ payload: Record<string, unknown> }>(sql`
    select type, actor_id, iam_actor_id, request_id, payload from events where entity_id = ${row?.id}`);
  const { payload, ...rest } = event as { payload: Record<string, unknown> };
  assert.deepEqual(rest, {
    type: 'api_key.break_glass_issued',
    actor_id: null,
    iam_actor_id: null,
    request_id: `break-glass:${row?.id}`,
  });
  assert.deepEqual(
    [payload['principalId'], payload['keyPrefix'], payload['permissions'], payload['ttlSeconds']],
    [id, key.slice(3, 15), ['admin'], 3600],
  );
  assert.equal(payload['reason'], 'identity is down, [redacted]');
  assert.match(payload['issuedBy'] as string, /.@./);
  assert.ok(printed.includes(payload['expiresAt'] as string));
});

test('requests are refused in the documented order', async () => {
  const human = await principal('human');
  const agent = await principal('agent');
  const paused = await principal('human', 'paused');
  const disabled = startOperator(baton, { CP_BREAK_GLASS_ENABLED: 'false' });
  await assert.rejects(
    breakGlassCommand(disabled.tools, ['issue', '--principal', human, '--reason', '', '--ttl-seconds', '1']),
    refusesWith('break_glass_disabled'),
  );
  await disabled.close();
  for (const ttl of ['59', '14401', '1e3', 'zebra'])
    await assert.rejects(issue(human, ['--ttl-seconds', ttl], ''), refusesWith('invalid_ttl'));
  for (const reason of ['', '  ', 'a'.repeat(501)])
    await assert.rejects(issue(newId(), [], reason), refusesWith('invalid_reason'));
  for (const id of [newId(), 'zebra']) await assert.rejects(issue(id), refusesWith('not_found'));
  await assert.rejects(issue(agent), refusesWith('principal_not_human'));
  await assert.rejects(issue(await principal('service', 'paused')), refusesWith('principal_not_human'));
  await assert.rejects(issue(paused), refusesWith('principal_not_active'));
  for (const ttl of ['60', '14400'])
    assert.equal(await enter(keyIn(await issue(human, ['--ttl-seconds', ttl]))), 200);
});

test('revoke ends every live emergency key of every tenant, and no other key', async () => {
  const usual = await baton.admin.post(`/principals/${await principal('human')}/api-keys`, {
    permissions: ['tasks.read'],
  });
  const over = keyIn(await issue(baton.admin.principalId));
  await baton.pool.run(
    sql`update api_keys set expires_at = now() - interval '1 ms' where key_prefix = ${over.slice(3, 15)}`,
  );
  await run('revoke-all');
  const keys = [
    keyIn(await issue(baton.admin.principalId)),
    keyIn(await issue(baton.otherAdmin.principalId)),
  ];
  assert.match(await run('revoke'), /Revoked 2 emergency keys/);
  for (const key of keys) assert.equal(await enter(key), 401);
  for (const key of keys) {
    const event = await baton.pool.row<{ payload: object; request_id: string; entity_id: string }>(sql`
      select entity_id, request_id, payload from events
      where type = 'api_key.revoked' and payload ->> 'keyPrefix' = ${key.slice(3, 15)}`);
    assert.equal(event?.request_id, `break-glass:${event?.entity_id}`);
    const { issuedBy, ...payload } = event?.payload as { issuedBy: string };
    assert.deepEqual(payload, { keyPrefix: key.slice(3, 15), breakGlass: true });
    assert.match(issuedBy, /.@./);
  }
  const left = await baton.pool.row(sql`select revoked_at from api_keys where id = ${usual.body.id}`);
  assert.deepEqual(left, { revoked_at: null });
  assert.match(await run('revoke-all'), /Revoked 0 emergency keys/);
});

test('invalid arguments print the usage', async () => {
  for (const args of [[], ['issue'], ['issue', '--zebra'], ['revoke', '--reason', 'x'], ['zebra']])
    await assert.rejects(run(...args), refusesWith('usage'));
});
