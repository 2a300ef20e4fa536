import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import {
  type Actor,
  sendRequest,
  startCoordination,
  type TestCoordination,
} from '../../testing/coordination.ts';
import { agentSpec, publishAgent } from '../../testing/registry/agents.ts';
import { makeRule } from '../../testing/rules/rules.ts';
import { actionsOf } from './authz.ts';

let baton: TestCoordination;
let holder: Actor;
let runId: string;
before(async () => {
  baton = await startCoordination();
  holder = await baton.actor({ permissions: ['tasks.claim', 'sessions.open'] });
  const { body: session } = await holder.post('/sessions', { clientName: 'test' });
  const { body: task } = await baton.admin.post('/tasks', { title: 'work' });
  const { body: claim } = await holder.post(`/tasks/${task.id}:claim`, { sessionId: session.id });
  const { claimId, fencingToken } = claim;
  runId = (await holder.post(`/tasks/${task.id}:start-run`, { claimId, fencingToken })).body.id;
});
after(() => baton.close());

interface Asked {
  action: string;
  resourceType: string;
  resourceId: string;
}

const ask = (actor: Actor, ...checks: Asked[]) => actor.post('/authz:check', { checks });

/** The reason for denying one action: null if it is allowed. */
async function reason(actor: Actor, action: string, resourceType: string, resourceId: string) {
  const { status, body } = await ask(actor, { action, resourceType, resourceId });
  assert.equal(status, 200, JSON.stringify(body));
  const [{ allowed, reason: found, explanation: _, ...asked }] = body.results;
  assert.deepEqual(asked, { action, resourceType, resourceId });
  assert.equal(allowed, found === null);
  return found === null ? null : { code: found.code, details: found.details };
}

test('the principal of a run cancels it with tasks.claim, and others cancel it with claims.manage', async () => {
  const stranger = await baton.actor({ permissions: ['tasks.claim'] });
  const manager = await baton.actor({ permissions: ['claims.manage'] });
  const reader = await baton.actor({ permissions: ['tasks.read'] });
  for (const action of ['cancel', 'request-cancel']) {
    assert.equal(await reason(holder, action, 'run', runId), null);
    assert.equal(await reason(manager, action, 'run', runId.toUpperCase()), null);
    for (const actor of [stranger, reader]) {
      const { status, body } = await actor.post(`/runs/${runId}:${action}`);
      assert.equal(status, 403);
      const { code, details } = body.error;
      assert.deepEqual(await reason(actor, action, 'run', runId), { code, details });
    }
    assert.equal((await reason(manager, action, 'run', newId()))?.code, 'not_found');
    assert.equal((await reason(baton.otherAdmin, action, 'run', runId))?.code, 'not_found');
  }
  assert.deepEqual(await reason(stranger, 'cancel', 'run', runId), {
    code: 'run_holder_mismatch',
    details: { runId },
  });
  for (const actor of [stranger, reader])
    assert.deepEqual(await reason(actor, 'request-cancel', 'run', runId), {
      code: 'permission_denied',
      details: { required: ['claims.manage'] },
    });
});

test("a rule that acts as an agent is enabled by a caller with the agent's permissions", async () => {
  const agent = await publishAgent(baton.admin, agentSpec(), newId());
  const rule = await makeRule(baton.admin, { status: 'disabled', identity: { agent: agent.key } });
  const writer = await baton.actor({ kind: 'human', permissions: ['rules.write'] });
  const { status, body } = await writer.post(`/rules/${rule.id}:enable`);
  assert.deepEqual([status, body.error.code], [403, 'permission_escalation']);
  const { code, details } = body.error;
  assert.deepEqual(await reason(writer, 'enable', 'rule', rule.id), { code, details });
  assert.equal(await reason(writer, 'disable', 'rule', rule.id), null);
  assert.equal(await reason(baton.admin, 'enable', 'rule', rule.id), null);
});

test('an approval is decided by its decider, whatever its state', async () => {
  const person = await baton.actor({ kind: 'human', permissions: ['approvals.decide'] });
  const excluded = await baton.actor({ kind: 'human', permissions: ['approvals.decide'] });
  const agent = await baton.actor({ permissions: ['approvals.decide'] });
  const request = {
    assignedPrincipalId: person.principalId,
    excludedPrincipals: [excluded.principalId],
  };
  const { id } = (await baton.admin.post('/approvals', request)).body;
  for (const action of ['approve', 'reject']) {
    assert.equal(await reason(person, action, 'approval', id.toUpperCase()), null);
    assert.equal((await reason(excluded, action, 'approval', id))?.code, 'separation_of_duties_violation');
    assert.equal((await reason(baton.admin, action, 'approval', id))?.code, 'not_eligible');
    assert.equal((await reason(baton.otherAdmin, action, 'approval', id))?.code, 'not_found');
    for (const actor of [agent, holder])
      assert.deepEqual(await reason(actor, action, 'approval', id), {
        code: 'permission_denied',
        details: { required: ['approvals.decide'] },
      });
  }
  await person.post(`/approvals/${id}:approve`);
  assert.equal(await reason(person, 'approve', 'approval', id), null);
});

