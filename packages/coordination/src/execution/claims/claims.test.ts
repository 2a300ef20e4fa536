import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import {
  claimTask,
  delegate,
  done,
  endClaimLease,
  endDelegation,
  endSessionLease,
  eventsOf,
  makeTask,
  makeWorker,
  openSession,
  refused,
  type Worker,
} from '../../testing/leases.ts';

let baton: TestCoordination;
let worker: Worker;
let rival: Worker;

before(async () => {
  baton = await startCoordination();
  [worker, rival] = [await makeWorker(baton), await makeWorker(baton)];
});
after(() => baton.close());

const readTask = (id: string) => done(baton.admin.get(`/tasks/${id}`));
const typesOf = async (...ids: string[]) => (await eventsOf(baton, ...ids)).map(({ type }) => type);
const lifeSeconds = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 1000;

async function block(taskId: string, prerequisiteId: string) {
  await baton.pool.run(sql`
    insert into task_relations (id, tenant_id, from_task_id, to_task_id, type, created_by)
    values (${newId()}, ${baton.tenantId}, ${taskId}, ${prerequisiteId}, 'depends_on', ${baton.admin.principalId})`);
}

describe('POST /tasks/{ref}:claim', () => {
  test('grants the lease, moves the task to the claim status and emits the event', async () => {
    const task = await makeTask(baton);
    const claim = await claimTask(worker, task.publicId.toLowerCase(), { intent: 'try', ttlSeconds: 60 });
    assert.equal(claim.id, claim.claimId);
    assert.equal(claim.taskId, task.id);
    assert.equal(claim.holderId, worker.actor.principalId);
    assert.equal(claim.sessionId, worker.sessionId);
    assert.equal(claim.status, 'active');
    assert.equal(claim.fencingToken, 1);
    assert.equal(claim.intent, 'try');
    assert.equal(lifeSeconds(claim.acquiredAt, claim.expiresAt), 60);
    assert.equal(claim.releasedAt, null);
    const { status, version, claimEpoch, activeClaimId } = await readTask(task.id);
    assert.deepEqual(
      { status, version, claimEpoch, activeClaimId },
      { status: 'in_progress', version: 2, claimEpoch: 1, activeClaimId: claim.id },
    );
    const [, claimed] = await eventsOf(baton, task.id);
    assert.equal(claimed?.actor_id, worker.actor.principalId);
    assert.equal(claimed?.session_id, worker.sessionId);
    assert.deepEqual(claimed?.payload, {
      publicId: task.publicId,
      claimId: claim.id,
      sessionId: worker.sessionId,
      holderId: worker.actor.principalId,
      fencingToken: 1,
      expiresAt: claim.expiresAt,
      status: 'in_progress',
      systemStatusCategory: 'active',
      version: 2,
    });
  });

  test('the same with an Idempotency-Key, which replays the claim', async () => {
    const task = await makeTask(baton);
    const claim = () =>
      worker.actor.post(
        `/tasks/${task.id}:claim`,
        { sessionId: worker.sessionId },
        { 'idempotency-key': `claim ${task.id}` },
      );
    const [first, second] = [await claim(), await claim()];
    assert.equal(first.status, 200);
    assert.deepEqual(second.body, first.body);
    assert.equal(second.headers.get('idempotency-replayed'), 'true');
    assert.deepEqual(await typesOf(task.id), ['task.created', 'task.claimed']);
    await refused(
      rival.actor.post(
        `/tasks/${task.id}:claim`,
        { sessionId: rival.sessionId },
        { 'idempotency-key': 'another' },
      ),
      409,
      'task_already_claimed',
    );
  });

  test('refuses in the order session, task, prerequisites, live claim, ttl', async () => {
    const [task, prerequisite] = [await makeTask(baton), await makeTask(baton)];
    const claim = (sessionId: string, taskId = task.id) =>
      worker.actor.post(`/tasks/${taskId}:claim`, { sessionId, ttlSeconds: 9 });
    await refused(claim(newId(), newId()), 404, 'not_found');
    await refused(claim(rival.sessionId, newId()), 403, 'session_owner_mismatch');
    const closed = await openSession(worker.actor);
    await done(worker.actor.post(`/sessions/${closed}:close`));
    const inactive = await refused(claim(closed, newId()), 409, 'session_not_active');
    assert.deepEqual(inactive, { sessionId: closed, status: 'closed' });
    const over = await openSession(worker.actor);
    await endSessionLease(baton, over);
    await refused(claim(over, newId()), 409, 'session_expired');
    await refused(claim(worker.sessionId, newId()), 404, 'not_found');
    await refused(claim(worker.sessionId, 'TASK-999999'), 404, 'not_found');

    await block(task.id, prerequisite.id);
    await claimTask(rival, prerequisite.id);
    const unmet = await refused(claim(worker.sessionId), 409, 'task_not_ready');
    assert.deepEqual(unmet.blockedBy, [
      {
        taskId: prerequisite.id,
        publicId: prerequisite.publicId,
        status: 'in_progress',
        systemStatusCategory: 'active',
      },
    ]);
    const taken = await refused(claim(worker.sessionId, prerequisite.id), 409, 'task_already_claimed');
    assert.equal(taken.taskId, prerequisite.id);
    const bounds = await refused(claim(worker.sessionId, (await makeTask(baton)).id), 422, 'invalid_ttl');
    assert.deepEqual(bounds, { min: 10, max: 3600 });

    await baton.pool.run(
      sql`update tasks set category = 'terminal_cancelled', status = 'cancelled' where id = ${task.id}`,
    );
    const terminal = await refused(claim(worker.sessionId), 422, 'task_not_claimable');
    assert.deepEqual(terminal, {
      taskId: task.id,
      status: 'cancelled',
      systemStatusCategory: 'terminal_cancelled',
    });
  });

  test("another tenant's session and task are not found", async () => {
    const task = await makeTask(baton);
    const stranger = await makeWorker(baton, { tenantId: baton.otherTenantId });
    const claim = (sessionId: string) => stranger.actor.post(`/tasks/${task.id}:claim`, { sessionId });
    await refused(claim(stranger.sessionId), 404, 'not_found');
    await refused(claim(worker.sessionId), 404, 'not_found');
  });

  test('takes over a claim whose lease has expired: the dead one becomes stale, with an expired event', async () => {
    const task = await makeTask(baton);
    const dead = await claimTask(worker, task.id);
    await endClaimLease(baton, task.id);
    const claim = await claimTask(rival, task.id);
    assert.equal(claim.fencingToken, 2);
    const stale = await done(worker.actor.get(`/claims/${dead.id}`));
    assert.equal(stale.status, 'stale');
    assert.equal(stale.releaseReason, 'expired');
    const [expired, claimed] = (await eventsOf(baton, task.id, dead.id)).slice(2);
    assert.equal(expired?.type, 'claim.expired');
    assert.equal(expired?.actor_id, rival.actor.principalId);
    assert.deepEqual(expired?.payload, { taskId: task.id, reason: 'expired' });
    assert.equal(claimed?.type, 'task.claimed');
    assert.equal(claimed?.payload.version, 3);
  });

  test('takes over a claim whose session is dead, though its own lease is live', async () => {
    const [task, other] = [await makeTask(baton), await makeTask(baton)];
    const [expiring, closing] = [await openSession(worker.actor), await openSession(worker.actor)];
    const dead = await claimTask({ ...worker, sessionId: expiring }, task.id);
    await endSessionLease(baton, expiring);
    assert.equal((await claimTask(rival, task.id)).fencingToken, 2);
    const reaped = (await eventsOf(baton, dead.id)).at(-1);
    assert.deepEqual(reaped?.payload, { taskId: task.id, reason: 'session_inactive' });
    await claimTask({ ...worker, sessionId: closing }, other.id);
    await done(worker.actor.post(`/sessions/${closing}:close`));
    assert.equal((await claimTask(rival, other.id)).fencingToken, 2);
  });

  test('under a session whose delegation has ended, it closes that session, which is committed', async () => {
    const human = await baton.actor({ kind: 'human' });
    const delegationId = await delegate(human, worker.actor, baton);
    const sessionId = await openSession(worker.actor, { onBehalfOf: human.principalId });
    const [held, task] = [await makeTask(baton), await makeTask(baton)];
    const claim = await claimTask({ ...worker, sessionId }, held.id);
    await endDelegation(baton, delegationId);
    const details = await refused(
      worker.actor.post(`/tasks/${task.id}:claim`, { sessionId }),
      409,
      'session_not_active',
    );
    assert.deepEqual(details, { sessionId, status: 'closed' });
    const session = await done(worker.actor.get(`/sessions/${sessionId}`));
    assert.equal(session.status, 'closed');
    const released = await done(worker.actor.get(`/claims/${claim.id}`));
    assert.deepEqual([released.status, released.releaseReason], ['released', 'delegation_ended']);
    assert.deepEqual((await eventsOf(baton, sessionId)).at(-1)?.payload, {
      releasedClaims: 1,
      reason: 'delegation_ended',
    });
  });

  test("moves the task only along a declared edge, and doesn't fail without one", async () => {
    const lifecycle = {
      statuses: [
        { key: 'new', category: 'active' as const, displayName: 'New' },
        { key: 'busy', category: 'active' as const, displayName: 'Busy' },
        { key: 'done', category: 'terminal_success' as const, displayName: 'Done' },
      ],
      initialStatus: 'new',
      transitions: [{ from: 'new', to: ['done'] }],
      claimStatus: 'busy',
      releaseStatus: 'new',
      completionStatus: 'done',
    };
    const typeId = await insertTestType(baton, { key: 'still', lifecycle });
    const task = await makeTask(baton, { typeId });
    const claim = await claimTask(worker, task.id);
    assert.equal((await readTask(task.id)).status, 'new');
    await baton.pool.run(sql`update tasks set status = 'busy' where id = ${task.id}`);
    await done(worker.actor.post(`/claims/${claim.id}:release`));
    assert.equal((await readTask(task.id)).status, 'busy');
  });
});

