import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { claimTask, done, makeRun, makeTask, makeWorker, type Worker } from '../../testing/leases.ts';
import { writeEvents } from '../../testing/ledger/journal-writer.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { claimCall, invoke, makeCallable } from '../../testing/results/invocations.ts';
import { checkBy, letTimePass, makeVerifier } from '../../testing/results/verification.ts';
import { makeRule, makeRuleWorker, observe, observed } from '../../testing/rules/rules.ts';

/** Tests that no principal proves its own work. See docs/reference/trust.md#nobody-proves-their-own-work. */
let baton: TestCoordination;
let judge: ReturnType<typeof makeVerifier>;
let worker: Worker;
let ci: Actor;
before(async () => {
  baton = await startCoordination();
  judge = makeVerifier(baton);
  worker = await makeWorker(baton);
  ci = await baton.actor({ kind: 'service' });
});
after(async () => {
  await judge.close();
  await baton.close();
});

const read = (id: string) => done(baton.admin.get(`/tasks/${id}`));
const attemptOf = async (id: string) => (await done(baton.admin.get(`/tasks/${id}/verifications`))).items[0];
const fact = (id: string, more: object = {}) => ({
  kind: 'external',
  externalRef: { system: 'ci', id },
  check: 'checked',
  ...more,
});

async function prove(taskId: string, by: Actor, evidence: object[], held: object = {}) {
  const { version, evidence: before } = await read(taskId);
  const change = { evidence: [...before, ...evidence], ...held };
  return done(by.patch(`/tasks/${taskId}`, change, { 'if-match': `task-${version}` }));
}

async function look(taskId: string) {
  await letTimePass(baton, taskId, 0);
  await judge.run();
  return attemptOf(taskId);
}

/** A task whose run has succeeded, so that its check waits for proof. */
async function worked(spec: object = {}, more: object = {}) {
  const made = await makeRun(baton, worker, {
    task: { acceptance: [checkBy('external_state', { spec })], ...more },
  });
  await done(worker.actor.post(`/runs/${made.run.id}:succeed`, {}));
  await judge.run();
  return made;
}

