import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import { launch, say } from '../../testing/execution/children.ts';
import {
  claimTask,
  done,
  makeRun,
  makeTask,
  makeWorker,
  refused,
  type Worker,
} from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
let worker: Worker;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
});
after(() => baton.close());

const read = (runId: string) => done(worker.actor.get(`/runs/${runId}/context`));

test('for a new run, it has the run, task and claim, and empty lists', async () => {
  const { task, claim, run } = await makeRun(baton, worker, {
    task: { description: 'all of it', priority: 'high' },
    run: { input: { branch: 'main' }, maxActions: 3, maxDurationSeconds: 60 },
  });
  const { eventCursor, ...context } = await read(run.id);
  assert.deepEqual(context, {
    run: {
      id: run.id,
      taskId: task.id,
      claimId: claim.id,
      status: 'running',
      attempt: 1,
      fencingToken: 1,
      input: { branch: 'main' },
      maxDurationSeconds: 60,
      maxActions: 3,
      cancelRequestedAt: null,
      startedAt: run.startedAt,
      instructionsHash: null,
      instructionsRefs: null,
    },
    instructions: { layers: [], hash: null },
    task: {
      id: task.id,
      publicId: task.publicId,
      title: task.title,
      description: 'all of it',
      status: 'in_progress',
      priority: 'high',
      workspaceId: null,
      version: 2,
      claimEpoch: 1,
    },
    workspace: null,
    claim: {
      id: claim.id,
      status: 'active',
      fencingToken: 1,
      expiresAt: claim.expiresAt,
      sessionId: worker.sessionId,
    },
    requirements: { roles: [], capabilities: [], skills: [] },
    relations: [],
    inputs: [],
    artifacts: [],
    approvals: [],
    checkpoints: [],
    childHandles: { items: [], hasMore: false },
    pendingControlMessages: [],
    availableSkills: [],
  });
  await done(worker.actor.post(`/runs/${run.id}/checkpoints`, { kind: 'later' }), 201);
  await journalIsStable(baton.pool);
  const { items } = await done(worker.actor.get(`/events?cursor=${eventCursor}&entityId=${run.id}`));
  assert.ok(items.some(({ type }: { type: string }) => type === 'run.checkpointed'));
});

test('has the data of the task and of the run, with the newest first in limited lists', async () => {
  const skill = await done(
    baton.admin.post('/skills', { name: 'lint', version: '1', protocol: 'mcp', sideEffects: 'none' }),
    201,
  );
  await done(baton.admin.post(`/principals/${worker.actor.principalId}/skills`, { skillId: skill.id }), 201);
  const { task, run } = await makeRun(baton, worker, { task: { requirements: { skills: ['lint'] } } });
  const other = await makeTask(baton);
  const relate = (from: string, to: string) =>
    done(baton.admin.post(`/tasks/${from}/relations`, { toTask: to, type: 'related_to' }), 201);
  const relations = [await relate(task.id, other.id), await relate(other.id, task.id)];
  const artifacts = [];
  for (const name of ['a', 'b'])
    artifacts.push(await done(worker.actor.post('/artifacts', { type: 'note', name, runId: run.id }), 201));
  const { principalId } = await baton.actor({ kind: 'human' });
  const approval = await done(
    baton.admin.post('/approvals', { task: task.id, assignedPrincipalId: principalId, comment: 'really?' }),
    201,
  );
  const { childHandle } = await done(launch(worker, run.id), 201);
  const { controlMessage } = await done(
    say(baton.admin, run.id, { operation: 'steer', directive: 'left', expectedRunVersion: 1 }),
    201,
  );
  const context = await read(run.id);
  assert.deepEqual(context.requirements.skills, [
    { id: skill.id, name: 'lint', version: '1', anyVersion: true },
  ]);
  const launched = context.relations.filter(({ type }: { type: string }) => type === 'spawned_by');
  assert.deepEqual([context.relations.length, launched.length], [3, 1]);
  assert.deepEqual(context.relations.slice(0, 2), relations);
  assert.deepEqual(
    context.artifacts.map(({ id, createdAt }: { id: string; createdAt: string }) => [id, createdAt]),
    artifacts.reverse().map(({ id, createdAt }) => [id, createdAt]),
  );
  const { contentState, mediaType, sizeBytes, supersedesArtifactId, uri, runId } = context.artifacts[0];
  assert.deepEqual(
    [contentState, mediaType, sizeBytes, supersedesArtifactId, uri, runId],
    ['none', null, null, null, null, run.id],
  );
  assert.deepEqual(context.approvals, [
    {
      id: approval.id,
      gate: false,
      requiredRoleId: null,
      assignedPrincipalId: principalId,
      requestedByPrincipalId: baton.admin.principalId,
      comment: 'really?',
      createdAt: approval.createdAt,
    },
  ]);
  assert.deepEqual(context.childHandles, { items: [childHandle], hasMore: false });
  assert.deepEqual(context.pendingControlMessages, [controlMessage]);
  assert.deepEqual(context.availableSkills, [{ id: skill.id, name: 'lint', version: '1', protocol: 'mcp' }]);
  await baton.pool.run(sql`update skills set status = 'disabled' where id = ${skill.id}`);
  assert.deepEqual((await read(run.id)).availableSkills, []);
});

