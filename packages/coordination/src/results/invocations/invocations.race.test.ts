import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth, raceRounds } from '@baton/testing/depth';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf } from '../../testing/leases.ts';
import {
  claimCall,
  endCallLease,
  invoke,
  makeCallable,
  makeCallWorker,
  runningCall,
} from '../../testing/results/invocations.ts';

let baton: TestCoordination;
/** A second process on the same database. */
let other: { url: string };
let worker: ReturnType<typeof makeCallWorker>;
let executors: Actor[];
let retried: any;
before(async () => {
  baton = await startCoordination();
  other = await baton.another();
  worker = makeCallWorker(baton);
  executors = await Promise.all([baton.actor(), baton.actor(), baton.actor()]);
  retried = await makeCallable(baton.admin, {
    contract: { retryPolicy: { maxAttempts: 10 }, idempotency: 'natural' },
  });
});
after(async () => {
  await worker.close();
  await baton.close();
});

const read = (id: string) => done(baton.admin.get(`/skill-invocations/${id}`));
const endsOf = async (id: string) =>
  (await eventsOf(baton, id))
    .filter(({ type }) => /_(succeeded|failed|cancelled)$/.test(type))
    .map(({ type }) => type);

test('a late success concurrent with the retry: one of them counts, and the record agrees with the journal', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const call = await runningCall(executors[0] as Actor, baton.admin, retried);
    const { id, fencingToken } = call;
    await endCallLease(baton, id);
    // In every second round the lease is slightly longer, so that both orders occur.
    if (round % 2 === 0)
      await baton.pool.run(sql`
        update skill_invocations set lease_expires_at = clock_timestamp() + interval '4 ms' where id = ${id}`);
    const [late] = await Promise.all([
      executors[0]?.post(`/skill-invocations/${id}:complete`, { fencingToken, output: { by: 'first' } }),
      worker.lapse(),
    ]);
    const after = await read(id);
    if (late?.status === 200) assert.deepEqual([after.status, after.output], ['succeeded', { by: 'first' }]);
    else {
      assert.equal(late?.body.error.code, 'stale_invocation_lease');
      await worker.lapse();
      const next = (await done(claimCall(executors[1] as Actor, retried))).invocation;
      assert.deepEqual([next.id, next.attempt, next.fencingToken], [id, 2, fencingToken + 1]);
      const result = { fencingToken: next.fencingToken, output: { by: 'second' } };
      await done(executors[1]?.post(`/skill-invocations/${id}:complete`, result) as never);
    }
    assert.deepEqual(await endsOf(id), ['skill.invocation_succeeded'], `round ${round}`);
  }
});

test('of a concurrent cancel and success one wins', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { id, fencingToken } = await runningCall(executors[0] as Actor, baton.admin, retried);
    const [cancelled, completed] = await Promise.all([
      baton.admin.post(`/skill-invocations/${id}:cancel`, {}),
      executors[0]?.post(`/skill-invocations/${id}:complete`, { fencingToken, output: {} }),
    ]);
    const { status } = await read(id);
    if (cancelled.status === 200) {
      assert.equal(completed?.body.error?.code, 'stale_invocation_lease');
      assert.equal(status, 'cancelled');
    } else {
      assert.deepEqual([cancelled.body.error.code, completed?.status], ['invocation_terminal', 200]);
      assert.equal(status, 'succeeded');
    }
    assert.equal((await endsOf(id)).length, 1, `round ${round}`);
  }
});

test('two executors at expiry: one takes over the call with a higher token, and the first is refused', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { id, fencingToken } = await runningCall(executors[0] as Actor, baton.admin, retried);
    await endCallLease(baton, id);
    const claims = await Promise.all([1, 2].map((index) => claimCall(executors[index] as Actor, retried)));
    const taken = claims.filter(({ status }) => status === 200);
    // Each request may find the row locked by the other, which is about to claim it or has just released it.
    assert.ok(taken.length <= 1, `round ${round}`);
    const [first] = taken.length === 1 ? taken : [await claimCall(executors[1] as Actor, retried)];
    assert.equal(first?.status, 200, `round ${round}`);
    assert.deepEqual(
      [first?.body.invocation.id, first?.body.invocation.fencingToken],
      [id, fencingToken + 1],
    );
    const late = await executors[0]?.post(`/skill-invocations/${id}:complete`, { fencingToken, output: {} });
    assert.equal(late?.body.error.code, 'stale_invocation_lease');
    await done(baton.admin.post(`/skill-invocations/${id}:cancel`, {}));
  }
});

test('the same key in two processes creates one call', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const body = { inputs: { round }, idempotencyKey: `same-${round}` };
    const send = ({ url }: { url: string }) =>
      fetch(`${url}/api/v1/skills/${retried.id}:invoke`, {
        method: 'POST',
        headers: { authorization: `Bearer ${baton.admin.token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const answers = await Promise.all([baton, other, baton, other].map(send));
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 200, 200, 201]);
    const ids = await Promise.all(
      answers.map(async (answer) => ((await answer.json()) as { id: string }).id),
    );
    assert.equal(new Set(ids).size, 1);
    const requested = (await eventsOf(baton, ids[0] as string)).filter(({ type }) =>
      type.endsWith('_requested'),
    );
    assert.equal(requested.length, 1);
  }
});

test('many executors empty a queue: every call is claimed once', async () => {
  const skill = await makeCallable(baton.admin);
  const calls = await Promise.all(
    Array.from({ length: 40 }, async () => (await done(invoke(baton.admin, skill), 201)).id),
  );
  const taken: string[] = [];
  const work = async (executor: Actor) => {
    for (let misses = 0; misses < 5; ) {
      const answer = await claimCall(executor, skill);
      if (answer.status === 200) taken.push(answer.body.invocation.id);
      else misses += 1;
    }
  };
  await Promise.all([...executors, ...executors].map(work));
  assert.deepEqual(taken.toSorted(), calls.toSorted());
});

test('a disable concurrent with a call of the skill leaves no claimable call', async () => {
  for (let round = 0; round < byDepth(10, 200); round += 1) {
    const skill = await makeCallable(baton.admin);
    const [called] = await Promise.all([
      invoke(baton.admin, skill),
      baton.admin.patch(`/skills/${skill.id}`, { status: 'disabled' }, { 'if-match': 'skill-1' }),
    ]);
    await worker.withdraw();
    if (called.status === 201)
      assert.equal((await read(called.body.id)).status, 'cancelled', `round ${round}`);
    else assert.equal(called.body.error.code, 'skill_not_invocable');
    assert.equal((await claimCall(executors[0] as Actor, skill)).status, 204);
  }
});
