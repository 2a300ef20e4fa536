import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { sendRequest, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  forceCancel,
  launch,
  makeFamily,
  newKey,
  say,
  startChild,
} from '../../testing/execution/children.ts';
import { checkLeaseInvariants } from '../../testing/execution/lease-invariants.ts';
import { claimTask, done, makeRun, makeWorker, refused, type Worker } from '../../testing/leases.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';
import { untilBlockedBy } from '../../testing/wait-until.ts';
import { continueCascades } from './cascades.ts';

let baton: TestCoordination;
let another: { url: string };
let worker: Worker;
let helper: Worker;
const rounds = byDepth(12, 200);

before(async () => {
  baton = await startCoordination();
  another = await baton.another();
  [worker, helper] = [await makeWorker(baton), await makeWorker(baton)];
});
afterEach(async () => {
  await checkLeaseInvariants(baton);
  for (const [invariant, query] of Object.entries(violations))
    assert.deepEqual(await baton.pool.rows(query), [], invariant);
});
after(() => baton.close());

const violations = {
  'the messages of a run are numbered from one without a gap': sql`
    select run_id from run_control_messages group by run_id having max(seq) <> count(*) or min(seq) <> 1`,
  'a message is resolved once, as in its events': sql`
    select m.id from run_control_messages m
    left join events e on e.payload ->> 'controlMessageId' = m.id::text
      and e.type in ('run.control_message.applied', 'run.control_message.rejected', 'run.control_message.superseded')
    group by m.id having count(e.id) <> case m.status when 'accepted' then 0 else 1 end`,
  'each version of a run is one message, one acknowledgement or one end': sql`
    select r.id from runs r join events e on e.entity_id = r.id
    group by r.id
    having r.version - 1 <> count(*) filter (where e.type in ('run.control_message.accepted', 'run.succeeded', 'run.failed',
      'run.cancelled') or (e.type in ('run.control_message.applied', 'run.control_message.rejected')))`,
  'a child has one handle, and a run launched under one correlation id one child': sql`
    select parent_run_id from child_handles group by parent_run_id, correlation_id having count(*) > 1`,
  'a launched task has its relation, and no launch left a task without a handle': sql`
    select t.id from tasks t left join child_handles h on h.child_task_id = t.id
    where (t.child_handle_id is distinct from h.id) or (t.origin ->> 'kind' = 'parent' and h.id is null)
      or (h.id is not null and not exists (
        select from task_relations r where r.from_task_id = t.id and r.to_task_id = h.parent_task_id and r.type = 'spawned_by'))`,
  'only a child that has ended has a result': sql`
    select h.id from child_handles h join runs r on r.id = h.child_run_id
    where (h.recorded_at is not null) <> (r.status in ('succeeded', 'failed', 'cancelled'))`,
  'no run of a child starts after its launch was revoked': sql`
    select h.id from child_handles h join events revoked on revoked.payload ->> 'childHandleId' = h.id::text
      and revoked.type = 'run.child.revoked'
    join events started on started.payload ->> 'childHandleId' = h.id::text and started.type = 'run.child.started'
      and (started.position, started.sequence) > (revoked.position, revoked.sequence)`,
};

/** Lets the worker finish the cancellations. */
async function finishCascades(): Promise<void> {
  const { tools, close } = makeWorkerTools(baton);
  try {
    const job = continueCascades(tools);
    for (let left = 1; left > 0; ) {
      await job.run();
      left = (await baton.pool.rows(sql`select from run_cascades`)).length;
    }
  } finally {
    await close();
  }
}

const statusesOf = (answers: readonly { status: number }[]) => answers.map(({ status }) => status).sort();

/** The running descendants of a run that was cancelled immediately, if there are any. */
const runningBelow = (taskId: string) =>
  baton.pool.rows(sql`
    with recursive below (id) as (
      select ${taskId}::uuid
      union select r.from_task_id from task_relations r join below on below.id = r.to_task_id where r.type = 'spawned_by'
    )
    select r.id from below join runs r on r.task_id = below.id and r.status = 'running'`);

test('two launches under one correlation id, in two processes, create one child', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { run } = await makeRun(baton, worker);
    const body = { correlationId: 'a', title: 'a part' };
    const send = (url: string) =>
      sendRequest(`${url}/api/v1/runs/${run.id}/child-handles`, 'POST', {
        token: worker.actor.token,
        headers: newKey(),
        body,
      });
    const answers = await Promise.all([baton.url, another.url, baton.url, another.url].map(send));
    assert.deepEqual(
      statusesOf(answers),
      [200, 200, 200, 201],
      JSON.stringify(answers.map(({ body }) => body)),
    );
    assert.equal(new Set(answers.map((answer) => answer.body.childHandle.id)).size, 1);
    assert.equal(answers.filter((answer) => answer.body.handleToken !== null).length, 1);
  }
});

