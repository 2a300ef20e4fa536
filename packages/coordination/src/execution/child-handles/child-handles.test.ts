import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, afterEach, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { launch, makeFamily, newKey, startChild } from '../../testing/execution/children.ts';
import { checkLeaseInvariants } from '../../testing/execution/lease-invariants.ts';
import {
  claimTask,
  delegate,
  done,
  endClaimLease,
  endDelegation,
  eventsOf,
  makeRun,
  makeWorker,
  openSession,
  refused,
  type Worker,
} from '../../testing/leases.ts';

let baton: TestCoordination;
let worker: Worker;
let helper: Worker;

before(async () => {
  baton = await startCoordination();
  [worker, helper] = [await makeWorker(baton), await makeWorker(baton)];
});
afterEach(() => checkLeaseInvariants(baton));
after(() => baton.close());

const family = (more: object = {}) => makeFamily(baton, { parent: worker, child: helper }, more);
const readHandle = async (ref: string) => (await done(worker.actor.get(`/child-handles/${ref}`))).childHandle;
const list = (runId: string, query = '') => worker.actor.get(`/runs/${runId}/child-handles${query}`);
const keysOf = ({ id, fencingToken }: { id: string; fencingToken: number }) => ({
  claimId: id,
  fencingToken,
});
const revoke = (id: string, body?: object, by = worker) => by.actor.post(`/child-handles/${id}:revoke`, body);
const expire = (id: string) =>
  baton.pool.run(sql`update child_handles set expires_at = now() - interval '1 second' where id = ${id}`);