describe('evidence of an external state', () => {
  test('fabricated by the agent, it is stored and listed but does not count; CI proves the task', async () => {
    const acceptance = [checkBy('external_state')];
    const { task, claim, run } = await makeRun(baton, worker, { task: { acceptance } });
    const held = { claimId: claim.id, fencingToken: claim.fencingToken };
    await prove(task.id, worker.actor, [fact('made-up')], held);
    await done(worker.actor.post(`/runs/${run.id}:succeed`, {}));
    await prove(task.id, worker.actor, [fact('again')]);
    const waiting = await look(task.id);
    assert.deepEqual([waiting.status, waiting.cursor], ['waiting_external', 0]);
    const ofWorker = { principalId: worker.actor.principalId, reason: 'not_a_prover' };
    const notCounted = [
      { evidence: 'external:ci/made-up', ...ofWorker },
      { evidence: 'external:ci/again', ...ofWorker },
    ];
    const named = { key: 'checked', kind: 'external_state', source: 'task', evidence: [] };
    assert.deepEqual(waiting.results, [
      { ...named, status: 'waiting', reason: 'not_a_prover', details: { notCounted } },
    ]);
    assert.notEqual((await read(task.id)).status, 'done');
    assert.equal((await read(task.id)).evidence.length, 2);

    const proven = await prove(task.id, ci, [fact('4711')]);
    assert.deepEqual(Object.keys(proven.evidence[2]).sort(), ['check', 'externalRef', 'kind']);
    await judge.run();
    const passed = await attemptOf(task.id);
    assert.deepEqual(passed.results, [
      {
        ...named,
        status: 'passed',
        reason: null,
        evidence: ['external:ci/4711'],
        details: { notCounted },
      },
    ]);
    assert.equal((await read(task.id)).status, 'done');
  });

  test('a check that times out lists the evidence that did not count', async () => {
    const { task } = await worked();
    await prove(task.id, worker.actor, [fact('made-up')]);
    await letTimePass(baton, task.id, 100_000);
    await judge.run();
    const { status, results } = await attemptOf(task.id);
    assert.deepEqual([status, results[0].reason], ['failed', 'not_a_prover']);
    assert.equal(results[0].details.notCounted[0].evidence, 'external:ci/made-up');
  });

  test('evidence of a former holder, or of the requester of the completion, does not count', async () => {
    const former = await makeWorker(baton);
    const completer = await baton.actor();
    const task = await makeTask(baton, { acceptance: [checkBy('external_state')] });
    const claim = await claimTask(former, task.id);
    await done(former.actor.post(`/claims/${claim.id}:release`, {}));
    const { version } = await read(task.id);
    await done(completer.post(`/tasks/${task.id}:complete`, {}, { 'if-match': `task-${version}` }));
    await prove(task.id, former.actor, [fact('1')]);
    await prove(task.id, completer, [fact('2')]);
    const { results } = await look(task.id);
    assert.deepEqual(
      results[0].details.notCounted.map(({ principalId }: any) => principalId),
      [former.actor.principalId, completer.principalId],
    );
    await prove(task.id, baton.admin, [fact('3')]);
    assert.equal((await look(task.id)).status, 'passed');
  });

  test('sent again by another principal it keeps its author; with another note it becomes theirs', async () => {
    const { task } = await worked();
    await prove(task.id, worker.actor, [fact('7', { note: 'green' })]);
    await prove(task.id, ci, []);
    assert.equal((await look(task.id)).status, 'waiting_external');
    const { version } = await read(task.id);
    const evidence = [fact('7', { note: 'green in CI' })];
    await done(ci.patch(`/tasks/${task.id}`, { evidence }, { 'if-match': `task-${version}` }));
    assert.equal((await look(task.id)).status, 'passed');
  });

  test('observations and artifacts count by their author, and only if they concern the task', async () => {
    const { actor } = worker;
    const other = await makeTask(baton);
    const artifact = async (by: Actor, task: string) =>
      done(by.post('/artifacts', { type: 'report', name: 'report', task }), 201);
    const observationOf = ({ id: observationId }: { id: string }) => ({
      kind: 'observation',
      observationId,
      check: 'checked',
    });
    const artifactOf = ({ id: artifactId }: { id: string }) => ({
      kind: 'artifact',
      artifactId,
      check: 'checked',
    });
    const rows: [string, (task: string) => Promise<object>, Actor, boolean][] = [
      [
        'its own observation',
        async (task) => observationOf(await observe(actor, 'ci.ok', {}, { task })),
        actor,
        false,
      ],
      [
        'its own, cited by CI',
        async (task) => observationOf(await observe(actor, 'ci.ok', {}, { task })),
        ci,
        false,
      ],
      [
        'CI’s about this task',
        async (task) => observationOf(await observe(ci, 'ci.ok', {}, { task })),
        actor,
        true,
      ],
      [
        'CI’s about another',
        async () => observationOf(await observe(ci, 'ci.ok', {}, { task: other.id })),
        actor,
        false,
      ],
      ['CI’s about another, cited by CI', async () => observationOf(await observe(ci, 'ci.ok')), ci, true],
      ['its own artifact', async (task) => artifactOf(await artifact(actor, task)), actor, false],
      ['its own artifact, cited by CI', async (task) => artifactOf(await artifact(actor, task)), ci, true],
      ['CI’s artifact', async (task) => artifactOf(await artifact(ci, task)), actor, true],
      ['CI’s artifact of another task', async () => artifactOf(await artifact(ci, other.id)), actor, false],
    ];
    for (const [name, make, by, counts] of rows) {
      const { task } = await worked();
      await prove(task.id, by, [await make(task.id)]);
      assert.equal((await look(task.id)).status, counts ? 'passed' : 'waiting_external', name);
    }
  });
});