test('one key in two processes creates one message, and both senders get the same response', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { run } = await makeRun(baton, worker);
    const key = newKey();
    const body = { operation: 'queue', directive: 'x', causalPosition: 'y', expectedRunVersion: 1 };
    const send = (url: string) =>
      sendRequest(`${url}/api/v1/runs/${run.id}/control-messages`, 'POST', {
        token: worker.actor.token,
        headers: key,
        body,
      });
    const answers = await Promise.all([baton.url, another.url, another.url].map(send));
    assert.deepEqual(statusesOf(answers), [201, 201, 201]);
    assert.equal(new Set(answers.map((answer) => JSON.stringify(answer.body))).size, 1);
    assert.equal((await done(baton.admin.get(`/runs/${run.id}/control-messages`))).items.length, 1);
  }
});

test('only one of several senders that expect the same version of a run succeeds', async () => {
  const { run } = await makeRun(baton, worker);
  for (let version = 1; version <= rounds; version += 1) {
    const message = { operation: 'queue', directive: 'x', expectedRunVersion: version };
    const answers = await Promise.all(Array.from({ length: 4 }, () => say(baton.admin, run.id, message)));
    assert.deepEqual(statusesOf(answers), [201, 409, 409, 409]);
  }
});

test('an acknowledgement and a forced cancellation: the message is resolved by one of them', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { run, claim } = await makeRun(baton, worker);
    const queued = { operation: 'queue', directive: 'x' };
    const { controlMessage } = await done(say(baton.admin, run.id, queued), 201);
    const acknowledge = () =>
      worker.actor.post(`/runs/${run.id}/control-messages/${controlMessage.id}:acknowledge`, {
        status: 'applied',
        claimId: claim.id,
        fencingToken: claim.fencingToken,
        expectedRunVersion: 2,
        expectedMessageVersion: 1,
        safeBoundary: 'here',
      });
    const force = () => say(baton.admin, run.id, { ...forceCancel, expectedRunVersion: 2 });
    const [first, second] = await Promise.all([acknowledge(), force()]);
    const outcome = [first.status, second.status].join();
    assert.ok(['200,409', '409,201'].includes(outcome), JSON.stringify([first.body, second.body]));
    const { status } = await done(baton.admin.get(`/runs/${run.id}`));
    assert.equal(status, first.status === 200 ? 'running' : 'cancelled');
  }
});

test('a forced cancellation concurrent with launches: no child of the run keeps running, or is launched after it', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { run, task } = await makeRun(baton, worker);
    const [cancelled, ...launched] = await Promise.all([
      say(baton.admin, run.id, forceCancel),
      ...Array.from({ length: 4 }, () => launch(worker, run.id)),
    ]);
    assert.equal(cancelled?.status, 201, JSON.stringify(cancelled?.body));
    assert.ok(launched.every(({ status }) => [201, 409].includes(status)));
    await finishCascades();
    const { items } = await done(baton.admin.get(`/runs/${run.id}/child-handles`));
    assert.equal(items.length, launched.filter(({ status }) => status === 201).length);
    assert.ok(
      items.every(({ status }: { status: string }) => status === 'revoked'),
      JSON.stringify(items),
    );
    assert.deepEqual(await runningBelow(task.id), []);
  }
});

test('a forced cancellation and the start of a child’s run: it is cancelled, or does not start', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { run, task } = await makeRun(baton, worker);
    const claims = [];
    for (let child = 0; child < 4; child += 1) {
      const { childTask } = await done(launch(worker, run.id), 201);
      claims.push(await claimTask(helper, childTask.id));
    }
    const [cancelled, ...started] = await Promise.all([
      say(baton.admin, run.id, forceCancel),
      ...claims.map(({ id: claimId, taskId, fencingToken }) =>
        helper.actor.post(`/tasks/${taskId}:start-run`, { claimId, fencingToken }),
      ),
    ]);
    assert.equal(cancelled?.status, 201, JSON.stringify(cancelled?.body));
    for (const { status, body } of started)
      assert.ok(status === 201 || body.error.code === 'child_handle_revoked', JSON.stringify(body));
    await finishCascades();
    assert.deepEqual(await runningBelow(task.id), []);
  }
});

