import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ProofInput, proveJournal } from './proof.ts';
import type { ToldEvent } from './task-history.ts';

const openTaskIds = new Set(['first', 'second']);
const waits = [{ taskId: 'second', blockerId: 'first' }];
const startMs = Date.parse('2026-11-21T12:00:00.000Z');

let eventsMade = 0;

/** An event `second` seconds after the start. */
function event(type: string, entityId: string, payload: Record<string, unknown>, second = 0): ToldEvent {
  eventsMade += 1;
  return {
    id: `event-${eventsMade}`,
    type,
    entityType: type.split('.')[0] as string,
    entityId,
    actorId: 'agent',
    payload,
    occurredAt: at(second),
    cursor: `ec1_${eventsMade}`,
  };
}

function at(second: number): string {
  return new Date(startMs + second * 1000).toISOString();
}

function waiting(): ToldEvent {
  return event('task.relation_added', 'second', { toTaskId: 'first', type: 'depends_on' });
}

function claimed(taskId: string, fencingToken: number, second = 0): ToldEvent {
  const claimId = `${taskId}-claim-${fencingToken}`;
  const payload = {
    publicId: taskId,
    claimId,
    sessionId: `session-${claimId}`,
    fencingToken,
    expiresAt: at(second + 10),
  };
  return event('task.claimed', taskId, payload, second);
}

function started(taskId: string, fencingToken: number): ToldEvent {
  return event('run.started', `${taskId}-run-${fencingToken}`, {
    taskId,
    claimId: `${taskId}-claim-${fencingToken}`,
  });
}

function released(taskId: string, fencingToken: number, second = 0): ToldEvent {
  return event('claim.released', `${taskId}-claim-${fencingToken}`, { taskId, reason: 'completed' }, second);
}

function expired(taskId: string, fencingToken: number, second = 0): ToldEvent {
  return event('claim.expired', `${taskId}-claim-${fencingToken}`, { taskId, reason: 'expired' }, second);
}

function completed(taskId: string): ToldEvent {
  return event('task.completed', taskId, { publicId: taskId, status: 'done' });
}

function succeeded(taskId: string, fencingToken: number): ToldEvent {
  return event('run.succeeded', `${taskId}-run-${fencingToken}`, { taskId, attempt: 1, taskCompleted: true });
}

function done(taskId: string, fencingToken: number): ToldEvent[] {
  return [released(taskId, fencingToken), completed(taskId), succeeded(taskId, fencingToken)];
}

function handled(taskId: string, fencingToken = 1): ToldEvent[] {
  return [claimed(taskId, fencingToken), started(taskId, fencingToken), ...done(taskId, fencingToken)];
}

const nothingSpecial = {
  featureIds: new Set<string>(),
  bugIds: new Set<string>(),
  gatedIds: new Set<string>(),
  debuggerIds: new Set<string>(),
  reviewerId: 'person',
};

/** The violations of all checks, as one string. */
function violationsOf(events: readonly ToldEvent[], special: Partial<ProofInput> = {}): string {
  const proof = proveJournal({ events, openTaskIds, waits, ...nothingSpecial, ...special });
  const violations = proof.checks.flatMap((check) => check.violations);
  assert.equal(proof.holds, violations.length === 0);
  return violations.join('\n');
}

test('a journal in which every task is done once, in order, under one lease at a time is proven', () => {
  assert.equal(violationsOf([waiting(), ...handled('first'), ...handled('second')]), '');
});

test('a takeover after an expired lease is proven', () => {
  const takeover = [
    claimed('second', 1),
    started('second', 1),
    expired('second', 1),
    ...handled('second', 2),
  ];
  assert.equal(violationsOf([waiting(), ...handled('first'), ...takeover]), '');
});

test('events of other tasks do not matter', () => {
  const others = [...handled('third'), completed('third')];
  assert.equal(violationsOf([waiting(), ...others, ...handled('first'), ...handled('second')]), '');
});

test('an event delivered twice breaks the proof', () => {
  const first = handled('first');
  const events = [waiting(), ...first, first[0] as ToldEvent, ...handled('second')];
  assert.match(violationsOf(events), /task\.claimed\) was delivered twice/);
});

test('a task that nobody did breaks the proof', () => {
  assert.match(violationsOf([waiting(), ...handled('first')]), /second was completed 0 times/);
});

test('a task that the journal never mentions breaks the proof', () => {
  assert.match(violationsOf([]), /first was completed 0 times/);
});

test('a task completed twice breaks the proof', () => {
  const events = [waiting(), ...handled('first'), ...handled('second'), completed('second')];
  assert.match(violationsOf(events), /second was completed 2 times, by 1 successful runs/);
});

test('a task completed without a successful run breaks the proof', () => {
  const second = handled('second').filter(({ type }) => type !== 'run.succeeded');
  assert.match(
    violationsOf([waiting(), ...handled('first'), ...second]),
    /second was completed 1 times, by 0/,
  );
});

test('a run that succeeded without completing its task does not count as done', () => {
  const partly = event('run.succeeded', 'second-run-1', {
    taskId: 'second',
    attempt: 1,
    taskCompleted: false,
  });
  const second = handled('second').with(-1, partly);
  assert.match(violationsOf([waiting(), ...handled('first'), ...second]), /by 0 successful runs/);
});

test('a task finished before its blocker breaks the proof', () => {
  const events = [waiting(), ...handled('second'), ...handled('first')];
  assert.match(violationsOf(events), /second: run\.started before its blocker first was done/);
});

