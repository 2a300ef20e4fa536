import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  claimTask,
  done,
  endClaimLease,
  eventsOf,
  makeRun,
  makeWorker,
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

const check = (runId: string, body: object = { kind: 'step' }, by = worker) =>
  by.actor.post(`/runs/${runId}/checkpoints`, body);
const list = (runId: string, query = '', by = worker.actor) => by.get(`/runs/${runId}/checkpoints${query}`);
const seqsOf = ({ items }: { items: { seq: number }[] }) => items.map(({ seq }) => seq);

test('a checkpoint gets the next number of its run, and its event excludes the data', async () => {
  const { task, run } = await makeRun(baton, worker);
  const first = await done(
    check(run.id, { kind: 'tests_green', data: { commit: 'abc', n: [1, null] } }),
    201,
  );
  const { id, createdAt, ...rest } = first;
  assert.deepEqual(rest, {
    tenantId: baton.tenantId,
    runId: run.id,
    taskId: task.id,
    createdByPrincipalId: worker.actor.principalId,
    seq: 1,
    kind: 'tests_green',
    data: { commit: 'abc', n: [1, null] },
  });
  const second = await done(check(run.id), 201);
  assert.deepEqual([second.seq, second.data], [2, {}]);
  assert.deepEqual((await done(list(run.id))).items, [first, second]);
  const event = (await eventsOf(baton, run.id))[1];
  assert.deepEqual(
    [event?.type, event?.session_id, event?.actor_id],
    ['run.checkpointed', worker.sessionId, worker.actor.principalId],
  );
  assert.deepEqual(event?.payload, { taskId: task.id, checkpointId: id, seq: 1, kind: 'tests_green' });
  const after = await done(worker.actor.get(`/runs/${run.id}`));
  assert.equal(after.lastProgressAt, second.createdAt);
  assert.ok(run.lastProgressAt === run.startedAt && createdAt > run.startedAt);
  assert.equal(after.version, run.version);
});

test('refuses in the order kind, document, run, status, holder, gate, duration', async () => {
  const { task, run } = await makeRun(baton, worker, { run: { maxDurationSeconds: 60 } });
  const large = { text: 'x'.repeat(70_000) };
  for (const kind of ['', '  ', 'x'.repeat(101)])
    await refused(check(newId(), { kind, data: large }), 422, 'invalid_checkpoint');
  await refused(check(run.id, { kind: 7 }), 400, 'invalid_request');
  await refused(check(newId(), { kind: 'a', data: [] }), 422, 'invalid_document');
  await refused(check(newId(), { kind: 'a', data: large }), 422, 'payload_too_large');
  const deep = JSON.parse(`${'{"a":'.repeat(30)}1${'}'.repeat(30)}`);
  await refused(check(newId(), { kind: 'a', data: deep }), 422, 'payload_too_deep');
  await refused(check(newId()), 404, 'not_found');
  await refused(check(run.id, undefined, { ...worker, actor: baton.otherAdmin }), 404, 'not_found');
  await refused(check(run.id, undefined, rival), 403, 'run_holder_mismatch');
  await refused(check(run.id, undefined, { ...worker, actor: baton.admin }), 403, 'run_holder_mismatch');
  await baton.pool.run(sql`update runs set started_at = now() - interval '1 minute' where id = ${run.id}`);
  const over = await refused(check(run.id), 409, 'budget_exceeded');
  assert.deepEqual(over, { budget: 'maxDurationSeconds', limit: 60, runId: run.id });
  await endClaimLease(baton, task.id);
  await refused(check(run.id), 409, 'stale_claim');
  await done(worker.actor.post(`/runs/${run.id}:fail`));
  assert.deepEqual(await refused(check(run.id, undefined, rival), 409, 'run_not_active'), {
    runId: run.id,
    status: 'failed',
  });
  assert.deepEqual(await done(list(run.id)), { items: [], nextCursor: null });
});

test("a run of an earlier claim of the same principal can't write under the new one", async () => {
  const { task, run } = await makeRun(baton, worker);
  await endClaimLease(baton, task.id);
  await claimTask(worker, task.id);
  await refused(check(run.id), 409, 'stale_claim');
});

test("the whole list is returned without limit and cursor; a page's cursor is only valid for its run", async () => {
  const { run } = await makeRun(baton, worker);
  for (let n = 0; n < 60; n += 1) await done(check(run.id), 201);
  const whole = await done(list(run.id));
  assert.deepEqual([whole.items.length, whole.nextCursor], [60, null]);
  const first = await done(list(run.id, '?limit=25'));
  assert.deepEqual(first.items, whole.items.slice(0, 25));
  const second = await done(list(run.id, `?cursor=${first.nextCursor}`));
  assert.deepEqual(second, { items: whole.items.slice(25), nextCursor: null });
  const last = await done(list(run.id, '?limit=60'));
  assert.equal(last.nextCursor, null);
  const { run: other } = await makeRun(baton, worker);
  await refused(list(other.id, `?cursor=${first.nextCursor}`), 422, 'invalid_cursor');
  await refused(
    worker.actor.get(`/runs/${run.id}/actions?cursor=${first.nextCursor}`),
    422,
    'invalid_cursor',
  );
  for (const limit of [0, 201]) await refused(list(run.id, `?limit=${limit}`), 422, 'invalid_limit');
  await refused(list(run.id, '?limit=x'), 400, 'invalid_request');
  await refused(list(newId(), '?limit=0'), 404, 'not_found');
  await refused(list(run.id, '', baton.otherAdmin), 404, 'not_found');
});

test('a list ends after 4 MiB of documents, with a cursor for the rest', async () => {
  const { run } = await makeRun(baton, worker);
  const data = { text: 'x'.repeat(65_000) };
  for (let n = 0; n < 70; n += 1) await done(check(run.id, { kind: 'large', data }), 201);
  const first = await done(list(run.id));
  assert.equal(first.items.length, Math.ceil(4_194_304 / 65_011));
  const rest = await done(list(run.id, `?cursor=${first.nextCursor}`));
  assert.deepEqual(seqsOf(rest), [66, 67, 68, 69, 70]);
  assert.equal(rest.nextCursor, null);
});

test('reading requires tasks.read or tasks.claim', async () => {
  const { run } = await makeRun(baton, worker);
  for (const permission of ['tasks.read', 'tasks.claim'] as const)
    await done(list(run.id, '', await baton.actor({ permissions: [permission] })));
  await refused(list(run.id, '', await baton.actor({ permissions: [] })), 403, 'permission_denied');
});
