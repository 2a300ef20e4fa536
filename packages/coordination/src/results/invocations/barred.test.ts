import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  claimTask,
  done,
  makeRun,
  makeTask,
  makeWorker,
  openSession,
  refused,
  type Worker,
} from '../../testing/leases.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';
import {
  claimCall,
  endCallLease,
  invoke,
  makeCallable,
  makeCallWorker,
  reachOf,
} from '../../testing/results/invocations.ts';
import { checkBy, makeVerifier } from '../../testing/results/verification.ts';
import { pagesReadBy } from '../../testing/work/pages-read.ts';
import { lockNextPending } from './claim-invocation.sql.ts';

/**
 * Tests that no principal that worked on a task executes the call that verifies it. See
 * docs/reference/trust.md#nobody-proves-their-own-work.
 */
const barredCalls = byDepth(4000, 40_000);
/** The rows read: the heads of the queue, one step per set of barred principals, and the calls after them. */
const pagesMax = 160;

let baton: TestCoordination;
let judge: ReturnType<typeof makeVerifier>;
let worker: Worker;
let executor: Actor;
before(async () => {
  baton = await startCoordination({ CP_SKILL_INVOCATIONS_PENDING_MAX: '1000000' });
  judge = makeVerifier(baton);
  worker = await makeWorker(baton);
  executor = await baton.actor();
});
after(async () => {
  await judge.close();
  await baton.close();
});

const attemptOf = async (id: string) => (await done(baton.admin.get(`/tasks/${id}/verifications`))).items[0];
const checkOf = (skill: { name: string; version: string }) =>
  checkBy('deterministic', { spec: { skill: `${skill.name}@${skill.version}`, expect: { passed: true } } });

/** A task of the worker that is verified by the skill. */
async function judged(skill: any, by: Worker = worker, more: object = {}) {
  const { task, run } = await makeRun(baton, by, { task: { acceptance: [checkOf(skill)], ...more } });
  await done(by.actor.post(`/runs/${run.id}:succeed`, {}));
  await judge.run();
  return { task, callId: (await attemptOf(task.id)).skillInvocationId as string };
}

test('the agent is not offered the call that verifies its task, and is refused when it requests the call; another executes it', async () => {
  const skill = await makeCallable(baton.admin);
  const { task, callId } = await judged(skill);
  assert.equal((await claimCall(worker.actor, skill)).status, 204);
  const details = await refused(
    claimCall(worker.actor, skill, { invocationId: callId }),
    403,
    'not_eligible',
  );
  assert.deepEqual(details, { invocationId: callId, taskId: task.id });
  const call = await done(worker.actor.get(`/skill-invocations/${callId}`));
  assert.deepEqual([call.status, call.attempt], ['pending', 0]);
  const forged = { fencingToken: 1, output: { passed: true } };
  await refused(
    worker.actor.post(`/skill-invocations/${callId}:complete`, forged),
    409,
    'stale_invocation_lease',
  );
  const { invocation } = await done(claimCall(executor, skill));
  const { id, fencingToken } = invocation;
  await done(executor.post(`/skill-invocations/${id}:complete`, { fencingToken, output: { passed: false } }));
  await judge.run();
  assert.equal((await attemptOf(task.id)).results[0].reason, 'expectation_not_met');
  assert.notEqual((await done(baton.admin.get(`/tasks/${task.id}`))).status, 'done');
});

test('principals that only claimed the task or requested its completion are not offered it either; a retry stays barred', async () => {
  const calls = makeCallWorker(baton);
  const skill = await makeCallable(baton.admin, {
    contract: { retryPolicy: { maxAttempts: 5 }, idempotency: 'natural' },
  });
  const completer = await baton.actor();
  const former = await makeWorker(baton);
  const task = await makeTask(baton, { acceptance: [checkOf(skill)] });
  const claim = await claimTask(former, task.id);
  await done(former.actor.post(`/claims/${claim.id}:release`, {}));
  const { version } = await done(baton.admin.get(`/tasks/${task.id}`));
  await done(completer.post(`/tasks/${task.id}:complete`, {}, { 'if-match': `task-${version}` }));
  await judge.run();
  for (let attempt = 1; attempt <= 2; attempt += 1) {
    for (const actor of [former.actor, completer]) {
      assert.equal((await claimCall(actor, skill)).status, 204);
      const invocationId = (await attemptOf(task.id)).skillInvocationId;
      await refused(claimCall(actor, skill, { invocationId }), 403, 'not_eligible');
    }
    const { invocation } = await done(claimCall(worker.actor, skill));
    await endCallLease(baton, invocation.id);
    await calls.lapse();
    await baton.pool.run(
      sql`update skill_invocations set available_at = now() - interval '1 ms' where id = ${invocation.id}`,
    );
  }
  await calls.close();
});

