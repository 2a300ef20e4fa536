import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { raceRounds } from '@baton/testing/depth';
import { type Answer, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { checkLeaseInvariants } from '../../testing/execution/lease-invariants.ts';
import { claimTask, done, endClaimLease, makeRun, makeWorker, type Worker } from '../../testing/leases.ts';

// Invariants of writes under a run:
// - one holder: at most one of a heartbeat and a reclaim at the lease's end succeeds, and the last token is live;
// - one end: a run succeeds if and only if it completes its task, even with a concurrent cancel;
// - no gaps: actions and checkpoints are numbered from 1 without gaps, and never more than a budget allows;
// - once: an action is finished once, and its usage is counted once;
// - no late writer: in the journal, no checkpoint of a run follows the claim of the next holder.

let baton: TestCoordination;
let worker: Worker;
let rival: Worker;
before(async () => {
  baton = await startCoordination();
  [worker, rival] = [await makeWorker(baton), await makeWorker(baton)];
});
afterEach(() => checkLeaseInvariants(baton));
after(() => baton.close());

/**
 * Milliseconds until the lease ends: in most rounds about when the requests arrive, but well after them in the first
 * round and well before them in the second.
 */
const endsIn = (round: number) => [60_000, -1000][round] ?? (round % 12) * 2 - 2;

/**
 * Sends both requests concurrently, except in the first two rounds: in the first, one gets its response before the
 * other is sent, and in the second it is the other way round.
 */
async function rivalry<First, Second>(
  round: number,
  first: () => Promise<First>,
  second: () => Promise<Second>,
): Promise<[First, Second]> {
  if (round === 0) return [await first(), await second()];
  if (round > 1) return Promise.all([first(), second()]);
  const answer = await second();
  return [await first(), answer];
}

const outcomeOf = ({ status, body }: Answer): string =>
  status < 300 ? 'ok' : (body.error?.code ?? String(status));

test('one holder: a heartbeat and a reclaim at the end of the lease', async () => {
  const seen = new Set<string>();
  for (let round = 0; round < raceRounds; round += 1) {
    const { task, claim } = await makeRun(baton, worker);
    await endClaimLease(baton, task.id, endsIn(round));
    const [beat, taken] = await Promise.all([
      worker.actor.post(`/claims/${claim.id}:heartbeat`),
      rival.actor.post(`/claims/${claim.id}:reclaim`, { sessionId: rival.sessionId }),
    ]);
    const outcomes = [outcomeOf(beat), outcomeOf(taken)];
    seen.add(outcomes.join());
    assert.ok(['ok', 'claim_expired', 'claim_not_active'].includes(outcomes[0] as string), outcomes.join());
    assert.ok(['ok', 'claim_not_expired'].includes(outcomes[1] as string), outcomes.join());
    assert.notDeepEqual(outcomes, ['ok', 'ok']);
    const { activeClaimId, claimEpoch } = await done(baton.admin.get(`/tasks/${task.id}`));
    const live = taken.status === 200 ? taken.body : claim;
    assert.deepEqual([activeClaimId, claimEpoch], [live.id, live.fencingToken]);
  }
  assert.ok(seen.size > 1, [...seen].join(' '));
});

test('one end: a run that succeeds and is cancelled at the same moment', async () => {
  const seen = new Set<string>();
  for (let round = 0; round < raceRounds; round += 1) {
    const { task, run } = await makeRun(baton, worker);
    const answers = await rivalry(
      round,
      () => worker.actor.post(`/runs/${run.id}:succeed`),
      () => (round % 2 === 0 ? baton.admin : worker.actor).post(`/runs/${run.id}:cancel`),
    );
    const outcomes = answers.map(outcomeOf);
    assert.deepEqual([...outcomes].sort(), ['ok', 'run_not_active']);
    const won = outcomes[0] === 'ok' ? 'succeeded' : 'cancelled';
    seen.add(won);
    const { status } = await done(baton.admin.get(`/runs/${run.id}`));
    const { systemStatusCategory } = await done(baton.admin.get(`/tasks/${task.id}`));
    assert.deepEqual([status, systemStatusCategory === 'terminal_success'], [won, won === 'succeeded']);
  }
  assert.equal(seen.size, 2, [...seen].join());
});

test('one end: a task that is completed and cancelled at the same moment', async () => {
  const seen = new Set<string>();
  for (let round = 0; round < raceRounds; round += 1) {
    const { task, claim, run } = await makeRun(baton, worker);
    await done(worker.actor.post(`/runs/${run.id}:fail`));
    const { version } = await done(baton.admin.get(`/tasks/${task.id}`));
    const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
    const ifMatch = { 'if-match': `task-${version}` };
    const complete = () => worker.actor.post(`/tasks/${task.id}:complete`, keys, ifMatch);
    const cancel = () => worker.actor.patch(`/tasks/${task.id}`, { status: 'cancelled', ...keys }, ifMatch);
    const outcomes = (await rivalry(round, complete, cancel)).map(outcomeOf);
    assert.deepEqual([...outcomes].sort(), ['ok', 'version_conflict']);
    const won = outcomes[0] === 'ok' ? 'terminal_success' : 'terminal_cancelled';
    seen.add(won);
    const end = await done(baton.admin.get(`/tasks/${task.id}`));
    assert.deepEqual([end.systemStatusCategory, end.activeClaimId], [won, null]);
  }
  assert.equal(seen.size, 2, [...seen].join());
});

test('no gaps: concurrent actions and checkpoints, within the budget', async () => {
  const { run } = await makeRun(baton, worker, { run: { maxActions: 15 } });
  const act = () => worker.actor.post(`/runs/${run.id}/actions`, { action: 'a', usage: { inputTokens: 1 } });
  const check = () => worker.actor.post(`/runs/${run.id}/checkpoints`, { kind: 'c' });
  const answers = await Promise.all(Array.from({ length: 48 }, (_, n) => (n % 2 === 0 ? act() : check())));
  const acted = answers.filter((_, n) => n % 2 === 0).map(outcomeOf);
  assert.equal(acted.filter((outcome) => outcome === 'ok').length, 15);
  assert.ok(acted.every((outcome) => ['ok', 'budget_exceeded'].includes(outcome)));
  const seqsOf = async (list: string) =>
    (await done(worker.actor.get(`/runs/${run.id}/${list}`))).items.map(({ seq }: { seq: number }) => seq);
  assert.deepEqual(
    await seqsOf('actions'),
    Array.from({ length: 15 }, (_, n) => n + 1),
  );
  assert.deepEqual(
    await seqsOf('checkpoints'),
    Array.from({ length: 24 }, (_, n) => n + 1),
  );
  assert.equal((await done(worker.actor.get(`/runs/${run.id}`))).usage.inputTokens, 15);
});

test('once: an action is finished by one of several', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { run } = await makeRun(baton, worker);
    const body = { action: 'a', status: 'started' };
    const { id } = await done(worker.actor.post(`/runs/${run.id}/actions`, body), 201);
    const finish = (status: string) =>
      worker.actor.post(`/runs/${run.id}/actions/${id}:finish`, { status, usage: { costMicros: 5 } });
    const answers = await Promise.all(['completed', 'failed', 'completed'].map(finish));
    const outcomes = answers.map(outcomeOf).sort();
    assert.deepEqual(outcomes, ['action_already_finished', 'action_already_finished', 'ok']);
    const won = answers.find(({ status }) => status === 200)?.body;
    assert.deepEqual((await done(worker.actor.get(`/runs/${run.id}/actions`))).items, [won]);
    const { usage } = await done(worker.actor.get(`/runs/${run.id}`));
    assert.deepEqual(usage.costs, [{ currency: 'USD', costMicros: 5 }]);
  }
});