test('a task only started before its blocker was done breaks the proof', () => {
  const events = [
    waiting(),
    claimed('second', 1),
    started('second', 1),
    ...handled('first'),
    ...done('second', 1),
  ];
  assert.match(violationsOf(events), /second: run\.started before its blocker/);
});

test('a blocker that the journal does not know of breaks the proof', () => {
  assert.match(
    violationsOf([...handled('first'), ...handled('second')]),
    /does not contain the dependency of second on first/,
  );
});

test('a fencing token given twice breaks the proof', () => {
  const events = [
    waiting(),
    claimed('first', 1),
    expired('first', 1),
    ...handled('first', 1),
    ...handled('second'),
  ];
  assert.match(violationsOf(events), /first gave fencing token 1 after 1/);
});

test('a decreasing fencing token breaks the proof', () => {
  const events = [
    waiting(),
    claimed('first', 2),
    expired('first', 2),
    ...handled('first', 1),
    ...handled('second'),
  ];
  assert.match(violationsOf(events), /first gave fencing token 1 after 2/);
});

test('a claim granted while the previous lease was live breaks the proof', () => {
  const events = [waiting(), claimed('first', 1, 0), ...handled('first', 2), ...handled('second')];
  assert.match(violationsOf(events), /claim first-claim-2 was granted while first-claim-1 was live/);
});

test('a lease that ended after the next claim is proven if it had expired by then', () => {
  const successor = [
    claimed('first', 2, 10),
    started('first', 2),
    expired('first', 1, 10),
    ...done('first', 2),
  ];
  assert.equal(violationsOf([waiting(), claimed('first', 1, 0), ...successor, ...handled('second')]), '');
});

test('a lease ends with its session', () => {
  const sessionOver = event('session.expired', 'session-first-claim-1', {
    expiresAt: at(4),
    releasedClaims: 1,
  });
  const successor = [
    claimed('first', 2, 5),
    started('first', 2),
    sessionOver,
    released('first', 1),
    ...done('first', 2),
  ];
  assert.equal(violationsOf([waiting(), claimed('first', 1, 0), ...successor, ...handled('second')]), '');
});

test('a lease that never ended breaks the proof', () => {
  const second = handled('second').filter(({ type }) => type !== 'claim.released');
  assert.match(
    violationsOf([waiting(), ...handled('first'), ...second]),
    /second: claim second-claim-1 never ended/,
  );
});

test('a run started under a claim that had been taken over breaks the proof', () => {
  const events = [
    waiting(),
    claimed('first', 1),
    expired('first', 1),
    claimed('first', 2),
    started('first', 1),
    ...done('first', 2),
    ...handled('second'),
  ];
  assert.match(
    violationsOf(events),
    /first: a run started under claim first-claim-1, not under the current one/,
  );
});

const withFirst = (first: readonly ToldEvent[]) => [waiting(), ...first, ...handled('second')];
const moved = (type: string, status: string) => event(type, 'first', { publicId: 'first', status });

test('a task with statuses of its own is proven along its moves, and breaks the proof beside them', () => {
  const featureIds = new Set(['first']);
  const [claim, start, release, , success] = handled('first') as [
    ToldEvent,
    ToldEvent,
    ToldEvent,
    ToldEvent,
    ToldEvent,
  ];
  const through = (from: string, to: string) =>
    withFirst([
      moved('task.created', from),
      claim,
      moved('task.updated', 'building'),
      start,
      release,
      moved('task.completed', to),
      success,
    ]);
  assert.equal(violationsOf(through('queued', 'shipped'), { featureIds }), '');
  assert.match(violationsOf(through('shipped', 'shipped'), { featureIds }), /moved from nothing to shipped/);
  assert.match(violationsOf(through('queued', 'done'), { featureIds }), /first moved from building to done/);
});

test('a bug held by an agent without the capability breaks the proof', () => {
  const events = withFirst(handled('first'));
  const [bugIds, debuggerIds] = [new Set(['first']), new Set(['undefined'])];
  assert.equal(violationsOf(events, { bugIds, debuggerIds }), '');
  assert.match(violationsOf(events, { bugIds }), /first was held by undefined, who lacks the capability/);
});

test('a gate must be opened by the person, before the task is claimed', () => {
  const gatedIds = new Set(['first']);
  const requested = event('approval.requested', 'gate', { taskId: 'first' });
  const approvedBy = (decisionBy: string) =>
    event('approval.approved', 'gate', { taskId: 'first', decisionBy });
  const [before, after] = [
    [requested, approvedBy('person'), ...handled('first')],
    [requested, ...handled('first'), approvedBy('person')],
  ];
  assert.equal(violationsOf(withFirst(before), { gatedIds }), '');
  assert.match(violationsOf(withFirst(after), { gatedIds }), /first was claimed or completed before/);
  const byAgent = [requested, approvedBy('agent'), ...handled('first')];
  assert.match(violationsOf(withFirst(byAgent), { gatedIds }), /first was approved by agent/);
  assert.match(violationsOf(withFirst(handled('first')), { gatedIds }), /first was approved by nobody/);
});

test('a checkpoint that is missing breaks the proof', () => {
  const checkpoint = (seq: number) => event('run.checkpointed', 'first-run-1', { taskId: 'first', seq });
  assert.equal(violationsOf(withFirst([...handled('first'), checkpoint(1), checkpoint(2)])), '');
  assert.match(
    violationsOf(withFirst([...handled('first'), checkpoint(1), checkpoint(3)])),
    /run first-run-1 has the checkpoints 1, 3/,
  );
});
