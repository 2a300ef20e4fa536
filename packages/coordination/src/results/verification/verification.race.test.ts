import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { raceRounds } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf } from '../../testing/leases.ts';
import { checkBy, letTimePass, makeVerifier, openVerification } from '../../testing/results/verification.ts';
import { requireLostConnection } from '../../testing/sweepers.ts';
import { untilBlockedBy } from '../../testing/wait-until.ts';

const evidence = [{ kind: 'external', externalRef: { system: 'ci', id: '1' }, check: 'checked' }];
/** A check that passes at the first evaluation. */
const ready = [checkBy('external_state')];

let baton: TestCoordination;
let judges: ReturnType<typeof makeVerifier>[];
before(async () => {
  baton = await startCoordination();
  judges = [makeVerifier(baton), makeVerifier(baton)];
});
after(async () => {
  for (const judge of judges) await judge.close();
  await baton.close();
});

const judgeAll = () => Promise.all(judges.map((judge) => judge.run()));
const read = (id: string) => done(baton.admin.get(`/tasks/${id}`));
const attemptOf = async (id: string) => (await done(baton.admin.get(`/tasks/${id}/verifications`))).items[0];
const countOf = async (id: string, type: string) =>
  (await eventsOf(baton, id)).filter((event) => event.type === type).length;

/** Checks the task's invariant: its attempt is closed, and the task was completed only if the attempt passed. */
async function assertSettled(taskId: string, round: number) {
  const row = await baton.pool.row(sql<{ category: string; open: string | null; passed: number }>`
    select t.category, t.open_verification_id as open,
      (select count(*)::int from verifications v where v.task_id = t.id and v.status = 'passed') as passed
    from tasks t where t.id = ${taskId}`);
  assert.equal(row?.open, null, `round ${round}`);
  assert.equal(row?.category === 'terminal_success', row?.passed === 1, `round ${round}`);
  assert.equal(await countOf(taskId, 'task.completed'), row?.passed, `round ${round}`);
}

test('of several workers one evaluates an attempt: the task is completed once', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const tasks = await Promise.all([1, 2, 3].map(() => openVerification(baton, ready, { evidence })));
    await judgeAll();
    await judgeAll();
    for (const { id } of tasks) {
      assert.equal((await read(id)).status, 'done', `round ${round}`);
      assert.equal(await countOf(id, 'task.verified'), 1);
      const { items } = await done(baton.admin.get(`/artifacts?taskId=${id}`));
      assert.equal(items.length, 1);
      await assertSettled(id, round);
    }
  }
});

test('an attempt whose task is locked is retried by the next run, and blocks no other', async () => {
  const [held, free] = [
    await openVerification(baton, ready, { evidence }),
    await openVerification(baton, ready, { evidence }),
  ];
  await baton.pool.transaction(async (tx) => {
    await tx.run(sql`select from tasks where id = ${held.id} for no key update`);
    await judgeAll();
    assert.equal((await read(free.id)).status, 'done');
    assert.equal((await read(held.id)).status, 'todo');
  });
  await judgeAll();
  assert.equal((await read(held.id)).status, 'done');
});

test('of a concurrent pass and cancellation one wins', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const task = await openVerification(baton, ready, { evidence });
    const ifMatch = { 'if-match': `task-${task.version}` };
    const [cancelled] = await Promise.all([
      baton.admin.patch(`/tasks/${task.id}`, { status: 'cancelled' }, ifMatch),
      judgeAll(),
    ]);
    await judgeAll();
    const { status } = await read(task.id);
    assert.equal(status, cancelled.status === 200 ? 'cancelled' : 'done', `round ${round}`);
    await assertSettled(task.id, round);
  }
});

test('a concurrent decision, evaluation and cancellation leave no open gate and no second completion', async () => {
  const persons = await Promise.all([baton.actor({ kind: 'human' }), baton.actor({ kind: 'human' })]);
  for (let round = 0; round < raceRounds; round += 1) {
    const approver = persons[round % 2]?.principalId;
    const task = await openVerification(baton, [checkBy('human', { spec: { approver } })]);
    await judgeAll();
    const { approvalId } = await attemptOf(task.id);
    const decide = (how: string) => persons[round % 2]?.post(`/approvals/${approvalId}:${how}`, {});
    const current = await read(task.id);
    const ifMatch = { 'if-match': `task-${current.version}` };
    await Promise.all([
      decide(round % 3 === 0 ? 'reject' : 'approve'),
      judgeAll(),
      baton.admin.patch(`/tasks/${task.id}`, { status: 'cancelled' }, ifMatch),
    ]);
    await judgeAll();
    await judgeAll();
    const open = await baton.pool.row(sql<{ gates: number; pending: number }>`
      select pending_gates as gates, (
        select count(*)::int from approvals a where a.task_id = t.id and a.status = 'pending') as pending
      from tasks t where id = ${task.id}`);
    assert.deepEqual(open, { gates: 0, pending: 0 }, `round ${round}`);
    await assertSettled(task.id, round);
  }
});

