import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  forceCancel,
  launch,
  makeFamily,
  newKey,
  say,
  startChild,
} from '../../testing/execution/children.ts';
import { checkLeaseInvariants } from '../../testing/execution/lease-invariants.ts';
import { done, eventsOf, makeRun, makeTask, makeWorker, refused, type Worker } from '../../testing/leases.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';
import { continueCascades } from './cascades.ts';

let baton: TestCoordination;
let worker: Worker;
let helper: Worker;

before(async () => {
  baton = await startCoordination();
  [worker, helper] = [await makeWorker(baton), await makeWorker(baton)];
});
afterEach(() => checkLeaseInvariants(baton));
after(() => baton.close());

const force = (runId: string, more: object = {}, key = newKey()) =>
  say(baton.admin, runId, { ...forceCancel, ...more }, key);
const read = (path: string) => done(baton.admin.get(path));
const runOf = (id: string) => read(`/runs/${id}`);
const messagesOf = async (runId: string) => (await read(`/runs/${runId}/control-messages`)).items;
const family = (more: object = {}) => makeFamily(baton, { parent: worker, child: helper }, more);
const typesOf = async (...ids: string[]) => (await eventsOf(baton, ...ids)).map(({ type }) => type);
const relate = (from: string, to: string) =>
  done(baton.admin.post(`/tasks/${from}/relations`, { toTask: to, type: 'spawned_by' }), 201);
async function removeRelation(from: string): Promise<void> {
  const { items } = await read(`/tasks/${from}/relations`);
  const [spawnedBy] = items.filter(({ type }: { type: string }) => type === 'spawned_by');
  await done(baton.admin.delete(`/tasks/${from}/relations/${spawnedBy.id}`), 204);
}

async function runWorker(): Promise<number> {
  const { tools, close } = makeWorkerTools(baton);
  try {
    return await continueCascades(tools).run();
  } finally {
    await close();
  }
}

/** Makes a run unwritable. @returns a function that makes it writable again */
async function poison(runId: string): Promise<() => Promise<void>> {
  const plant = (text: string) => baton.pool.run({ text, values: [] });
  await plant(`
    create or replace function refuse_poison() returns trigger language plpgsql as $$ begin
      if old.id = '${runId}' then raise exception 'poison'; end if;
      return new;
    end $$`);
  await plant('create trigger poison before update on runs for each row execute function refuse_poison()');
  return async () => void (await plant('drop trigger poison on runs'));
}

