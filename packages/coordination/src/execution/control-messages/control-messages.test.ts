import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
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
let rival: Worker;
let manager: Actor;

before(async () => {
  baton = await startCoordination();
  [worker, rival] = [
    await makeWorker(baton),
    await makeWorker(baton, { permissions: ['tasks.claim', 'tasks.read', 'sessions.open', 'tasks.write'] }),
  ];
  manager = await baton.actor({ kind: 'human', permissions: ['claims.manage', 'tasks.read'] });
});
afterEach(() => checkLeaseInvariants(baton));
after(() => baton.close());

const steer = { operation: 'steer', causalPosition: 'checkpoint:3', directive: 'Leave the login page.' };
const keyed = (key: string = newId()) => ({ 'idempotency-key': key });
const say = (runId: string, body: object = {}, by = worker.actor, key?: string) =>
  by.post(`/runs/${runId}/control-messages`, { ...steer, expectedRunVersion: 1, ...body }, keyed(key));
const list = (runId: string, query = '') => worker.actor.get(`/runs/${runId}/control-messages${query}`);
const readRun = (runId: string) => done(baton.admin.get(`/runs/${runId}`));
const typesOf = async (runId: string) => (await eventsOf(baton, runId)).map(({ type }) => type);

/** A valid acknowledgement of the first message of a run. */
async function acknowledge(
  made: Awaited<ReturnType<typeof makeRun>>,
  message: any,
  more: object = {},
  by = worker,
) {
  const { version } = await readRun(made.run.id);
  return by.actor.post(`/runs/${made.run.id}/control-messages/${message.id}:acknowledge`, {
    status: 'applied',
    claimId: made.claim.id,
    fencingToken: made.claim.fencingToken,
    expectedRunVersion: version,
    expectedMessageVersion: 1,
    safeBoundary: 'after checkpoint 4',
    ...more,
  });
}

