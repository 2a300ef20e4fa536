import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  claimTask,
  done,
  endClaimLease,
  eventsOf,
  makeRun,
  makeWorker,
  refused,
  type Worker,
} from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';

let baton: TestCoordination;
let worker: Worker;
let rival: Worker;
before(async () => {
  baton = await startCoordination();
  [worker, rival] = [await makeWorker(baton), await makeWorker(baton)];
});
after(() => baton.close());

const suspend = (runId: string, body?: object, by = worker) => by.actor.post(`/runs/${runId}:suspend`, body);
const data = { summary: 'ready to be tried', nextSteps: ['try it'], evidenceRefs: ['ci/1'] };
const handOff = (runId: string, body: object = { checkpoint: { data } }, by = worker) =>
  by.actor.post(`/runs/${runId}:handoff`, body);
const readTask = (id: string) => done(baton.admin.get(`/tasks/${id}`));

async function askApproval(task: { id: string }): Promise<string> {
  const { principalId } = await baton.actor({ kind: 'human' });
  const body = { task: task.id, assignedPrincipalId: principalId };
  return (await done(baton.admin.post('/approvals', body), 201)).id;
}

describe('POST /runs/{id}:suspend', () => {
  test('suspends the run, releases the claim and moves the task to its release status', async () => {
    const { task, claim, run } = await makeRun(baton, worker, { run: { metadata: { model: 'x' } } });
    const waitingForApprovalId = await askApproval(task);
    const answer = await done(suspend(run.id, { reason: 'needs approval', waitingForApprovalId }));
    assert.deepEqual(answer.task, await readTask(task.id));
    assert.deepEqual([answer.task.status, answer.task.activeClaimId, answer.task.version], ['todo', null, 3]);
    const { status, version, metadata, finishedAt, failureReason, orphaned } = answer.run;
    assert.deepEqual([status, version, failureReason, orphaned], ['suspended', 2, null, false]);
    assert.deepEqual(metadata, { model: 'x', waitingForApprovalId });
    assert.notEqual(finishedAt, null);
    const released = await done(worker.actor.get(`/claims/${claim.id}`));
    assert.deepEqual([released.status, released.releaseReason], ['released', 'needs approval']);
    const [, suspended, release, ...more] = (await eventsOf(baton, run.id, claim.id)).slice(0);
    assert.equal(more.length, 0);
    assert.deepEqual(
      [suspended?.type, suspended?.payload],
      ['run.suspended', { taskId: task.id, reason: 'needs approval', attempt: 1, waitingForApprovalId }],
    );
    assert.deepEqual(
      [release?.type, release?.payload],
      [
        'claim.released',
        { taskId: task.id, reason: 'needs approval', taskStatus: 'todo', taskSystemStatusCategory: 'active' },
      ],
    );
  });

  test('without a body, the run waits for an approval; continuing takes a new claim and a new run', async () => {
    const { task, claim, run } = await makeRun(baton, worker);
    const answer = await done(suspend(run.id));
    assert.deepEqual(answer.run.metadata, {});
    const event = (await eventsOf(baton, run.id)).at(-1);
    assert.deepEqual(event?.payload, {
      taskId: task.id,
      reason: 'waiting_approval',
      attempt: 1,
      waitingForApprovalId: null,
    });
    await refused(suspend(run.id), 409, 'run_not_active');
    const again = await claimTask(rival, task.id);
    assert.equal(again.fencingToken, claim.fencingToken + 1);
    const keys = { claimId: again.id, fencingToken: again.fencingToken };
    assert.equal((await done(rival.actor.post(`/tasks/${task.id}:start-run`, keys), 201)).attempt, 2);
    assert.equal((await done(worker.actor.get(`/runs/${run.id}`))).status, 'suspended');
  });

  test('refuses in the order run, status, holder, gate, approval', async () => {
    const { task, run } = await makeRun(baton, worker);
    const unknown = { waitingForApprovalId: newId() };
    await refused(suspend(newId()), 404, 'not_found');
    await refused(suspend(run.id, {}, { ...worker, actor: baton.otherAdmin }), 404, 'not_found');
    await refused(suspend(run.id, unknown, rival), 403, 'run_holder_mismatch');
    assert.deepEqual(await refused(suspend(run.id, unknown), 404, 'not_found'), {
      approvalId: unknown.waitingForApprovalId,
    });
    await endClaimLease(baton, task.id);
    await refused(suspend(run.id, unknown), 409, 'stale_claim');
    await done(worker.actor.post(`/runs/${run.id}:fail`));
    await refused(suspend(run.id, unknown, rival), 409, 'run_not_active');
    for (const body of [{ reason: '' }, { reason: 'x'.repeat(201) }])
      await refused(suspend(run.id, body), 400, 'invalid_request');
  });

  test("another tenant's approval is unknown", async () => {
    const foreignTask = await done(baton.otherAdmin.post('/tasks', { title: 'theirs' }), 201);
    const foreign = await done(
      baton.otherAdmin.post('/approvals', {
        task: foreignTask.id,
        assignedPrincipalId: baton.otherAdmin.principalId,
      }),
      201,
    );
    const { run } = await makeRun(baton, worker);
    await refused(suspend(run.id, { waitingForApprovalId: foreign.id }), 404, 'not_found');
  });
});

