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
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

function refused(answer: Answer, status: number, code: string, details?: object): void {
  assert.deepEqual([answer.status, answer.body.error?.code], [status, code], JSON.stringify(answer.body));
  if (details !== undefined) assert.deepEqual(answer.body.error.details, details);
}

async function created(answer: Promise<Answer>): Promise<Answer['body']> {
  const { status, body } = await answer;
  assert.ok(status < 300, JSON.stringify(body));
  return body;
}

const disable = (principalId: string, body?: object, actor = baton.admin) =>
  actor.post(`/principals/${principalId}:disable`, body);
const enable = (principalId: string, body?: object, actor = baton.admin) =>
  actor.post(`/principals/${principalId}:enable`, body);

async function openSession(actor: Actor, onBehalfOf?: string): Promise<string> {
  const body = { clientName: 'test', ...(onBehalfOf && { onBehalfOf }) };
  return (await created(actor.post('/sessions', body))).id;
}

async function claim(actor: Actor, sessionId: string): Promise<Answer['body']> {
  const task = await created(baton.admin.post('/tasks', { title: 'work' }));
  return created(actor.post(`/tasks/${task.id}:claim`, { sessionId }));
}

/** The rows that start-run writes, without its endpoint. */
async function run(claimed: Answer['body']): Promise<string> {
  const runId = newId();
  await baton.pool.run(sql`
    insert into runs (id, tenant_id, task_id, claim_id, principal_id, session_id, fencing_token, attempt)
    values (${runId}, ${baton.tenantId}, ${claimed.taskId}, ${claimed.id}, ${claimed.holderId}, ${claimed.sessionId},
      ${claimed.fencingToken}, 1)`);
  return runId;
}

async function eventsSince(sequence: number) {
  return baton.pool.rows<{ type: string; entity_id: string; schema_version: number; payload: object }>(sql`
    select type, entity_id, schema_version, payload from events where sequence > ${sequence} order by position, sequence`);
}

async function lastSequence(): Promise<number> {
  const row = await baton.pool.row<{ last: number }>(sql`select max(sequence) as last from events`);
  return row?.last ?? 0;
}

test('a disable ends bindings, delegations, sessions, claims and runs, in this order', async () => {
  const human = await baton.actor({ kind: 'human' });
  const agent = await baton.actor();
  const delegation = await created(
    baton.admin.post('/delegations', {
      humanPrincipalId: human.principalId,
      agentPrincipalId: agent.principalId,
    }),
  );
  const own = await openSession(human);
  const ownClaim = await claim(human, own);
  const ownRun = await run(ownClaim);
  const onBehalf = await openSession(agent, human.principalId);
  const agentClaim = await claim(agent, onBehalf);
  const agentRun = await run(agentClaim);
  const untouched = await claim(agent, await openSession(agent));

  const since = await lastSequence();
  const { status, body } = await disable(human.principalId, {
    reason: 'token=abcdefghijklmnopqrstuvwx left',
  });
  assert.equal(status, 200);
  assert.deepEqual([body.status, body.version], ['disabled', 2]);

  const events = await eventsSince(since);
  assert.deepEqual(
    events.map(({ type, entity_id: id }) => [type, id]),
    [
      ['iam_binding.revoked', events[0]?.entity_id],
      ['delegation.revoked', delegation.id],
      ['claim.released', ownClaim.id],
      ['session.closed', own],
      ['claim.released', agentClaim.id],
      ['session.closed', onBehalf],
      ['run.failed', events[6]?.entity_id],
      ['run.failed', events[7]?.entity_id],
      ['principal.disabled', human.principalId],
    ],
  );
  assert.deepEqual(new Set([events[6]?.entity_id, events[7]?.entity_id]), new Set([ownRun, agentRun]));
  assert.deepEqual(events[1]?.payload, { reason: 'principal_disabled' });
  assert.equal(events[1]?.schema_version, 2);
  assert.deepEqual(events[3]?.payload, { releasedClaims: 1, reason: 'principal_disabled' });
  assert.equal((events[2]?.payload as { reason: string }).reason, 'principal_disabled');
  assert.deepEqual(events[8]?.payload, {
    kind: 'human',
    previousStatus: 'active',
    reason: '[redacted] left',
    revokedBindings: 1,
    revokedDelegations: 1,
    closedSessions: 2,
    releasedClaims: 2,
    failedRuns: 2,
    withdrawnInvocations: 0,
  });

  const left = await baton.pool.rows<{ id: string; status: string }>(sql`
    select id, status from claims where id in (${ownClaim.id}, ${agentClaim.id}, ${untouched.id}) order by id`);
  assert.deepEqual(
    left.map(({ status }) => status),
    ['released', 'released', 'active'],
  );
  const tasks = await baton.pool.rows<{ status: string }>(sql`
    select distinct status from tasks where id in (${ownClaim.taskId}, ${agentClaim.taskId})`);
  assert.deepEqual(tasks, [{ status: 'todo' }]);
});