describe('POST /runs/{id}/control-messages', () => {
  test('stores the message, increases the version of the run, and its event has neither directive nor reason', async () => {
    const { run, task } = await makeRun(baton, worker);
    const key = newId();
    const answer = await say(run.id, { reason: 'It is somebody else’s.' }, manager, key);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const { controlMessage, runVersion } = answer.body;
    const { id, requestId, correlationId, acceptedAt, ...rest } = controlMessage;
    assert.equal(answer.headers.get('location'), `/api/v1/runs/${run.id}/control-messages/${id}`);
    assert.deepEqual([runVersion, (await readRun(run.id)).version], [2, 2]);
    assert.ok(requestId === answer.headers.get('x-request-id') && correlationId === requestId && acceptedAt);
    assert.deepEqual(rest, {
      tenantId: baton.tenantId,
      runId: run.id,
      taskId: task.id,
      seq: 1,
      operation: 'steer',
      status: 'accepted',
      causalPosition: 'checkpoint:3',
      directive: 'Leave the login page.',
      reason: 'It is somebody else’s.',
      safeBoundary: null,
      idempotencyKey: key,
      requestedByPrincipalId: manager.principalId,
      acknowledgedByPrincipalId: null,
      causationId: null,
      version: 1,
      resolvedAt: null,
    });
    const event = (await eventsOf(baton, run.id)).at(-1);
    assert.deepEqual(
      [event?.type, event?.session_id, event?.actor_id],
      ['run.control_message.accepted', worker.sessionId, manager.principalId],
    );
    assert.deepEqual(event?.payload, {
      taskId: task.id,
      controlMessageId: id,
      seq: 1,
      operation: 'steer',
      status: 'accepted',
      causalPosition: 'checkpoint:3',
    });
  });

  test('is allowed for the run’s principal and for managers of claims, for every operation', async () => {
    const { run } = await makeRun(baton, worker);
    for (const operation of ['queue', 'steer', 'redirect', 'request_cancel', 'force_cancel']) {
      const body = { operation, directive: null, reason: 'x', expectedRunVersion: 77, causalPosition: '' };
      const details = await refused(say(run.id, body, rival.actor), 403, 'permission_denied');
      assert.deepEqual(details, { required: ['claims.manage'] });
    }
    const { version } = await readRun(run.id);
    await done(say(run.id, { expectedRunVersion: version }), 201);
    const reader = await baton.actor({ permissions: ['tasks.read', 'tasks.write'] });
    for (const runId of [run.id, newId()])
      assert.deepEqual(await refused(say(runId, {}, reader), 403, 'permission_denied'), {
        required: ['claims.manage'],
      });
  });

  test('refuses in the order operation, message, unsafe text, secret, run, status, key, version', async () => {
    const { run } = await makeRun(baton, worker);
    const bad = { operation: 'shout', directive: '/home/ada/x', causalPosition: ' ', expectedRunVersion: 9 };
    await refused(say(newId(), bad), 422, 'invalid_control_operation');
    const cases: [object, string][] = [
      [{ causalPosition: ' ' }, 'causalPosition'],
      [{ directive: null }, 'directive'],
      [{ operation: 'queue', directive: ' ' }, 'directive'],
      [{ operation: 'redirect', directive: null }, 'directive'],
      [{ operation: 'request_cancel' }, 'directive'],
      [{ operation: 'force_cancel', reason: 'x' }, 'directive'],
      [{ operation: 'force_cancel', directive: null, reason: ' ' }, 'reason'],
    ];
    for (const [body, field] of cases)
      assert.deepEqual(await refused(say(newId(), body), 422, 'invalid_control_message'), { field });
    const path = await refused(say(newId(), { directive: 'see /home/ada/x' }), 422, 'unsafe_control_payload');
    assert.deepEqual(path, { field: 'directive', kind: 'local_path', path: '' });
    const named = JSON.stringify({ a: [{ chat_history: [] }] });
    const key = await refused(say(newId(), { reason: named }), 422, 'unsafe_control_payload');
    assert.deepEqual(key, { field: 'reason', kind: 'private_key', path: '/a/0/chat_history' });
    const secret = `password: ${'x'.repeat(20)}`;
    await refused(say(newId(), { directive: secret }), 422, 'secret_material_rejected');
    await refused(say(newId()), 404, 'not_found');
    await refused(say(run.id, {}, baton.otherAdmin), 404, 'not_found');
    const version = await refused(say(run.id, { expectedRunVersion: 2 }), 409, 'run_version_conflict');
    assert.deepEqual(version, { expectedVersion: 2, currentVersion: 1 });
    await refused(say(run.id, { expectedRunVersion: 0 }), 400, 'invalid_request');
    await refused(say(run.id, { directive: 'x'.repeat(10_001) }), 400, 'invalid_request');
    await done(worker.actor.post(`/runs/${run.id}:succeed`));
    const ended = await refused(say(run.id, { expectedRunVersion: 9 }), 409, 'run_not_active');
    assert.deepEqual(ended, { runId: run.id, status: 'succeeded' });
    const force = { operation: 'force_cancel', directive: null, reason: 'x' };
    await refused(say(run.id, force), 409, 'run_not_active');
    await refused(say(newId(), force), 404, 'not_found');
  });

  test('a key that the run has already used returns its message, even after the idempotency record has expired', async () => {
    const { run } = await makeRun(baton, worker);
    const key = newId();
    const first = await done(say(run.id, {}, worker.actor, key), 201);
    const replayed = await say(run.id, {}, worker.actor, key);
    assert.deepEqual([replayed.status, replayed.headers.get('idempotency-replayed')], [201, 'true']);
    await baton.pool.run(sql`delete from idempotency_keys where key = ${key}`);
    // The version that the first request expected is outdated by now, and is not checked.
    assert.deepEqual(await done(say(run.id, {}, worker.actor, key), 201), first);
    await baton.pool.run(sql`delete from idempotency_keys where key = ${key}`);
    await refused(say(run.id, { directive: 'other' }, worker.actor, key), 409, 'idempotency_key_reused');
    await refused(say(run.id, {}, manager, key), 409, 'idempotency_key_reused');
    assert.equal((await done(list(run.id))).items.length, 1);
  });

  test('the first cancel request is recorded on the run; later ones are only messages', async () => {
    const { run, task } = await makeRun(baton, worker);
    const ask = (expectedRunVersion: number, by = manager) =>
      done(
        say(run.id, { operation: 'request_cancel', directive: null, reason: 'stop', expectedRunVersion }, by),
        201,
      );
    const { controlMessage } = await ask(1);
    const asked = await readRun(run.id);
    assert.equal(asked.cancelRequestedBy, manager.principalId);
    assert.ok(asked.cancelRequestedAt !== null && asked.status === 'running');
    await ask(2, worker.actor);
    const after = await readRun(run.id);
    assert.deepEqual(
      [after.cancelRequestedAt, after.cancelRequestedBy],
      [asked.cancelRequestedAt, manager.principalId],
    );
    const events = await eventsOf(baton, run.id);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['run.started', 'run.control_message.accepted', 'run.cancel_requested', 'run.control_message.accepted'],
    );
    assert.deepEqual(events[2]?.payload, {
      taskId: task.id,
      attempt: 1,
      controlMessageId: controlMessage.id,
    });
  });

  test('a run accepts 200 open messages, and cancel requests beyond them', async () => {
    const { run, task } = await makeRun(baton, worker);
    await baton.pool.run(sql`
      insert into run_control_messages (id, tenant_id, run_id, task_id, seq, operation, status, causal_position, directive,
        reason, idempotency_key, requested_by_principal_id, request_id, correlation_id)
      select gen_random_uuid(), ${baton.tenantId}, ${run.id}, ${task.id}, n, 'queue', 'accepted', 'x', 'x', '', n::text,
        ${manager.principalId}, 'test', 'test' from generate_series(1, 200) n`);
    const full = await say(run.id);
    assert.deepEqual([full.status, full.body.error.code], [429, 'rate_limited']);
    assert.deepEqual(
      [full.headers.get('retry-after'), full.body.error.details],
      ['5', { retryAfterSeconds: 5 }],
    );
    const cancel = { operation: 'request_cancel', directive: null };
    assert.equal((await done(say(run.id, cancel), 201)).controlMessage.seq, 201);
  });
});

