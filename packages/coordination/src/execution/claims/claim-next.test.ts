import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  claimTask,
  done,
  endClaimLease,
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
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
});
after(() => baton.close());

const claimNext = ({ actor, sessionId }: Worker, more: object = {}) =>
  actor.post('/work:claim-next', { sessionId, ...more });
const itemsOf = async (more: object = {}, by = worker) => (await done(claimNext(by, more))).items;
const idsOf = async (more: object = {}, by = worker): Promise<string[]> =>
  (await itemsOf(more, by)).map(({ task }: any) => task.id);

/** Creates tasks that are assigned to a new principal, so that the tests don't claim each other's work. */
async function pile(): Promise<{ assigneeId: string; make(more?: object): Promise<any> }> {
  const { principalId: assigneeId } = await baton.actor();
  return { assigneeId, make: (more = {}) => makeTask(baton, { assigneeId, ...more }) };
}

/** An empty queue in another tenant. */
async function otherTenant(): Promise<{ admin: Actor; worker: Worker; make(more?: object): Promise<any> }> {
  const admin = baton.otherAdmin;
  await baton.pool.run(sql`
    update tasks set status = 'cancelled', category = 'terminal_cancelled' where tenant_id = ${baton.otherTenantId}`);
  const actor = await baton.actor({ tenantId: baton.otherTenantId });
  return {
    admin,
    worker: { actor, sessionId: await openSession(actor) },
    make: (more = {}) => done(admin.post('/tasks', { title: 'wanted', ...more }), 201),
  };
}