describe('force_cancel', () => {
  test('ends the run and its claim in one transaction, open messages first', async () => {
    const made = await makeRun(baton, worker);
    const { run, task, claim } = made;
    const queued = [];
    for (const expectedRunVersion of [1, 2])
      queued.push(
        (
          await done(
            say(baton.admin, run.id, { operation: 'queue', directive: 'x', expectedRunVersion }),
            201,
          )
        ).controlMessage,
      );
    const answer = await done(force(run.id, { expectedRunVersion: 3 }), 201);
    const { controlMessage } = answer;
    assert.equal(answer.runVersion, 5);
    assert.deepEqual(
      [controlMessage.seq, controlMessage.status, controlMessage.version, controlMessage.safeBoundary],
      [3, 'applied', 2, 'server:force_cancel'],
    );
    assert.ok(controlMessage.resolvedAt && controlMessage.acknowledgedByPrincipalId === null);
    const ended = await runOf(run.id);
    assert.deepEqual(
      [ended.status, ended.failureReason, ended.version, ended.finishedAt !== null],
      ['cancelled', 'it runs wild', 5, true],
    );
    const released = await read(`/claims/${claim.id}`);
    assert.deepEqual([released.status, released.releaseReason], ['released', 'force_cancel']);
    const after = await read(`/tasks/${task.id}`);
    assert.deepEqual([after.activeClaimId, after.status], [null, task.status]);
    const messages = await messagesOf(run.id);
    assert.deepEqual(
      messages.map((message: any) => [message.status, message.version, message.safeBoundary]),
      [
        ['superseded', 2, 'server:force_cancel'],
        ['superseded', 2, 'server:force_cancel'],
        ['applied', 2, 'server:force_cancel'],
      ],
    );
    const events = (await eventsOf(baton, run.id, claim.id)).slice(3);
    assert.deepEqual(
      events.map(({ type, payload }) => [type, payload['controlMessageId']]),
      [
        ['run.control_message.superseded', queued[0].id],
        ['run.control_message.superseded', queued[1].id],
        ['run.control_message.applied', controlMessage.id],
        ['run.cancelled', controlMessage.id],
        ['claim.released', undefined],
      ],
    );
    assert.deepEqual(events[3]?.payload, {
      taskId: task.id,
      reason: 'force_cancel',
      attempt: 1,
      controlMessageId: controlMessage.id,
    });
    const journal = JSON.stringify(events);
    assert.ok(!journal.includes('runs wild'));
  });

  test('counts each cancelled run', async () => {
    const counted = async () => {
      const { body } = await baton.request('GET', '/metrics', {});
      return Number(/^run_cancellations_total (\d+)$/m.exec(body)?.[1]);
    };
    const { run } = await family();
    const before = await counted();
    await done(force(run.id), 201);
    assert.equal(await counted(), before + 2);
  });

  test("doesn't affect the task’s new claim if the run is orphaned", async () => {
    const { run, task, claim } = await makeRun(baton, worker);
    await done(worker.actor.post(`/claims/${claim.id}:release`));
    const taken = await done(helper.actor.post(`/tasks/${task.id}:claim`, { sessionId: helper.sessionId }));
    await done(force(run.id), 201);
    assert.equal((await runOf(run.id)).status, 'cancelled');
    assert.equal((await read(`/claims/${taken.id}`)).status, 'active');
  });

  test('returns the same response if repeated under its key; under another key, the run has ended', async () => {
    const { run } = await makeRun(baton, worker);
    const key = newKey();
    const first = await done(force(run.id, {}, key), 201);
    assert.deepEqual(await done(force(run.id, {}, key), 201), first);
    await refused(force(run.id, { expectedRunVersion: 3 }), 409, 'run_not_active');
  });

  test('checks the version, and changes nothing if it differs', async () => {
    const { run, claim } = await makeRun(baton, worker);
    await refused(force(run.id, { expectedRunVersion: 2 }), 409, 'run_version_conflict');
    assert.deepEqual(
      [(await runOf(run.id)).status, (await read(`/claims/${claim.id}`)).status],
      ['running', 'active'],
    );
  });
});