test('has the newest 50 checkpoints of all attempts, up to 1 MiB of their data', async () => {
  const { task, claim, run } = await makeRun(baton, worker);
  const check = (runId: string, data: object = {}) =>
    done(worker.actor.post(`/runs/${runId}/checkpoints`, { kind: 'step', data }), 201);
  for (let n = 0; n < 30; n += 1) await check(run.id);
  await done(worker.actor.post(`/runs/${run.id}:fail`));
  const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
  const second = await done(worker.actor.post(`/tasks/${task.id}:start-run`, keys), 201);
  const made = [];
  for (let n = 0; n < 30; n += 1) made.push(await check(second.id));
  const { checkpoints } = await read(run.id);
  const placesOf = (from: typeof checkpoints) =>
    from.map(({ runAttempt, seq }: { runAttempt: number; seq: number }) => [runAttempt, seq]);
  assert.deepEqual(placesOf(checkpoints), [
    ...Array.from({ length: 30 }, (_, n) => [2, 30 - n]),
    ...Array.from({ length: 20 }, (_, n) => [1, 30 - n]),
  ]);
  assert.deepEqual(checkpoints[0], { ...made.at(-1), runAttempt: 2 });
  for (let n = 0; n < 20; n += 1) await check(second.id, { text: 'x'.repeat(65_000) });
  assert.equal((await read(second.id)).checkpoints.length, Math.ceil(1_048_576 / 65_011));
});

test('has the workspace, the current instructions, and the inputs of the type', async () => {
  const artifactSchema = {
    inputs: [
      { key: 'plan', type: 'plan', from: 'depends_on', required: false },
      { key: 'ticket', type: 'ticket', from: 'parent' },
    ],
  };
  const typeId = await insertTestType(baton, { key: 'fed', artifactSchema });
  await baton.pool.run(sql`update task_types set instructions = 'Do it well.' where id = ${typeId}`);
  const [plan, parent] = [await makeTask(baton), await makeTask(baton)];
  const workspace = await makeWorkspace(baton);
  const task = await makeTask(baton, { typeId, parentTask: parent.id, workspaceId: workspace.id });
  await done(baton.admin.post(`/tasks/${task.id}/relations`, { toTask: plan.id, type: 'depends_on' }), 201);
  const record = (of: { id: string }, type: string) =>
    done(baton.admin.post('/artifacts', { type, name: 'x', task: of.id }), 201);
  await record(plan, 'plan');
  const newest = await record(plan, 'plan');
  await record(plan, 'ticket');
  const { version } = await done(baton.admin.get(`/tasks/${plan.id}`));
  await done(baton.admin.post(`/tasks/${plan.id}:complete`, {}, { 'if-match': `task-${version}` }));
  const claim = await claimTask(worker, task.id);
  const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
  const run = await done(worker.actor.post(`/tasks/${task.id}:start-run`, keys), 201);
  const context = await read(run.id);
  const { id, slug, name } = workspace;
  assert.deepEqual([context.workspace, context.task.workspaceId], [{ id, slug, name }, id]);
  assert.deepEqual(context.inputs, [
    { key: 'plan', type: 'plan', from: 'depends_on', required: false, artifactId: newest.id },
    { key: 'ticket', type: 'ticket', from: 'parent', required: false, artifactId: null },
  ]);
  assert.deepEqual(context.instructions, {
    layers: [{ source: 'taskType', ref: 'taskType:fed@1', version: 1, text: 'Do it well.' }],
    hash: run.instructionsHash,
  });
  assert.match(run.instructionsHash, /^sha256:[0-9a-f]{64}$/);
});