test('the state of a run is not checked', async () => {
  await baton.pool.run(sql`update runs set status = 'failed', finished_at = now() where id = ${runId}`);
  assert.equal(await reason(holder, 'cancel', 'run', runId), null);
});

test('checks of principals match the calls themselves, including checks of the status', async () => {
  const writer = await baton.actor({ kind: 'human', permissions: ['principals.write'] });
  const agent = await baton.actor({ permissions: ['tasks.read'] });
  const service = await baton.actor({ kind: 'service' });
  const why = (actor: Actor, action: string, id: string) => reason(actor, action, 'principal', id);
  assert.equal(await why(writer, 'disable', agent.principalId), null);
  assert.deepEqual(await why(agent, 'disable', agent.principalId), {
    code: 'permission_denied',
    details: { required: ['principals.write'] },
  });
  assert.equal((await why(writer, 'disable', newId()))?.code, 'not_found');
  assert.equal((await why(writer, 'disable', baton.otherAdmin.principalId))?.code, 'not_found');
  assert.equal((await why(writer, 'disable', writer.principalId))?.code, 'cannot_disable_self');
  assert.equal((await why(writer, 'disable', service.principalId))?.code, 'principal_kind_not_disableable');
  assert.deepEqual(await why(writer, 'disable', baton.admin.principalId), {
    code: 'permission_escalation',
    details: { missing: ['admin'] },
  });
  assert.equal(await why(writer, 'enable', service.principalId), null, 'active: nothing to do');

  await baton.admin.post(`/principals/${agent.principalId}/api-keys`, { permissions: ['tasks.read'] });
  await baton.admin.post(`/principals/${agent.principalId}:disable`);
  assert.equal(await why(writer, 'disable', agent.principalId), null, 'disabled: nothing to do');
  assert.equal(await why(baton.admin, 'enable', agent.principalId), null);
  assert.deepEqual(await why(writer, 'enable', agent.principalId), {
    code: 'permission_escalation',
    details: { missing: ['tasks.read'] },
  });
  await baton.pool.run(sql`update principals set status = 'paused' where id = ${service.principalId}`);
  assert.equal((await why(writer, 'enable', service.principalId))?.code, 'principal_kind_not_enableable');
});

test('an absent object is not an error: allowed is false with the reason not_found', async () => {
  for (const resourceType of ['approval', 'process_instance', 'rule', 'agent'] as const)
    for (const action of actionsOf[resourceType])
      assert.equal((await reason(baton.admin, action, resourceType, newId()))?.code, 'not_found');
  assert.equal((await reason(baton.admin, 'update-state', 'agent', 'reviewer'))?.code, 'not_found');
});

test('a caller without the permission learns only that, not whether the object exists', async () => {
  const nobody = await baton.actor({ permissions: [] });
  for (const [resourceType, actions] of Object.entries(actionsOf))
    for (const action of actions)
      assert.equal((await reason(nobody, action, resourceType, newId()))?.code, 'permission_denied');
});

test('up to a hundred results are returned in the order of the checks, each with the fields of its check', async () => {
  const ids = Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? baton.admin.principalId : newId()));
  const checks = ids.map((resourceId) => ({ action: 'enable', resourceType: 'principal', resourceId }));
  const { status, body } = await ask(baton.admin, ...checks);
  assert.equal(status, 200);
  const expected = ids.map((id) => [id, id === baton.admin.principalId]);
  const got = body.results.map((result: { resourceId: string; allowed: boolean }) => [
    result.resourceId,
    result.allowed,
  ]);
  assert.deepEqual(got, expected);
});

test('no check, too many, an unknown action or type: 400', async () => {
  const check = { action: 'enable', resourceType: 'principal', resourceId: newId() };
  const wrong = [
    [],
    Array(101).fill(check),
    [{ ...check, action: 'fly' }],
    [{ ...check, resourceType: 'bird' }],
    [{ ...check, zebra: 1 }],
  ];
  for (const checks of wrong) {
    const { status, body } = await ask(baton.admin, ...checks);
    assert.deepEqual([status, body.error.code], [400, 'invalid_request']);
  }
});

test('an action that the type does not have: 422 unknown_action', async () => {
  const words = [...new Set(Object.values(actionsOf).flat())];
  for (const [resourceType, actions] of Object.entries(actionsOf))
    for (const action of words.filter((word) => !actions.includes(word))) {
      const { status, body } = await ask(baton.admin, { action, resourceType, resourceId: 'x' });
      assert.deepEqual([status, body.error.code], [422, 'unknown_action']);
    }
});