describe('force_cancel below the run', () => {
  test('ends every running descendant regardless of its policy, and records the results', async () => {
    const top = await family({ cancellationPolicy: 'detach' });
    const { childHandle, childTask } = await done(launch(helper, top.child.run.id), 201);
    const deep = await startChild(worker, childTask.id);
    const { controlMessage: root } = await done(force(top.run.id), 201);
    for (const { run, claim } of [top.child, deep]) {
      const ended = await runOf(run.id);
      assert.deepEqual(
        [ended.status, ended.failureReason, ended.version],
        ['cancelled', 'parent_force_cancel', 3],
      );
      assert.equal((await read(`/claims/${claim.id}`)).releaseReason, 'parent_force_cancel');
      const [message] = await messagesOf(run.id);
      assert.deepEqual(
        [message.operation, message.status, message.causationId, message.idempotencyKey, message.reason],
        ['force_cancel', 'applied', root.id, ` cascade:${root.id}`, 'it runs wild'],
      );
      const events = await baton.pool.rows<{ type: string; causation_id: string }>(sql`
        select type, causation_id from events where entity_id in (${run.id}, ${claim.id})
          and type in ('run.control_message.applied', 'run.cancelled', 'claim.released') order by position, sequence`);
      assert.deepEqual(
        events.map(({ type, causation_id: cause }) => [type, cause]),
        ['run.control_message.applied', 'run.cancelled', 'claim.released'].map((type) => [type, root.id]),
      );
    }
    const handles = [top.handle.id, childHandle.id];
    for (const id of handles) {
      const { childHandle: handle } = await read(`/child-handles/${id}`);
      assert.deepEqual(
        [handle.status, handle.result.outcome, handle.result.summary],
        ['cancelled', 'cancelled', 'parent_force_cancel'],
      );
    }
    const types = await typesOf(top.run.id);
    assert.deepEqual(types.slice(-3), ['run.control_message.applied', 'run.cancelled', 'run.child.resolved']);
  });

  test('finds descendants through tasks without runs, by any relation spawned_by, and stops at a cycle', async () => {
    const { run, task } = await makeRun(baton, worker);
    const between = await makeTask(baton);
    const below = await makeRun(baton, helper);
    const aside = await makeRun(baton, helper);
    await relate(between.id, task.id);
    await relate(below.task.id, between.id);
    await relate(task.id, below.task.id);
    await done(
      baton.admin.post(`/tasks/${aside.task.id}/relations`, { toTask: task.id, type: 'related_to' }),
      201,
    );
    await done(force(run.id), 201);
    assert.equal((await runOf(below.run.id)).failureReason, 'parent_force_cancel');
    assert.equal((await runOf(aside.run.id)).status, 'running');
  });

  test('revokes pending launches, except for those that may outlive their parent', async () => {
    const { run } = await makeRun(baton, worker);
    const [tied, free] = [
      await done(launch(worker, run.id), 201),
      await done(launch(worker, run.id, { cancellationPolicy: 'detach' }), 201),
    ];
    await done(force(run.id), 201);
    const statusOf = async ({ childHandle: { id } }: any) => (await read(`/child-handles/${id}`)).childHandle;
    const revoked = await statusOf(tied);
    assert.deepEqual([revoked.status, revoked.revokeReason], ['revoked', 'parent_force_cancel']);
    assert.equal((await statusOf(free)).status, 'pending');
    assert.deepEqual((await typesOf(run.id)).slice(-2), ['run.cancelled', 'run.child.revoked']);
    await startChild(helper, free.childTask.id);
  });

  test('reaches a launched run whose relation its executor removed', async () => {
    const made = await family();
    await removeRelation(made.childTask.id);
    await done(force(made.run.id), 201);
    assert.equal((await runOf(made.child.run.id)).failureReason, 'parent_force_cancel');
  });

  test('ends a hundred tasks at once and leaves the others to the worker, batch by batch', async () => {
    const { run, task } = await makeRun(baton, worker);
    await baton.pool.run(sql`
      with made as (
        insert into tasks (id, tenant_id, public_number, type_id, title, status, category, priority, origin, created_by)
        select gen_random_uuid(), tenant_id, next_task_number(tenant_id), type_id, 'below', status, category, 2, origin, created_by
        from tasks, generate_series(1, 230) where id = ${task.id}
        returning *
      ), related as (
        insert into task_relations (id, tenant_id, from_task_id, to_task_id, type, created_by)
        select gen_random_uuid(), tenant_id, id, ${task.id}, 'spawned_by', created_by from made
      )
      select id from made`);
    const belows = await baton.pool.rows<{ id: string }>(
      sql`select from_task_id as id from task_relations where to_task_id = ${task.id}`,
    );
    await Promise.all(belows.map(({ id }) => startChild(helper, id)));
    await done(force(run.id), 201);
    const running = async () =>
      (
        await baton.pool.row<{ count: number }>(sql`
          select count(*) as count from runs r join task_relations t on t.from_task_id = r.task_id
          where t.to_task_id = ${task.id} and r.status = 'running'`)
      )?.count;
    assert.equal(await running(), 130);
    assert.equal(await runWorker(), 100);
    assert.equal(await running(), 30);
    assert.equal(await runWorker(), 30);
    assert.equal(await runWorker(), 0);
    assert.deepEqual(await baton.pool.rows(sql`select * from run_cascades`), []);
    const background = await baton.pool.rows<{ actor_id: string; causation_id: string }>(sql`
      select distinct actor_id, causation_id from events
      where request_id = 'worker' and correlation_id = 'worker-cascades'`);
    assert.equal(background.length, 1);
    assert.equal(background[0]?.actor_id, null);
  });

  test('cancels launched tasks, but not tasks that are only related, for an executor without claims.manage', async () => {
    const executor = await makeWorker(baton, {
      permissions: ['sessions.open', 'tasks.claim', 'tasks.read', 'tasks.write'],
    });
    const made = await makeFamily(baton, { parent: executor, child: helper });
    const stranger = await makeRun(baton, helper);
    await refused(say(executor.actor, stranger.run.id, forceCancel), 403, 'permission_denied');
    const relation = { toTask: made.task.id, type: 'spawned_by' };
    await done(executor.actor.post(`/tasks/${stranger.task.id}/relations`, relation), 201);
    await removeRelation(made.childTask.id);
    // Locked, so that the worker has to skip it.
    await baton.pool.transaction(async (tx) => {
      await tx.run(sql`select from tasks where id = ${made.childTask.id} for update`);
      await done(say(executor.actor, made.run.id, forceCancel), 201);
    });
    assert.equal((await runOf(made.child.run.id)).status, 'running');
    assert.equal(await runWorker(), 1);
    assert.equal((await runOf(made.child.run.id)).failureReason, 'parent_force_cancel');
    assert.equal(await runWorker(), 0);
    assert.deepEqual(await baton.pool.rows(sql`select * from run_cascades`), []);
    assert.equal((await runOf(stranger.run.id)).status, 'running');
    assert.equal((await read(`/claims/${stranger.claim.id}`)).status, 'active');
  });
});