describe('GET /runs/{id}/control-messages', () => {
  test('lists the messages in order, in pages whose last cursor finds later ones', async () => {
    const { run } = await makeRun(baton, worker);
    const empty = await done(list(run.id));
    assert.deepEqual([empty.items, empty.hasMore], [[], false]);
    assert.match(empty.nextCursor, /^rc1_/);
    for (const version of [1, 2, 3]) await done(say(run.id, { expectedRunVersion: version }), 201);
    const seqs = ({ items }: { items: { seq: number }[] }) => items.map(({ seq }) => seq);
    const first = await done(list(run.id, '?limit=2'));
    assert.deepEqual([seqs(first), first.hasMore], [[1, 2], true]);
    const second = await done(list(run.id, `?limit=2&cursor=${first.nextCursor}`));
    assert.deepEqual([seqs(second), second.hasMore], [[3], false]);
    assert.deepEqual(seqs(await done(list(run.id, `?cursor=${second.nextCursor}`))), []);
    await done(say(run.id, { expectedRunVersion: 4 }), 201);
    assert.deepEqual(seqs(await done(list(run.id, `?cursor=${second.nextCursor}`))), [4]);
    assert.deepEqual(seqs(await done(list(run.id, `?cursor=${empty.nextCursor}`))), [1, 2, 3, 4]);
  });

  test('refuses the cursor of another run, and an unknown run', async () => {
    const [one, other] = [await makeRun(baton, worker), await makeRun(baton, worker)];
    const { nextCursor } = await done(list(one.run.id));
    await refused(list(other.run.id, `?cursor=${nextCursor}`), 422, 'invalid_cursor');
    await refused(list(one.run.id, `?cursor=${nextCursor.slice(4)}`), 422, 'invalid_cursor');
    await refused(list(one.run.id, '?cursor=rc1_x'), 422, 'invalid_cursor');
    await refused(list(newId()), 404, 'not_found');
  });
});