test('a forced cancellation does not wait for a completion below, which waits for a task that the cancellation may end', async () => {
  const { run } = await makeRun(baton, worker);
  const [waiting, first] = [await done(launch(worker, run.id), 201), await done(launch(worker, run.id), 201)];
  const [waits, works] = [
    await startChild(helper, waiting.childTask.id),
    await startChild(helper, first.childTask.id),
  ];
  const relation = { toTask: first.childTask.id, type: 'depends_on' };
  await done(baton.admin.post(`/tasks/${waiting.childTask.id}/relations`, relation), 201);
  const succeeding = await baton.pool.transaction(async (tx) => {
    await tx.run(sql`select from child_handles where id = ${first.childHandle.id} for update`);
    const answer = helper.actor.post(`/runs/${works.run.id}:succeed`, {});
    await untilBlockedBy(tx, baton, answer);
    await done(say(baton.admin, run.id, forceCancel), 201);
    return { answer };
  });
  await done(succeeding.answer);
  assert.equal((await done(baton.admin.get(`/runs/${waits.run.id}`))).failureReason, 'parent_force_cancel');
  await finishCascades();
});

test('the worker waits for a task below that is locked repeatedly', async () => {
  const { run, childTask, child } = await makeFamily(baton, { parent: worker, child: helper });
  const { tools, close } = makeWorkerTools(baton);
  try {
    const job = continueCascades(tools);
    const went = await baton.pool.transaction(async (tx) => {
      await tx.run(sql`select from tasks where id = ${childTask.id} for update`);
      await done(say(baton.admin, run.id, forceCancel), 201);
      const going = job.run();
      await untilBlockedBy(tx, baton, going);
      return { going };
    });
    assert.equal(await went.going, 1);
  } finally {
    await close();
  }
  assert.equal((await done(baton.admin.get(`/runs/${child.run.id}`))).failureReason, 'parent_force_cancel');
  await finishCascades();
});

test('nested forced cancellations while the runs below end: each run ends once', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const top = await makeFamily(baton, { parent: worker, child: helper });
    const { childTask } = await done(launch(helper, top.child.run.id), 201);
    const deep = await startChild(worker, childTask.id);
    const answers = await Promise.all([
      say(baton.admin, top.run.id, forceCancel),
      say(baton.admin, top.child.run.id, forceCancel),
      worker.actor.post(`/runs/${deep.run.id}:fail`),
      helper.actor.post(`/runs/${top.child.run.id}:succeed`),
    ]);
    assert.ok(
      answers.every(({ status }) => status < 500),
      JSON.stringify(answers.map(({ body }) => body)),
    );
    await finishCascades();
    assert.deepEqual(await runningBelow(top.task.id), []);
  }
});

test('a revocation concurrent with the start of the child’s run: no run starts after it', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { run } = await makeRun(baton, worker);
    const { childHandle, childTask } = await done(launch(worker, run.id), 201);
    const { id: claimId, fencingToken } = await claimTask(helper, childTask.id);
    const [revoked, started] = await Promise.all([
      worker.actor.post(`/child-handles/${childHandle.id}:revoke`, { cancelChild: true }),
      helper.actor.post(`/tasks/${childTask.id}:start-run`, { claimId, fencingToken }),
    ]);
    assert.equal(revoked.status, 200, JSON.stringify(revoked.body));
    if (started.status === 201) {
      const { cancelRequestedAt } = await done(baton.admin.get(`/runs/${started.body.id}`));
      assert.ok(cancelRequestedAt !== null, 'a run that was first gets the cancel request');
    } else assert.equal(started.body.error.code, 'child_handle_revoked');
  }
});

test('a start that waited for a revocation is refused by it', async () => {
  const { run } = await makeRun(baton, worker);
  const { childHandle, childTask } = await done(launch(worker, run.id), 201);
  const { id: claimId, fencingToken } = await claimTask(helper, childTask.id);
  const started = await baton.pool.transaction(async (tx) => {
    await tx.run(sql`update child_handles set revoked_at = now() where id = ${childHandle.id}`);
    const answer = helper.actor.post(`/tasks/${childTask.id}:start-run`, { claimId, fencingToken });
    await untilBlockedBy(tx, baton, answer);
    return { answer };
  });
  await refused(started.answer, 409, 'child_handle_revoked');
});

test('a revocation and the end of the child’s run take their locks in the same order', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { handle, child } = await makeFamily(baton, { parent: worker, child: helper });
    const answers = await Promise.all([
      worker.actor.post(`/child-handles/${handle.id}:revoke`, { cancelChild: true }),
      helper.actor.post(`/runs/${child.run.id}:fail`, { failureReason: newId() }),
    ]);
    assert.deepEqual(statusesOf(answers), [200, 200], JSON.stringify(answers.map(({ body }) => body)));
  }
});