test('no late writer: checkpoints during a take-over', async () => {
  const seen = new Set<string>();
  for (let round = 0; round < raceRounds; round += 1) {
    const { task, run } = await makeRun(baton, worker);
    await endClaimLease(baton, task.id, endsIn(round));
    const takeOver = () => rival.actor.post(`/tasks/${task.id}:claim`, { sessionId: rival.sessionId });
    const check = () => worker.actor.post(`/runs/${run.id}/checkpoints`, { kind: 'c' });
    const [first, taken, second] = await Promise.all([check(), takeOver(), check()]);
    for (const answer of [first, second]) {
      assert.ok(['ok', 'stale_claim'].includes(outcomeOf(answer)), outcomeOf(answer));
      seen.add(outcomeOf(answer));
    }
    if (taken.status !== 200) await claimTask(rival, task.id).catch(() => undefined);
    const order = await baton.pool.rows<{ type: string; claim: string | null }>(sql`
      select type, payload ->> 'fencingToken' as claim from events
      where entity_id in (${task.id}, ${run.id}) and type in ('task.claimed', 'run.checkpointed')
      order by position, sequence`);
    const names = order.map(({ type, claim }) =>
      type === 'run.checkpointed' ? 'checkpoint' : `claim ${claim}`,
    );
    const taking = names.indexOf('claim 2');
    assert.ok(taking === -1 || !names.slice(taking).includes('checkpoint'), names.join());
    const written = (await done(worker.actor.get(`/runs/${run.id}/checkpoints`))).items.length;
    assert.equal(written, [first, second].filter(({ status }) => status === 201).length);
  }
  assert.equal(seen.size, 2, [...seen].join());
});