describe('POST /runs/{id}/child-handles', () => {
  test('creates a task, the relation to it and the handle, in one transaction', async () => {
    const { run, task } = await makeRun(baton, worker);
    const before = Date.now();
    const answer = await launch(worker, run.id, {
      correlationId: 'review:1',
      title: 'Review it',
      description: 'All of it',
      priority: 'high',
      assigneeId: helper.actor.principalId,
      grant: { permissions: ['tasks.read', 'tasks.claim', 'tasks.read'] },
    });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const { childHandle, childTask, handleToken } = answer.body;
    const { id, createdAt, expiresAt, ...rest } = childHandle;
    assert.equal(answer.headers.get('location'), `/api/v1/child-handles/${id}`);
    assert.match(handleToken, new RegExp(`^ch1_${id.replaceAll('-', '')}_[A-Za-z0-9_-]{43}$`));
    assert.ok(Math.abs(Date.parse(expiresAt) - before - 604_800_000) < 60_000 && createdAt);
    assert.deepEqual(rest, {
      tenantId: baton.tenantId,
      parentRunId: run.id,
      parentTaskId: task.id,
      childTaskId: childTask.id,
      childTaskPublicId: childTask.publicId,
      childRunId: null,
      correlationId: 'review:1',
      grant: { permissions: ['tasks.claim', 'tasks.read'], capabilities: [], skills: [] },
      cancellationPolicy: 'cascade_cooperative',
      depth: 1,
      handleVersion: 1,
      status: 'pending',
      revokedAt: null,
      revokeReason: null,
      result: null,
    });
    const { title, description, priority, assigneeId, origin } = childTask;
    assert.deepEqual(
      [title, description, priority, assigneeId],
      ['Review it', 'All of it', 'high', helper.actor.principalId],
    );
    assert.deepEqual(origin, { kind: 'parent', ref: `task:${task.id}`, evidence: [] });
    const { items } = await done(worker.actor.get(`/tasks/${childTask.id}/relations`));
    assert.deepEqual(
      items.map((item: any) => [item.fromTaskId, item.toTaskId, item.type]),
      [[childTask.id, task.id, 'spawned_by']],
    );
    const types = (await eventsOf(baton, childTask.id)).map(({ type }) => type);
    assert.deepEqual(types, ['task.created', 'task.relation_added']);
    const event = (await eventsOf(baton, run.id)).at(-1);
    assert.deepEqual([event?.type, event?.session_id], ['run.child.launched', worker.sessionId]);
    assert.deepEqual(event?.payload, {
      taskId: task.id,
      childHandleId: id,
      childTaskId: childTask.id,
      childTaskPublicId: childTask.publicId,
      correlationId: 'review:1',
      cancellationPolicy: 'cascade_cooperative',
      depth: 1,
      grantSizes: { permissions: 2, capabilities: 0, skills: 0 },
    });
  });

  test('only a hash of the token is stored', async () => {
    const { run } = await makeRun(baton, worker);
    const { handleToken, childHandle } = await done(launch(worker, run.id), 201);
    const row = await baton.pool.row<{ secret_hash: string }>(
      sql`select secret_hash from child_handles where id = ${childHandle.id}`,
    );
    const secret = handleToken.slice(-43);
    assert.equal(row?.secret_hash, createHash('sha256').update(secret).digest('hex'));
  });

  test('a known correlation id returns its child before any other check', async () => {
    const { run } = await makeRun(baton, worker);
    const first = await done(launch(worker, run.id, { correlationId: 'a' }), 201);
    const key = newKey();
    const again = await launch(worker, run.id, { correlationId: 'a', title: 'another' }, key);
    assert.deepEqual([again.status, again.body], [200, { ...first, handleToken: null }]);
    assert.equal(again.headers.get('location'), `/api/v1/child-handles/${first.childHandle.id}`);
    const stored = await launch(worker, run.id, { correlationId: 'a', title: 'another' }, key);
    assert.deepEqual([stored.status, stored.headers.get('idempotency-replayed')], [200, 'true']);
    await done(worker.actor.post(`/runs/${run.id}:fail`));
    const later = await launch(helper, run.id, { correlationId: 'a', priority: 'none' });
    assert.deepEqual([later.status, later.body.childHandle.id], [200, first.childHandle.id]);
    await refused(launch(worker, run.id, { correlationId: 'b' }), 409, 'run_not_active');
    const other = await makeRun(baton, worker);
    await done(launch(worker, other.run.id, { correlationId: 'a' }), 201);
  });

  test('refuses in the order permission, correlation, policy, expiry, grant, run, status, holder, gate, excess, task', async () => {
    const { run, task } = await makeRun(baton, worker);
    const bad = {
      correlationId: 'a b',
      cancellationPolicy: 'kill',
      expiresInSeconds: 0,
      grant: { permissions: ['fly'] },
    };
    const claimer = await makeWorker(baton, { permissions: ['tasks.claim', 'sessions.open'] });
    const denied = await refused(launch(claimer, newId(), bad), 403, 'permission_denied');
    assert.deepEqual(denied, { required: ['tasks.write'] });
    for (const correlationId of ['', 'a b', 'x'.repeat(129)])
      await refused(launch(worker, newId(), { ...bad, correlationId }), 422, 'invalid_correlation_id');
    const { correlationId: _correlationId, ...policy } = bad;
    await refused(launch(worker, newId(), policy), 422, 'invalid_cancellation_policy');
    const { cancellationPolicy: _cancellationPolicy, ...expiry } = policy;
    for (const expiresInSeconds of [0, 7_776_001]) {
      const details = await refused(
        launch(worker, newId(), { ...expiry, expiresInSeconds }),
        422,
        'invalid_child_expiry',
      );
      assert.deepEqual(details, { min: 1, max: 7_776_000 });
    }
    const grants: [object, object][] = [
      [{ permissions: ['fly'] }, { field: 'permissions', unknown: ['fly'] }],
      [{ skills: Array.from({ length: 101 }, () => 'a@1') }, { field: 'skills', maxItems: 100 }],
      [{ capabilities: ['x'.repeat(201)] }, { field: 'capabilities', maxLength: 200 }],
      [{ capabilities: [' '] }, { field: 'capabilities', maxLength: 200 }],
    ];
    for (const [grant, details] of grants)
      assert.deepEqual(
        await refused(launch(worker, newId(), { grant }), 422, 'invalid_child_grant'),
        details,
      );
    await refused(launch(worker, newId()), 404, 'not_found');
    await refused(launch({ ...worker, actor: baton.otherAdmin }, run.id), 404, 'not_found');
    await refused(launch(helper, run.id), 403, 'run_holder_mismatch');
    const excess = { permissions: ['admin', 'tasks.read'], capabilities: ['welding'], skills: ['paint@1'] };
    const beyond = { grant: excess, title: ' ', priority: 'none' };
    const details = await refused(launch(worker, run.id, beyond), 422, 'child_grant_exceeds_parent');
    assert.deepEqual(details, { excess: { ...excess, permissions: ['admin'] } });
    await refused(launch(worker, run.id, { title: ' ' }), 422, 'invalid_title');
    await refused(launch(worker, run.id, { priority: 'none' }), 422, 'invalid_priority');
    await refused(launch(worker, run.id, { assigneeId: 'agent:none' }), 422, 'unknown_agent');
    await refused(launch(worker, run.id, { ownerId: newId() }), 404, 'not_found');
    await endClaimLease(baton, task.id);
    await refused(launch(worker, run.id, beyond), 409, 'stale_claim');
    assert.deepEqual((await done(list(run.id))).items, []);
  });

  test("a session whose delegation has ended can't launch a child, and is closed", async () => {
    const human = await baton.actor({ kind: 'human' });
    const delegationId = await delegate(human, worker.actor, baton);
    const sessionId = await openSession(worker.actor, { onBehalfOf: human.principalId });
    const { run } = await makeRun(baton, { ...worker, sessionId });
    await endDelegation(baton, delegationId);
    await refused(launch(worker, run.id), 409, 'stale_claim');
    assert.equal((await done(baton.admin.get(`/sessions/${sessionId}`))).status, 'closed');
  });

  test('grants can only narrow rights: a child passes on at most its own, and omitted kinds are inherited', async () => {
    const few = ['tasks.claim', 'tasks.read', 'tasks.write', 'sessions.open'] as const;
    const parent = await makeWorker(baton, { permissions: few });
    const made = await makeFamily(baton, { parent, child: helper });
    assert.deepEqual(made.handle.grant.permissions, few.toSorted());
    // The helper has far more permissions, but can't use them as this child.
    const more = { grant: { permissions: ['artifacts.write'] } };
    const details = await refused(launch(helper, made.child.run.id, more), 422, 'child_grant_exceeds_parent');
    assert.deepEqual(details.excess.permissions, ['artifacts.write']);
    const none = await done(launch(helper, made.child.run.id, { grant: { permissions: [] } }), 201);
    assert.deepEqual([none.childHandle.grant.permissions, none.childHandle.depth], [[], 2]);
    const all = await done(launch(helper, made.child.run.id), 201);
    assert.deepEqual(all.childHandle.grant.permissions, few.toSorted());
  });

  test('capabilities and skills are granted as assigned, without disabled ones', async () => {
    const parent = await makeWorker(baton);
    const assign = (kind: string, body: object) =>
      done(baton.admin.post(`/principals/${parent.actor.principalId}/${kind}`, body), 201);
    const make = (path: string, body: object) => done(baton.admin.post(path, body), 201);
    const { id: capabilityId } = await make('/capabilities', { name: 'welding' });
    await assign('capabilities', { capabilityId });
    const made = [];
    for (const name of ['paint', 'sand'])
      made.push(await make('/skills', { name, version: '1.0.0', protocol: 'local' }));
    for (const { id: skillId } of made) await assign('skills', { skillId });
    await baton.pool.run(sql`update skills set status = 'disabled' where id = ${made[1].id}`);
    const { run } = await makeRun(baton, parent);
    const grantOf = async (grant?: object) =>
      (await done(launch(parent, run.id, { grant }), 201)).childHandle.grant;
    const inherited = await grantOf();
    assert.deepEqual([inherited.capabilities, inherited.skills], [['welding'], ['paint@1.0.0']]);
    const narrowed = await grantOf({ capabilities: [], skills: ['paint@1.0.0'] });
    assert.deepEqual([narrowed.capabilities, narrowed.skills], [[], ['paint@1.0.0']]);
    const beyond = { grant: { skills: ['sand@1.0.0', 'paint'] } };
    const details = await refused(launch(parent, run.id, beyond), 422, 'child_grant_exceeds_parent');
    assert.deepEqual(details.excess.skills, ['sand@1.0.0', 'paint']);
  });

  test('allows at most eight nested launches', async () => {
    let { run } = await makeRun(baton, worker);
    for (let depth = 1; depth <= 8; depth += 1) {
      const { childHandle, childTask } = await done(launch(worker, run.id), 201);
      assert.equal(childHandle.depth, depth);
      ({ run } = await startChild(worker, childTask.id));
    }
    assert.deepEqual(await refused(launch(worker, run.id), 422, 'child_depth_exceeded'), { maxDepth: 8 });
  });

  test("a run can't launch after its own launch was revoked or has expired", async () => {
    const [revoked, late] = [await family(), await family()];
    await done(revoke(revoked.handle.id));
    await refused(launch(helper, revoked.child.run.id), 409, 'child_handle_revoked');
    await expire(late.handle.id);
    await refused(launch(helper, late.child.run.id), 409, 'child_handle_expired');
  });
});

