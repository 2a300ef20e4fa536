import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { sql } from '@baton/kernel/database/sql';
import { endpointName } from '@baton/kernel/http/service';
import { newId } from '@baton/values/ids';
import { expireDueClaims } from '../execution/sweeper/sweeper.ts';
import { type Answer, startCoordination, type TestCoordination } from '../testing/coordination.ts';
import { newKey, say } from '../testing/execution/children.ts';
import {
  claimTask,
  done,
  endClaimLease,
  endSessionLease,
  makeRun,
  makeWorker,
  openSession,
  type Worker,
} from '../testing/leases.ts';
import { makeCallable, runningCall } from '../testing/results/invocations.ts';
import { makeWorkerTools } from '../testing/sweepers.ts';
import { endpoints } from './endpoints.ts';

/**
 * An executor that was suspended past the end of its lease, is resumed, and still considers the task its own. Every
 * endpoint that takes a claim or a run is in one of the two tables below; one that is in neither fails this test.
 */
interface Zombie {
  actor: Worker['actor'];
  sessionId: string;
  task: { id: string };
  claim: { id: string; fencingToken: number };
  run: { id: string };
  /** An action that was started. */
  actionId: string;
  /** A pending control message for the run. */
  messageId: string;
  keys: { claimId: string; fencingToken: number };
  /** The current version of the task. */
  version: number;
}

type Write = (zombie: Zombie) => Promise<Answer>;

const underRun =
  (path: string, body: object, withKeys = false): Write =>
  ({ actor, run, keys }) =>
    actor.post(`/runs/${run.id}${path}`, { ...body, ...(withKeys && keys) }, newKey());

/** Writes that are refused with `stale_claim`, keyed by operation id. */
const refusedWrites: Record<string, Write> = {
  updateTask: ({ actor, task, keys, version }) =>
    actor.patch(`/tasks/${task.id}`, { title: 'taken', ...keys }, { 'if-match': `task-${version}` }),
  completeTask: ({ actor, task, keys, version }) =>
    actor.post(`/tasks/${task.id}:complete`, keys, { 'if-match': `task-${version}` }),
  startRun: ({ actor, task, keys }) => actor.post(`/tasks/${task.id}:start-run`, keys),
  succeedRun: underRun(':succeed', {}),
  suspendRun: underRun(':suspend', {}),
  handOffRun: underRun(':handoff', { checkpoint: { data: { summary: 'woken' } } }),
  createCheckpoint: underRun('/checkpoints', { kind: 'woken' }),
  createRunAction: underRun('/actions', { action: 'deploy' }),
  finishRunAction: (zombie) =>
    underRun(`/actions/${zombie.actionId}:finish`, { status: 'completed' })(zombie),
  compileHarnessManifest: underRun('/harness-manifest:compile', { redaction: {} }, true),
  addManifestRemark: underRun('/harness-manifest/ephemeral', { kind: 'note', summary: 'woken' }),
  acknowledgeControlMessage: (zombie) =>
    underRun(
      `/control-messages/${zombie.messageId}:acknowledge`,
      { status: 'applied', safeBoundary: 'now', expectedRunVersion: 2, expectedMessageVersion: 1 },
      true,
    )(zombie),
  invokeSkill: ({ actor, run }) => actor.post(`/skills/${skill.id}:invoke`, { runId: run.id }),
  launchChild: underRun('/child-handles', { correlationId: 'late', title: 'late' }),
};

/**
 * Endpoints that don't require the claim, with the effect of each. None of them affects the task or its new holder's
 * claim.
 */
const otherWrites: Record<string, string> = {
  heartbeatClaim: 'refused with the codes of heartbeats: claim_expired, claim_not_active, session_not_active',
  checkClaim: 'changes nothing',
  getContext: 'reads; anything it records is recorded for the holder of the live claim alone',
  releaseClaim: 'releases the own claim, which leaves a claim that has ended unchanged',
  reclaimTask: 'acquires a new claim, by the rules of :claim',
  failRun: 'records the result of the own attempt',
  cancelRun: 'records the result of the own attempt',
  requestRunCancel: 'requests the own run to stop',
  sendControlMessage: 'is sent to the own run',
  revokeChildHandleOfRun: 'revokes rights of children of the own run',
  createArtifact: 'records a result; its readers decide whether to use it',
  recordObservation: 'publishes an observation; it changes no task',
  createTaskComment: 'comments on the task, as every caller may',
  heartbeatSkillInvocation: 'is under the lease of an invocation, with a separate token',
  completeSkillInvocation: 'is under the lease of an invocation, with a separate token',
  failSkillInvocation: 'is under the lease of an invocation, with a separate token',
};

