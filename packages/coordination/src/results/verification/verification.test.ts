import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import type { Lifecycle } from '../../definitions/task-types/lifecycle.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import {
  corePrincipalOf,
  done,
  eventsOf,
  makeTask,
  makeWorker,
  refused,
  type Worker,
} from '../../testing/leases.ts';
import { archiveThrough } from '../../testing/ledger/retention.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { checkBy, letTimePass, makeVerifier, openVerification } from '../../testing/results/verification.ts';

let baton: TestCoordination;
let judge: ReturnType<typeof makeVerifier>;
let worker: Worker;
before(async () => {
  baton = await startCoordination();
  judge = makeVerifier(baton);
  worker = await makeWorker(baton);
  for (const key of ['log', 'report'])
    await done(baton.admin.post('/artifact-types', { key, displayName: key, mediaTypes: ['*/*'] }), 201);
});
after(async () => {
  await judge.close();
  await baton.close();
});

const read = (id: string) => done(baton.admin.get(`/tasks/${id}`));
const attemptOf = async (id: string) => (await done(baton.admin.get(`/tasks/${id}/verifications`))).items[0];
const commentsOf = async (id: string) => (await done(baton.admin.get(`/tasks/${id}/comments`))).items;
const approvalsOf = async (id: string) => (await done(baton.admin.get(`/approvals?taskId=${id}`))).items;
const complete = (task: { id: string; version: number }, by: Actor = baton.admin) =>
  by.post(`/tasks/${task.id}:complete`, {}, { 'if-match': `task-${task.version}` });
const decide = (approvalId: string, how: string, body: object = {}, by: Actor = baton.admin) =>
  done(by.post(`/approvals/${approvalId}:${how}`, body));
/** Approves a task that has changed since the request, with the digest of its current state. */
async function approveAsItIs(approvalId: string) {
  const { current } = await done(baton.admin.get(`/approvals/${approvalId}`));
  return decide(approvalId, 'approve', { subjectDigest: current.digest });
}
const artifactCheck = (artifact: object) => checkBy('deterministic', { spec: { artifact } });
const addArtifact = (task: string, more: object = {}) =>
  done(baton.admin.post('/artifacts', { type: 'log', name: 'build', task, ...more }), 201);

/** Opens an attempt and lets the worker evaluate it once. */
async function judged(acceptance: object[], more: object = {}, by?: Actor) {
  const task = await openVerification(baton, acceptance, more, by);
  await judge.run();
  return { task: await read(task.id), attempt: await attemptOf(task.id) };
}

const reasonsOf = (attempt: any) => attempt.results.map(({ status, reason }: any) => [status, reason]);

describe('a passed attempt', () => {
  test('completes the task, records the results, and writes its events in this order', async () => {
    const task = await makeTask(baton, { acceptance: [artifactCheck({ type: 'log', content: 'optional' })] });
    const found = await addArtifact(task.id);
    const opened = await done(complete(task, worker.actor));
    await judge.run();
    const after = await read(task.id);
    assert.equal(after.status, 'done');
    assert.equal(after.version, opened.version + 1);
    assert.notEqual(after.completedAt, null);
    const attempt = await attemptOf(task.id);
    const { id, attempt: number, updatedAt } = attempt;
    assert.deepEqual(after.verification, { id, status: 'passed', attempt: number, updatedAt });
    assert.deepEqual([attempt.status, attempt.cursor, attempt.nextCheckAt], ['passed', 1, null]);
    assert.notEqual(attempt.finishedAt, null);
    const result = { key: 'checked', kind: 'deterministic', status: 'passed', reason: null };
    assert.deepEqual(attempt.results, [{ ...result, source: 'task', evidence: [`artifact:${found.id}`] }]);

    const { items } = await done(baton.admin.get(`/artifacts?taskId=${task.id}&type=verification`));
    assert.equal(items.length, 1);
    const [artifact] = items;
    assert.equal(artifact.createdByPrincipalId, worker.actor.principalId);
    const judgedEvents = (await eventsOf(baton, task.id, artifact.id)).slice(-3);
    assert.deepEqual(
      judgedEvents.map(({ type }) => type),
      ['artifact.created', 'task.completed', 'task.verified'],
    );
    const [created, completed, verified] = judgedEvents.map(({ payload }) => payload);
    assert.equal(created?.['verificationId'], id);
    assert.deepEqual([completed?.['verificationId'], completed?.['attempt']], [id, 1]);
    const said = {
      publicId: task.publicId,
      taskId: task.id,
      verificationId: id,
      attempt: 1,
      trigger: 'complete',
      checks: 1,
      results: [result],
    };
    assert.deepEqual(verified, { ...said, artifactId: artifact.id });
    assert.deepEqual(artifact.content, { ...said, triggerRef: null });
    await refused(complete(after), 409, 'task_already_completed');
  });
});