describe('a launched task', () => {
  test('its run is bound to the handle, and the launching run gets an event', async () => {
    const { run, handle, childTask, child } = await family();
    const bound = await readHandle(handle.id);
    assert.deepEqual([bound.childRunId, bound.status, bound.handleVersion], [child.run.id, 'running', 2]);
    const event = (await eventsOf(baton, run.id)).at(-1);
    assert.equal(event?.type, 'run.child.started');
    assert.deepEqual(event?.payload, {
      childHandleId: handle.id,
      childTaskId: childTask.id,
      childRunId: child.run.id,
      correlationId: handle.correlationId,
      attempt: 1,
    });
  });

  test('refuses start-run if the launch is revoked, expired or lacks tasks.claim, and after its run has ended', async () => {
    const { run } = await makeRun(baton, worker);
    const launched = async (more: object = {}) => {
      const { childHandle, childTask } = await done(launch(worker, run.id, more), 201);
      return { handle: childHandle, claim: await claimTask(helper, childTask.id) };
    };
    const start = (claim: any) => helper.actor.post(`/tasks/${claim.taskId}:start-run`, keysOf(claim));
    const revoked = await launched();
    await done(revoke(revoked.handle.id));
    await refused(start(revoked.claim), 409, 'child_handle_revoked');
    const late = await launched();
    await expire(late.handle.id);
    await refused(start(late.claim), 409, 'child_handle_expired');
    const idle = await launched({ grant: { permissions: ['tasks.read'] } });
    const details = await refused(start(idle.claim), 403, 'child_grant_exceeded');
    assert.deepEqual(details, { childHandleId: idle.handle.id, required: ['tasks.claim'] });
    const ended = await launched();
    const first = await done(start(ended.claim), 201);
    await refused(start(ended.claim), 409, 'run_already_active');
    await done(helper.actor.post(`/runs/${first.id}:fail`));
    const bound = await refused(start(ended.claim), 409, 'child_run_already_bound');
    assert.deepEqual(bound, { childHandleId: ended.handle.id, runId: first.id });
  });

  test('has its run replaced by the next one after a suspension or a lost lease', async () => {
    const { handle, childTask, child, run } = await family();
    await endClaimLease(baton, childTask.id);
    const second = await startChild(worker, childTask.id);
    assert.equal((await done(worker.actor.get(`/runs/${child.run.id}`))).failureReason, 'superseded');
    const bound = await readHandle(handle.id);
    assert.deepEqual([bound.childRunId, bound.status, bound.result], [second.run.id, 'running', null]);
    await done(worker.actor.post(`/runs/${second.run.id}:suspend`, {}));
    assert.equal((await readHandle(handle.id)).status, 'suspended');
    const third = await startChild(helper, childTask.id);
    await done(helper.actor.post(`/runs/${third.run.id}:succeed`));
    const types = (await eventsOf(baton, run.id)).map(({ type }) => type);
    const started = 'run.child.started';
    assert.deepEqual(types.slice(1), ['run.child.launched', started, started, started, 'run.child.resolved']);
  });

  test('may only write as its run within the grant of the handle', async () => {
    const permissions = ['tasks.claim', 'tasks.read'];
    const { child, childTask } = await family({ grant: { permissions } });
    const make = (runId?: string) =>
      helper.actor.post('/artifacts', { type: 'report', name: 'Findings', uri: 'https://x.example/', runId });
    const details = await refused(make(child.run.id), 403, 'child_grant_exceeded');
    assert.deepEqual(details, { runId: child.run.id, required: ['artifacts.write'] });
    await done(make(), 201);
    const say = (runId?: string) =>
      helper.actor.post(`/tasks/${childTask.id}/comments`, { body: 'Done', runId });
    const comment = await refused(say(child.run.id), 403, 'child_grant_exceeded');
    assert.deepEqual(comment, { runId: child.run.id, required: ['tasks.write'] });
    await done(say(), 201);
    const observe = (runId?: string) =>
      helper.actor.post('/observations', { kind: 'ci.passed', content: 'The tests pass.', runId });
    const observation = await refused(observe(child.run.id), 403, 'child_grant_exceeded');
    assert.deepEqual(observation, { runId: child.run.id, required: ['observations.write'] });
    await done(observe(), 201);
    const free = await family({ grant: { permissions: [...permissions, 'artifacts.write'] } });
    await done(make(free.child.run.id), 201);
  });
});