test('a run below that cannot be written blocks neither the cancellation nor the other runs', async () => {
  const made = await makeRun(baton, worker);
  const below = [await makeRun(baton, helper), await makeRun(baton, helper), await makeRun(baton, helper)];
  for (const each of below) await relate(each.task.id, made.task.id);
  const heal = await poison(below[1]?.run.id);
  const statuses = () => Promise.all(below.map(async ({ run }) => (await runOf(run.id)).status));
  const { tools, close } = makeWorkerTools(baton);
  try {
    const { controlMessage, runVersion } = await done(force(made.run.id), 201);
    assert.deepEqual([controlMessage.status, runVersion], ['applied', 3]);
    assert.equal((await runOf(made.run.id)).status, 'cancelled');
    assert.deepEqual((await typesOf(made.run.id)).slice(-2), [
      'run.control_message.applied',
      'run.cancelled',
    ]);
    const job = continueCascades(tools);
    assert.equal(await job.run(), 2);
    assert.deepEqual(await statuses(), ['cancelled', 'running', 'cancelled']);
    assert.equal(await job.run(), 0);
  } finally {
    await heal();
    await close();
  }
  assert.equal(await runWorker(), 1);
  assert.deepEqual(await statuses(), ['cancelled', 'cancelled', 'cancelled']);
  assert.equal(await runWorker(), 0);
  assert.deepEqual(await baton.pool.rows(sql`select from run_cascades`), []);
});

test('runs that the worker cannot cancel are postponed and block no other', async () => {
  const { run, task } = await makeRun(baton, worker);
  const { controlMessage } = await done(force(run.id), 201);
  const below = [await makeRun(baton, helper), await makeRun(baton, helper), await makeRun(baton, helper)];
  for (const each of below) await relate(each.task.id, task.id);
  await baton.pool.run(
    sql`insert into run_cascades (message_id, tenant_id, follows_relations)
      values (${controlMessage.id}, ${baton.tenantId}, true)`,
  );
  const heal = await poison(below[1]?.run.id);
  const logged: string[] = [];
  const { tools, close } = makeWorkerTools(baton, logged);
  try {
    const job = continueCascades(tools);
    assert.equal(await job.run(), 2);
    const statuses = await Promise.all(below.map(async (each) => (await runOf(each.run.id)).status));
    assert.deepEqual(statuses, ['cancelled', 'running', 'cancelled']);
    assert.ok(logged.some((line) => JSON.parse(line).id === below[1]?.task.id));
    assert.equal(await job.run(), 0);
    assert.equal((await baton.pool.rows(sql`select from run_cascades`)).length, 1);
  } finally {
    await heal();
    await close();
  }
  assert.equal(await runWorker(), 1);
  assert.equal(await runWorker(), 0);
  assert.deepEqual(await baton.pool.rows(sql`select from run_cascades`), []);
});

