import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import type { Job } from '../../service/job.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { checkLeaseInvariants } from '../../testing/execution/lease-invariants.ts';
import {
  claimTask,
  delegate,
  done,
  endSessionLease,
  eventsOf,
  makeTask,
  makeWorker,
  openSession,
  refused,
  type Worker,
} from '../../testing/leases.ts';
import { finishAllEndings, makeWorkerTools } from '../../testing/sweepers.ts';
import { expireDueSessions, finishEndings } from './sweeper.ts';

const claimsCount = 250;
const firstBatch = 100;

let baton: TestCoordination;
let jobs: { endings: Job; sessions: Job; close(): Promise<void> };
before(async () => {
  baton = await startCoordination();
  const { tools, close } = makeWorkerTools(baton);
  jobs = { endings: finishEndings(tools), sessions: expireDueSessions(tools), close };
});
after(async () => {
  await jobs.close();
  await baton.close();
});

/** A worker that holds many claims, each with its events in the journal. */
async function makeHolder(): Promise<Worker> {
  const worker = await makeWorker(baton);
  const task = await makeTask(baton);
  await claimTask(worker, task.id);
  const ids = Array.from({ length: claimsCount - 1 }, () => [newId(), newId()] as const);
  await baton.pool.run(sql`
    with given as (
      select n, t, c from unnest(${ids.map(([id]) => id)}::uuid[], ${ids.map(([, id]) => id)}::uuid[])
        with ordinality as given (t, c, n)
    ), made as (
      insert into tasks (id, tenant_id, public_number, type_id, title, status, category, priority, origin, created_by,
        claim_epoch, active_claim_id, lease_expires_at)
      select given.t, tenant_id, next_task_number(tenant_id), type_id, title, status, category, priority, origin, created_by,
        1, given.c, lease_expires_at
      from tasks, given where tasks.id = ${task.id}
      returning id, active_claim_id, lease_expires_at, tenant_id
    ), claimed as (
      insert into claims (id, tenant_id, task_id, session_id, holder_id, fencing_token, expires_at)
      select active_claim_id, tenant_id, id, ${worker.sessionId}, ${worker.actor.principalId}, 1, lease_expires_at from made
    ), logged as (
      insert into events (id, tenant_id, type, schema_version, entity_type, entity_id, payload)
      select gen_random_uuid(), tenant_id, 'task.claimed', 1, 'task', id,
        jsonb_build_object('claimId', active_claim_id, 'fencingToken', 1)
      from made returning sequence, tenant_id
    )
    insert into outbox (event_sequence, tenant_id) select sequence, tenant_id from logged`);
  return worker;
}

const activeClaims = async ({ actor }: Worker) =>
  (
    await baton.pool.row<{ count: number }>(sql`
      select count(*) as count from claims where holder_id = ${actor.principalId} and status = 'active'`)
  )?.count;

const finish = () => finishAllEndings(baton);

/** Counts the events that end a worker's claims before and after the given event, and lists their reasons. */
async function releasesAround(type: string, entityId: string, { actor }: Worker) {
  return baton.pool.row<{ before: number; after: number; reasons: string[] }>(sql`
    with mark as (select position, sequence from events where type = ${type} and entity_id = ${entityId})
    select count(*) filter (where (e.position, e.sequence) < (mark.position, mark.sequence)) as before,
      count(*) filter (where (e.position, e.sequence) > (mark.position, mark.sequence)) as after,
      array_agg(distinct e.payload ->> 'reason') as reasons
    from mark, events e join claims c on c.id = e.entity_id
    where e.type = 'claim.released' and c.holder_id = ${actor.principalId}`);
}

test('a disable returns after the first 100 claims; the worker releases the others in batches', async () => {
  const worker = await makeHolder();
  const id = worker.actor.principalId;
  await done(baton.admin.post(`/principals/${id}:disable`));
  assert.equal(await activeClaims(worker), claimsCount - firstBatch);
  const disabled = (await eventsOf(baton, id)).find(({ type }) => type === 'principal.disabled');
  assert.deepEqual(
    [disabled?.payload['closedSessions'], disabled?.payload['releasedClaims']],
    [1, claimsCount],
  );
  const [closed] = (await eventsOf(baton, worker.sessionId)).slice(-1);
  assert.deepEqual(closed?.payload, { releasedClaims: claimsCount, reason: 'principal_disabled' });

  // Work that the principal starts after being enabled again is kept.
  await done(baton.admin.post(`/principals/${id}:enable`));
  const identity = {
    issuer: baton.issuer.issuer,
    iamTenantId: baton.tenantId,
    iamPrincipalId: worker.actor.iamPrincipalId,
    permissions: ['sessions.open', 'tasks.claim', 'tasks.read'],
  };
  await done(baton.admin.post(`/principals/${id}/iam-bindings`, identity));
  const again = { actor: worker.actor, sessionId: await openSession(worker.actor) };
  const { id: kept } = await claimTask(again, (await makeTask(baton)).id);
  await Promise.all([finish(), finish()]);
  assert.equal(await activeClaims(worker), 1);
  assert.equal((await done(worker.actor.get(`/claims/${kept}`))).status, 'active');
  assert.deepEqual(await releasesAround('principal.disabled', id, worker), {
    before: firstBatch,
    after: claimsCount - firstBatch,
    reasons: ['principal_disabled'],
  });
  await checkLeaseInvariants(baton);
});

