import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '@baton/kernel/database/sql';
import { byDepth, raceRounds } from '@baton/testing/depth';
import { type Answer, startCoordination, type TestCoordination } from '../testing/coordination.ts';
import { checkLeaseInvariants } from '../testing/execution/lease-invariants.ts';
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
  type Worker,
} from '../testing/leases.ts';
import { finishAllEndings } from '../testing/sweepers.ts';
import { untilBlockedBy } from '../testing/wait-until.ts';

// Tests pairs of concurrent requests: the result must be one that a sequential execution, in either order, could
// produce.
let baton: TestCoordination;
let worker: Worker;
let rivals: Worker[];

before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
  rivals = await Promise.all(Array.from({ length: 4 }, () => makeWorker(baton)));
});
afterEach(() => checkLeaseInvariants(baton));
after(() => baton.close());

const outcomeOf = ({ status, body }: Answer): string => (status < 300 ? 'ok' : body.error.code);
const keysOf = ({ id, fencingToken }: { id: string; fencingToken: number }) => ({
  claimId: id,
  fencingToken,
});
const claimBy = ({ actor, sessionId }: Worker, taskId: string) =>
  actor.post(`/tasks/${taskId}:claim`, { sessionId });

async function held(by = worker) {
  const task = await makeTask(baton);
  return { task, claim: await claimTask(by, task.id) };
}

async function running(by = worker) {
  const { task, claim } = await held(by);
  const run = await done(by.actor.post(`/tasks/${task.id}:start-run`, keysOf(claim)), 201);
  return { task, claim, run };
}

test('a heartbeat at the instant of a take-over keeps the claim or is refused, never both', async () => {
  const seen = new Set<string>();
  for (let round = 0; round < 3 * raceRounds; round += 1) {
    const { task, claim } = await held();
    // The first round uses a valid lease and the second an expired one, so that both outcomes occur on any machine.
    await endClaimLease(baton, task.id, [60_000, -1000][round] ?? round % 10);
    const [beat, ...takes] = await Promise.all([
      worker.actor.post(`/claims/${claim.id}:heartbeat`),
      ...rivals.map((rival) => claimBy(rival, task.id)),
    ]);
    const winners = takes.filter(({ status }) => status === 200);
    assert.ok(winners.length + (beat.status === 200 ? 1 : 0) <= 1);
    const { activeClaimId } = await done(baton.admin.get(`/tasks/${task.id}`));
    assert.equal(activeClaimId, winners[0]?.body.id ?? claim.id);
    seen.add(`${outcomeOf(beat)} ${winners.length}`);
  }
  assert.ok(seen.has('ok 0') && [...seen].some((outcome) => outcome.endsWith(' 1')), [...seen].join());
});

test('a release at the instant of a take-over: one rival wins, and the old claim ends once', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { task, claim } = await held();
    await endClaimLease(baton, task.id);
    const [release, ...takes] = await Promise.all([
      worker.actor.post(`/claims/${claim.id}:release`),
      ...rivals.map((rival) => claimBy(rival, task.id)),
    ]);
    assert.ok(['released', 'stale'].includes(release.body.status));
    assert.equal(takes.filter(({ status }) => status === 200).length, 1);
  }
});

test('a release and a claim that waits for it: the claim is not refused for the released one', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { task, claim } = await held();
    const [release, ...takes] = await Promise.all([
      worker.actor.post(`/claims/${claim.id}:release`),
      ...rivals.map((rival) => claimBy(rival, task.id)),
    ]);
    assert.equal(release.status, 200);
    const winners = takes.filter(({ status }) => status === 200);
    assert.ok(winners.length <= 1);
    for (const take of takes) assert.ok(['ok', 'task_already_claimed'].includes(outcomeOf(take)));
    if (winners.length === 0) await claimTask(rivals[0] as Worker, task.id);
  }
});