describe('a failed attempt', () => {
  test('returns the task to its release status, and the core adds a comment with the reason', async () => {
    const started = { acceptance: [artifactCheck({ type: 'log' })] };
    const { id } = await makeTask(baton, started);
    const ifMatch = { 'if-match': 'task-1' };
    const moved = await done(baton.admin.patch(`/tasks/${id}`, { status: 'in_progress' }, ifMatch));
    const opened = await done(complete(moved));
    await judge.run();
    const after = await read(id);
    assert.deepEqual([after.status, after.version], ['todo', opened.version + 1]);
    assert.equal(after.verification.status, 'failed');
    const attempt = await attemptOf(id);
    assert.deepEqual(reasonsOf(attempt), [['failed', 'artifact_missing']]);
    const [comment, ...more] = await commentsOf(id);
    assert.equal(more.length, 0);
    assert.equal(comment.body, 'Verification 1 failed at check checked: artifact_missing.');
    const author = await done(baton.admin.get(`/principals/${comment.authorPrincipalId}`));
    assert.equal(author.kind, 'service');
    const [added, failed] = (await eventsOf(baton, id)).slice(-2);
    assert.deepEqual([added?.type, added?.actor_id], ['task.comment_added', null]);
    assert.deepEqual([failed?.type, failed?.actor_id], ['task.verification_failed', null]);
    assert.deepEqual(failed?.payload, {
      publicId: after.publicId,
      taskId: id,
      verificationId: attempt.id,
      attempt: 1,
      trigger: 'complete',
      checks: 1,
      results: [{ key: 'checked', kind: 'deterministic', status: 'failed', reason: 'artifact_missing' }],
      failedCheck: 'checked',
      reason: 'artifact_missing',
      consecutiveFailures: 1,
      blocked: false,
      fromStatus: 'in_progress',
      status: 'todo',
      systemStatusCategory: 'active',
    });
    await done(worker.actor.post(`/tasks/${id}:claim`, { sessionId: worker.sessionId }));
  });

  test('the first failure ends it: later checks are not evaluated', async () => {
    const checks = [artifactCheck({ type: 'log' }), { ...checkBy('human'), key: 'seen' }];
    const { attempt } = await judged(checks);
    assert.deepEqual([attempt.status, attempt.cursor], ['failed', 1]);
    assert.equal((await approvalsOf(attempt.taskId)).length, 0);
  });

  test('the third consecutive failure blocks the task, and so does the fourth', async () => {
    let { task } = await judged([artifactCheck({ type: 'log' })]);
    const failures = [];
    for (let attempt = 2; attempt <= 4; attempt += 1) {
      await done(complete(task));
      await judge.run();
      task = await read(task.id);
      const { payload } = (await eventsOf(baton, task.id)).at(-1) ?? {};
      failures.push([payload?.['consecutiveFailures'], payload?.['blocked'], task.status]);
    }
    assert.deepEqual(failures, [
      [2, false, 'todo'],
      [3, true, 'blocked'],
      [4, true, 'blocked'],
    ]);
  });

  test('a task without a declared transition keeps its status', async () => {
    const lifecycle: Lifecycle = {
      statuses: [
        { key: 'new', category: 'active', displayName: 'New' },
        { key: 'shipped', category: 'terminal_success', displayName: 'Shipped' },
      ],
      initialStatus: 'new',
      transitions: [{ from: 'new', to: ['shipped'] }],
      completionStatus: 'shipped',
    };
    await insertTestType(baton, { key: 'one-way', lifecycle });
    let { task } = await judged([artifactCheck({ type: 'log' })], { typeKey: 'one-way' });
    for (const attempt of [1, 2, 3]) {
      assert.deepEqual([task.status, task.verification.attempt], ['new', attempt]);
      const { payload } = (await eventsOf(baton, task.id)).at(-1) ?? {};
      assert.deepEqual([payload?.['consecutiveFailures'], payload?.['blocked']], [attempt, false]);
      await done(complete(task));
      await judge.run();
      task = await read(task.id);
    }
  });

  test('a task that was moved to a status without a declared completion fails with invalid_transition', async () => {
    const lifecycle: Lifecycle = {
      statuses: [
        { key: 'new', category: 'active', displayName: 'New' },
        { key: 'parked', category: 'backlog', displayName: 'Parked' },
        { key: 'shipped', category: 'terminal_success', displayName: 'Shipped' },
      ],
      initialStatus: 'new',
      transitions: [{ from: 'new', to: ['parked', 'shipped'] }],
      completionStatus: 'shipped',
    };
    await insertTestType(baton, { key: 'parking', lifecycle });
    const check = artifactCheck({ type: 'log', content: 'optional' });
    const task = await openVerification(baton, [check], { typeKey: 'parking' });
    await addArtifact(task.id);
    const ifMatch = { 'if-match': `task-${task.version}` };
    await done(baton.admin.patch(`/tasks/${task.id}`, { status: 'parked' }, ifMatch));
    await judge.run();
    const after = await read(task.id);
    assert.deepEqual([after.status, after.verification.status], ['parked', 'failed']);
    const { payload } = (await eventsOf(baton, task.id)).at(-1) ?? {};
    assert.deepEqual([payload?.['failedCheck'], payload?.['reason']], [null, 'invalid_transition']);
  });
});