test('a disabled principal and its key are rejected at once', async () => {
  const agent = await baton.actor();
  assert.equal((await agent.get('/principals')).status, 200);
  await disable(agent.principalId);
  // The principal's binding is revoked, so the identity is unknown again.
  refused(await agent.get('/principals'), 401, 'invalid_credentials');
  refused(await agent.post('/sessions', { clientName: 'late' }), 401, 'invalid_credentials');
});

test('claims outside its own sessions are released too', async () => {
  const agent = await baton.actor();
  const claimed = await claim(agent, await openSession(agent));
  // The state after another component closed the session and left the claim.
  await baton.pool.run(sql`update sessions set status = 'closed' where id = ${claimed.sessionId}`);
  const since = await lastSequence();
  assert.equal((await disable(agent.principalId)).status, 200);
  assert.deepEqual(
    (await eventsSince(since)).map(({ type }) => type),
    ['iam_binding.revoked', 'claim.released', 'principal.disabled'],
  );
});

test('disabling a disabled principal returns 200 and changes nothing', async () => {
  const agent = await baton.actor();
  const first = await disable(agent.principalId, {});
  const since = await lastSequence();
  const again = await disable(agent.principalId, { reason: 'again' });
  assert.deepEqual([again.status, again.body], [200, first.body]);
  assert.deepEqual(await eventsSince(since), []);
});

test('disable refuses in the documented order', async () => {
  const service = await baton.actor({ kind: 'service' });
  refused(await disable(newId()), 404, 'not_found');
  refused(await disable(baton.otherAdmin.principalId), 404, 'not_found');
  refused(await disable(service.principalId), 422, 'principal_kind_not_disableable', { kind: 'service' });
  refused(await disable(service.principalId, {}, service), 422, 'principal_kind_not_disableable');
  refused(await disable(baton.admin.principalId), 409, 'cannot_disable_self');
  refused(await disable(service.principalId, { reason: 'a'.repeat(501) }), 400, 'invalid_request');
});

test('only an administrator disables a principal that has admin in a live binding or key', async () => {
  const writer = await baton.actor({ kind: 'human', permissions: ['principals.write'] });
  const missing = { missing: ['admin'] };
  const byBinding = await baton.actor({ kind: 'human' });
  refused(await disable(byBinding.principalId, {}, writer), 403, 'permission_escalation', missing);

  const byKey = await created(baton.admin.post('/principals', { kind: 'human', displayName: 'k' }));
  const key = await created(baton.admin.post(`/principals/${byKey.id}/api-keys`, { permissions: ['admin'] }));
  refused(await disable(byKey.id, {}, writer), 403, 'permission_escalation', missing);
  await created(baton.admin.post(`/api-keys/${key.id}:revoke`));
  assert.equal((await disable(byKey.id, {}, writer)).status, 200);
  assert.equal((await disable(byBinding.principalId)).status, 200);
});