describe('the tasks that :claim-next claims', () => {
  test('the task after the claim, and the claim, with the same events as :claim', async () => {
    const { assigneeId, make } = await pile();
    const task = await make();
    const [item, ...rest] = await itemsOf({ assigneeId, ttlSeconds: 60, intent: 'next' });
    assert.deepEqual(rest, []);
    assert.deepEqual(item.task, await done(baton.admin.get(`/tasks/${task.id}`)));
    assert.deepEqual(item.claim, await done(baton.admin.get(`/claims/${item.claim.id}`)));
    const { status, fencingToken, holderId, sessionId, intent, acquiredAt, expiresAt } = item.claim;
    assert.deepEqual(
      [status, fencingToken, holderId, sessionId, intent],
      ['active', 1, worker.actor.principalId, worker.sessionId, 'next'],
    );
    assert.equal(Date.parse(expiresAt) - Date.parse(acquiredAt), 60_000);
    assert.deepEqual(
      [item.task.status, item.task.version, item.task.activeClaimId],
      ['in_progress', 2, item.claim.id],
    );
    const [, event] = await eventsOf(baton, task.id);
    assert.deepEqual(
      [event?.type, event?.session_id, event?.actor_id, event?.payload],
      [
        'task.claimed',
        worker.sessionId,
        worker.actor.principalId,
        {
          ...{
            publicId: task.publicId,
            claimId: item.claim.id,
            sessionId,
            holderId,
            fencingToken,
            expiresAt,
          },
          ...{ status: 'in_progress', systemStatusCategory: 'active', version: 2 },
        },
      ],
    );
    await refused(
      worker.actor.post(`/tasks/${task.id}:claim`, { sessionId: worker.sessionId }),
      409,
      'task_already_claimed',
    );
  });

  test('one by default, the requested number, fewer if there are fewer, none if there are none', async () => {
    const { assigneeId, make } = await pile();
    const ids: string[] = [];
    for (let n = 0; n < 6; n += 1) ids.push((await make()).id);
    assert.deepEqual(await idsOf({ assigneeId }), ids.slice(0, 1));
    assert.deepEqual(await idsOf({ assigneeId, count: 3 }), ids.slice(1, 4));
    assert.deepEqual(await idsOf({ assigneeId, count: 100 }), ids.slice(4));
    assert.deepEqual(await idsOf({ assigneeId, count: 100 }), []);
  });

  test('by priority, then age; a released task keeps its age', async () => {
    const { worker: other, make } = await otherTenant();
    const made: Record<string, string> = {};
    for (const [name, priority] of [
      ['d', 'low'],
      ['b', 'high'],
      ['a', 'critical'],
      ['c', 'medium'],
      ['b2', 'high'],
    ])
      made[name as string] = (await make({ priority })).id;
    const [first] = await itemsOf({}, other);
    assert.equal(first.task.id, made['a']);
    assert.deepEqual(await idsOf({ count: 2 }, other), [made['b'], made['b2']]);
    await done(other.actor.post(`/claims/${first.claim.id}:release`, {}));
    assert.deepEqual(await idsOf({ count: 9 }, other), [made['a'], made['c'], made['d']]);
  });

  test('children of one parent do not delay other tasks, one by one and in a batch', async () => {
    for (const count of [1, 8]) {
      const { worker: other, make } = await otherTenant();
      const [first, second] = [
        await make({ status: 'backlog', priority: 'low' }),
        await make({ priority: 'low' }),
      ];
      const childrenOf = new Map<string, string[]>();
      for (const parent of [first, second]) {
        const children: string[] = [];
        for (let n = 0; n < 10; n += 1) children.push((await make({ parentTask: parent.id })).id);
        childrenOf.set(parent.id, children);
      }
      const single = await make();
      const got: string[] = [];
      while (got.length < 8) got.push(...(await idsOf({ count }, other)));
      const of = (parent: any) => got.filter((id) => childrenOf.get(parent.id)?.includes(id));
      assert.ok(got.includes(single.id), `batches of ${count}`);
      assert.ok(of(first).length <= 5 && of(second).length >= 3, `batches of ${count}: ${of(first).length}`);
      for (const parent of [first, second])
        assert.deepEqual(
          of(parent),
          childrenOf.get(parent.id)?.slice(0, of(parent).length),
          'the oldest first',
        );
    }
  });

  test('no task that :claim would refuse: ended, claimed, waiting, gated, ineligible', async () => {
    const { assigneeId, make } = await pile();
    const { id: roleId, slug } = await done(baton.admin.post('/roles', { slug: 'next', name: 'R' }), 201);
    const [ended, claimed, waiting, gated, required, free] = [
      ...[await make(), await make(), await make(), await make()],
      ...[await make({ requirements: { roles: [slug] } }), await make()],
    ];
    await done(baton.admin.post(`/tasks/${ended.id}:complete`, {}, { 'if-match': 'task-1' }));
    await claimTask(await makeWorker(baton), claimed.id);
    const relation = { toTask: (await makeTask(baton)).id, type: 'depends_on' };
    await done(baton.admin.post(`/tasks/${waiting.id}/relations`, relation), 201);
    const { principalId } = await baton.actor({ kind: 'human' });
    const gate = { task: gated.id, assignedPrincipalId: principalId, gate: true };
    await done(baton.admin.post('/approvals', gate), 201);
    assert.deepEqual(await idsOf({ assigneeId, count: 100 }), [free.id]);
    await done(baton.admin.post(`/principals/${worker.actor.principalId}/roles`, { roleId }), 201);
    assert.deepEqual(await idsOf({ assigneeId, count: 100 }), [required.id]);
    assert.deepEqual(await idsOf({ assigneeId, count: 100 }), []);
  });

  test('the task of a dead claim, which ends before the new claim, whichever endpoint created it', async () => {
    const { assigneeId, make } = await pile();
    const task = await make();
    const [other, gone] = [await makeWorker(baton), await makeWorker(baton)];
    const [first] = await itemsOf({ assigneeId }, other);
    await endClaimLease(baton, task.id);
    const listed = await done(worker.actor.get(`/work/available?assigneeId=${assigneeId}`));
    assert.deepEqual(
      listed.items.map(({ id }: any) => id),
      [task.id],
    );
    const [second] = await itemsOf({ assigneeId }, gone);
    assert.equal(second.claim.fencingToken, 2);
    await endSessionLease(baton, gone.sessionId);
    const [third] = await itemsOf({ assigneeId });
    assert.equal(third.claim.fencingToken, 3);
    const events = await eventsOf(baton, task.id, first.claim.id, second.claim.id);
    assert.deepEqual(
      events.map(({ type, payload }) => [type, payload['reason']]),
      [
        ['task.created', undefined],
        ['task.claimed', undefined],
        ['claim.expired', 'expired'],
        ['task.claimed', undefined],
        ['claim.expired', 'session_inactive'],
        ['task.claimed', undefined],
      ],
    );
  });

  test('a task that was claimed by id and released, or reopened, is in the queue again', async () => {
    const { assigneeId, make } = await pile();
    const task = await make();
    const claim = await claimTask(worker, task.id);
    assert.deepEqual(await idsOf({ assigneeId }), []);
    await done(worker.actor.post(`/claims/${claim.id}:release`, {}));
    assert.deepEqual(await idsOf({ assigneeId }), [task.id]);
  });

  test('the filters of available work, intersected', async () => {
    const { assigneeId, make } = await pile();
    const make2 = async (name: string, parentId?: string) =>
      done(baton.admin.post('/workspaces', { slug: name, name, parentId }), 201);
    const above = await make2('next-above');
    const below = await make2('next-below', above.id);
    const inAbove = await make({ workspaceId: above.id });
    const inBelow = await make({ workspaceId: below.id });
    const nobodys = await makeTask(baton, { workspaceId: below.id });
    const mine = await makeTask(baton, { assigneeId: worker.actor.principalId });
    assert.deepEqual(await idsOf({ assigneeId, workspaceId: below.id, count: 9 }), [inBelow.id]);
    assert.deepEqual(
      await idsOf({ workspaceId: above.id, count: 9 }),
      [],
      'it is assigned to another principal',
    );
    assert.deepEqual(await idsOf({ workspaceId: above.id, includeAssigned: true, count: 9 }), [inAbove.id]);
    assert.deepEqual(await idsOf({ workspaceId: above.id, includeDescendants: true, count: 9 }), [
      nobodys.id,
    ]);
    assert.deepEqual(await idsOf({ assignedToMe: true, assigneeId, count: 9 }), [mine.id]);
  });
});