describe('a check of an artifact', () => {
  const content = { passed: true };
  const rows: [string, object[], object, string][] = [
    ['no artifact of the type', [{ type: 'report' }], {}, 'artifact_missing'],
    ['no content', [{}], {}, 'artifact_content_missing'],
    ['an address is not content', [{ uri: 'https://x.example/log' }], {}, 'artifact_content_missing'],
    ['no content, if none is required', [{}], { content: 'optional' }, 'passed'],
    ['content in the record', [{ content }], {}, 'passed'],
    ['content of another media type', [{ content }], { mediaTypes: ['text/plain'] }, 'artifact_media_type'],
    ['content of the media type', [{ content }], { mediaTypes: ['application/json'] }, 'passed'],
    ['content of a range', [{ content }], { mediaTypes: ['text/*', 'application/*'] }, 'passed'],
    ['one of several', [{}, { content }, {}], { mediaTypes: ['*/*'] }, 'passed'],
  ];
  for (const [name, artifacts, wanted, outcome] of rows)
    test(`${name}: ${outcome}`, async () => {
      const acceptance = [artifactCheck({ type: 'log', ...wanted })];
      const task = await makeTask(baton, { acceptance });
      for (const more of artifacts) await addArtifact(task.id, more);
      await done(complete(task));
      await judge.run();
      const { results } = await attemptOf(task.id);
      assert.equal(results[0].reason ?? results[0].status, outcome);
    });

  test('stored bytes count by their media type without its parameters, and not once purged', async () => {
    const acceptance = [artifactCheck({ type: 'log', mediaTypes: ['text/plain'] })];
    const store = async (mediaType: string, state: string) => {
      const task = await makeTask(baton, { acceptance });
      const contentId = state === 'stored' ? newId() : null;
      const digest = 'a'.repeat(64);
      if (contentId !== null)
        await baton.pool.run(sql`
          insert into artifact_contents (id, tenant_id, state) values (${contentId}, ${baton.tenantId}, 'writing')`);
      await baton.pool.run(sql`
        insert into artifacts (id, tenant_id, created_by, task_id, type, name, content_state, content_id, size_bytes, media_type,
          sha256)
        values (${newId()}, ${baton.tenantId}, ${baton.admin.principalId}, ${task.id}, 'log', 'build', ${state}, ${contentId}, 1,
          ${mediaType}, ${digest})`);
      await done(complete(task));
      await judge.run();
      const [result] = (await attemptOf(task.id)).results;
      return result.reason ?? result.status;
    };
    assert.equal(await store('Text/Plain; charset=utf-8', 'stored'), 'passed');
    assert.equal(await store('text/html', 'stored'), 'artifact_media_type');
    assert.equal(await store('text/plain', 'purged'), 'artifact_content_missing');
  });

  test('an artifact that was superseded does not count, its successor does', async () => {
    const task = await makeTask(baton, { acceptance: [artifactCheck({ type: 'log' })] });
    const first = await addArtifact(task.id, { content });
    await addArtifact(task.id, { supersedesArtifactId: first.id });
    const opened = await done(complete(task));
    await judge.run();
    assert.deepEqual(reasonsOf(await attemptOf(task.id)), [['failed', 'artifact_content_missing']]);
    assert.equal(opened.verification.attempt, 1);
  });

  test('a required output of the type is one, and requires content unless the type disables it', async () => {
    const outputs = [{ key: 'log', type: 'log', required: true }];
    await insertTestType(baton, { key: 'building', artifactSchema: { outputs } });
    const task = await makeTask(baton, { typeKey: 'building' });
    await addArtifact(task.id);
    await done(complete(task));
    await judge.run();
    const [result] = (await attemptOf(task.id)).results;
    assert.deepEqual([result.key, result.reason], ['output.log', 'artifact_content_missing']);
    await addArtifact(task.id, { content });
    await done(complete(await read(task.id)));
    await judge.run();
    assert.equal((await read(task.id)).status, 'done');
  });

  test('an artifact of another task does not count', async () => {
    const other = await makeTask(baton);
    await addArtifact(other.id, { content });
    const { attempt } = await judged([artifactCheck({ type: 'log' })]);
    assert.deepEqual(reasonsOf(attempt), [['failed', 'artifact_missing']]);
  });
});