test('two closes of a session at once close it once', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const sessionId = await openSession(worker.actor);
    const { claim } = await held({ ...worker, sessionId });
    const close = () => worker.actor.post(`/sessions/${sessionId}:close`);
    const answers = await Promise.all([close(), close(), baton.admin.post(`/sessions/${sessionId}:close`)]);
    for (const answer of answers) assert.equal((answer.body as { status: string }).status, 'closed');
    const types = (await eventsOf(baton, sessionId, claim.id)).map(({ type }) => type);
    assert.deepEqual(types, ['session.opened', 'claim.released', 'session.closed']);
  }
});

test('a claim while its session closes never leaves a live claim under a dead session', async () => {
  const seen = new Set<string>();
  for (let round = 0; round < raceRounds; round += 1) {
    const sessionId = await openSession(worker.actor);
    const tasks = await Promise.all(Array.from({ length: 4 }, () => makeTask(baton)));
    const claim = ({ id }: { id: string }) => claimBy({ ...worker, sessionId }, id);
    const close = () => worker.actor.post(`/sessions/${sessionId}:close`);
    // The test sends the close first, third or last, and the later claims some milliseconds after it. In the first two
    // rounds it awaits each response before the next request, so that both outcomes occur on any machine.
    const early = tasks.slice(0, round % 5).map(claim);
    if (round < 2) await Promise.all(early);
    const closed = close();
    await (round < 2 ? closed : sleep(round % 25));
    const answers = await Promise.all([...early, ...tasks.slice(round % 5).map(claim)]);
    assert.equal((await closed).status, 200);
    for (const answer of answers) seen.add(outcomeOf(answer));
    const left = await done(worker.actor.get(`/claims?sessionId=${sessionId}&status=active`));
    assert.deepEqual(left.items, []);
    for (const { id } of tasks)
      assert.equal((await done(worker.actor.get(`/tasks/${id}`))).activeClaimId, null);
  }
  assert.deepEqual([...seen].sort(), ['ok', 'session_not_active']);
});

test('heartbeats of a claim and of its session while the session closes leave neither live', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const sessionId = await openSession(worker.actor);
    const { claim } = await held({ ...worker, sessionId });
    const [beat, sessionBeat, close] = await Promise.all([
      worker.actor.post(`/claims/${claim.id}:heartbeat`),
      worker.actor.post(`/sessions/${sessionId}:heartbeat`),
      worker.actor.post(`/sessions/${sessionId}:close`),
    ]);
    assert.equal(close.status, 200);
    assert.ok(['ok', 'claim_not_active', 'session_not_active'].includes(outcomeOf(beat)), outcomeOf(beat));
    assert.ok(['ok', 'session_not_active'].includes(outcomeOf(sessionBeat)), outcomeOf(sessionBeat));
    assert.equal((await done(worker.actor.get(`/claims/${claim.id}`))).status, 'released');
    assert.equal((await done(worker.actor.get(`/sessions/${sessionId}`))).status, 'closed');
  }
});

test('simultaneous heartbeats that find their session expired record its end once', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const sessionId = await openSession(worker.actor);
    const { claim } = await held({ ...worker, sessionId });
    await endSessionLease(baton, sessionId);
    const beat = () => worker.actor.post(`/sessions/${sessionId}:heartbeat`);
    const answers = await Promise.all([beat(), beat(), beat()]);
    const outcomes = answers.map(outcomeOf).sort();
    assert.deepEqual(outcomes, ['session_expired', 'session_not_active', 'session_not_active']);
    const types = (await eventsOf(baton, sessionId, claim.id)).map(({ type }) => type);
    assert.deepEqual(types, ['session.opened', 'claim.released', 'session.expired']);
  }
});

