import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { finishEndings } from '../../execution/sweeper/sweeper.ts';
import { endingBatchMax } from '../../leases/lease-bounds.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { launch } from '../../testing/execution/children.ts';
import {
  claimTask,
  done,
  eventsOf,
  makeRun,
  makeTask,
  makeWorker,
  openSession,
  refused,
} from '../../testing/leases.ts';
import {
  agentKey,
  agentPermissions,
  agentSpec,
  linkAgent,
  newIdentity,
  publishAgent,
} from '../../testing/registry/agents.ts';
import { invoke, makeCallable } from '../../testing/results/invocations.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination({ CP_LEGACY_API_KEYS_ENABLED: 'true' });
});
after(() => baton.close());

const retire = (key: string, actor = baton.admin) =>
  actor.post(`/agents/${key}:retire`, { reason: 'replaced' });
const start = (actor: typeof baton.admin, claim: any, more: object = {}) =>
  actor.post(`/tasks/${claim.taskId}:start-run`, {
    claimId: claim.id,
    fencingToken: claim.fencingToken,
    ...more,
  });

async function workingAgent(spec = agentSpec()) {
  const published = await publishAgent(baton.admin, spec);
  const actor = await linkAgent(baton, published.key);
  const worker = { actor, sessionId: await openSession(actor) };
  return { ...published, actor, worker };
}

for (const kind of ['agent', 'service'])
  test(`:retire ends all claims, sessions and bindings of an agent of kind ${kind} in one transaction, with reason agent_retired`, async () => {
    const { id, key, actor, worker, revision } = await workingAgent(agentSpec({ identity: { kind } }));
    const claim = await claimTask(worker, (await makeTask(baton)).id);
    const run = await done(start(actor, claim, { agentRevisionId: revision.id }), 201);
    const retired = await done(retire(key));
    assert.deepEqual(
      [retired.status, retired.state, retired.retiredBy, retired.principalId],
      ['retired', 'stopped', baton.admin.principalId, actor.principalId],
    );
    assert.ok(retired.retiredAt);
    const principal = await done(baton.admin.get(`/principals/${actor.principalId}`));
    assert.equal(principal.status, 'disabled');
    const [binding] = (await done(baton.admin.get(`/principals/${actor.principalId}/iam-bindings`))).items;
    assert.equal(binding.status, 'revoked');
    const ended = await done(baton.admin.get(`/claims/${claim.id}`));
    assert.deepEqual([ended.status, ended.releaseReason], ['released', 'agent_retired']);
    const failed = await done(baton.admin.get(`/runs/${run.id}`));
    assert.deepEqual([failed.status, failed.failureReason], ['failed', 'agent_retired']);
    const [said] = (await eventsOf(baton, id)).slice(-1);
    assert.deepEqual(
      [said?.type, said?.payload],
      [
        'agent.retired',
        {
          key,
          revision: 1,
          principalId: actor.principalId,
          reason: 'replaced',
          releasedClaims: 1,
        },
      ],
    );
    await refused(actor.get('/agents/me'), 401, 'invalid_credentials');
    const count = (await eventsOf(baton, id)).length;
    assert.deepEqual(await done(retire(key)), retired);
    assert.equal((await eventsOf(baton, id)).length, count);
    await refused(baton.admin.post('/agents', { key, spec: agentSpec() }), 409, 'agent_retired');
  });

test(':retire also revokes its delegations, fails its runs for others and withdraws its calls', async () => {
  const permissions = [...agentPermissions, 'skills.invoke'];
  const { key, actor, worker, revision } = await workingAgent(agentSpec({ identity: { permissions } }));
  const human = await baton.actor({ kind: 'human' });
  const parties = { humanPrincipalId: human.principalId, agentPrincipalId: actor.principalId };
  const delegation = await done(baton.admin.post('/delegations', parties), 201);
  const call = await done(invoke(actor, await makeCallable(baton.admin)), 201);
  const parent = await makeWorker(baton);
  const { run } = await makeRun(baton, parent);
  const { childHandle, childTask } = await done(launch(parent, run.id), 201);
  const claim = await claimTask(worker, childTask.id);
  await done(start(actor, claim, { agentRevisionId: revision.id }), 201);
  await done(retire(key));
  const lastOf = async (id: string, ...fields: string[]) => {
    const event = (await eventsOf(baton, id)).at(-1);
    return [event?.type, ...fields.map((field) => event?.payload[field])];
  };
  assert.deepEqual(await lastOf(delegation.id, 'reason'), ['delegation.revoked', 'agent_retired']);
  const resolved = ['run.child.resolved', childHandle.id, 'failed'];
  assert.deepEqual(await lastOf(run.id, 'childHandleId', 'outcome'), resolved);
  const withdrawn = ['skill.invocation_cancelled', 'basis_revoked', 'principal_not_active'];
  assert.deepEqual(await lastOf(call.id, 'code', 'reason'), withdrawn);
});