let baton: TestCoordination;
let rival: Worker;
let skill: { id: string; contract: { implementation: { entrypoint: string } } };
let sweeper: ReturnType<typeof makeWorkerTools>;
before(async () => {
  baton = await startCoordination();
  rival = await makeWorker(baton);
  skill = await makeCallable(baton.admin);
  sweeper = makeWorkerTools(baton);
});
after(async () => {
  await sweeper.close();
  await baton.close();
});

test('every endpoint that takes a claim or a run is in one of the tables', () => {
  const taking = endpoints.filter(({ method, path, body }) => {
    if (method === 'GET') return false;
    if (/\/(claims|runs)\/\{/.test(path)) return true;
    const form = body === undefined ? {} : z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' });
    return /"(claimId|fencingToken|runId)"/.test(JSON.stringify(form));
  });
  const known = { ...refusedWrites, ...otherWrites };
  assert.deepEqual(taking.filter(({ id }) => !(id in known)).map(endpointName), []);
  assert.deepEqual(
    Object.keys(known).filter((id) => !taking.some((endpoint) => endpoint.id === id)),
    [],
  );
});

async function makeZombie(): Promise<Zombie> {
  const worker = await makeWorker(baton);
  const { actor, sessionId } = worker;
  const { task, claim, run } = await makeRun(baton, worker);
  const action = await done(
    actor.post(`/runs/${run.id}/actions`, { action: 'build', status: 'started' }),
    201,
  );
  const { controlMessage } = await done(
    say(baton.admin, run.id, { operation: 'queue', directive: 'go on' }),
    201,
  );
  const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
  return {
    actor,
    sessionId,
    task,
    claim,
    run,
    actionId: action.id,
    messageId: controlMessage.id,
    keys,
    version: 0,
  };
}

/** All data that a write under the run could have changed. */
const stateOf = (zombie: Zombie) =>
  baton.pool.row(sql`
    select (select max(sequence)::text from events) as events,
      (select to_jsonb(t)::text from tasks t where id = ${zombie.task.id}) as task,
      (select to_jsonb(r)::text from runs r where id = ${zombie.run.id}) as run,
      (select jsonb_agg(to_jsonb(c) order by c.id)::text from claims c where task_id = ${zombie.task.id}) as claims,
      (select jsonb_agg(to_jsonb(a) order by seq)::text from run_actions a where run_id = ${zombie.run.id}) as actions,
      (select count(*) from checkpoints where run_id = ${zombie.run.id}) as checkpoints,
      (select jsonb_agg(to_jsonb(m) order by version)::text from harness_manifests m where run_id = ${zombie.run.id}) as manifests,
      (select jsonb_agg(to_jsonb(m) order by seq)::text from run_control_messages m where run_id = ${zombie.run.id}) as messages,
      (select count(*) from child_handles where parent_run_id = ${zombie.run.id}) as children`);

const stops: Record<string, (zombie: Zombie) => Promise<unknown>> = {
  'its lease has expired unnoticed': ({ task }) => endClaimLease(baton, task.id),
  'the sweeper released it': async ({ task }) => {
    await endClaimLease(baton, task.id);
    await expireDueClaims(sweeper.tools).run();
  },
  'another executor has taken the task over': async ({ task }) => {
    await endClaimLease(baton, task.id);
    await claimTask(rival, task.id);
  },
  'it has claimed the task again itself, in another session': async ({ actor, task }) => {
    await endClaimLease(baton, task.id);
    await claimTask({ actor, sessionId: await openSession(actor) }, task.id);
  },
  'the lease of its session has expired': ({ sessionId }) => endSessionLease(baton, sessionId),
  'its session was closed': ({ actor, sessionId }) => done(actor.post(`/sessions/${sessionId}:close`)),
  'its claim was released by a manager': ({ claim }) => done(baton.admin.post(`/claims/${claim.id}:release`)),
};

describe('every write of a resumed executor is refused with stale_claim and changes nothing', () => {
  for (const [name, stop] of Object.entries(stops))
    test(`when ${name}`, async () => {
      const zombie = await makeZombie();
      await stop(zombie);
      zombie.version = (await done(baton.admin.get(`/tasks/${zombie.task.id}`))).version;
      const before = await stateOf(zombie);
      for (const [id, write] of Object.entries(refusedWrites)) {
        const { status, body } = await write(zombie);
        assert.deepEqual([status, body.error?.code], [409, 'stale_claim'], `${id}: ${JSON.stringify(body)}`);
        assert.deepEqual(await stateOf(zombie), before, id);
      }
    });
});

test("the same applies after the new holder has started a run, which ends the executor's run", async () => {
  const zombie = await makeZombie();
  await endClaimLease(baton, zombie.task.id);
  const claim = await claimTask(rival, zombie.task.id);
  const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
  await done(rival.actor.post(`/tasks/${zombie.task.id}:start-run`, keys), 201);
  zombie.version = (await done(baton.admin.get(`/tasks/${zombie.task.id}`))).version;
  const before = await stateOf(zombie);
  for (const [id, write] of Object.entries(refusedWrites)) {
    const { status, body } = await write(zombie);
    const code = ['updateTask', 'completeTask', 'startRun'].includes(id) ? 'stale_claim' : 'run_not_active';
    assert.deepEqual([status, body.error?.code], [409, code], `${id}: ${JSON.stringify(body)}`);
    assert.deepEqual(await stateOf(zombie), before, id);
  }
});

test('the permitted calls of a resumed executor do not affect the task and its new holder', async () => {
  const zombie = await makeZombie();
  const { actor, task, claim, run, sessionId } = zombie;
  await endClaimLease(baton, task.id);
  const taken = await claimTask(rival, task.id);
  const held = await done(baton.admin.get(`/tasks/${task.id}`));
  const call = await runningCall(actor, baton.admin, skill);
  const onCall = (verb: string, body: object) =>
    actor.post(`/skill-invocations/${call.id}:${verb}`, { fencingToken: call.fencingToken, ...body });
  const answers = {
    heartbeatSkillInvocation: await onCall('heartbeat', {}),
    completeSkillInvocation: await onCall('complete', { output: {} }),
    failSkillInvocation: await onCall('fail', { error: { code: 'late', message: 'I slept' } }),
    heartbeatClaim: await actor.post(`/claims/${claim.id}:heartbeat`),
    checkClaim: await actor.post(`/claims/${claim.id}:check`, { fencingToken: claim.fencingToken }),
    getContext: await actor.post('/context', { query: 'Where was I?', runId: run.id }),
    releaseClaim: await actor.post(`/claims/${claim.id}:release`),
    reclaimTask: await actor.post(`/claims/${claim.id}:reclaim`, { sessionId }),
    createArtifact: await actor.post('/artifacts', { type: 'note', name: 'n', runId: run.id }),
    recordObservation: await actor.post('/observations', {
      kind: 'note',
      content: 'I slept',
      task: task.id,
      runId: run.id,
    }),
    createTaskComment: await actor.post(`/tasks/${task.id}/comments`, { body: 'I slept', runId: run.id }),
    sendControlMessage: await say(actor, run.id, {
      operation: 'queue',
      directive: 'go on',
      expectedRunVersion: 2,
    }),
    requestRunCancel: await actor.post(`/runs/${run.id}:request-cancel`),
    revokeChildHandleOfRun: await actor.post(`/runs/${run.id}/child-handles/${newId()}:revoke`),
    failRun: await actor.post(`/runs/${run.id}:fail`),
    cancelRun: await actor.post(`/runs/${run.id}:cancel`),
  };
  assert.deepEqual(Object.keys(answers).sort(), Object.keys(otherWrites).sort());
  const outcomes = Object.entries(answers).map(([id, { status, body }]) => [id, body.error?.code ?? status]);
  assert.deepEqual(Object.fromEntries(outcomes), {
    heartbeatSkillInvocation: 200,
    completeSkillInvocation: 200,
    failSkillInvocation: 'stale_invocation_lease',
    heartbeatClaim: 'claim_not_active',
    checkClaim: 200,
    getContext: 200,
    releaseClaim: 200,
    reclaimTask: 'task_already_claimed',
    createArtifact: 201,
    recordObservation: 201,
    createTaskComment: 201,
    sendControlMessage: 201,
    requestRunCancel: 200,
    revokeChildHandleOfRun: 'not_found',
    failRun: 200,
    cancelRun: 'run_not_active',
  });
  assert.deepEqual(await done(baton.admin.get(`/tasks/${task.id}`)), held);
  assert.deepEqual(await done(baton.admin.get(`/claims/${taken.id}`)), taken);
  const keys = { claimId: taken.id, fencingToken: taken.fencingToken };
  await done(rival.actor.post(`/tasks/${task.id}:start-run`, keys), 201);
});