describe('the result of a child', () => {
  const succeed = (runId: string, output?: object) =>
    helper.actor.post(`/runs/${runId}:succeed`, output === undefined ? {} : { output });

  test('is written once, with its hash, and the launching run gets an event without its text', async () => {
    const { run, handle, childTask, child } = await family();
    const artifact = await done(
      helper.actor.post('/artifacts', {
        type: 'report',
        name: 'Findings',
        uri: 'https://x.example/',
        task: childTask.id,
      }),
      201,
    );
    const output = { summary: 'Fine', data: { b: 1, a: 'x' }, artifactRefs: [artifact.id] };
    await done(succeed(child.run.id, output));
    const { result, status, handleVersion } = await readHandle(handle.id);
    const text = `{"artifactRefs":["${artifact.id}"],"data":{"a":"x","b":1},"outcome":"succeeded","summary":"Fine"}`;
    const resultHash = `sha256:${createHash('sha256').update(text).digest('hex')}`;
    const { recordedAt, ...rest } = result;
    assert.deepEqual(
      [status, handleVersion, rest],
      ['succeeded', 3, { outcome: 'succeeded', ...output, resultHash }],
    );
    assert.ok(recordedAt);
    const event = (await eventsOf(baton, run.id)).at(-1);
    assert.equal(event?.type, 'run.child.resolved');
    assert.deepEqual(event?.payload, {
      childHandleId: handle.id,
      childTaskId: childTask.id,
      childRunId: child.run.id,
      correlationId: handle.correlationId,
      attempt: 1,
      outcome: 'succeeded',
      resultHash,
      artifactRefs: [artifact.id],
    });
  });

  test('consists of the whole output and the artifacts of the run if the output has none of its fields', async () => {
    const { handle, child } = await family();
    const artifact = await done(
      helper.actor.post('/artifacts', {
        type: 'report',
        name: 'Findings',
        uri: 'https://x.example/',
        runId: child.run.id,
      }),
      201,
    );
    await done(succeed(child.run.id, { tests: 'green' }));
    const { result } = await readHandle(handle.id);
    assert.deepEqual(
      [result.summary, result.data, result.artifactRefs],
      ['', { tests: 'green' }, [artifact.id]],
    );
  });

  test('a failed or cancelled child stores its reason, and a failure is accepted with any output', async () => {
    const [failed, cancelled] = [await family(), await family()];
    const output = { data: { transcript: 'all of it' } };
    const failureReason = `broken ${'x'.repeat(1_993)}`;
    await done(helper.actor.post(`/runs/${failed.child.run.id}:fail`, { failureReason, output }));
    const ofFailed = (await readHandle(failed.handle.id)).result;
    assert.deepEqual([ofFailed.outcome, ofFailed.summary, ofFailed.data], ['failed', failureReason, {}]);
    await done(helper.actor.post(`/runs/${cancelled.child.run.id}:cancel`, { reason: 'enough' }));
    assert.equal((await readHandle(cancelled.handle.id)).result.outcome, 'cancelled');
    const partial = await family();
    const kept = { summary: 'half', data: { done: 3 } };
    await done(helper.actor.post(`/runs/${partial.child.run.id}:fail`, { output: kept }));
    const { summary, data } = (await readHandle(partial.handle.id)).result;
    assert.deepEqual({ summary, data }, kept);
  });

  test('is refused if it is too large, unsafe, secret or not canonical, before the run ends', async () => {
    const { child } = await family();
    const refuse = (output: object, status: number, code: string) =>
      refused(succeed(child.run.id, output), status, code);
    const bytes = await refuse({ data: { a: 'x'.repeat(16_400) } }, 422, 'child_result_too_large');
    assert.deepEqual(bytes, { field: 'data', maxBytes: 16_384, actualBytes: 16_408 });
    await refuse({ a: 'x'.repeat(16_400) }, 422, 'child_result_too_large');
    const long = await refuse({ summary: 'x'.repeat(2_001) }, 422, 'child_result_too_large');
    assert.deepEqual(long, { field: 'summary', maxCharacters: 2_000 });
    const many = Array.from({ length: 51 }, () => newId());
    assert.deepEqual(await refuse({ artifactRefs: many }, 422, 'child_result_too_large'), {
      field: 'artifactRefs',
      maxItems: 50,
    });
    const parts = [{ summary: 7 }, { data: [] }, { artifactRefs: ['x'] }, { artifactRefs: {} }];
    for (const output of parts) await refuse(output, 422, 'invalid_document');
    const unsafe = await refuse({ data: { steps: [{ raw_prompt: 1 }] } }, 422, 'unsafe_child_result');
    assert.deepEqual(unsafe, { kind: 'private_key', path: '/data/steps/0/raw_prompt' });
    await refuse({ summary: 'in /Users/ada/x' }, 422, 'unsafe_child_result');
    await refuse({ data: { apiKey: 'x' } }, 422, 'secret_material_rejected');
    await refuse({ data: { note: `sk-${'a'.repeat(20)}` } }, 422, 'secret_material_rejected');
    await refuse({ summary: `sk-${'a'.repeat(20)}` }, 422, 'secret_material_rejected');
    assert.deepEqual(await refuse({ data: { a: [1, 0.5] } }, 422, 'non_canonical_value'), { path: '/a/1' });
    await refuse({ artifactRefs: [newId()] }, 404, 'not_found');
    const { run } = await makeRun(baton, worker);
    await done(worker.actor.post(`/runs/${run.id}:succeed`, { output: { transcript: 'kept', a: 0.5 } }));
    await done(succeed(child.run.id));
  });

  test('is also stored if a disable, a cancelled task or a completion without the run ends the child', async () => {
    const victim = await makeWorker(baton);
    const disabled = await makeFamily(baton, { parent: worker, child: victim });
    await done(baton.admin.post(`/principals/${victim.actor.principalId}:disable`));
    const { result } = await readHandle(disabled.handle.id);
    assert.deepEqual([result.outcome, result.summary], ['failed', 'principal_disabled']);
    const dropped = await family();
    const task = await done(baton.admin.get(`/tasks/${dropped.childTask.id}`));
    const keys = keysOf(dropped.child.claim);
    const cancel = { status: 'cancelled', ...keys };
    await done(helper.actor.patch(`/tasks/${task.id}`, cancel, { 'if-match': `"task-${task.version}"` }));
    assert.equal((await readHandle(dropped.handle.id)).result.summary, 'task_cancelled');
    const passed = await family();
    await endClaimLease(baton, passed.childTask.id);
    const second = await done(baton.admin.get(`/tasks/${passed.childTask.id}`));
    await done(
      worker.actor.post(`/tasks/${second.id}:complete`, {}, { 'if-match': `"task-${second.version}"` }),
    );
    assert.equal((await readHandle(passed.handle.id)).result.summary, 'superseded');
  });
});