describe('POST /runs/{id}/control-messages/{messageId}:acknowledge', () => {
  test('resolves the message, increases both versions, and counts as progress of the run', async () => {
    const made = await makeRun(baton, worker);
    const { controlMessage: message } = await done(say(made.run.id, { reason: 'why' }, manager), 201);
    const body = await done(acknowledge(made, message));
    assert.equal(body.runVersion, 3);
    const run = await readRun(made.run.id);
    assert.deepEqual([run.version, run.lastProgressAt >= body.controlMessage.resolvedAt], [3, true]);
    assert.ok(run.lastProgressAt > run.startedAt);
    assert.deepEqual(body.controlMessage, {
      ...message,
      status: 'applied',
      safeBoundary: 'after checkpoint 4',
      acknowledgedByPrincipalId: worker.actor.principalId,
      version: 2,
      resolvedAt: body.controlMessage.resolvedAt,
    });
    const event = (await eventsOf(baton, made.run.id)).at(-1);
    assert.equal(event?.type, 'run.control_message.applied');
    assert.deepEqual(event?.payload, {
      taskId: made.task.id,
      controlMessageId: message.id,
      seq: 1,
      operation: 'steer',
      status: 'applied',
      causalPosition: 'checkpoint:3',
      safeBoundary: 'after checkpoint 4',
    });
  });

  test('rejected and superseded need no boundary; a reason replaces the sender’s', async () => {
    const made = await makeRun(baton, worker);
    for (const status of ['rejected', 'superseded']) {
      const { version } = await readRun(made.run.id);
      const sent = await done(say(made.run.id, { expectedRunVersion: version, reason: 'why' }), 201);
      const more = { status, safeBoundary: null, reason: status === 'rejected' ? 'out of reach' : '' };
      const { controlMessage } = await done(acknowledge(made, sent.controlMessage, more));
      assert.deepEqual([controlMessage.status, controlMessage.safeBoundary], [status, null]);
      assert.equal(controlMessage.reason, status === 'rejected' ? 'out of reach' : 'why');
    }
    const types = await typesOf(made.run.id);
    assert.deepEqual(
      [types[2], types[4]],
      ['run.control_message.rejected', 'run.control_message.superseded'],
    );
  });

  test('refuses in the order status, message, text, run, status of the run, holder, gate, version, message, its state, version and order', async () => {
    const made = await makeRun(baton, worker);
    const { run, task } = made;
    const { controlMessage: message } = await done(say(run.id, {}, manager), 201);
    const { controlMessage: second } = await done(say(run.id, { expectedRunVersion: 2 }, manager), 201);
    const wrong = { status: 'ignored', safeBoundary: '', claimId: newId(), expectedRunVersion: 9 };
    await refused(acknowledge(made, message, wrong), 422, 'invalid_control_status');
    const blank = await refused(
      acknowledge(made, message, { safeBoundary: ' ' }),
      422,
      'invalid_control_message',
    );
    assert.deepEqual(blank, { field: 'safeBoundary' });
    await refused(acknowledge(made, message, { reason: 'C:\\work' }), 422, 'unsafe_control_payload');
    await refused(
      acknowledge(made, message, { reason: `sk-${'a'.repeat(20)}` }),
      422,
      'secret_material_rejected',
    );
    const nowhere = { ...made, run: { ...run, id: newId() } };
    const post = (path: string, body: object, by = worker.actor) => by.post(path, body);
    const right = {
      status: 'applied',
      safeBoundary: 'x',
      claimId: made.claim.id,
      fencingToken: 1,
      expectedRunVersion: 3,
      expectedMessageVersion: 1,
    };
    await refused(
      post(`/runs/${nowhere.run.id}/control-messages/${message.id}:acknowledge`, right),
      404,
      'not_found',
    );
    await refused(acknowledge(made, message, {}, rival), 403, 'run_holder_mismatch');
    await refused(acknowledge(made, message, { fencingToken: 7 }), 409, 'stale_claim');
    await refused(acknowledge(made, message, { claimId: newId() }), 409, 'stale_claim');
    const old = await refused(
      acknowledge(made, { id: newId() }, { expectedRunVersion: 2 }),
      409,
      'run_version_conflict',
    );
    assert.deepEqual(old, { expectedVersion: 2, currentVersion: 3 });
    await refused(acknowledge(made, { id: newId() }), 404, 'not_found');
    const version = { expectedMessageVersion: 3 };
    const conflict = await refused(
      acknowledge(made, second, version),
      409,
      'control_message_version_conflict',
    );
    assert.deepEqual(conflict, { expectedVersion: 3, currentVersion: 1 });
    const turn = await refused(acknowledge(made, second), 409, 'control_message_out_of_order');
    assert.deepEqual(turn, { earliestAcceptedId: message.id });
    await done(acknowledge(made, message));
    const terminal = await refused(acknowledge(made, message, version), 409, 'control_message_terminal');
    assert.deepEqual(terminal, { controlMessageId: message.id, status: 'applied' });
    await endClaimLease(baton, task.id);
    await refused(acknowledge(made, second), 409, 'stale_claim');
    const taken = await claimTask(rival, task.id);
    const shown = { claimId: taken.id, fencingToken: taken.fencingToken };
    await refused(acknowledge(made, second, shown), 403, 'claim_holder_mismatch');
    await done(worker.actor.post(`/runs/${run.id}:fail`));
    await refused(acknowledge(made, second), 409, 'run_not_active');
  });

  test("a session whose delegation has ended can't acknowledge, and is closed", async () => {
    const human = await baton.actor({ kind: 'human' });
    const delegationId = await delegate(human, worker.actor, baton);
    const sessionId = await openSession(worker.actor, { onBehalfOf: human.principalId });
    const made = await makeRun(baton, { ...worker, sessionId });
    const { controlMessage } = await done(say(made.run.id, {}, manager), 201);
    await endDelegation(baton, delegationId);
    await refused(acknowledge(made, controlMessage), 409, 'stale_claim');
    assert.equal((await done(baton.admin.get(`/sessions/${sessionId}`))).status, 'closed');
  });

  test('an applied request to cancel stops further actions', async () => {
    const made = await makeRun(baton, worker);
    const ask = { operation: 'request_cancel', directive: null };
    const { controlMessage } = await done(say(made.run.id, ask, manager), 201);
    const act = () => worker.actor.post(`/runs/${made.run.id}/actions`, { action: 'edit' });
    await done(act(), 201);
    await done(acknowledge(made, controlMessage));
    await refused(act(), 409, 'run_cancel_requested');
  });
});

