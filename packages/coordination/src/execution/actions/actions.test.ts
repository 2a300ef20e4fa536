import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { launch, makeFamily, startChild } from '../../testing/execution/children.ts';
import {
  done,
  endClaimLease,
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
before(async () => {
  baton = await startCoordination();
  [worker, rival] = [await makeWorker(baton), await makeWorker(baton)];
});
after(() => baton.close());

const act = (runId: string, body: object = {}, by = worker) =>
  by.actor.post(`/runs/${runId}/actions`, { action: 'build', ...body });
const finish = (runId: string, actionId: string, body: object = {}, by = worker) =>
  by.actor.post(`/runs/${runId}/actions/${actionId}:finish`, { status: 'completed', ...body });
const read = (runId: string) => done(worker.actor.get(`/runs/${runId}`));
const list = (runId: string, query = '') => worker.actor.get(`/runs/${runId}/actions${query}`);
const unused = { inputTokens: null, outputTokens: null, costMicros: null, currency: null };

describe('POST /runs/{id}/actions', () => {
  test('is completed by default, numbered, and emits no event', async () => {
    const { task, run } = await makeRun(baton, worker);
    const metadata = { tool: 'make', flags: ['-j2'] };
    const first = await done(act(run.id, { externalReference: 'ci/1', metadata }), 201);
    const { id, startedAt, finishedAt, createdAt, ...rest } = first;
    assert.ok(startedAt === finishedAt && startedAt === createdAt && startedAt > run.startedAt);
    assert.deepEqual(rest, {
      tenantId: baton.tenantId,
      runId: run.id,
      taskId: task.id,
      principalId: worker.actor.principalId,
      sessionId: worker.sessionId,
      skillId: null,
      seq: 1,
      action: 'build',
      status: 'completed',
      externalReference: 'ci/1',
      metadata,
      usage: unused,
    });
    const failed = await done(act(run.id, { status: 'failed' }), 201);
    assert.deepEqual([failed.seq, failed.status, failed.finishedAt !== null], [2, 'failed', true]);
    const started = await done(act(run.id, { status: 'started' }), 201);
    assert.deepEqual([started.seq, started.status, started.finishedAt], [3, 'started', null]);
    assert.deepEqual(await done(list(run.id)), { items: [first, failed, started], nextCursor: null });
    const pages = await done(list(run.id, '?limit=2'));
    assert.deepEqual(pages.items, [first, failed]);
    assert.deepEqual((await done(list(run.id, `?cursor=${pages.nextCursor}`))).items, [started]);
    assert.equal((await eventsOf(baton, run.id, id)).length, 1);
    assert.equal((await read(run.id)).lastProgressAt, started.createdAt);
  });

  test('refuses in the order action, usage, status, document, run, status of the run, holder, gate', async () => {
    const { task, run } = await makeRun(baton, worker);
    const usage = { costMicros: 1, currency: 'QQQ' };
    for (const action of ['', ' ', 'x'.repeat(201)])
      await refused(act(newId(), { action, usage, status: 'odd' }), 422, 'invalid_action');
    const field = await refused(act(newId(), { usage, status: 'odd' }), 422, 'invalid_action');
    assert.deepEqual(field, { field: 'usage.currency', currency: 'QQQ' });
    await refused(act(newId(), { status: 'odd', metadata: [] }), 422, 'invalid_status');
    await refused(act(newId(), { metadata: [] }), 422, 'invalid_document');
    await refused(act(newId(), { metadata: { a: 'x'.repeat(70_000) } }), 422, 'payload_too_large');
    await refused(act(newId()), 404, 'not_found');
    await refused(act(run.id, {}, { ...worker, actor: baton.otherAdmin }), 404, 'not_found');
    await refused(act(run.id, {}, rival), 403, 'run_holder_mismatch');
    for (const usage of [
      { inputTokens: -1 },
      { costMicros: 1.5 },
      { currency: 'usd' },
      { outputTokens: 2 ** 31 },
    ])
      await refused(act(run.id, { usage }), 400, 'invalid_request');
    await endClaimLease(baton, task.id);
    await refused(act(run.id), 409, 'stale_claim');
    await done(worker.actor.post(`/runs/${run.id}:fail`));
    await refused(act(run.id, {}, rival), 409, 'run_not_active');
  });

  test('then refuses in the order currency, duration, cancellation, skill, actions', async () => {
    const { run } = await makeRun(baton, worker, {
      run: { maxDurationSeconds: 60, maxActions: 1, maxCostMicros: 5, currency: 'EUR' },
    });
    await done(act(run.id), 201);
    const set = (column: string, value: string) =>
      baton.pool.run({
        text: `update runs set ${column} = now() + $2::interval where id = $1`,
        values: [run.id, value],
      });
    await set('started_at', '-1 minute');
    await set('cancel_applied_at', '0');
    const wrong = { skill: 'deploy@1', usage: { costMicros: 1 } };
    const mixed = await refused(act(run.id, wrong), 422, 'invalid_action');
    assert.deepEqual(mixed, { field: 'usage.currency', currency: 'USD', expected: 'EUR' });
    const late = await refused(act(run.id, { skill: 'deploy@1' }), 409, 'budget_exceeded');
    assert.equal(late.budget, 'maxDurationSeconds');
    await set('started_at', '0');
    await refused(act(run.id, { skill: 'deploy@1' }), 409, 'run_cancel_requested');
    await baton.pool.run(sql`update runs set cancel_applied_at = null where id = ${run.id}`);
    assert.deepEqual(await refused(act(run.id, { skill: 'deploy@1' }), 403, 'tool_not_authorized'), {
      skill: 'deploy@1',
    });
    const spent = await refused(act(run.id), 409, 'budget_exceeded');
    assert.deepEqual(spent, { budget: 'maxActions', limit: 1, used: 1, runId: run.id });
  });

  test('a refused action uses no number and no budget', async () => {
    const { run } = await makeRun(baton, worker, { run: { maxActions: 2 } });
    await done(act(run.id), 201);
    for (const body of [{ status: 'odd' }, { skill: 'x' }, { usage: { costMicros: 1, currency: 'QQQ' } }])
      assert.notEqual((await act(run.id, body)).status, 201);
    assert.equal((await done(act(run.id), 201)).seq, 2);
    await refused(act(run.id), 409, 'budget_exceeded');
    assert.equal((await done(list(run.id))).items.length, 2);
  });

  test('budgets never prevent the end of a run', async () => {
    for (const verb of ['succeed', 'fail']) {
      const { run } = await makeRun(baton, worker, {
        run: { maxActions: 1, maxTokens: 1, maxCostMicros: 1, maxDurationSeconds: 1 },
      });
      await done(act(run.id, { usage: { inputTokens: 5, costMicros: 5 } }), 201);
      await baton.pool.run(sql`update runs set started_at = now() - interval '1 hour' where id = ${run.id}`);
      await refused(act(run.id), 409, 'budget_exceeded');
      await done(worker.actor.post(`/runs/${run.id}:${verb}`));
    }
  });
});

describe('skills', () => {
  async function skillOf(principalId: string, name: string, version: string) {
    const body = { name, version, protocol: 'mcp', sideEffects: 'none' };
    const { id: skillId } = await done(baton.admin.post('/skills', body), 201);
    await done(baton.admin.post(`/principals/${principalId}/skills`, { skillId }), 201);
    return skillId;
  }

  test('an action can only use an assigned, enabled skill, given by name or version', async () => {
    const { principalId } = worker.actor;
    const older = await skillOf(principalId, 'lint', '1');
    const newer = await skillOf(principalId, 'lint', '2');
    await skillOf(rival.actor.principalId, 'lint', '3');
    const { run } = await makeRun(baton, worker);
    const used = async (skill: string) => (await done(act(run.id, { skill }), 201)).skillId;
    assert.deepEqual([await used('lint@1'), await used('lint@2'), await used('lint')], [older, newer, newer]);
    for (const skill of ['lint@3', 'lint@', 'li', 'unknown'])
      await refused(act(run.id, { skill }), 403, 'tool_not_authorized');
    await baton.pool.run(sql`update skills set status = 'disabled' where id = ${newer}`);
    assert.equal(await used('lint'), older);
    await refused(act(run.id, { skill: 'lint@2' }), 403, 'tool_not_authorized');
  });

  test('an action that uses a skill whose protocol the session did not list records that protocol', async () => {
    const { actor } = await makeWorker(baton);
    await skillOf(actor.principalId, 'paint', '1');
    const runIn = async (capabilities: string[] | undefined) => {
      const harness = capabilities && { type: 'test', capabilities };
      const by = { actor, sessionId: await openSession(actor, { harness }) };
      const { run } = await makeRun(baton, by);
      return (body: object) => done(act(run.id, body, by), 201);
    };
    // A session that lists no protocols causes no mismatch (docs/reference/agents.md#tools).
    for (const capabilities of [
      undefined,
      [],
      ['checkpoints'],
      ['skills.protocol.http', 'skills.protocol.mcp'],
    ])
      assert.deepEqual((await (await runIn(capabilities))({ skill: 'paint' })).metadata, {});
    const record = await runIn(['checkpoints', 'skills.protocol.http']);
    assert.deepEqual((await record({ metadata: { n: 1 } })).metadata, { n: 1 });
    const { skillId, metadata } = await record({ skill: 'paint', metadata: { n: 1 } });
    assert.ok(skillId);
    assert.deepEqual(metadata, { n: 1, capabilityMismatch: 'mcp' });
  });

  test("only the service can set a protocol mismatch, which doesn't count towards the size of the metadata", async () => {
    const { actor } = await makeWorker(baton);
    await skillOf(actor.principalId, 'draw', '1');
    const harness = { type: 'test', capabilities: ['skills.protocol.local'] };
    const by = { actor, sessionId: await openSession(actor, { harness }) };
    const { run } = await makeRun(baton, by);
    const claimed = { capabilityMismatch: 'none', n: 1 };
    assert.deepEqual((await done(act(run.id, { metadata: claimed }, by), 201)).metadata, { n: 1 });
    const full = { text: 'x'.repeat(65_536 - '{"text":""}'.length) };
    const started = { skill: 'draw', status: 'started', metadata: full };
    const { id, metadata } = await done(act(run.id, started, by), 201);
    assert.deepEqual(metadata, { ...full, capabilityMismatch: 'mcp' });
    const finished = await done(finish(run.id, id, { metadata: { capabilityMismatch: 'none' } }, by));
    assert.deepEqual(finished.metadata, metadata);
  });

  test('a launched run can only use the skills that its handle grants, which is checked first', async () => {
    await skillOf(rival.actor.principalId, 'review', '1');
    const { handle, child } = await makeFamily(baton, { parent: worker, child: rival });
    const asChild = (skill: string) => act(child.run.id, { skill }, rival);
    const details = await refused(asChild('review@1'), 403, 'child_grant_exceeded');
    assert.deepEqual(details, { required: ['review@1'] });
    await baton.pool.run(sql`update child_handles set skills = '{review@1}' where id = ${handle.id}`);
    await done(asChild('review@1'), 201);
    await done(asChild('review'), 201);
    await refused(asChild('review@'), 403, 'child_grant_exceeded');
  });

  test('a skill without a version is the newest assigned and granted one', async () => {
    const { principalId } = rival.actor;
    const older = await skillOf(principalId, 'ship', '1');
    const newer = await skillOf(principalId, 'ship', '2');
    const { handle, child } = await makeFamily(baton, { parent: worker, child: rival });
    const grant = (skills: string[]) =>
      baton.pool.run(sql`update child_handles set skills = ${skills} where id = ${handle.id}`);
    const used = async () => (await done(act(child.run.id, { skill: 'ship' }, rival), 201)).skillId;
    await grant(['ship@1', 'ship@2']);
    assert.equal(await used(), newer);
    await grant(['ship@1']);
    assert.equal(await used(), older);
    await refused(act(child.run.id, { skill: 'ship@2' }, rival), 403, 'child_grant_exceeded');
    await grant(['ship@3']);
    await refused(act(child.run.id, { skill: 'ship' }, rival), 403, 'tool_not_authorized');
  });
});

describe('budgets of runs that launch others', () => {
  const use = (by: Worker, runId: string, usage: object) => act(runId, { usage }, by);

  test('the usage of children counts against the budgets of all runs above, at any depth and in every attempt', async () => {
    const made = await makeRun(baton, worker, { run: { maxTokens: 100, maxCostMicros: 1000 } });
    const start = async (by: Worker, runId: string, launcher: Worker) => {
      const { childTask } = await done(launch(launcher, runId), 201);
      return startChild(by, childTask.id);
    };
    const child = await start(rival, made.run.id, worker);
    const grandchild = await start(worker, child.run.id, rival);
    await done(use(rival, child.run.id, { inputTokens: 40, costMicros: 10 }), 201);
    await done(use(worker, grandchild.run.id, { inputTokens: 40, costMicros: 5 }), 201);
    await done(use(worker, made.run.id, { outputTokens: 19 }), 201);
    await done(use(worker, grandchild.run.id, { outputTokens: 1 }), 201);
    const spent = { budget: 'maxTokens', limit: 100, used: 100, runId: made.run.id };
    for (const [by, runId] of [
      [worker, made.run.id],
      [rival, child.run.id],
      [worker, grandchild.run.id],
    ] as const)
      assert.deepEqual(await refused(use(by, runId, {}), 409, 'budget_exceeded'), spent);
    assert.equal((await read(made.run.id)).usage.outputTokens, 19);
    await done(worker.actor.post(`/runs/${grandchild.run.id}:succeed`));
    await done(rival.actor.post(`/runs/${child.run.id}:succeed`));
  });

  test('a child has its own budget, and its costs also count against the budget of the run above', async () => {
    const { run, child } = await makeFamily(baton, { parent: worker, child: rival });
    await baton.pool.run(sql`update runs set max_cost_micros = 10, currency = 'EUR' where id = ${run.id}`);
    await baton.pool.run(sql`update runs set max_tokens = 5 where id = ${child.run.id}`);
    await done(use(rival, child.run.id, { inputTokens: 5 }), 201);
    const own = await refused(use(rival, child.run.id, {}), 409, 'budget_exceeded');
    assert.equal(own.runId, child.run.id);
    await done(use(worker, run.id, { costMicros: 9, currency: 'EUR' }), 201);
    await baton.pool.run(sql`update runs set max_tokens = null where id = ${child.run.id}`);
    await done(use(rival, child.run.id, { costMicros: 1, currency: 'EUR' }), 201);
    const above = await refused(use(rival, child.run.id, {}), 409, 'budget_exceeded');
    assert.deepEqual(above, { budget: 'maxCostMicros', limit: 10, used: 10, runId: run.id });
  });

  test('the costs of a child must be in the currency of every budget above it', async () => {
    const parent = await makeRun(baton, worker, { run: { maxCostMicros: 100 } });
    const first = await done(launch(worker, parent.run.id), 201);
    const middle = await startChild(rival, first.childTask.id);
    const second = await done(launch(rival, middle.run.id), 201);
    const { run } = await startChild(worker, second.childTask.id);
    const euros = { costMicros: 1_000_000, currency: 'EUR' };
    const passing = { field: 'usage.currency', currency: 'EUR', expected: 'USD', runId: parent.run.id };
    assert.deepEqual(await refused(use(worker, run.id, euros), 422, 'invalid_action'), passing);
    const action = await done(act(run.id, { status: 'started', usage: { inputTokens: 1 } }), 201);
    const finishing = finish(run.id, action.id, { usage: euros });
    assert.deepEqual(await refused(finishing, 422, 'invalid_action'), passing);
    await done(finish(run.id, action.id, { usage: { costMicros: 100 } }));
    assert.deepEqual((await read(run.id)).usage.costs, [{ currency: 'USD', costMicros: 100 }]);
    const spent = await refused(use(worker, run.id, {}), 409, 'budget_exceeded');
    assert.equal(spent.runId, parent.run.id);
    // The run's own budget in another currency does not exempt it from the budget above it.
    await baton.pool.run(sql`update runs set max_cost_micros = 10, currency = 'EUR' where id = ${run.id}`);
    await refused(use(worker, run.id, euros), 422, 'invalid_action');
    const own = await refused(use(worker, run.id, { costMicros: 1 }), 422, 'invalid_action');
    assert.deepEqual(own, { field: 'usage.currency', currency: 'USD', expected: 'EUR' });
  });
});

describe('usage', () => {
  test('is summed on the run; a used-up budget refuses further actions', async () => {
    const { run } = await makeRun(baton, worker, { run: { maxTokens: 100, maxCostMicros: 1000 } });
    assert.deepEqual(
      [run.maxTokens, run.maxCostMicros, run.currency, run.usage],
      [100, 1000, 'USD', { inputTokens: 0, outputTokens: 0, costs: [] }],
    );
    const usage = { inputTokens: 30, outputTokens: 20, costMicros: 400 };
    const first = await done(act(run.id, { usage }), 201);
    assert.deepEqual(first.usage, { ...usage, currency: 'USD' });
    await done(act(run.id, { usage: { inputTokens: 49, outputTokens: 0 } }), 201);
    await done(act(run.id, { usage: { outputTokens: 2 } }), 201);
    const used = { inputTokens: 79, outputTokens: 22, costs: [{ currency: 'USD', costMicros: 400 }] };
    assert.deepEqual((await read(run.id)).usage, used);
    const spent = await refused(act(run.id), 409, 'budget_exceeded');
    assert.deepEqual(spent, { budget: 'maxTokens', limit: 100, used: 101, runId: run.id });
  });

  test('a money budget accepts only costs in its currency; without one, any currency is accepted', async () => {
    const { run } = await makeRun(baton, worker, { run: { maxCostMicros: 10, currency: 'EUR' } });
    await refused(act(run.id, { usage: { costMicros: 1 } }), 422, 'invalid_action');
    await done(act(run.id, { usage: { costMicros: 10, currency: 'EUR' } }), 201);
    const spent = await refused(act(run.id), 409, 'budget_exceeded');
    assert.deepEqual([spent.budget, spent.used], ['maxCostMicros', 10]);
    const { run: free } = await makeRun(baton, worker, { run: { currency: 'EUR' } });
    assert.equal(free.currency, null);
    for (const currency of ['JPY', 'EUR', undefined])
      await done(act(free.id, { usage: { costMicros: 2, currency } }), 201);
    assert.deepEqual((await read(free.id)).usage.costs, [
      { currency: 'EUR', costMicros: 2 },
      { currency: 'JPY', costMicros: 2 },
      { currency: 'USD', costMicros: 2 },
    ]);
  });

  test('a start with an unknown currency, or a budget out of bounds, is refused', async () => {
    const start = (body: object) =>
      worker.actor.post(`/tasks/${newId()}:start-run`, { claimId: newId(), fencingToken: 1, ...body });
    await refused(start({ currency: 'QQQ' }), 422, 'invalid_budget');
    await refused(start({ currency: 'euro' }), 400, 'invalid_request');
    for (const field of ['maxTokens', 'maxCostMicros'])
      for (const value of [0, -1, 1.5]) await refused(start({ [field]: value }), 400, 'invalid_request');
  });

  test('sums stay exact integers for any usage', async () => {
    const { run } = await makeRun(baton, worker);
    await baton.pool.run(sql`
      update runs set input_tokens = 9007199254740990, costs = '{"USD": 9007199254740990}' where id = ${run.id}`);
    await done(act(run.id, { usage: { inputTokens: 7, costMicros: 7 } }), 201);
    const { usage } = await read(run.id);
    assert.deepEqual([usage.inputTokens, usage.costs[0].costMicros], [2 ** 53 - 1, 2 ** 53 - 1]);
  });
});

describe('POST /runs/{id}/actions/{aid}:finish', () => {
  test('finishes a started action, and adds metadata and usage to it and to the run', async () => {
    const { run } = await makeRun(baton, worker);
    const usage = { inputTokens: 5, costMicros: 10 };
    const started = await done(
      act(run.id, { status: 'started', externalReference: 'ci/1', metadata: { a: 1, b: 1 }, usage }),
      201,
    );
    const finished = await done(
      finish(run.id, started.id, {
        status: 'failed',
        metadata: { b: 2 },
        usage: { inputTokens: 3, outputTokens: 1, costMicros: 1 },
      }),
    );
    assert.deepEqual(finished, {
      ...started,
      status: 'failed',
      metadata: { a: 1, b: 2 },
      finishedAt: finished.finishedAt,
      usage: { inputTokens: 8, outputTokens: 1, costMicros: 11, currency: 'USD' },
    });
    assert.ok(finished.finishedAt > started.startedAt);
    const { usage: sums, lastProgressAt } = await read(run.id);
    assert.deepEqual(sums, { inputTokens: 8, outputTokens: 1, costs: [{ currency: 'USD', costMicros: 11 }] });
    assert.equal(lastProgressAt, finished.finishedAt);
    const again = await refused(finish(run.id, started.id), 409, 'action_already_finished');
    assert.deepEqual(again, { actionId: started.id, status: 'failed' });
    const other = await done(act(run.id, { status: 'started' }), 201);
    assert.equal(
      (await done(finish(run.id, other.id, { externalReference: 'ci/2' }))).externalReference,
      'ci/2',
    );
  });

  test('refuses in the order status, document, action, run, holder, gate, finished, currency, merged document', async () => {
    const { task, run } = await makeRun(baton, worker);
    const half = { text: 'x'.repeat(40_000) };
    const metadata = { first: half };
    const action = await done(act(run.id, { status: 'started', metadata, usage: { costMicros: 1 } }), 201);
    const { run: other } = await makeRun(baton, worker);
    await refused(finish(run.id, newId(), { status: 'started', metadata: [] }), 422, 'invalid_status');
    await refused(finish(run.id, newId(), { metadata: [] }), 422, 'invalid_document');
    await refused(finish(run.id, newId()), 404, 'not_found');
    await refused(finish(other.id, action.id), 404, 'not_found');
    await refused(finish(newId(), action.id), 404, 'not_found');
    await refused(finish(run.id, action.id, {}, { ...worker, actor: baton.otherAdmin }), 404, 'not_found');
    await refused(finish(run.id, action.id, {}, rival), 403, 'run_holder_mismatch');
    const euros = { costMicros: 1, currency: 'EUR' };
    await refused(finish(run.id, action.id, { usage: euros }), 422, 'invalid_action');
    await refused(finish(run.id, action.id, { metadata: { second: half } }), 422, 'payload_too_large');
    await endClaimLease(baton, task.id);
    await refused(finish(run.id, action.id), 409, 'stale_claim');
    await done(worker.actor.post(`/runs/${run.id}:cancel`));
    await refused(finish(run.id, action.id, {}, rival), 409, 'run_not_active');
    assert.deepEqual((await done(list(run.id))).items, [action]);
  });

  test('neither a budget nor a cancellation prevents a started action from finishing', async () => {
    const { run } = await makeRun(baton, worker, { run: { maxActions: 1, maxTokens: 1 } });
    const action = await done(act(run.id, { status: 'started', usage: { inputTokens: 9 } }), 201);
    await baton.pool.run(sql`update runs set cancel_applied_at = now() where id = ${run.id}`);
    await done(finish(run.id, action.id, { usage: { inputTokens: 1 } }));
    assert.equal((await read(run.id)).usage.inputTokens, 10);
  });
});