test('enable restores the status only, and returns the number of keys that are accepted again', async () => {
  const agent = await baton.actor();
  const id = agent.principalId;
  const keys = [];
  for (let n = 0; n < 3; n += 1)
    keys.push(await created(baton.admin.post(`/principals/${id}/api-keys`, { permissions: ['tasks.read'] })));
  await created(baton.admin.post(`/api-keys/${keys[0].id}:revoke`));
  await baton.pool.run(
    sql`update api_keys set expires_at = now() - interval '1 ms' where id = ${keys[1].id}`,
  );
  await disable(id);
  const since = await lastSequence();
  const enabled = await enable(id, { reason: 'back' });
  assert.equal(enabled.status, 200);
  assert.deepEqual([enabled.body.status, enabled.body.version, enabled.body.liveApiKeys], ['active', 3, 1]);
  assert.deepEqual(await eventsSince(since), [
    {
      type: 'principal.enabled',
      entity_id: id,
      schema_version: 1,
      payload: { kind: 'agent', previousStatus: 'disabled', reason: 'back', liveApiKeys: 1 },
    },
  ]);
  refused(await agent.get('/principals'), 401, 'invalid_credentials');

  const again = await enable(id);
  assert.deepEqual([again.status, again.body], [200, enabled.body]);
  assert.equal((await eventsSince(since)).length, 1);
});

test('a paused principal is enabled too', async () => {
  const { id } = await created(
    baton.admin.post('/principals', { kind: 'human', displayName: 'p', status: 'paused' }),
  );
  assert.equal((await enable(id)).body.status, 'active');
});

test('enable refuses in the documented order', async () => {
  const writer = await baton.actor({ kind: 'human', permissions: ['principals.write', 'tasks.read'] });
  refused(await enable(newId()), 404, 'not_found');
  refused(await enable(baton.otherAdmin.principalId), 404, 'not_found');
  const service = { kind: 'service', displayName: 's', status: 'disabled' };
  const { id: serviceId } = await created(baton.admin.post('/principals', service));
  refused(await enable(serviceId), 422, 'principal_kind_not_enableable', { kind: 'service' });

  const agent = await baton.actor();
  const permissions = ['tasks.write', 'tasks.read', 'org.read'];
  await created(baton.admin.post(`/principals/${agent.principalId}/api-keys`, { permissions }));
  await disable(agent.principalId);
  refused(await enable(agent.principalId, {}, writer), 403, 'permission_escalation', {
    missing: ['org.read', 'tasks.write'],
  });
  assert.equal((await enable(agent.principalId)).status, 200);
});

test('a disable revokes thousands of bindings in one statement', async (t) => {
  const agent = await baton.actor();
  await baton.pool.run(sql`
    insert into iam_bindings (id, tenant_id, principal_id, issuer, iam_tenant_id, iam_principal_id, permissions)
    select gen_random_uuid(), ${baton.tenantId}, ${agent.principalId}, ${baton.issuer.issuer}, ${baton.tenantId},
      gen_random_uuid(), '{tasks.read}'
    from generate_series(1, 3000)`);
  await baton.pool.run(sql`create sequence binding_statements`);
  await baton.pool.run(sql`
    create function count_binding_statement() returns trigger language plpgsql as $$
    begin perform nextval('binding_statements'); return null; end $$`);
  await baton.pool.run(sql`
    create trigger count_binding_statements after update of status on iam_bindings
      for each statement execute function count_binding_statement()`);
  t.after(() => baton.pool.run(sql`drop trigger count_binding_statements on iam_bindings`));
  const startedAt = performance.now();
  assert.equal((await disable(agent.principalId)).status, 200);
  t.diagnostic(`disabled in ${Math.round(performance.now() - startedAt)} ms`);
  const row = await baton.pool.row<{ count: number }>(
    sql`select last_value as count from binding_statements`,
  );
  assert.equal(row?.count, 1);
  const { items } = await created(baton.admin.get(`/principals/${agent.principalId}/iam-bindings`));
  assert.equal(items.length, 3001);
  for (const { status } of items) assert.equal(status, 'revoked');
});