describe('a check by a person', () => {
  test('requests approval of the owner through a gate, on behalf of the core, and waits', async () => {
    const { task, attempt } = await judged([checkBy('human')], {}, worker.actor);
    assert.deepEqual([task.status, task.verification.status], ['todo', 'waiting_human']);
    const [approval, ...more] = await approvalsOf(task.id);
    assert.equal(more.length, 0);
    assert.equal(attempt.approvalId, approval.id);
    assert.deepEqual([approval.status, approval.gate], ['pending', true]);
    assert.equal(approval.assignedPrincipalId, baton.admin.principalId);
    assert.equal(approval.requestedByPrincipalId, await corePrincipalOf(baton));
    assert.equal(approval.comment, `${task.publicId}, verification 1, check checked: It has been checked.`);
    const lookAgainMs = Date.parse(attempt.nextCheckAt) - Date.parse(attempt.updatedAt);
    assert.ok(lookAgainMs >= 14_900 && lookAgainMs < 25_000, `${lookAgainMs}`);
    await judge.run();
    assert.deepEqual(await attemptOf(task.id), attempt);
    await letTimePass(baton, task.id, 1_000_000);
    await judge.run();
    assert.equal((await attemptOf(task.id)).status, 'waiting_human');
    const late = await attemptOf(task.id);
    const laterMs = Date.parse(late.nextCheckAt) - Date.now();
    assert.ok(laterMs > 3_500_000 && laterMs <= 3_600_000, `a decision wakes it: ${laterMs}`);
    assert.equal((await approvalsOf(task.id)).length, 1);
  });

  test('an approval completes the task immediately', async () => {
    const { task, attempt } = await judged([checkBy('human')], {}, worker.actor);
    await decide(attempt.approvalId, 'approve');
    assert.equal((await read(task.id)).status, 'todo');
    await judge.run();
    const after = await read(task.id);
    assert.deepEqual([after.status, after.verification.status], ['done', 'passed']);
    assert.deepEqual((await attemptOf(task.id)).results[0].evidence, [`approval:${attempt.approvalId}`]);
  });

  test("a rejection fails it, and the comment quotes the decider's, without secrets", async () => {
    const { task, attempt } = await judged([checkBy('human')]);
    await decide(attempt.approvalId, 'reject', { comment: 'No tests. Bearer abcdefghijklmnopqrstuvwxyz' });
    await judge.run();
    assert.deepEqual(reasonsOf(await attemptOf(task.id)), [['failed', 'approval_rejected']]);
    const [{ body }] = await commentsOf(task.id);
    assert.match(
      body,
      /^Verification 1 failed at check checked: approval_rejected\. No tests\. .*\[redacted\]/,
    );
  });

  test('a cancelled gate fails it', async () => {
    const { task, attempt } = await judged([checkBy('human')]);
    await decide(attempt.approvalId, 'cancel');
    await judge.run();
    assert.deepEqual(reasonsOf(await attemptOf(task.id)), [['failed', 'approval_cancelled']]);
    assert.equal((await read(task.id)).status, 'todo');
  });

  test('requests approval of the specified approver, the owner or the assignee, in this order; only active people', async () => {
    const [person, other] = [await baton.actor({ kind: 'human' }), await baton.actor({ kind: 'human' })];
    const gone = await baton.actor({ kind: 'human' });
    await done(baton.admin.post(`/principals/${gone.principalId}:disable`, {}));
    const agent = worker.actor.principalId;
    const { principalId } = baton.admin;
    const approver = (id: string) => ({ spec: { approver: id } });
    const rows: [object, object, string | null][] = [
      [approver(person.principalId), { ownerId: principalId }, person.principalId],
      [{}, { ownerId: other.principalId, assigneeId: principalId }, other.principalId],
      [{}, { ownerId: null, assigneeId: person.principalId }, person.principalId],
      [{}, { ownerId: agent, assigneeId: person.principalId }, person.principalId],
      [{}, { ownerId: gone.principalId, assigneeId: person.principalId }, person.principalId],
      [{}, { ownerId: agent, assigneeId: agent }, null],
      [{}, { ownerId: null }, null],
      [approver(agent), { ownerId: principalId }, null],
      [approver(gone.principalId), { ownerId: principalId }, null],
      [approver(newId()), { ownerId: principalId }, null],
      [approver(baton.otherAdmin.principalId), { ownerId: principalId }, null],
      [{ spec: { approverRole: newId() } }, { ownerId: principalId }, null],
    ];
    for (const [spec, more, asked] of rows) {
      const { task, attempt } = await judged([checkBy('human', spec)], more);
      const [approval] = await approvalsOf(task.id);
      assert.equal(approval?.assignedPrincipalId ?? null, asked, JSON.stringify([spec, more]));
      if (asked === null) assert.deepEqual(reasonsOf(attempt), [['failed', 'no_approver']]);
    }
  });

  test('requests approval of the holders of the specified role, if a person holds it in the workspace of the task', async () => {
    const person = await baton.actor({ kind: 'human' });
    const make = (path: string, body: object) => done(baton.admin.post(path, body), 201);
    const role = await make('/roles', { slug: 'reviewer', name: 'Reviewer' });
    const { items: types } = await done(baton.admin.get('/workspace-types'));
    const workspace = (slug: string, more: object = {}) =>
      make('/workspaces', { slug, name: slug, typeKey: types[0].key, ...more });
    const [here, elsewhere] = [await workspace('here'), await workspace('elsewhere')];
    const below = await workspace('below', { parentId: here.id });
    const assign = ({ principalId }: Actor, where: object) =>
      make(`/principals/${principalId}/roles`, { roleId: role.id, ...where });
    const check = checkBy('human', { spec: { approverRole: role.id } });
    const ask = () => judged([check], { workspaceId: below.id });
    assert.deepEqual(reasonsOf((await ask()).attempt), [['failed', 'no_approver']]);
    await assign(worker.actor, {});
    await assign(person, { workspaceId: elsewhere.id });
    assert.deepEqual(reasonsOf((await ask()).attempt), [['failed', 'no_approver']]);
    await assign(person, { workspaceId: here.id });
    const { task, attempt } = await ask();
    const [approval] = await approvalsOf(task.id);
    assert.deepEqual([approval.requiredRoleId, approval.assignedPrincipalId], [role.id, null]);
    assert.equal(approval.workspaceId, below.id);
    await decide(attempt.approvalId, 'approve', {}, person);
    await judge.run();
    assert.equal((await read(task.id)).status, 'done');
  });

  test('a gate of another principal does not count for any addressee, and holds the completion back', async () => {
    const person = await baton.actor({ kind: 'human' });
    const named = checkBy('human', { spec: { approver: person.principalId } });
    for (const asked of [person, baton.admin]) {
      const task = await openVerification(baton, [named]);
      const gate = { task: task.id, gate: true, assignedPrincipalId: asked.principalId };
      const foreign = await done(baton.admin.post('/approvals', gate), 201);
      await judge.run();
      const { approvalId } = await attemptOf(task.id);
      assert.notEqual(approvalId, foreign.id);
      await decide(approvalId, 'approve', {}, person);
      await judge.run();
      assert.deepEqual((await read(task.id)).status, 'todo', 'the other gate is still open');
      await decide(foreign.id, 'reject', {}, asked);
      await judge.run();
      assert.equal((await read(task.id)).status, 'done');
    }
  });

  test('while it waits, a second completion is refused by the gate, and the claim too', async () => {
    const { task, attempt } = await judged([checkBy('human')]);
    const details = await refused(complete(task), 409, 'approval_required');
    assert.deepEqual(details, { taskId: task.id, pendingApprovals: [attempt.approvalId] });
    const { reasons } = await done(baton.admin.get(`/tasks/${task.id}/claimability`));
    assert.deepEqual(
      reasons.map(({ code }: any) => code),
      ['approval_required', 'verification_pending'],
    );
  });

  test('two checks request two approvals', async () => {
    const { task, attempt } = await judged([checkBy('human'), { ...checkBy('human'), key: 'again' }]);
    await decide(attempt.approvalId, 'approve');
    await judge.run();
    const second = await attemptOf(task.id);
    assert.deepEqual([second.status, second.cursor], ['waiting_human', 1]);
    assert.notEqual(second.approvalId, attempt.approvalId);
    await decide(second.approvalId, 'approve');
    await judge.run();
    assert.equal((await read(task.id)).status, 'done');
  });

  test('a cancelled task cancels the gate that its attempt requested, and no other', async () => {
    const { task, attempt } = await judged([checkBy('human')]);
    const other = await done(
      baton.admin.post('/approvals', {
        task: task.id,
        gate: true,
        assignedPrincipalId: baton.admin.principalId,
      }),
      201,
    );
    const ifMatch = { 'if-match': `task-${task.version}` };
    await done(baton.admin.patch(`/tasks/${task.id}`, { status: 'cancelled' }, ifMatch));
    const cancelled = await attemptOf(task.id);
    assert.deepEqual([cancelled.status, cancelled.nextCheckAt], ['cancelled', null]);
    await judge.run();
    const statusOf = async (id: string) => (await done(baton.admin.get(`/approvals/${id}`))).status;
    assert.equal(await statusOf(attempt.approvalId), 'cancelled');
    assert.equal(await statusOf(other.id), 'pending');
    assert.deepEqual(await attemptOf(task.id), cancelled);
    assert.equal(await judge.run(), 0);
  });
});