test('a person with restricted visibility is not offered the call that verifies their task, and gets the next one', async () => {
  const skill = await makeCallable(baton.admin);
  const { person, mine } = await makeNarrowPerson(baton);
  const by = { actor: person, sessionId: await openSession(person) };
  const { task, callId } = await judged(skill, by, { workspaceId: mine.id });
  const named = () => claimCall(person, skill, { invocationId: callId });
  assert.equal((await claimCall(person, skill)).status, 204);
  assert.deepEqual(await refused(named(), 403, 'not_eligible'), { invocationId: callId, taskId: task.id });
  const behind = await done(invoke(baton.admin, skill), 201);
  assert.equal((await done(claimCall(person, skill))).invocation.id, behind.id);
  // An invisible call counts as missing: no response reveals that it exists, or which principals it bars.
  const other = await makeWorkspace(baton);
  await baton.pool.run(sql`update tasks set workspace_id = ${other.id} where id = ${task.id}`);
  assert.equal((await named()).status, 204);
  assert.equal((await done(claimCall(executor, skill))).invocation.id, callId);
});

test('a call for the agent’s task that is not a verification can be executed by the agent', async () => {
  const skill = await makeCallable(baton.admin);
  const { task } = await makeRun(baton, worker);
  const call = await done(invoke(baton.admin, skill, { taskId: task.id }), 201);
  assert.equal((await done(claimCall(worker.actor, skill))).invocation.id, call.id);
});

/** Inserts the given number of copies of a call, requested before it. */
const copyOf = (id: string, count: number, barred: readonly string[]) =>
  baton.pool.run(sql`
    insert into skill_invocations (id, tenant_id, skill_id, requested_by_kind, requested_by_ref, authority_principal_id,
      credential, inputs, max_attempts, timeout_seconds, backoff_seconds, protocol, target, audience, available_at,
      barred_principals)
    select gen_random_uuid(), tenant_id, skill_id, requested_by_kind, requested_by_ref, authority_principal_id, credential,
      inputs, max_attempts, timeout_seconds, backoff_seconds, protocol, target, audience,
      available_at - make_interval(secs => n), ${barred}::uuid[]
    from skill_invocations cross join generate_series(1, ${count}) n where id = ${id}`);

test('any number of calls from which an executor is barred delays no later call, and costs one lookup', async () => {
  const skill = await makeCallable(baton.admin);
  const { callId } = await judged(skill);
  const { principalId } = worker.actor;
  await copyOf(callId, barredCalls / 2, [principalId]);
  await copyOf(callId, barredCalls / 2, [executor.principalId, principalId].sort());
  const plain = await done(invoke(baton.admin, skill), 201);
  await copyOf(callId, 3, [executor.principalId]);
  const other = (await judged(skill, await makeWorker(baton))).callId;
  await baton.pool.run(sql`analyze skill_invocations`);

  const { localEntrypoints, protocols } = reachOf(skill);
  const open = { httpOrigins: null, mcpEndpoints: null, audiences: null, invocationId: null };
  const reach = { ...open, principalId, protocols, localEntrypoints };
  const pages = await pagesReadBy(baton.pool, lockNextPending(baton.tenantId, reach));
  assert.ok(pages <= pagesMax, `${pages} pages`);
  const taken: string[] = [];
  for (;;) {
    const answer = await claimCall(worker.actor, skill);
    if (answer.status === 204) break;
    taken.push(answer.body.invocation.id);
  }
  assert.deepEqual(
    [taken.length, taken.slice(3)],
    [5, [plain.id, other]],
    'oldest first, all calls that it may claim',
  );

  const others = { ...reach, principalId: baton.admin.principalId };
  const usual = await pagesReadBy(baton.pool, lockNextPending(baton.tenantId, others));
  assert.ok(usual <= pagesMax, `${usual} pages`);
});