describe('GET /claims', () => {
  test('lists newest first in pages, with filters, and without claims of another tenant', async () => {
    const session = await openSession(worker.actor);
    const claims = [];
    for (let count = 0; count < 3; count += 1) {
      const { id } = await makeTask(baton);
      claims.push(await claimTask({ ...worker, sessionId: session }, id));
    }
    const ids = claims.map(({ id }) => id).reverse();
    const first = await done(worker.actor.get(`/claims?sessionId=${session}&limit=2`));
    assert.deepEqual(
      first.items.map(({ id }: { id: string }) => id),
      ids.slice(0, 2),
    );
    const rest = await done(
      worker.actor.get(`/claims?sessionId=${session}&limit=2&cursor=${first.nextCursor}`),
    );
    assert.deepEqual(rest, { items: [claims[0]], nextCursor: null });
    await done(worker.actor.post(`/claims/${ids[0]}:release`));
    const active = await done(worker.actor.get(`/claims?sessionId=${session}&status=active`));
    assert.equal(active.items.length, 2);
    const ofTask = await done(worker.actor.get(`/claims?taskId=${claims[0].taskId}`));
    assert.deepEqual(ofTask.items, [claims[0]]);
    assert.deepEqual((await done(baton.otherAdmin.get(`/claims?taskId=${claims[0].taskId}`))).items, []);
    await refused(worker.actor.get('/claims?status=lost'), 422, 'invalid_status');
    await refused(worker.actor.get('/claims?cursor=abc'), 422, 'invalid_cursor');
    await refused(worker.actor.get(`/claims/${newId()}`), 404, 'not_found');
    await refused(baton.otherAdmin.get(`/claims/${ids[0]}`), 404, 'not_found');
  });
});