describe('POST /runs/{id}:request-cancel', () => {
  const request = (runId: string, body?: object, by: Actor = worker.actor) =>
    by.post(`/runs/${runId}:request-cancel`, body);

  test('records the request on the run and adds a control message; repeating it has no effect', async () => {
    const { run, task } = await makeRun(baton, worker);
    const asked = await done(request(run.id, { reason: 'enough' }, manager));
    assert.deepEqual(
      [asked.status, asked.version, asked.cancelRequestedBy],
      ['running', 2, manager.principalId],
    );
    assert.deepEqual(await done(request(run.id)), asked);
    const { items } = await done(list(run.id));
    assert.equal(items.length, 1);
    const [{ operation, causalPosition, reason, directive, idempotencyKey, id }] = items;
    assert.deepEqual(
      [operation, causalPosition, reason, directive, idempotencyKey],
      ['request_cancel', 'legacy:request-cancel', 'enough', null, `legacy:request-cancel:${id}`],
    );
    const events = await eventsOf(baton, run.id);
    assert.deepEqual(
      events.slice(1).map(({ type }) => type),
      ['run.control_message.accepted', 'run.cancel_requested'],
    );
    assert.deepEqual(events[2]?.payload, {
      taskId: task.id,
      attempt: 1,
      reason: 'enough',
      controlMessageId: id,
    });
  });

  test('is refused for others, and for a run that has ended', async () => {
    const { run } = await makeRun(baton, worker);
    const details = await refused(request(run.id, undefined, rival.actor), 403, 'permission_denied');
    assert.deepEqual(details, { required: ['claims.manage'] });
    const reader = await baton.actor({ permissions: ['tasks.read', 'tasks.write'] });
    for (const runId of [run.id, newId()])
      assert.deepEqual(await refused(request(runId, undefined, reader), 403, 'permission_denied'), {
        required: ['claims.manage'],
      });
    await refused(request(run.id, { reason: 'see /tmp/x' }), 422, 'unsafe_control_payload');
    await refused(request(run.id, { reason: `token=${'x'.repeat(20)}` }), 422, 'secret_material_rejected');
    await refused(request(newId()), 404, 'not_found');
    await refused(request(run.id, undefined, baton.otherAdmin), 404, 'not_found');
    await done(worker.actor.post(`/runs/${run.id}:cancel`));
    await refused(request(run.id), 409, 'run_not_active');
  });
});