test('concurrent uses of a session whose delegation has ended close it once', async () => {
  const human = await baton.actor({ kind: 'human' });
  for (let round = 0; round < byDepth(10, 200); round += 1) {
    const delegationId = await delegate(human, worker.actor, baton);
    const sessionId = await openSession(worker.actor, { onBehalfOf: human.principalId });
    const [{ claim, run }, free] = [await running({ ...worker, sessionId }), await makeTask(baton)];
    await endDelegation(baton, delegationId);
    const answers = await Promise.all([
      worker.actor.post(`/sessions/${sessionId}:heartbeat`),
      worker.actor.post(`/claims/${claim.id}:heartbeat`),
      worker.actor.post(`/runs/${run.id}:succeed`),
      claimBy({ ...worker, sessionId }, free.id),
    ]);
    for (const answer of answers) assert.equal(answer.status, 409, JSON.stringify(answer.body));
    // Commands that already hold a task's lock don't wait for the session's lock, so they may have left the session
    // open; one more heartbeat is certain to end it.
    await worker.actor.post(`/sessions/${sessionId}:heartbeat`);
    const types = (await eventsOf(baton, sessionId)).map(({ type }) => type);
    assert.deepEqual(types, ['session.opened', 'session.closed']);
  }
});

test('disabling a principal while it claims, heartbeats and starts runs leaves it no live lease', async () => {
  for (let round = 0; round < byDepth(10, 200); round += 1) {
    const doomed = await makeWorker(baton);
    const { task, claim } = await held(doomed);
    const tasks = await Promise.all(Array.from({ length: 3 }, () => makeTask(baton)));
    const [disable, ...answers] = await Promise.all([
      baton.admin.post(`/principals/${doomed.actor.principalId}:disable`),
      ...tasks.map(({ id }) => claimBy(doomed, id)),
      doomed.actor.post(`/claims/${claim.id}:heartbeat`),
      doomed.actor.post(`/tasks/${task.id}:start-run`, keysOf(claim)),
      doomed.actor.post('/sessions', { clientName: 'late' }),
    ]);
    assert.equal(disable.status, 200, JSON.stringify(disable.body));
    // 503, because disabling a principal terminates the connection of a command that it has waited 600 ms for.
    for (const answer of answers) assert.ok([200, 201, 401, 403, 409, 503].includes(answer.status));
    const principal = doomed.actor.principalId;
    await finishAllEndings(baton);
    const left = await baton.pool.row<{ claims: number; sessions: number; runs: number }>(sql`
      select (select count(*) from claims where holder_id = ${principal} and status = 'active') as claims,
        (select count(*) from sessions where principal_id = ${principal} and status <> 'closed') as sessions,
        (select count(*) from runs where principal_id = ${principal} and status = 'running') as runs`);
    assert.deepEqual(left, { claims: 0, sessions: 0, runs: 0 });
  }
});

test('a completion at the instant of a release, a close or a take-over happens under a live claim or not at all', async () => {
  const seen = new Set<string>();
  for (let round = 0; round < raceRounds; round += 1) {
    const sessionId = await openSession(worker.actor);
    const { task, claim, run } = await running({ ...worker, sessionId });
    const isTakeOver = round % 3 === 2;
    if (isTakeOver) await endClaimLease(baton, task.id, round % 10);
    const other = [
      () => worker.actor.post(`/claims/${claim.id}:release`),
      () => worker.actor.post(`/sessions/${sessionId}:close`),
      () => claimBy(rivals[0] as Worker, task.id),
    ][round % 3] as () => Promise<Answer>;
    // The first two rounds await one response before the other request, so that both outcomes occur on any machine.
    const first = round === 0 ? await other() : undefined;
    const succeeding = worker.actor.post(`/runs/${run.id}:succeed`);
    if (round === 1) await succeeding;
    const [succeed, answer] = await Promise.all([succeeding, first ?? other()]);
    assert.ok(['ok', 'stale_claim'].includes(outcomeOf(succeed)), outcomeOf(succeed));
    const { systemStatusCategory } = await done(baton.admin.get(`/tasks/${task.id}`));
    assert.equal(systemStatusCategory === 'terminal_success', succeed.status === 200);
    if (isTakeOver && answer.status === 200) assert.equal(outcomeOf(succeed), 'stale_claim');
    seen.add(outcomeOf(succeed));
  }
  assert.equal(seen.size, 2, [...seen].join());
});