test('more claims than a first batch holds: the worker releases the others for the same reason', async () => {
  const { key, actor, worker, id } = await workingAgent();
  const others = 3;
  const tasks = await Promise.all(Array.from({ length: endingBatchMax + others }, () => makeTask(baton)));
  const claims = [];
  for (const { id: taskId } of tasks) claims.push(await claimTask(worker, taskId));
  await done(retire(key));
  const activeOf = async () =>
    (await baton.pool.row<{ count: number }>(
      sql`select count(*) as count from claims where holder_id = ${actor.principalId} and status = 'active'`,
    ))!.count;
  assert.equal(await activeOf(), others);
  const [said] = (await eventsOf(baton, id)).slice(-1);
  assert.equal(said?.payload.releasedClaims, tasks.length);
  const { tools, close } = makeWorkerTools(baton);
  try {
    await finishEndings(tools).run();
  } finally {
    await close();
  }
  const reasons = await baton.pool.rows<{ reason: string }>(sql`
    select distinct release_reason as reason from claims where holder_id = ${actor.principalId}`);
  assert.deepEqual(reasons, [{ reason: 'agent_retired' }]);
});

test('an agent without a principal is retired too; no agent retires itself; another tenant gets 404', async () => {
  const { key, id } = await publishAgent(baton.admin);
  await refused(retire(key, baton.otherAdmin), 404, 'not_found');
  await refused(retire(agentKey()), 404, 'not_found');
  await done(retire(key));
  assert.equal((await eventsOf(baton, id)).at(-1)?.payload.principalId, null);
  const manager = await workingAgent(
    agentSpec({ identity: { permissions: ['agents.manage', 'sessions.open'] } }),
  );
  await refused(retire(manager.key, manager.actor), 409, 'cannot_disable_self');
});

test('a legacy key of a retired agent gets principal_not_active', async () => {
  const { key, actor } = await workingAgent();
  const { key: secret } = await done(
    baton.admin.post(`/principals/${actor.principalId}/api-keys`, { permissions: ['tasks.read'] }),
    201,
  );
  const ask = () => baton.request('GET', '/api/v1/agents/me', { token: secret });
  assert.equal((await done(ask())).key, key);
  await done(retire(key));
  await refused(ask(), 403, 'principal_not_active');
});

test('a run of an agent references a revision of that agent, regardless of how it is started; other runs have none', async () => {
  const { key, actor, worker, revision } = await workingAgent();
  const other = await publishAgent(baton.admin);
  await done(baton.admin.post('/agents', { key, spec: agentSpec({ description: 'x' }) }), 201);
  for (const headers of [() => ({}), () => ({ 'idempotency-key': newId() })]) {
    const claim = await claimTask(worker, (await makeTask(baton)).id);
    const begin = (agentRevisionId?: string, more: object = {}) =>
      actor.post(
        `/tasks/${claim.taskId}:start-run`,
        { claimId: claim.id, fencingToken: claim.fencingToken, agentRevisionId, ...more },
        headers(),
      );
    await refused(begin(), 422, 'agent_revision_required');
    await refused(begin(other.revision.id), 422, 'agent_revision_mismatch');
    await refused(begin(newId()), 422, 'agent_revision_mismatch');
    // The revision is refused before the task is read.
    await refused(begin(newId(), { claimId: newId() }), 422, 'agent_revision_mismatch');
    await refused(
      actor.post(
        `/tasks/${newId()}:start-run`,
        { claimId: claim.id, fencingToken: claim.fencingToken, agentRevisionId: newId() },
        headers(),
      ),
      422,
      'agent_revision_mismatch',
    );
    await refused(begin(revision.id, { fencingToken: 999 }), 409, 'stale_claim');
    const run = await done(begin(revision.id), 201);
    assert.equal(run.agentRevisionId, revision.id);
    const [said] = await eventsOf(baton, run.id);
    assert.equal(said?.payload.agentRevisionId, revision.id);
    await refused(begin(revision.id), 409, 'run_already_active');
  }
  const { items } = await done(baton.admin.get(`/runs?agentKey=${key}`));
  assert.equal(items.length, 2);
  assert.deepEqual((await done(baton.admin.get(`/runs?agentKey=${other.key}`))).items, []);
  const plain = await baton.actor();
  const mine = { actor: plain, sessionId: await openSession(plain) };
  const claim = await claimTask(mine, (await makeTask(baton)).id);
  await refused(start(plain, claim, { agentRevisionId: revision.id }), 422, 'agent_revision_mismatch');
  await done(start(plain, claim), 201);
});

test('a task is assigned to an agent by its key, once an identity is linked and until it is retired', async () => {
  const { key } = await publishAgent(baton.admin);
  const give = (assigneeId: string) => baton.admin.post('/tasks', { title: 't', assigneeId });
  assert.deepEqual(await refused(give(`agent:${key}`), 422, 'unknown_agent'), { agentKey: key });
  const { principalId } = await done(baton.admin.put(`/agents/${key}/identity`, newIdentity(baton)));
  const task = await done(give(`agent:${key}`), 201);
  assert.equal(task.assigneeId, principalId);
  await done(retire(key));
  await refused(give(`agent:${key}`), 422, 'unknown_agent');
});