describe('a check of an external state', () => {
  test('waits, and passes immediately with evidence of the check', async () => {
    const { task, attempt } = await judged([checkBy('external_state')]);
    assert.deepEqual([attempt.status, attempt.approvalId], ['waiting_external', null]);
    const patch = async (evidence: object[]) => {
      const { version } = await read(task.id);
      await done(baton.admin.patch(`/tasks/${task.id}`, { evidence }, { 'if-match': `task-${version}` }));
      await judge.run();
      return (await attemptOf(task.id)).status;
    };
    const fact = { kind: 'external', externalRef: { system: 'ci', id: '12' } };
    assert.equal(await patch([fact]), 'waiting_external', 'it specifies no check');
    assert.equal(await patch([{ ...fact, check: 'checked' }]), 'passed');
    assert.deepEqual((await attemptOf(task.id)).results[0].evidence, ['external:ci/12']);
    assert.equal((await read(task.id)).status, 'done');
  });

  test('passes with earlier evidence', async () => {
    const evidence = [{ kind: 'external', externalRef: { system: 'ci', id: '12' }, check: 'checked' }];
    const { task } = await judged([checkBy('external_state')], { evidence });
    assert.equal(task.status, 'done');
  });

  test('passes with an event of the specified type on the task, written since the attempt began', async () => {
    const check = checkBy('external_state', { spec: { event: 'task.comment_added' } });
    const before = await makeTask(baton, { acceptance: [check] });
    await done(baton.admin.post(`/tasks/${before.id}/comments`, { body: 'too early' }), 201);
    const task = await done(complete(before, worker.actor));
    await judge.run();
    assert.equal((await attemptOf(task.id)).status, 'waiting_external');
    await done(baton.admin.post(`/tasks/${task.id}/comments`, { body: 'now' }), 201);
    await letTimePass(baton, task.id, 0);
    await judge.run();
    const [result] = (await attemptOf(task.id)).results;
    assert.equal(result.status, 'passed');
    assert.match(result.evidence[0], /^event:/);
  });

  test('an event that was archived meanwhile counts too', async () => {
    const check = checkBy('external_state', { spec: { event: 'task.comment_added' } });
    const task = await done(complete(await makeTask(baton, { acceptance: [check] }), worker.actor));
    await judge.run();
    await done(baton.admin.post(`/tasks/${task.id}/comments`, { body: 'now' }), 201);
    const event = await baton.pool.row<{ id: string }>(sql`
      select id from events where entity_id = ${task.id} and type = 'task.comment_added'`);
    await archiveThrough(baton.pool, baton.tenantId, event?.id, 10_000);
    await letTimePass(baton, task.id, 0);
    await judge.run();
    assert.deepEqual((await attemptOf(task.id)).results[0].evidence, [`event:${event?.id}`]);
  });

  test('an observation about the task is an event on it', async () => {
    const check = checkBy('external_state', { spec: { event: 'observation.recorded' } });
    const before = await makeTask(baton, { acceptance: [check] });
    const observe = (task?: string) =>
      done(baton.admin.post('/observations', { kind: 'ci.passed', content: 'The tests pass.', task }), 201);
    await observe(before.id);
    const task = await done(complete(before, worker.actor));
    await observe();
    await judge.run();
    assert.equal((await attemptOf(task.id)).status, 'waiting_external');
    const { eventId } = await observe(task.id);
    await letTimePass(baton, task.id, 0);
    await judge.run();
    assert.deepEqual((await attemptOf(task.id)).results[0].evidence, [`event:${eventId}`]);
  });

  test('fails with no_result after its timeout, which starts with the first evaluation', async () => {
    const { task } = await judged([checkBy('external_state')]);
    await letTimePass(baton, task.id, 86_300);
    await judge.run();
    assert.equal((await attemptOf(task.id)).status, 'waiting_external');
    await letTimePass(baton, task.id, 100);
    await judge.run();
    assert.deepEqual(reasonsOf(await attemptOf(task.id)), [['failed', 'no_result']]);
  });
});