test('two starts of a run at once start one', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { task, claim } = await held();
    const start = (key?: string) =>
      worker.actor.post(
        `/tasks/${task.id}:start-run`,
        keysOf(claim),
        key === undefined ? {} : { 'idempotency-key': `${key} ${claim.id}` },
      );
    const outcomes = (await Promise.all([start(), start(), start('a'), start('b')])).map(outcomeOf).sort();
    assert.deepEqual(outcomes, ['ok', 'run_already_active', 'run_already_active', 'run_already_active']);
  }
});

test('a start of a run at the instant of a take-over belongs to the old claim or is refused', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { task, claim } = await held();
    await endClaimLease(baton, task.id, round % 8);
    const [start, take] = await Promise.all([
      worker.actor.post(`/tasks/${task.id}:start-run`, keysOf(claim)),
      claimBy(rivals[0] as Worker, task.id),
    ]);
    assert.ok(['ok', 'stale_claim'].includes(outcomeOf(start)), outcomeOf(start));
    if (take.status !== 200) continue;
    const next = await done(
      (rivals[0] as Worker).actor.post(`/tasks/${task.id}:start-run`, keysOf(take.body)),
      201,
    );
    assert.equal(next.attempt, start.status === 201 ? 2 : 1);
  }
});

test('a run ends once, however many requests end it concurrently', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { run } = await running();
    const end = (verb: string, by = worker.actor) => by.post(`/runs/${run.id}:${verb}`);
    const answers = await Promise.all([
      end('succeed'),
      end('succeed'),
      end('fail'),
      end('cancel', baton.admin),
    ]);
    const outcomes = answers.map(outcomeOf).sort();
    assert.deepEqual(outcomes, ['ok', 'run_not_active', 'run_not_active', 'run_not_active']);
  }
});

test('a task is never claimed before the completion of its blocker, even in a race of the two', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const [first, second] = [await makeTask(baton), await makeTask(baton)];
    await done(
      baton.admin.post(`/tasks/${second.id}/relations`, { toTask: first.id, type: 'depends_on' }),
      201,
    );
    const claim = await claimTask(worker, first.id);
    const { version } = await done(baton.admin.get(`/tasks/${first.id}`));
    const [complete, ...takes] = await Promise.all([
      worker.actor.post(`/tasks/${first.id}:complete`, keysOf(claim), { 'if-match': `task-${version}` }),
      ...rivals.map((rival) => claimBy(rival, second.id)),
    ]);
    assert.equal(complete.status, 200, JSON.stringify(complete.body));
    const winners = takes.filter(({ status }) => status === 200);
    assert.ok(winners.length <= 1);
    if (winners.length === 0) continue;
    const [completed] = (await eventsOf(baton, first.id)).filter(({ type }) => type === 'task.completed');
    const order = await baton.pool.rows<{ type: string }>(sql`
      select type from events where (entity_id = ${first.id} and type = 'task.completed')
        or (entity_id = ${second.id} and type = 'task.claimed') order by position, sequence`);
    assert.ok(completed !== undefined);
    assert.deepEqual(
      order.map(({ type }) => type),
      ['task.completed', 'task.claimed'],
    );
  }
});

test('a heartbeat that meets the end of its delegation closes the session, and never fails', async () => {
  const human = await baton.actor({ kind: 'human' });
  const delegationId = await delegate(human, worker.actor, baton);
  const sessionId = await openSession(worker.actor, { onBehalfOf: human.principalId });
  // The heartbeat has read the delegation and is waiting for the session; in the meantime, the delegation is revoked.
  const beat = await baton.pool.transaction(async (tx) => {
    await tx.run(sql`select from sessions where id = ${sessionId} for update`);
    const asked = worker.actor.post(`/sessions/${sessionId}:heartbeat`, {}, { 'idempotency-key': sessionId });
    await untilBlockedBy(tx, baton, asked);
    await endDelegation(baton, delegationId);
    return { asked };
  });
  const { status, body } = await beat.asked;
  assert.deepEqual([status, body.error?.code], [409, 'session_not_active'], JSON.stringify(body));
  const closed = await done(worker.actor.get(`/sessions/${sessionId}`));
  assert.equal(closed.status, 'closed');
});