describe('GET /runs/{id}/child-handles', () => {
  test('lists oldest first in pages, filtered by whether the child is active', async () => {
    const { run } = await makeRun(baton, worker);
    const made: string[] = [];
    for (const correlationId of ['a', 'b', 'c'])
      made.push((await done(launch(worker, run.id, { correlationId }), 201)).childHandle.id);
    const idsOf = ({ items }: { items: { id: string }[] }) => items.map(({ id }) => id);
    const first = await done(list(run.id, '?limit=2'));
    assert.deepEqual([idsOf(first), first.hasMore], [made.slice(0, 2), true]);
    assert.match(first.nextCursor, /^cd1_/);
    const second = await done(list(run.id, `?limit=2&cursor=${first.nextCursor}`));
    assert.deepEqual([idsOf(second), second.hasMore, second.nextCursor], [made.slice(2), false, null]);
    await done(revoke(made[1] as string));
    assert.deepEqual(idsOf(await done(list(run.id, '?active=true'))), [made[0], made[2]]);
    assert.deepEqual(idsOf(await done(list(run.id, '?active=false'))), [made[1]]);
    const other = await makeRun(baton, worker);
    await refused(list(other.run.id, `?cursor=${first.nextCursor}`), 422, 'invalid_cursor');
    await refused(list(run.id, '?cursor=cd1_x'), 422, 'invalid_cursor');
    await refused(list(run.id, `?cursor=${first.nextCursor.slice(4)}`), 422, 'invalid_cursor');
    await refused(list(newId()), 404, 'not_found');
  });

  test('distinguishes an expired launch from one whose task was cancelled', async () => {
    const { run } = await makeRun(baton, worker);
    const [late, dropped] = [
      await done(launch(worker, run.id), 201),
      await done(launch(worker, run.id), 201),
    ];
    await expire(late.childHandle.id);
    const { id, version } = dropped.childTask;
    await done(
      baton.admin.patch(`/tasks/${id}`, { status: 'cancelled' }, { 'if-match': `"task-${version}"` }),
    );
    const statuses = (await done(list(run.id))).items.map(({ status }: { status: string }) => status);
    assert.deepEqual(statuses, ['expired', 'cancelled']);
  });
});