describe('POST /claims/{id}:heartbeat', () => {
  test('extends or shortens the lease of the claim and its task together, and emits no event', async () => {
    const task = await makeTask(baton);
    const claim = await claimTask(worker, task.id, { ttlSeconds: 900 });
    const { version } = await readTask(task.id);
    for (const ttlSeconds of [600, 20]) {
      const beat = await done(worker.actor.post(`/claims/${claim.id}:heartbeat`, { ttlSeconds }));
      assert.equal(lifeSeconds(beat.heartbeatAt, beat.expiresAt), ttlSeconds);
      const row = await baton.pool.row<{ lease_expires_at: string }>(
        sql`select lease_expires_at from tasks where id = ${task.id}`,
      );
      assert.equal(row?.lease_expires_at, beat.expiresAt);
    }
    // Without a length, the lease is renewed for its original length.
    for (const body of [{}, { ttlSeconds: null }, undefined]) {
      const beat = await done(worker.actor.post(`/claims/${claim.id}:heartbeat`, body));
      assert.equal(lifeSeconds(beat.heartbeatAt, beat.expiresAt), 900);
    }
    assert.equal((await readTask(task.id)).version, version);
    assert.deepEqual(await typesOf(task.id, claim.id), ['task.created', 'task.claimed']);
  });

  test('is refused for another principal, an ended claim, an expired lease and a dead session, in this order', async () => {
    const [task, other] = [await makeTask(baton), await makeTask(baton)];
    const session = await openSession(worker.actor);
    const claim = await claimTask({ ...worker, sessionId: session }, task.id);
    const beat = (id = claim.id, actor = worker.actor) =>
      actor.post(`/claims/${id}:heartbeat`, { ttlSeconds: 9 });
    const stranger = await makeWorker(baton, { permissions: ['sessions.open', 'tasks.claim'] });
    await refused(beat(newId()), 404, 'not_found');
    await refused(beat(claim.id, baton.otherAdmin), 404, 'not_found');
    await refused(beat(claim.id, stranger.actor), 403, 'claim_holder_mismatch');
    await refused(beat(), 422, 'invalid_ttl');
    await endSessionLease(baton, session);
    const dead = await refused(beat(), 409, 'session_not_active');
    assert.deepEqual(dead, { sessionId: session, status: 'stale' });
    await endClaimLease(baton, task.id);
    const over = await refused(beat(), 409, 'claim_expired');
    assert.ok(over.expiresAt < new Date().toISOString());
    await done(worker.actor.post(`/claims/${claim.id}:release`));
    const ended = await refused(beat(), 409, 'claim_not_active');
    assert.deepEqual(ended, { claimId: claim.id, status: 'released' });
    await refused(beat(claim.id, stranger.actor), 403, 'claim_holder_mismatch');

    const held = await claimTask(worker, other.id);
    const manager = await baton.actor({ permissions: ['claims.manage'] });
    await done(manager.post(`/claims/${held.id}:heartbeat`, { ttlSeconds: 30 }));
  });

  test('under a session whose delegation has ended, it closes that session', async () => {
    const human = await baton.actor({ kind: 'human' });
    const delegationId = await delegate(human, worker.actor, baton);
    const sessionId = await openSession(worker.actor, { onBehalfOf: human.principalId });
    const task = await makeTask(baton);
    const claim = await claimTask({ ...worker, sessionId }, task.id);
    await endDelegation(baton, delegationId);
    const beat = () => worker.actor.post(`/claims/${claim.id}:heartbeat`);
    await refused(beat(), 409, 'session_not_active');
    await refused(beat(), 409, 'claim_not_active');
    assert.equal((await readTask(task.id)).activeClaimId, null);
  });
});