describe('a check by a model', () => {
  test('fails with no_decision, because no model can be called', async () => {
    const { attempt } = await judged([checkBy('llm_judge', { spec: { rubric: 'short sentences' } })]);
    assert.deepEqual(reasonsOf(attempt), [['failed', 'no_decision']]);
  });

  test('is decided by the fallback person of the check', async () => {
    const { principalId } = baton.admin;
    const spec = { rubric: 'short sentences', approver: principalId };
    const { task, attempt } = await judged([checkBy('llm_judge', { spec })]);
    assert.equal(attempt.status, 'waiting_human');
    await decide(attempt.approvalId, 'approve');
    await judge.run();
    assert.equal((await read(task.id)).status, 'done');
  });
});

describe('conditions', () => {
  test('a check whose conditions have no value is skipped, and a task with only skipped checks is done', async () => {
    const rows: [string[], object, string][] = [
      [['$.task.priority'], {}, 'waiting_human'],
      [['$.task.dueDate'], {}, 'passed'],
      [['$.task.customFields.risky'], { customFields: { risky: true } }, 'waiting_human'],
      [['$.task.customFields.risky'], { customFields: { risky: false } }, 'waiting_human'],
      [['$.task.customFields.risky'], { customFields: { risky: 0 } }, 'waiting_human'],
      [['$.task.customFields.risks'], { customFields: { risks: [] } }, 'passed'],
      [['$.task.priority', '$.task.dueDate'], {}, 'passed'],
      [['$.task.dueDate!'], {}, 'passed'],
      [['$.task.customFields.constructor'], {}, 'passed'],
      [['$.spawnedBy.title'], {}, 'passed'],
      [['$.task.artifact[log].metadata.risk'], {}, 'passed'],
    ];
    for (const [when, more, status] of rows) {
      const { attempt } = await judged([checkBy('human', { when })], more);
      assert.equal(attempt.status, status, JSON.stringify([when, more]));
      if (status === 'passed') assert.deepEqual(reasonsOf(attempt), [['skipped', 'condition_unmet']]);
    }
  });

  test('they read the origin of the task, and the metadata of artifacts', async () => {
    const when = ['$.spawnedBy.customFields.risk', '$.task.artifact[log].metadata.risk'];
    const source = await makeTask(baton, { customFields: { risk: 'high' } });
    const task = await makeTask(baton, {
      acceptance: [checkBy('human', { when })],
      ownerId: baton.admin.principalId,
    });
    await done(
      baton.admin.post(`/tasks/${task.id}/relations`, { toTask: source.id, type: 'spawned_by' }),
      201,
    );
    await addArtifact(task.id, { metadata: { risk: 'high' } });
    await done(complete(task, worker.actor));
    await judge.run();
    assert.equal((await attemptOf(task.id)).status, 'waiting_human');
  });

  test('a waiting check is not skipped when its condition no longer holds', async () => {
    const { task } = await judged([checkBy('human', { when: ['$.task.customFields.risky'] })], {
      customFields: { risky: true },
    });
    const ifMatch = { 'if-match': `task-${task.version}` };
    await done(baton.admin.patch(`/tasks/${task.id}`, { customFields: {} }, ifMatch));
    await letTimePass(baton, task.id, 0);
    await judge.run();
    assert.equal((await attemptOf(task.id)).status, 'waiting_human');
  });
});