describe('GET /child-handles/{idOrToken}', () => {
  test('reads by id and by token; a wrong secret and another tenant’s handle are not found', async () => {
    const { run } = await makeRun(baton, worker);
    const { childHandle, handleToken } = await done(launch(worker, run.id), 201);
    assert.deepEqual(await readHandle(childHandle.id.toUpperCase()), childHandle);
    assert.deepEqual(await readHandle(handleToken), childHandle);
    const get = (ref: string, by = worker.actor) => by.get(`/child-handles/${ref}`);
    const wrong = `${handleToken.slice(0, -43)}${'A'.repeat(43)}`;
    for (const [ref, by] of [
      [wrong, worker.actor],
      [newId(), worker.actor],
      [childHandle.id, baton.otherAdmin],
      [handleToken, baton.otherAdmin],
    ] as const)
      assert.deepEqual(await refused(get(ref, by), 404, 'not_found'), {});
    await refused(get('mine'), 422, 'invalid_child_handle_ref');
    for (const ref of ['ch1_', `ch1_${'a'.repeat(32)}_short`, `${handleToken}A`])
      await refused(get(ref), 422, 'invalid_child_handle_token');
  });
});

describe('POST /child-handles/{id}:revoke', () => {
  test('is allowed for the launching run and for managers of claims; repeating it has no effect', async () => {
    const { run } = await makeRun(baton, worker);
    const { childHandle } = await done(launch(worker, run.id), 201);
    await refused(
      revoke(
        childHandle.id,
        undefined,
        await makeWorker(baton, { permissions: ['tasks.claim', 'sessions.open'] }),
      ),
      403,
      'run_holder_mismatch',
    );
    await refused(revoke(newId()), 404, 'not_found');
    await refused(
      revoke(childHandle.id, undefined, { ...worker, actor: baton.otherAdmin }),
      404,
      'not_found',
    );
    const first = await done(revoke(childHandle.id, { reason: 'known already' }));
    const { status, revokedAt, revokeReason, handleVersion } = first.childHandle;
    assert.deepEqual([status, revokeReason, handleVersion], ['revoked', 'known already', 2]);
    assert.ok(revokedAt);
    assert.deepEqual(await done(revoke(childHandle.id, { reason: 'again', cancelChild: true })), first);
    const events = (await eventsOf(baton, run.id)).filter(({ type }) => type === 'run.child.revoked');
    assert.deepEqual(
      events.map(({ payload }) => payload),
      [
        {
          childHandleId: childHandle.id,
          childTaskId: childHandle.childTaskId,
          childRunId: null,
          correlationId: childHandle.correlationId,
          reason: 'known already',
        },
      ],
    );
    const other = await done(launch(worker, run.id), 201);
    await done(revoke(other.childHandle.id, undefined, { ...worker, actor: baton.admin }));
  });

  for (const path of ['/child-handles', '/runs/:run/child-handles'])
    test(`sends a cancel request to the child if requested, by ${path}`, async () => {
      const { run, handle, child } = await family();
      const url = `${path.replace(':run', run.id)}/${handle.id}:revoke`;
      const { childHandle } = await done(worker.actor.post(url, { reason: 'known', cancelChild: true }));
      // The child's run continues until it stops by itself.
      assert.deepEqual([childHandle.status, childHandle.revokeReason], ['running', 'known']);
      const asked = await done(baton.admin.get(`/runs/${child.run.id}`));
      assert.ok(asked.cancelRequestedAt !== null);
      const [message] = (await done(worker.actor.get(`/runs/${child.run.id}/control-messages`))).items;
      assert.deepEqual(
        [message.operation, message.reason, message.causationId],
        ['request_cancel', 'known', handle.id],
      );
      const events = (await eventsOf(baton, child.run.id)).slice(1);
      assert.deepEqual(
        events.map(({ type }) => type),
        ['run.control_message.accepted', 'run.cancel_requested', 'run.child.cancel_requested'],
      );
      assert.deepEqual(events[2]?.payload, {
        childHandleId: handle.id,
        childRunId: child.run.id,
        controlMessageId: message.id,
        correlationId: handle.correlationId,
        reason: 'child_handle_revoked',
      });
    });

  test('under a run, only the handles of that run are found', async () => {
    const { run } = await makeRun(baton, worker);
    const other = await makeRun(baton, worker);
    const { childHandle } = await done(launch(worker, run.id), 201);
    const at = (runId: string, by = worker.actor) =>
      by.post(`/runs/${runId}/child-handles/${childHandle.id}:revoke`);
    await refused(at(other.run.id), 404, 'not_found');
    await refused(at(newId()), 404, 'not_found');
    const stranger = await baton.actor({ permissions: ['tasks.claim'] });
    await refused(at(run.id, stranger), 403, 'run_holder_mismatch');
    await done(at(run.id));
  });
});