test('sessions opened before a disable stay dead after an enable, even if the worker has not closed them yet', async () => {
  const human = await baton.actor({ kind: 'human' });
  const agent = await baton.actor();
  await delegate(human, agent, baton);
  const sessions = await Promise.all([
    ...Array.from({ length: firstBatch }, () => openSession(human)),
    openSession(agent, { onBehalfOf: human.principalId }),
  ]);
  // The sessions with the highest ids are left to the worker.
  const later = await Promise.all([
    openSession(human),
    openSession(agent, { onBehalfOf: human.principalId }),
  ]);
  const [own, onBehalf] = [
    { actor: human, sessionId: later[0] },
    { actor: agent, sessionId: later[1] },
  ];
  const [claim, other] = [
    await claimTask(own, (await makeTask(baton)).id),
    await claimTask(onBehalf, (await makeTask(baton)).id),
  ];
  await done(baton.admin.post(`/principals/${human.principalId}:disable`));
  await done(baton.admin.post(`/principals/${human.principalId}:enable`));
  await baton.pool.run(
    sql`update delegations set revoked_at = null where human_principal_id = ${human.principalId}`,
  );
  await done(
    baton.admin.post(`/principals/${human.principalId}/iam-bindings`, {
      issuer: baton.issuer.issuer,
      iamTenantId: baton.tenantId,
      iamPrincipalId: human.iamPrincipalId,
      permissions: ['sessions.open', 'tasks.claim', 'tasks.read', 'tasks.write'],
    }),
  );
  const states = await baton.pool.rows<{ status: string }>(sql`
    select distinct status from sessions where id = any (${later}::uuid[])`);
  assert.deepEqual(states, [{ status: 'active' }], 'the worker has not handled it yet');

  const task = await makeTask(baton);
  for (const { actor, sessionId } of [own, onBehalf])
    for (const keyed of [false, true]) {
      const headersOf = (name: string): Record<string, string> =>
        keyed ? { 'idempotency-key': `${name} ${sessionId}` } : {};
      const claimed = actor.post(`/tasks/${task.id}:claim`, { sessionId }, headersOf('claim'));
      await refused(claimed, 409, 'session_not_active');
      const beaten = actor.post(`/sessions/${sessionId}:heartbeat`, {}, headersOf('beat'));
      await refused(beaten, 409, 'session_not_active');
    }
  for (const [{ actor }, held] of [
    [own, claim],
    [onBehalf, other],
  ] as const) {
    const keys = { claimId: held.id, fencingToken: held.fencingToken };
    for (const by of [actor, baton.admin]) {
      const { status, body } = await by.post(`/claims/${held.id}:heartbeat`);
      assert.equal(status, 409);
      assert.ok(['session_not_active', 'claim_not_active'].includes(body.error.code), JSON.stringify(body));
    }
    await refused(actor.post(`/tasks/${held.taskId}:start-run`, keys), 409, 'stale_claim');
    const { version } = await done(actor.get(`/tasks/${held.taskId}`));
    const ifMatch = { 'if-match': `task-${version}` };
    await refused(
      actor.patch(`/tasks/${held.taskId}`, { title: 'late', ...keys }, ifMatch),
      409,
      'stale_claim',
    );
    await refused(actor.post(`/tasks/${held.taskId}:complete`, keys, ifMatch), 409, 'stale_claim');
  }
  await finish();
  const left = await baton.pool.rows(sql`
    select id from sessions where id = any (${[...sessions, ...later]}::uuid[]) and status <> 'closed'`);
  assert.deepEqual(left, []);
  await claimTask({ actor: human, sessionId: await openSession(human) }, task.id);
});

test('a close returns after the first 100 claims; the worker releases the others in batches', async () => {
  const worker = await makeHolder();
  const session = await done(worker.actor.post(`/sessions/${worker.sessionId}:close`));
  assert.equal(session.status, 'closed');
  assert.equal(await activeClaims(worker), claimsCount - firstBatch);
  await finish();
  assert.equal(await activeClaims(worker), 0);
  assert.deepEqual(await releasesAround('session.closed', worker.sessionId, worker), {
    before: firstBatch,
    after: claimsCount - firstBatch,
    reasons: ['session_closed'],
  });
  await checkLeaseInvariants(baton);
});

test('an expired session becomes stale with the first 100 claims; the others follow in batches', async () => {
  const worker = await makeHolder();
  await endSessionLease(baton, worker.sessionId);
  assert.equal(await jobs.sessions.run(), 1);
  assert.equal(await activeClaims(worker), claimsCount - firstBatch);
  await finish();
  assert.deepEqual(await releasesAround('session.expired', worker.sessionId, worker), {
    before: firstBatch,
    after: claimsCount - firstBatch,
    reasons: ['session_expired'],
  });
  await checkLeaseInvariants(baton);
});

test("a disable doesn't wait for locked tasks: the worker releases them later", async () => {
  const worker = await makeWorker(baton);
  const [locked, free] = [await makeTask(baton), await makeTask(baton)];
  for (const { id } of [locked, free]) await claimTask(worker, id);
  await baton.pool.transaction(async (tx) => {
    await tx.row(sql`select id from tasks where id = ${locked.id} for update`);
    await done(baton.admin.post(`/principals/${worker.actor.principalId}:disable`));
    assert.equal(await activeClaims(worker), 1);
    assert.equal(await jobs.endings.run(), 0);
  });
  assert.equal(await jobs.endings.run(), 1);
  await finish();
  assert.equal(await activeClaims(worker), 0);
});