describe('POST /runs/{id}:handoff', () => {
  test('stores a checkpoint, suspends the run and frees the task', async () => {
    const { task, claim, run } = await makeRun(baton, worker, { run: { maxDurationSeconds: 1 } });
    const answer = await done(
      handOff(run.id, { reason: 'out of ideas', checkpoint: { kind: 'handoff', data } }),
    );
    const { checkpoint, eventCursor, resume } = answer;
    assert.deepEqual([checkpoint.seq, checkpoint.kind, checkpoint.data], [1, 'handoff', data]);
    assert.deepEqual(resume, {
      taskId: task.id,
      previousRunId: run.id,
      nextAction: 'claim_and_start_new_run',
    });
    assert.deepEqual(answer.task, await readTask(task.id));
    assert.deepEqual(answer.run, await done(worker.actor.get(`/runs/${run.id}`)));
    assert.deepEqual(answer.run.metadata, {
      suspendReason: 'out of ideas',
      handoffCheckpointId: checkpoint.id,
    });
    assert.deepEqual((await done(worker.actor.get(`/runs/${run.id}/checkpoints`))).items, [checkpoint]);
    const released = await done(worker.actor.get(`/claims/${claim.id}`));
    assert.equal(released.releaseReason, 'human_harness_handoff');
    const events = (await eventsOf(baton, run.id, claim.id)).slice(1);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['run.checkpointed', 'run.suspended', 'claim.released', 'run.handoff_prepared'],
    );
    assert.deepEqual(events[1]?.payload, {
      taskId: task.id,
      reason: 'out of ideas',
      attempt: 1,
      waitingForApprovalId: null,
    });
    assert.deepEqual(events[3]?.payload, {
      taskId: task.id,
      claimId: claim.id,
      checkpointId: checkpoint.id,
      fencingToken: 1,
      reason: 'out of ideas',
    });
    await journalIsStable(baton.pool);
    const { items } = await done(baton.admin.get(`/events?cursor=${eventCursor}&entityId=${run.id}`));
    assert.ok(items.some(({ type }: { type: string }) => type === 'run.handoff_prepared'));
    await refused(handOff(run.id), 409, 'run_not_active');
  });

  test('next steps and evidence are empty lists unless given; further fields are kept', async () => {
    const { run } = await makeRun(baton, worker);
    const { checkpoint, run: ended } = await done(
      handOff(run.id, { checkpoint: { data: { summary: 's', branch: 'main' } } }),
    );
    assert.deepEqual(checkpoint.data, { summary: 's', nextSteps: [], evidenceRefs: [], branch: 'main' });
    assert.equal(ended.metadata.suspendReason, 'human_harness_handoff');
  });

  test('a malformed checkpoint is refused with invalid_handoff and its field', async () => {
    const { run } = await makeRun(baton, worker);
    const faults: [unknown, string][] = [
      [null, 'checkpoint'],
      [[], 'checkpoint'],
      [{ kind: 'other', data }, 'checkpoint.kind'],
      [{ data: 'text' }, 'checkpoint.data'],
      [{ data: {} }, 'checkpoint.data.summary'],
      [{ data: { summary: '  ' } }, 'checkpoint.data.summary'],
      [{ data: { summary: 'x'.repeat(10_001) } }, 'checkpoint.data.summary'],
      [{ data: { summary: 's', nextSteps: Array(101).fill('a') } }, 'checkpoint.data.nextSteps'],
      [{ data: { summary: 's', evidenceRefs: [7] } }, 'checkpoint.data.evidenceRefs.0'],
    ];
    for (const [checkpoint, field] of faults) {
      const details = await refused(handOff(run.id, { checkpoint }), 422, 'invalid_handoff');
      assert.deepEqual(details, { field });
    }
  });

  test('refuses in the order shape, size, unsafe content, secrets, run, status, holder, gate', async () => {
    const { task, run } = await makeRun(baton, worker);
    const withMore = (more: object) => ({ checkpoint: { data: { ...data, ...more } } });
    const large = { more: 'x'.repeat(70_000) };
    await refused(handOff(newId(), withMore({ ...large, transcript: [] })), 422, 'payload_too_large');
    const deep = JSON.parse(`${'{"a":'.repeat(30)}1${'}'.repeat(30)}`);
    await refused(handOff(newId(), withMore(deep)), 422, 'payload_too_deep');
    const unsafe = [
      { transcript: [] },
      { 'chat-history': [] },
      { rawPrompt: '' },
      { deep: [{ chain_of_thought: '' }] },
      { REASONING: 1 },
      { credentials: {} },
      { note: 'see /home/ada/work' },
      { note: 'C:\\work' },
      ...['Users', 'private', 'tmp', 'var', 'opt', 'Volumes'].map((root) => ({ note: `in /${root}/x` })),
    ];
    for (const more of unsafe)
      await refused(handOff(newId(), withMore({ ...more, apiKey: 'x' })), 422, 'unsafe_handoff_payload');
    await refused(handOff(newId(), withMore({ apiKey: 'x' })), 422, 'secret_material_rejected');
    const spoken = { summary: `use AKIA${'A'.repeat(16)}` };
    await refused(handOff(newId(), { checkpoint: { data: spoken } }), 422, 'secret_material_rejected');
    await refused(handOff(newId()), 404, 'not_found');
    await refused(handOff(run.id, undefined, { ...worker, actor: baton.otherAdmin }), 404, 'not_found');
    await refused(handOff(run.id, undefined, rival), 403, 'run_holder_mismatch');
    await endClaimLease(baton, task.id);
    await refused(handOff(run.id), 409, 'stale_claim');
    await done(worker.actor.post(`/runs/${run.id}:fail`));
    await refused(handOff(run.id, undefined, rival), 409, 'run_not_active');
    assert.deepEqual((await done(worker.actor.get(`/runs/${run.id}/checkpoints`))).items, []);
  });
});