test('an id that is not a UUID, if one is required: 422 invalid_check', async () => {
  for (const [resourceType, [action]] of Object.entries(actionsOf)) {
    const { status, body } = await ask(baton.admin, { action: action ?? '', resourceType, resourceId: 'x' });
    if (resourceType === 'agent') assert.equal(status, 200);
    else assert.deepEqual([status, body.error.code], [422, 'invalid_check']);
  }
});

test('it writes nothing, and every caller may check their own rights', async () => {
  const nobody = await baton.actor({ permissions: [] });
  const count = () => baton.pool.row(sql`select count(*) as events from events`);
  const before = await count();
  const headers = { 'idempotency-key': newId() };
  const checks = [{ action: 'disable', resourceType: 'principal', resourceId: baton.admin.principalId }];
  for (let time = 0; time < 2; time += 1) {
    const answer = await nobody.post('/authz:check', { checks }, headers);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('idempotency-replayed'), null);
    assert.equal(answer.body.results[0].reason.code, 'permission_denied');
  }
  assert.deepEqual(await count(), before);
});

/** The reason why one action is allowed or denied. */
async function explained(actor: Actor, action: string, resourceType: string, resourceId: string) {
  const { body } = await ask(actor, { action, resourceType, resourceId });
  return body.results[0].explanation;
}

test('it explains which permission allows the action, who grants it, and what narrows it', async () => {
  const usual = { source: 'binding', byAdmin: false, roleId: null, narrowedBy: [], decision: null };
  const own = await explained(holder, 'cancel', 'run', runId);
  assert.deepEqual(
    { ...own, credentialId: null },
    { ...usual, permission: 'tasks.claim', credentialId: null },
  );
  const binding = await baton.pool.row(
    sql<{ id: string }>`select id from iam_bindings where principal_id = ${holder.principalId}`,
  );
  assert.equal(own.credentialId, binding?.id);
  const manager = await baton.actor({ permissions: ['claims.manage'] });
  assert.equal((await explained(manager, 'cancel', 'run', runId)).permission, 'claims.manage');
  const administrator = await baton.actor({ kind: 'human', permissions: ['admin'] });
  const byAdmin = await explained(administrator, 'disable', 'principal', holder.principalId);
  assert.deepEqual(
    [byAdmin.permission, byAdmin.source, byAdmin.byAdmin],
    ['principals.write', 'binding', true],
  );
});

test('it explains a permission that the token excludes, and one that no one grants', async () => {
  const narrowed = await baton.actor({ permissions: ['principals.write'], scopes: ['control-plane:read'] });
  const { source, narrowedBy, permission } = await explained(
    narrowed,
    'disable',
    'principal',
    holder.principalId,
  );
  assert.deepEqual([permission, source, narrowedBy], ['principals.write', null, ['token_scope']]);
  const nobody = await baton.actor({ permissions: [] });
  const wanting = await explained(nobody, 'disable', 'principal', holder.principalId);
  assert.deepEqual([wanting.source, wanting.narrowedBy], [null, []]);
  const stranger = await baton.actor({ permissions: ['tasks.claim'] });
  assert.equal((await explained(stranger, 'cancel', 'run', runId)).permission, 'claims.manage');
});

test('it returns the role that an approval requires, and a visibility limited to own workspaces', async () => {
  const person = await baton.actor({ kind: 'human', permissions: ['approvals.decide'] });
  const role = (await baton.admin.post('/roles', { slug: 'deciders', name: 'Deciders' })).body;
  await baton.admin.post(`/principals/${person.principalId}/roles`, { roleId: role.id });
  const { id } = (await baton.admin.post('/approvals', { requiredRoleId: role.id })).body;
  const explanation = await explained(person, 'approve', 'approval', id);
  assert.deepEqual([explanation.permission, explanation.roleId], ['approvals.decide', role.id]);
  await baton.pool.run(
    sql`update iam_bindings set visibility = 'members' where principal_id = ${person.principalId}`,
  );
  assert.deepEqual((await explained(person, 'approve', 'approval', id)).narrowedBy, ['visibility']);
});

test('a key is explained as a key', async () => {
  const process = await baton.another({ CP_LEGACY_API_KEYS_ENABLED: 'true' });
  const agent = await baton.actor({ permissions: [] });
  const path = `/principals/${agent.principalId}/api-keys`;
  const key = (await baton.admin.post(path, { permissions: ['claims.manage'] })).body;
  const checks = [{ action: 'cancel', resourceType: 'run', resourceId: runId }];
  const { body } = await sendRequest(`${process.url}/api/v1/authz:check`, 'POST', {
    token: key.key,
    body: { checks },
  });
  const [{ allowed, explanation }] = body.results;
  assert.deepEqual(
    [allowed, explanation.source, explanation.credentialId, explanation.permission],
    [true, 'api_key', key.id, 'claims.manage'],
  );
});