describe('POST /claims/{id}:release', () => {
  test('frees the task, moves it to the release status and emits the event', async () => {
    const task = await makeTask(baton);
    const claim = await claimTask(worker, task.id);
    const released = await done(worker.actor.post(`/claims/${claim.id}:release`, { reason: 'lunch' }));
    assert.equal(released.status, 'released');
    assert.equal(released.releaseReason, 'lunch');
    assert.notEqual(released.releasedAt, null);
    const { status, version, claimEpoch, activeClaimId } = await readTask(task.id);
    assert.deepEqual(
      { status, version, claimEpoch, activeClaimId },
      { status: 'todo', version: 3, claimEpoch: 1, activeClaimId: null },
    );
    const [, event] = (await eventsOf(baton, claim.id, task.id)).slice(1);
    assert.deepEqual(event?.payload, {
      taskId: task.id,
      reason: 'lunch',
      taskStatus: 'todo',
      taskSystemStatusCategory: 'active',
    });
    const again = await done(worker.actor.post(`/claims/${claim.id}:release`));
    assert.deepEqual(again, released);
    assert.equal((await readTask(task.id)).version, 3);
    assert.equal((await typesOf(claim.id)).length, 1);
  });

  test("doesn't move a task that is no longer in the claim status", async () => {
    const task = await makeTask(baton);
    const claim = await claimTask(worker, task.id);
    await baton.pool.run(
      sql`update tasks set status = 'blocked', category = 'blocked' where id = ${task.id}`,
    );
    const released = await done(worker.actor.post(`/claims/${claim.id}:release`, {}));
    assert.equal(released.releaseReason, 'released');
    assert.equal((await readTask(task.id)).status, 'blocked');
  });

  test('is allowed for the holder or a manager', async () => {
    const task = await makeTask(baton);
    const claim = await claimTask(worker, task.id);
    const release = `/claims/${claim.id}:release`;
    const stranger = await baton.actor({ permissions: ['tasks.claim'] });
    await refused(stranger.post(release), 403, 'claim_holder_mismatch');
    await refused(stranger.post(`/claims/${newId()}:release`), 404, 'not_found');
    await refused(baton.otherAdmin.post(release), 404, 'not_found');
    await refused(worker.actor.post(release, { reason: '' }), 400, 'invalid_request');
    await done((await baton.actor({ permissions: ['claims.manage'] })).post(release));
  });

  test('closing its session releases a claim with the reason session_closed', async () => {
    const session = await openSession(worker.actor);
    const tasks = [await makeTask(baton), await makeTask(baton)];
    const claims = [];
    for (const { id } of tasks) claims.push(await claimTask({ ...worker, sessionId: session }, id));
    await done(worker.actor.post(`/sessions/${session}:close`));
    for (const claim of claims) {
      const { status, releaseReason } = await done(worker.actor.get(`/claims/${claim.id}`));
      assert.deepEqual({ status, releaseReason }, { status: 'released', releaseReason: 'session_closed' });
      assert.equal((await readTask(claim.taskId)).status, 'todo');
    }
    const events = await eventsOf(baton, session, ...claims.map(({ id }) => id));
    assert.deepEqual(
      events.map(({ type }) => type),
      ['session.opened', 'claim.released', 'claim.released', 'session.closed'],
    );
    assert.deepEqual(events.at(-1)?.payload, { releasedClaims: 2 });
  });

  test('a heartbeat of an expired session releases its claims in the same transaction', async () => {
    const session = await openSession(worker.actor);
    const task = await makeTask(baton);
    const claim = await claimTask({ ...worker, sessionId: session }, task.id);
    await endSessionLease(baton, session);
    await refused(worker.actor.post(`/sessions/${session}:heartbeat`), 409, 'session_expired');
    const released = await done(worker.actor.get(`/claims/${claim.id}`));
    assert.deepEqual([released.status, released.releaseReason], ['released', 'session_expired']);
    const events = await eventsOf(baton, session, claim.id);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['session.opened', 'claim.released', 'session.expired'],
    );
    assert.equal(events.at(-1)?.payload.releasedClaims, 1);
  });
});