describe('while an attempt is open', () => {
  test('an added check is evaluated too, and so is a removed one', async () => {
    const { task, attempt } = await judged([checkBy('human')]);
    const added = { ...artifactCheck({ type: 'log' }), key: 'logged' };
    const ifMatch = { 'if-match': `task-${task.version}` };
    await done(baton.admin.patch(`/tasks/${task.id}`, { acceptance: [added] }, ifMatch));
    await approveAsItIs(attempt.approvalId);
    await judge.run();
    const after = await attemptOf(task.id);
    assert.deepEqual(
      after.results.map(({ key, status }: any) => [key, status]),
      [
        ['checked', 'passed'],
        ['logged', 'failed'],
      ],
    );
    assert.equal((await read(task.id)).status, 'todo');
  });

  test('a check that is added while a gate holds a verified task back starts its own wait', async () => {
    const evidence = [{ kind: 'external', externalRef: { system: 'ci', id: '12' }, check: 'checked' }];
    const task = await openVerification(baton, [checkBy('external_state')], { evidence });
    const gate = { task: task.id, gate: true, assignedPrincipalId: baton.admin.principalId };
    const { id: gateId } = await done(baton.admin.post('/approvals', gate), 201);
    await judge.run();
    const held = await attemptOf(task.id);
    assert.deepEqual([held.status, held.cursor, held.approvalId], ['waiting_human', 1, null]);
    await letTimePass(baton, task.id, 100_000);
    const late = { ...checkBy('external_state', { when: ['$.task.dueDate'] }), key: 'late' };
    const added = [checkBy('external_state'), { ...checkBy('external_state'), key: 'again' }, late];
    const { version } = await read(task.id);
    const ifMatch = { 'if-match': `task-${version}` };
    await done(baton.admin.patch(`/tasks/${task.id}`, { acceptance: added }, ifMatch));
    await approveAsItIs(gateId);
    await judge.run();
    const waiting = await attemptOf(task.id);
    assert.deepEqual([waiting.status, waiting.cursor], ['waiting_external', 1]);
    const proof = [...evidence, { ...evidence[0], check: 'again' }];
    const tag = { 'if-match': `task-${(await read(task.id)).version}` };
    await done(baton.admin.patch(`/tasks/${task.id}`, { evidence: proof }, tag));
    await judge.run();
    const { results } = await attemptOf(task.id);
    assert.deepEqual(
      results.map(({ key, status }: any) => [key, status]),
      [
        ['checked', 'passed'],
        ['again', 'passed'],
        ['late', 'skipped'],
      ],
    );
    assert.equal((await read(task.id)).status, 'done');
  });

  test('it continues when the completer can no longer see the task', async () => {
    const person = await baton.actor({ kind: 'human' });
    const { id: workspaceId } = await makeWorkspace(baton);
    const { task, attempt } = await judged([checkBy('human')], { workspaceId }, person);
    await baton.pool.run(
      sql`update iam_bindings set visibility = 'members' where principal_id = ${person.principalId}`,
    );
    await refused(person.get(`/tasks/${task.id}`), 404, 'not_found');
    await decide(attempt.approvalId, 'approve');
    await judge.run();
    assert.equal((await read(task.id)).status, 'done');
  });

  test('it fails when the completer was disabled, and its gate is cancelled', async () => {
    const completer = await baton.actor();
    const { task, attempt } = await judged([checkBy('human')], {}, completer);
    await done(baton.admin.post(`/principals/${completer.principalId}:disable`, {}));
    await letTimePass(baton, task.id, 0);
    await judge.run();
    assert.deepEqual(reasonsOf(await attemptOf(task.id)), [['failed', 'credential_inactive']]);
    const approval = await done(baton.admin.get(`/approvals/${attempt.approvalId}`));
    assert.equal(approval.status, 'cancelled');
    assert.equal((await read(task.id)).status, 'todo');
    const cancelled = (await eventsOf(baton, attempt.approvalId)).at(-1);
    assert.equal(cancelled?.type, 'approval.cancelled');
  });

  test('it fails when the binding of the completer was revoked, even if every check passed', async () => {
    const completer = await baton.actor();
    const task = await makeTask(baton, { acceptance: [artifactCheck({ type: 'log', content: 'optional' })] });
    await addArtifact(task.id);
    await done(complete(task, completer));
    await baton.pool.run(
      sql`update iam_bindings set status = 'revoked', revoked_at = now() where principal_id = ${completer.principalId}`,
    );
    await judge.run();
    assert.deepEqual(reasonsOf(await attemptOf(task.id)), [['failed', 'credential_inactive']]);
  });
});

describe('acceptance checks of artifacts', () => {
  test('refer to a registered type', async () => {
    const make = (type: string) =>
      baton.admin.post('/tasks', {
        title: 'wanted',
        acceptance: [checkBy('human'), { ...artifactCheck({ type }), key: 'b' }],
      });
    const details = await refused(make('unheard-of'), 422, 'invalid_acceptance_spec');
    assert.deepEqual(details, { field: 'acceptance[1].spec', kind: 'deterministic' });
    const task = await done(make('log'), 201);
    const patch = { acceptance: [artifactCheck({ type: 'unheard-of' })] };
    await refused(
      baton.admin.patch(`/tasks/${task.id}`, patch, { 'if-match': 'task-1' }),
      422,
      'invalid_acceptance_spec',
    );
    const foreign = { key: 'theirs', displayName: 'theirs', mediaTypes: ['*/*'] };
    await done(baton.otherAdmin.post('/artifact-types', foreign), 201);
    await refused(make('theirs'), 422, 'invalid_acceptance_spec');
  });
});