describe('request_cancel below the run', () => {
  const ask = { operation: 'request_cancel', reason: 'enough' };
  async function apply(by: Worker, { run, claim }: { run: any; claim: any }, message: any) {
    return done(
      by.actor.post(`/runs/${run.id}/control-messages/${message.id}:acknowledge`, {
        status: 'applied',
        claimId: claim.id,
        fencingToken: claim.fencingToken,
        expectedRunVersion: (await runOf(run.id)).version,
        expectedMessageVersion: 1,
        safeBoundary: 'now',
      }),
    );
  }

  test('is sent to each child with a cascading policy once applied, and propagated by the child in turn', async () => {
    const made = await makeRun(baton, worker);
    const children = [];
    for (const policy of ['cascade_cooperative', 'detach']) {
      const { childHandle, childTask } = await done(
        launch(worker, made.run.id, { cancellationPolicy: policy }),
        201,
      );
      children.push({ handle: childHandle, ...(await startChild(helper, childTask.id)) });
    }
    const [tied, free] = children as [any, any];
    const grandchild = await done(launch(helper, tied.run.id), 201);
    const deep = await startChild(worker, grandchild.childTask.id);
    const { controlMessage } = await done(say(baton.admin, made.run.id, ask), 201);
    assert.deepEqual(await messagesOf(tied.run.id), []);
    await apply(worker, made, controlMessage);
    assert.deepEqual(await messagesOf(free.run.id), []);
    assert.deepEqual(await messagesOf(deep.run.id), []);
    const [message] = await messagesOf(tied.run.id);
    assert.deepEqual(
      [
        message.operation,
        message.status,
        message.causationId,
        message.reason,
        message.requestedByPrincipalId,
      ],
      ['request_cancel', 'accepted', controlMessage.id, 'enough', baton.admin.principalId],
    );
    const events = await baton.pool.rows<{ type: string; causation_id: string; payload: object }>(sql`
      select type, causation_id, payload from events where entity_id = ${tied.run.id} order by position, sequence offset 3`);
    assert.deepEqual(
      events.map(({ type, causation_id: cause }) => [type, cause]),
      [
        ['run.control_message.accepted', controlMessage.id],
        ['run.cancel_requested', controlMessage.id],
        ['run.child.cancel_requested', tied.handle.id],
      ],
    );
    assert.deepEqual(events[2]?.payload, {
      childHandleId: tied.handle.id,
      childRunId: tied.run.id,
      controlMessageId: message.id,
      correlationId: tied.handle.correlationId,
      reason: 'parent_request_cancel',
    });
    await apply(helper, tied, message);
    assert.equal((await messagesOf(deep.run.id)).length, 1);
  });

  test('a child that cannot be written blocks neither the acknowledgement nor the other children', async () => {
    const made = await makeRun(baton, worker);
    const children: any[] = [];
    for (let n = 0; n < 3; n += 1) {
      const { childTask } = await done(launch(worker, made.run.id), 201);
      children.push(await startChild(helper, childTask.id));
    }
    const { controlMessage } = await done(say(baton.admin, made.run.id, ask), 201);
    const asked = async () => Promise.all(children.map(async ({ run }) => (await messagesOf(run.id)).length));
    const heal = await poison(children[1].run.id);
    const { tools, close } = makeWorkerTools(baton);
    try {
      const answer = await apply(worker, made, controlMessage);
      assert.equal(answer.controlMessage.status, 'applied');
      const job = continueCascades(tools);
      assert.equal(await job.run(), 2);
      assert.deepEqual(await asked(), [1, 0, 1]);
      assert.equal(await job.run(), 0);
    } finally {
      await heal();
      await close();
    }
    assert.equal(await runWorker(), 1);
    assert.deepEqual(await asked(), [1, 1, 1]);
    const [message] = await messagesOf(children[1].run.id);
    assert.deepEqual([message.causationId, message.reason], [controlMessage.id, 'enough']);
    assert.equal(await runWorker(), 0);
    assert.deepEqual(await baton.pool.rows(sql`select from run_cascades`), []);
  });

  test('a rejected request is not propagated', async () => {
    const made = await family();
    const { controlMessage } = await done(say(baton.admin, made.run.id, ask), 201);
    const body = {
      status: 'rejected',
      claimId: made.claim.id,
      fencingToken: 1,
      expectedRunVersion: 2,
      expectedMessageVersion: 1,
    };
    const path = `/runs/${made.run.id}/control-messages/${controlMessage.id}:acknowledge`;
    await done(worker.actor.post(path, body));
    assert.deepEqual(await messagesOf(made.child.run.id), []);
  });
});