test('a decoy gate, its approval and concurrent evaluations: the check waits for the approval that the attempt requested', async () => {
  const [agent, person] = await Promise.all([baton.actor(), baton.actor({ kind: 'human' })]);
  const spec = { approver: person.principalId };
  for (let round = 0; round < raceRounds; round += 1) {
    const task = await openVerification(baton, [checkBy('human', { spec })], {}, agent);
    const decoy = { task: task.id, gate: true, assignedPrincipalId: person.principalId };
    const approveDecoy = async () => {
      const { id } = await done(agent.post('/approvals', decoy), 201);
      await done(person.post(`/approvals/${id}:approve`, {}));
      return id as string;
    };
    const [decoyId] = await Promise.all([approveDecoy(), judgeAll(), judgeAll()]);
    await letTimePass(baton, task.id, 0);
    await judgeAll();
    const { status, approvalId } = await attemptOf(task.id);
    assert.equal(status, 'waiting_human', `round ${round}`);
    assert.notEqual(approvalId, decoyId, `round ${round}`);
    await Promise.all([done(person.post(`/approvals/${approvalId}:approve`, {})), judgeAll()]);
    await judgeAll();
    assert.equal((await read(task.id)).status, 'done', `round ${round}`);
    await assertSettled(task.id, round);
  }
});

test('a disable of the completer is visible to the attempt, or waits for it', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const completer = await baton.actor();
    const task = await openVerification(baton, ready, { evidence }, completer);
    const [disabled] = await Promise.all([
      baton.admin.post(`/principals/${completer.principalId}:disable`, {}),
      judgeAll().catch(requireLostConnection),
    ]);
    assert.equal(disabled.status, 200, `round ${round}`);
    await letTimePass(baton, task.id, 0);
    await judgeAll();
    await assertSettled(task.id, round);
    const { results, status } = await attemptOf(task.id);
    if (status === 'failed') assert.equal(results[0].reason, 'credential_inactive');
    else assert.equal(status, 'passed');
  }
});

test('a completer who is disabled meanwhile completes no task after the disable', async () => {
  const completer = await baton.actor();
  const task = await openVerification(baton, ready, { evidence }, completer);
  let judged: Promise<unknown> | undefined;
  await baton.pool.transaction(async (tx) => {
    // Locks the principal exclusively until the commit, as disabling it does.
    await tx.run(sql`select pg_advisory_xact_lock(principal_lock(${completer.principalId}))`);
    judged = judges[0]?.run().then(() => ({ status: 0, body: null, headers: new Headers() }));
    await untilBlockedBy(tx, baton, judged as Promise<never>);
    await tx.run(sql`update principals set status = 'disabled' where id = ${completer.principalId}`);
  });
  await judged;
  await judgeAll();
  assert.equal((await attemptOf(task.id)).results[0].reason, 'credential_inactive');
  assert.equal((await read(task.id)).status, 'todo');
});

test('concurrent completions, claims and evaluations: a task is never claimed while it is verified, nor completed without a pass', async () => {
  const worker = await baton.actor();
  const session = await done(worker.post('/sessions', { clientName: 'test' }), 201);
  for (let round = 0; round < raceRounds; round += 1) {
    const task = await openVerification(baton, ready);
    const patch = { evidence };
    const ifMatch = { 'if-match': `task-${task.version}` };
    const [claim] = await Promise.all([
      worker.post(`/tasks/${task.id}:claim`, { sessionId: session.id }),
      baton.admin.patch(`/tasks/${task.id}`, patch, ifMatch),
      judgeAll(),
    ]);
    assert.ok([409, 422].includes(claim.status), `round ${round}: ${claim.status}`);
    await letTimePass(baton, task.id, 0);
    await judgeAll();
    await judgeAll();
    await assertSettled(task.id, round);
  }
});
