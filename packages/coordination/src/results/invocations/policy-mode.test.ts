import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { type PolicyMode, startPolicyMode } from '../../testing/access/policy-mode.ts';
import type { Actor, TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { claimCall, invoke, makeCallable, makeCallWorker } from '../../testing/results/invocations.ts';

/** CP_AUTHZ_MODE policy: a decision point decides whose calls continue. */

let mode: PolicyMode;
let baton: TestCoordination;
let worker: ReturnType<typeof makeCallWorker>;
before(async () => {
  mode = await startPolicyMode();
  ({ baton } = mode);
  worker = makeCallWorker(baton);
});
after(async () => {
  await worker.close();
  await mode.close();
});
beforeEach(() => mode.reset());

const grantTo = (actor: Actor, ...actions: string[]) =>
  mode.grant(({ who, action }) => who === actor.iamPrincipalId && actions.includes(action));
const read = (id: string) => done(baton.admin.get(`/skill-invocations/${id}`));
const required = { requiredPermissions: ['tasks.write'] };

test('a call that only the decision point grants is assigned to an executor, regardless of the binding’s permissions', async () => {
  const skill = await makeCallable(baton.admin, { contract: required });
  const caller = await baton.actor({ permissions: ['skills.invoke', 'org.read'] });
  grantTo(caller, 'skills.invoke', 'tasks.write');
  const call = await done(invoke(caller, skill), 201);
  await baton.pool.run(sql`
    update iam_bindings set permissions = '{org.read}' where principal_id = ${caller.principalId}`);
  await worker.withdraw();
  assert.equal((await read(call.id)).status, 'pending');
  mode.policy.asked.length = 0;
  assert.equal((await done(claimCall(baton.admin, skill))).invocation.id, call.id);
  const asked = mode.policy.asked.filter(({ who }) => who === caller.iamPrincipalId);
  assert.deepEqual(new Set(asked.map(({ action }) => action)), new Set(['skills.invoke', 'tasks.write']));
});

for (const [what, left] of [
  ['to call skills', ['tasks.write']],
  ['the permissions of the contract', ['skills.invoke']],
] as const)
  test(`no executor gets a call whose requester the point no longer allows ${what}, but other calls are assigned`, async () => {
    const skill = await makeCallable(baton.admin, { contract: required });
    const caller = await baton.actor();
    grantTo(caller, 'skills.invoke', 'tasks.write');
    const call = await done(invoke(caller, skill), 201);
    const other = await done(invoke(baton.admin, skill), 201);
    grantTo(caller, ...left);
    assert.equal((await done(claimCall(baton.admin, skill))).invocation.id, other.id);
    const { status, error } = await read(call.id);
    assert.deepEqual(
      [status, error.code, error.message],
      ['cancelled', 'basis_revoked', 'permission_denied'],
    );
  });

test('while the decision point does not respond, no call is assigned, and none is ended', async () => {
  const skill = await makeCallable(baton.admin);
  const caller = await baton.actor();
  const executor = await baton.actor();
  mode.grant(() => true);
  const call = await done(invoke(caller, skill), 201);
  mode.policy.behave((_path, body, res) => {
    if (!JSON.stringify(body).includes(caller.iamPrincipalId)) return undefined;
    res.writeHead(503).end();
    return 'answered';
  });
  await refused(claimCall(executor, skill), 503, 'policy_unavailable');
  assert.equal((await read(call.id)).status, 'pending');
  mode.policy.behave(undefined);
  assert.equal((await done(claimCall(executor, skill))).invocation.id, call.id);
});

test('a closed binding ends calls in this mode too, and a key is limited to its permissions', async () => {
  const skill = await makeCallable(baton.admin, { contract: required });
  const caller = await baton.actor();
  mode.grant(() => true);
  const call = await done(invoke(caller, skill), 201);
  await baton.pool.run(sql`
    update iam_bindings set status = 'revoked' where principal_id = ${caller.principalId}`);
  await worker.withdraw();
  assert.equal((await read(call.id)).error.message, 'credential_inactive');
  const permissions = ['skills.invoke', 'tasks.write'];
  const path = `/principals/${(await baton.actor()).principalId}/api-keys`;
  const { key, apiKey } = await done(baton.admin.post(path, { permissions }), 201);
  const secret = key ?? apiKey.key;
  const asKey = await baton.request('POST', `/api/v1/skills/${skill.id}:invoke`, { token: secret, body: {} });
  assert.equal(asKey.status, 201);
  mode.grant(() => false);
  assert.equal((await done(claimCall(baton.admin, skill))).invocation.id, asKey.body.id);
});