test('its inputs are the artifacts passed to the task, of each source task, newest first', async () => {
  const inputs = [
    { key: 'plan', type: 'plan', from: 'parent' },
    { key: 'draft', type: 'draft', from: 'spawned_by' },
  ];
  const typeId = await insertTestType(baton, { key: 'given', artifactSchema: { inputs } });
  const [parent, first, second] = [await makeTask(baton), await makeTask(baton), await makeTask(baton)];
  const task = await makeTask(baton, { typeId, parentTask: parent.id });
  for (const { id } of [first, second])
    await done(baton.admin.post(`/tasks/${task.id}/relations`, { toTask: id, type: 'spawned_by' }), 201);
  const record = (of: { id: string }, type: string, more: object = {}) =>
    done(baton.admin.post('/artifacts', { type, name: 'x', task: of.id, ...more }), 201);
  const older = await record(parent, 'plan');
  const newer = await record(parent, 'plan');
  // The replacement of the newer plan has another type.
  await record(parent, 'withdrawn', { supersedesArtifactId: newer.id });
  const drafts = [await record(first, 'draft'), await record(second, 'draft')];
  const { id: claimId, fencingToken } = await claimTask(worker, task.id);
  const run = await done(worker.actor.post(`/tasks/${task.id}:start-run`, { claimId, fencingToken }), 201);
  const context = await read(run.id);
  const given = (key: string, from: string, { id: artifactId }: { id: string }) => ({
    ...{ key, type: key, from, required: false, artifactId },
  });
  assert.deepEqual(context.inputs, [
    given('plan', 'parent', older),
    given('draft', 'spawned_by', drafts[1]),
    given('draft', 'spawned_by', drafts[0]),
  ]);
  const reader = await baton.actor({ permissions: ['tasks.read'] });
  for (const { artifactId } of context.inputs)
    await done(reader.get(`/artifacts/${artifactId}?forTask=${task.id}`));
});

test('excludes tasks of an invisible workspace, and their artifacts', async () => {
  const { person, mine, other } = await makeNarrowPerson(baton);
  const inputs = [{ key: 'plan', type: 'plan', from: 'parent' }];
  const typeId = await insertTestType(baton, { key: 'shown', artifactSchema: { inputs } });
  for (const [workspaceId, isSeen] of [
    [mine.id, true],
    [other.id, false],
  ]) {
    const parent = await makeTask(baton, { workspaceId });
    const plan = await done(
      baton.admin.post('/artifacts', { type: 'plan', name: 'x', task: parent.id }),
      201,
    );
    const task = { typeId, parentTask: parent.id, workspaceId: mine.id };
    const { run } = await makeRun(baton, worker, { task });
    const context = await done(person.get(`/runs/${run.id}/context`));
    assert.equal(context.relations.length, isSeen ? 1 : 0);
    assert.deepEqual(
      context.inputs.map(({ artifactId }: any) => artifactId),
      [isSeen ? plan.id : null],
    );
  }
});

test('an unknown run, or one of another tenant, returns 404', async () => {
  const { run } = await makeRun(baton, worker);
  await refused(worker.actor.get(`/runs/${newId()}/context`), 404, 'not_found');
  await refused(baton.otherAdmin.get(`/runs/${run.id}/context`), 404, 'not_found');
});