test("the core's record of a call that the agent requested is no proof by the executor", async () => {
  const skill = await makeCallable(baton.admin);
  const { task } = await worked();
  await done(invoke(worker.actor, skill, { taskId: task.id }), 201);
  const { invocation } = await done(claimCall(ci, skill));
  const { id, fencingToken } = invocation;
  const { artifactId } = await done(
    ci.post(`/skill-invocations/${id}:complete`, { fencingToken, output: {} }),
  );
  const artifact = { kind: 'artifact', artifactId, check: 'checked' };
  await prove(task.id, worker.actor, [artifact]);
  const { status, results } = await look(task.id);
  assert.deepEqual(
    [status, results[0].details.notCounted[0].principalId],
    ['waiting_external', worker.actor.principalId],
  );
  const { version } = await read(task.id);
  const evidence = [{ ...artifact, note: 'Passed in CI.' }];
  await done(ci.patch(`/tasks/${task.id}`, { evidence }, { 'if-match': `task-${version}` }));
  assert.equal((await look(task.id)).status, 'passed');
});

describe('an event that a check requires', () => {
  test('an observation of the agent with a foreign source does not count, that of CI does', async () => {
    const { task } = await worked({ event: 'observation.recorded' });
    const own = await observe(worker.actor, 'ci.passed', {}, { task: task.id, source: 'ci:main' });
    const { status, results } = await look(task.id);
    assert.equal(status, 'waiting_external');
    assert.deepEqual(results[0].details.notCounted, [
      { evidence: `event:${own.eventId}`, principalId: worker.actor.principalId, reason: 'not_a_prover' },
    ]);
    const { eventId } = await observe(ci, 'ci.passed', {}, { task: task.id, source: 'ci:main' });
    const passed = await look(task.id);
    assert.deepEqual([passed.status, passed.results[0].evidence], ['passed', [`event:${eventId}`]]);
  });

  test('an event without an actor does not count either', async () => {
    const { task } = await worked({ event: 'task.comment_added' });
    const about = { type: 'task.comment_added', entity_type: 'task', entity_id: task.id };
    const [eventId] = await writeEvents(baton.pool, baton.tenantId, [about]);
    const { status, results } = await look(task.id);
    assert.deepEqual(
      [status, results[0].details.notCounted],
      ['waiting_external', [{ evidence: `event:${eventId}`, principalId: null, reason: 'not_a_prover' }]],
    );
  });

  test('other events that the agent causes do not count', async () => {
    const { task } = await worked({ event: 'task.comment_added' });
    await done(worker.actor.post(`/tasks/${task.id}/comments`, { body: 'Trust me.' }), 201);
    assert.equal((await look(task.id)).status, 'waiting_external');
    await done(ci.post(`/tasks/${task.id}/comments`, { body: 'Deployed.' }), 201);
    assert.equal((await look(task.id)).status, 'passed');
  });
});

describe('a rule that adds its cause as evidence', () => {
  const closing = (actor: Actor, type: string) =>
    makeRule(baton.admin, {
      trigger: observed(type, { actorId: actor.principalId }),
      action: {
        kind: 'complete_work',
        taskType: undefined,
        fields: undefined,
        target: 'task',
        check: 'checked',
      },
    });

  test('does not complete the task by the agent’s observation, but by that of CI', async () => {
    const rules = makeRuleWorker(baton);
    for (const [actor, status] of [
      [worker.actor, 'waiting_external'],
      [ci, 'passed'],
    ] as const) {
      const kind = `deployed.${status}`;
      await closing(actor, kind);
      const { task, run } = await makeRun(baton, worker, {
        task: { acceptance: [checkBy('external_state')] },
      });
      await done(worker.actor.post(`/runs/${run.id}:suspend`, {}));
      const { id } = await observe(actor, kind, {}, { task: task.id });
      await rules.run();
      await judge.run();
      const attempt = await attemptOf(task.id);
      assert.deepEqual([attempt.trigger, attempt.status], ['rule', status]);
      assert.ok(JSON.stringify(attempt.results).includes(`observation:${id}`));
    }
    await rules.close();
  });

  test('does not complete it by another event that the agent causes either', async () => {
    const rules = makeRuleWorker(baton);
    const { task, run } = await makeRun(baton, worker, {
      task: { acceptance: [checkBy('external_state')], title: 'closed by the agent’s comment' },
    });
    await makeRule(baton.admin, {
      trigger: { kind: 'event', type: 'task.comment_added' },
      action: { dedupKeyTemplate: 'own-proof' },
    });
    await done(worker.actor.post(`/runs/${run.id}:suspend`, {}));
    await done(worker.actor.post(`/tasks/${task.id}/comments`, { body: 'done' }), 201);
    await rules.run();
    const { items } = await done(baton.admin.get('/tasks?q=Follow%20up'));
    const filed = items[0];
    const acceptance = [checkBy('external_state')];
    const ifMatch = { 'if-match': `task-${filed.version}` };
    await done(baton.admin.patch(`/tasks/${filed.id}`, { acceptance }, ifMatch));
    await done(worker.actor.post(`/claims/${(await claimTask(worker, filed.id)).id}:release`, {}));
    await makeRule(baton.admin, {
      trigger: { kind: 'event', type: 'task.comment_edited' },
      action: {
        kind: 'complete_work',
        taskType: undefined,
        fields: undefined,
        check: 'checked',
        dedupKeyTemplate: 'own-proof',
      },
    });
    const [comment] = (await done(worker.actor.get(`/tasks/${task.id}/comments`))).items.slice(-1);
    const edited = { 'if-match': `comment-${comment.version}` };
    await done(worker.actor.patch(`/tasks/${task.id}/comments/${comment.id}`, { body: 'really' }, edited));
    await rules.run();
    await judge.run();
    await rules.close();
    const attempt = await attemptOf(filed.id);
    assert.deepEqual([attempt.trigger, attempt.status], ['rule', 'waiting_external']);
    const [{ principalId }] = attempt.results[0].details.notCounted;
    assert.equal(principalId, worker.actor.principalId);
  });
});