describe('POST /claims/{id}:reclaim', () => {
  const reclaim = (by: Worker, claimId: string, more: object = {}) =>
    by.actor.post(`/claims/${claimId}:reclaim`, { sessionId: by.sessionId, ...more });

  test('takes over the task of a dead claim, and is refused while the claim is live', async () => {
    const task = await makeTask(baton);
    const claim = await claimTask(worker, task.id);
    const live = await refused(reclaim(rival, claim.id), 409, 'claim_not_expired');
    assert.equal(live.expiresAt, claim.expiresAt);
    await endClaimLease(baton, task.id);
    const taken = await done(reclaim(rival, claim.id, { intent: 'mine now', ttlSeconds: 60 }));
    assert.equal(taken.fencingToken, 2);
    assert.equal(taken.holderId, rival.actor.principalId);
    assert.deepEqual(await typesOf(claim.id), ['claim.expired']);
    const second = await refused(reclaim(worker, claim.id), 409, 'task_already_claimed');
    assert.equal(second.claimId, taken.id);
  });

  test('succeeds for a claim with a dead session; for a released one it works like :claim', async () => {
    const [task, other] = [await makeTask(baton), await makeTask(baton)];
    const session = await openSession(worker.actor);
    const dead = await claimTask({ ...worker, sessionId: session }, task.id);
    const ended = await claimTask(worker, other.id);
    await endSessionLease(baton, session);
    await done(reclaim(rival, dead.id));
    await done(worker.actor.post(`/claims/${ended.id}:release`));
    assert.equal((await done(reclaim(rival, ended.id))).fencingToken, 2);
  });

  test('runs the checks of :claim after its own, and is allowed with claims.manage', async () => {
    const [task, prerequisite] = [await makeTask(baton), await makeTask(baton)];
    const claim = await claimTask(worker, task.id);
    const manager = await makeWorker(baton, { permissions: ['claims.manage', 'sessions.open'] });
    await refused(reclaim(manager, newId()), 404, 'not_found');
    await refused(reclaim({ ...manager, sessionId: newId() }, claim.id), 404, 'not_found');
    await refused(
      reclaim({ ...manager, sessionId: worker.sessionId }, claim.id),
      403,
      'session_owner_mismatch',
    );
    const session = await openSession(manager.actor);
    await endSessionLease(baton, session);
    await refused(reclaim({ ...manager, sessionId: session }, claim.id), 409, 'session_expired');
    await done(manager.actor.post(`/sessions/${session}:close`));
    await refused(reclaim({ ...manager, sessionId: session }, claim.id), 409, 'session_not_active');
    await refused(reclaim(manager, claim.id, { ttlSeconds: 9 }), 409, 'claim_not_expired');
    await endClaimLease(baton, task.id);
    await refused(reclaim(manager, claim.id, { ttlSeconds: 9 }), 422, 'invalid_ttl');
    await block(task.id, prerequisite.id);
    await refused(reclaim(manager, claim.id), 409, 'task_not_ready');
    await baton.pool.run(
      sql`update tasks set category = 'terminal_success', status = 'done' where id = ${prerequisite.id}`,
    );
    await done(reclaim(manager, claim.id));
    await baton.pool.run(
      sql`update tasks set category = 'terminal_success', status = 'done' where id = ${task.id}`,
    );
    await endClaimLease(baton, task.id);
    await refused(reclaim(manager, claim.id), 422, 'task_not_claimable');
  });

  test('under a session whose delegation has ended, it closes that session', async () => {
    const human = await baton.actor({ kind: 'human' });
    const delegationId = await delegate(human, rival.actor, baton);
    const sessionId = await openSession(rival.actor, { onBehalfOf: human.principalId });
    const [task, held] = [await makeTask(baton), await makeTask(baton)];
    const claim = await claimTask(worker, task.id);
    await claimTask({ ...rival, sessionId }, held.id);
    await endDelegation(baton, delegationId);
    await refused(reclaim({ ...rival, sessionId }, claim.id), 409, 'session_not_active');
    assert.equal((await readTask(held.id)).activeClaimId, null);
  });
});

test('claim_takeovers_total counts successful take-overs', async () => {
  const takeovers = async () =>
    Number(/^claim_takeovers_total (\d+)$/m.exec((await baton.request('GET', '/metrics')).body)?.[1]);
  const task = await makeTask(baton);
  const claim = await claimTask(worker, task.id);
  const before = await takeovers();
  await refused(
    rival.actor.post(`/claims/${claim.id}:reclaim`, { sessionId: rival.sessionId }),
    409,
    'claim_not_expired',
  );
  assert.equal(await takeovers(), before);
  await endClaimLease(baton, task.id);
  await claimTask(rival, task.id);
  assert.equal(await takeovers(), before + 1);
});

test('rows that claims reference without a foreign key can be neither removed nor renumbered', async () => {
  for (const table of ['sessions', 'principals'])
    for (const text of [
      `delete from ${table}`,
      `truncate ${table} cascade`,
      `update ${table} set id = gen_random_uuid()`,
    ])
      await assert.rejects(baton.pool.run({ text, values: [] }), /refused/);
});