describe('the refusals of :claim-next', () => {
  test('a caller without tasks.read, a session that is not its own, dead or unknown', async () => {
    const blind = await makeWorker(baton, { permissions: ['tasks.claim', 'sessions.open'] });
    const details = await refused(claimNext(blind), 403, 'permission_denied');
    assert.deepEqual(details, { required: ['tasks.read'] });
    const reader = await baton.actor({ permissions: ['tasks.read'] });
    await refused(claimNext({ actor: reader, sessionId: newId() }), 403, 'permission_denied');
    await refused(claimNext({ ...worker, sessionId: newId() }), 404, 'not_found');
    const other = await makeWorker(baton);
    await refused(claimNext({ ...worker, sessionId: other.sessionId }), 403, 'session_owner_mismatch');
    await endSessionLease(baton, other.sessionId);
    await refused(claimNext(other), 409, 'session_expired');
    const closed = await makeWorker(baton);
    await done(closed.actor.post(`/sessions/${closed.sessionId}:close`, {}));
    await refused(claimNext(closed), 409, 'session_not_active');
  });

  test('an unknown workspace or project, a lease out of bounds, a count outside 1 to 100', async () => {
    for (const name of ['workspaceId', 'projectId'])
      await refused(claimNext(worker, { [name]: newId(), ttlSeconds: 1 }), 404, 'not_found');
    for (const ttlSeconds of [9, 3601]) {
      const details = await refused(claimNext(worker, { ttlSeconds }), 422, 'invalid_ttl');
      assert.deepEqual(details, { min: 10, max: 3600 });
    }
    for (const count of [0, 101, 1.5]) await refused(claimNext(worker, { count }), 400, 'invalid_request');
  });
});

test('a key makes the response repeatable', async () => {
  const { assigneeId, make } = await pile();
  await make();
  await make();
  const keyed = () =>
    worker.actor.post(
      '/work:claim-next',
      { sessionId: worker.sessionId, assigneeId },
      { 'idempotency-key': 'next-once' },
    );
  const [first, again] = [await keyed(), await keyed()];
  assert.deepEqual(again.body, first.body);
  assert.equal(again.headers.get('idempotency-replayed'), 'true');
});