describe('a prover', () => {
  test('is only the principal that the check specifies', async () => {
    const { task } = await worked({ prover: { principalId: ci.principalId }, event: 'observation.recorded' });
    await prove(task.id, baton.admin, [fact('1')]);
    await observe(baton.admin, 'ci.passed', {}, { task: task.id });
    assert.equal((await look(task.id)).status, 'waiting_external');
    await observe(ci, 'ci.passed', {}, { task: task.id });
    assert.equal((await look(task.id)).status, 'passed');
  });

  test('holds the role of the check in the workspace of the task, and did not do the work', async () => {
    const [here, elsewhere] = [await makeWorkspace(baton), await makeWorkspace(baton)];
    const role = await done(baton.admin.post('/roles', { slug: 'provers', name: 'Provers' }), 201);
    const [near, far] = [await baton.actor(), await baton.actor()];
    const assign = ({ principalId }: Actor, workspaceId: string) =>
      done(baton.admin.post(`/principals/${principalId}/roles`, { roleId: role.id, workspaceId }), 201);
    await assign(worker.actor, here.id);
    await assign(near, here.id);
    await assign(far, elsewhere.id);
    const spec = { prover: { roleId: role.id }, event: 'observation.recorded' };
    const { task } = await worked(spec, { workspaceId: here.id });
    for (const [index, actor] of [worker.actor, far, baton.admin].entries()) {
      await prove(task.id, actor, [fact(String(index))]);
      await observe(actor, 'ci.passed', {}, { task: task.id });
    }
    const waiting = await look(task.id);
    assert.deepEqual([waiting.status, waiting.results[0].details.notCounted.length], ['waiting_external', 4]);
    await prove(task.id, near, [fact('near')]);
    assert.deepEqual((await look(task.id)).results[0].evidence, ['external:ci/near']);
    const observed = await worked(spec, { workspaceId: here.id });
    await observe(near, 'ci.passed', {}, { task: observed.task.id });
    assert.equal((await look(observed.task.id)).status, 'passed');
  });

  test('is specified by a principal or a role: any other spec is invalid', async () => {
    const make = async (prover: unknown) => {
      const acceptance = [checkBy('external_state', { spec: { prover } })];
      return (await baton.admin.post('/tasks', { title: 'x', acceptance })).body.error?.code ?? 'made';
    };
    const { principalId } = ci;
    assert.equal(await make({ principalId }), 'made');
    for (const prover of [{}, principalId, { principalId, roleId: principalId }, { principalId: 'ci' }])
      assert.equal(await make(prover), 'invalid_acceptance_spec');
  });
});
