import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { Job } from '../../service/job.ts';
import type { Actor, Answer, TestCoordination } from '../coordination.ts';
import { done, endClaimLease, eventsOf, makeTask, openSession, type Worker } from '../leases.ts';
import {
  type ApprovalModel,
  type ClaimModel,
  type HandleModel,
  Model,
  type RunModel,
  type TaskModel,
  type Verdict,
} from './model.ts';

/** Sends the steps of a random history to the service, and compares each response with the model's. */

export const workersCount = 3;
const tasksAtStart = 2;

/** The actors: agents that claim tasks, an administrator, and a person who decides. */
export interface Cast {
  readonly baton: TestCoordination;
  readonly workers: Worker[];
  readonly person: Actor;
  readonly sweeper: Job;
}

/** One step and its object: the newest of the model's objects, or an earlier one. */
interface Turn extends Cast {
  readonly model: Model;
  readonly by: number;
  readonly actor: Actor;
  readonly sessionId: string;
  readonly flag: boolean;
  readonly task: TaskModel;
  readonly claim: ClaimModel | undefined;
  readonly run: RunModel | undefined;
  readonly approval: ApprovalModel | undefined;
  readonly handle: HandleModel | undefined;
}

interface Outcome {
  readonly answer: Answer;
  readonly verdict: { readonly code: string };
}

type Act = (turn: Turn) => Promise<Outcome | undefined>;

const acts = {
  claim: ({ model, task, by, actor, sessionId }) =>
    making(model.claim(task, by), actor.post(`/tasks/${task.id}:claim`, { sessionId })),
  async endLease({ baton, model, task }) {
    await endClaimLease(baton, task.id);
    model.endLease(task);
    return undefined;
  },
  async sweep({ sweeper, model }) {
    await sweeper.run();
    model.sweep();
    return undefined;
  },
  async closeSession({ model, by, workers, actor, sessionId }) {
    model.closeSession(by);
    const answer = await actor.post(`/sessions/${sessionId}:close`);
    workers[by] = { actor, sessionId: await openSession(actor) };
    return { answer, verdict: { code: 'ok' } };
  },
  async changeTitle(turn) {
    const { baton, model, task, by, actor } = turn;
    const [presented, keys] = presentedIn(turn);
    const ifMatch = await ifMatchOf(actor, task);
    const verdict = model.changeTitle(task, presented, by);
    const answer = await actor.patch(`/tasks/${task.id}`, { title: randomUUID(), ...keys }, ifMatch);
    if (answer.status < 300 && verdict.made !== undefined) {
      const asked = await done(baton.admin.get(`/approvals?taskId=${task.id}&status=pending&limit=1`));
      verdict.made.id = asked.items[0]?.id ?? '';
    }
    return { answer, verdict };
  },
  async cancelTask(turn) {
    const { model, task, by, actor } = turn;
    const [presented, keys] = presentedIn(turn);
    const ifMatch = await ifMatchOf(actor, task);
    const verdict = model.cancelTask(task, presented, by);
    const answer = await actor.patch(`/tasks/${task.id}`, { status: 'cancelled', ...keys }, ifMatch);
    return { answer, verdict };
  },
  async complete(turn) {
    const { model, task, by, actor } = turn;
    const [presented, keys] = presentedIn(turn);
    const ifMatch = await ifMatchOf(actor, task);
    const verdict = model.complete(task, presented, by);
    return { answer: await actor.post(`/tasks/${task.id}:complete`, keys, ifMatch), verdict };
  },
  makeAvailable: ({ model, task, actor }) =>
    answered(model.makeAvailable(task), actor.post(`/tasks/${task.id}:make-available`)),
  requestGate({ baton, model, task, person }) {
    const body = { task: task.id, assignedPrincipalId: person.principalId, gate: true };
    return making(model.requestGate(task), baton.admin.post('/approvals', body));
  },
  heartbeat: onClaim(({ model, by, actor }, claim) =>
    answered(model.heartbeat(claim, by), actor.post(`/claims/${claim.id}:heartbeat`)),
  ),
  release: onClaim(({ model, by, actor }, claim) =>
    answered(model.release(claim, by), actor.post(`/claims/${claim.id}:release`)),
  ),
  reclaim: onClaim(({ model, by, actor, sessionId }, claim) =>
    making(model.reclaim(claim, by), actor.post(`/claims/${claim.id}:reclaim`, { sessionId })),
  ),
  start: onClaim(({ model, by, actor }, claim) => {
    const body = { claimId: claim.id, fencingToken: claim.token };
    return making(model.startRun(claim, by), actor.post(`/tasks/${claim.task.id}:start-run`, body));
  }),
  succeed: onRun(({ model, by, actor, flag: completeTask }, run) =>
    answered(model.succeed(run, by, completeTask), actor.post(`/runs/${run.id}:succeed`, { completeTask })),
  ),
  fail: onRun(({ model, by, actor }, run) =>
    answered(model.failRun(run, by), actor.post(`/runs/${run.id}:fail`)),
  ),
  cancelRun: onRun(({ model, by, actor }, run) =>
    answered(model.cancelRun(run, by), actor.post(`/runs/${run.id}:cancel`)),
  ),
  suspend: onRun(({ model, by, actor }, run) =>
    answered(model.suspend(run, by), actor.post(`/runs/${run.id}:suspend`)),
  ),
  checkpoint: onRun(({ model, by, actor }, run) =>
    answered(model.checkpoint(run, by), actor.post(`/runs/${run.id}/checkpoints`, { kind: 'note' })),
  ),
  launch: onRun(async ({ model, by, actor }, run) => {
    const body = { correlationId: randomUUID(), title: 'child' };
    const verdict = model.launch(run, by);
    const answer = await actor.post(`/runs/${run.id}/child-handles`, body, newKey());
    if (answer.status < 300 && verdict.made !== undefined) {
      verdict.made.id = answer.body.childHandle.id;
      model.addTask(answer.body.childTask.id, verdict.made);
    }
    return { answer, verdict };
  }),
  forceCancel: onRun(async ({ model, baton: { admin } }, run) => {
    const { version: expectedRunVersion } = await done(admin.get(`/runs/${run.id}`));
    const body = { operation: 'force_cancel', causalPosition: 'here', reason: 'test', expectedRunVersion };
    return answered(model.forceCancel(run), admin.post(`/runs/${run.id}/control-messages`, body, newKey()));
  }),
  async revoke({ model, by, actor, handle }) {
    if (handle === undefined) return undefined;
    return answered(model.revoke(handle, by), actor.post(`/child-handles/${handle.id}:revoke`));
  },
  approve: onApproval(({ model, person }, approval) =>
    answered(model.decide(approval, 'approved'), person.post(`/approvals/${approval.id}:approve`)),
  ),
  reject: onApproval(({ model, person }, approval) =>
    answered(model.decide(approval, 'rejected'), person.post(`/approvals/${approval.id}:reject`)),
  ),
  cancelApproval: onApproval(({ model, baton }, approval) =>
    answered(model.cancelApproval(approval), baton.admin.post(`/approvals/${approval.id}:cancel`)),
  ),
} satisfies Record<string, Act>;

type Verb = keyof typeof acts;

export interface Step {
  readonly verb: Verb;
  readonly worker: number;
  /** The object's distance from the newest one. */
  readonly back: number;
  readonly flag: boolean;
}

export const step: fc.Arbitrary<Step> = fc.record({
  // Claims and runs are frequent, because without them the other steps have nothing to act on.
  verb: fc.constantFrom(
    ...(Object.keys(acts) as Verb[]),
    ...(['claim', 'claim', 'start', 'start', 'launch'] as const),
  ),
  worker: fc.nat(workersCount - 1),
  back: fc.nat(3),
  flag: fc.boolean(),
});

/**
 * Runs a history, and compares every response, every final state, and the journal of every object with the model.
 * @returns the number of requests
 */
export async function runHistory(cast: Cast, steps: readonly Step[]): Promise<number> {
  const model = new Model();
  for (let n = 0; n < tasksAtStart; n += 1) model.addTask((await makeTask(cast.baton)).id);
  let sent = 0;
  for (const [index, one] of steps.entries()) {
    const outcome = await acts[one.verb](turnOf(cast, model, one));
    if (outcome === undefined) continue;
    sent += 1;
    const { answer, verdict } = outcome;
    const code = answer.status < 300 ? 'ok' : answer.body.error.code;
    assert.equal(code, verdict.code, `step ${index}, ${JSON.stringify(one)}: ${JSON.stringify(answer.body)}`);
  }
  await compareStates(cast, model);
  await compareJournals(cast, model);
  return sent;
}

function turnOf(cast: Cast, model: Model, { worker, back, flag }: Step): Turn {
  const pick = <Item>(items: readonly Item[]) => items.at(-1 - (back % Math.max(1, items.length)));
  const { actor, sessionId } = cast.workers[worker] as Worker;
  return {
    ...cast,
    model,
    by: worker,
    actor,
    sessionId,
    flag,
    task: pick(model.tasks) as TaskModel,
    claim: pick(model.claims),
    run: pick(model.runs),
    approval: pick(model.approvals),
    handle: pick(model.handles),
  };
}

function onClaim(act: (turn: Turn, claim: ClaimModel) => Promise<Outcome>): Act {
  return async (turn) => (turn.claim === undefined ? undefined : act(turn, turn.claim));
}

function onRun(act: (turn: Turn, run: RunModel) => Promise<Outcome>): Act {
  return async (turn) => (turn.run === undefined ? undefined : act(turn, turn.run));
}

function onApproval(act: (turn: Turn, approval: ApprovalModel) => Promise<Outcome>): Act {
  return async (turn) => (turn.approval === undefined ? undefined : act(turn, turn.approval));
}

async function answered(verdict: Verdict, call: Promise<Answer>): Promise<Outcome> {
  return { answer: await call, verdict };
}

/** The response to a call that creates an object, whose id the model records. */
async function making(verdict: Verdict<{ id: string }>, call: Promise<Answer>): Promise<Outcome> {
  const answer = await call;
  if (answer.status < 300 && verdict.made !== undefined) verdict.made.id = answer.body.id;
  return { answer, verdict };
}

/** The claim that a write presents: none, the task's own, or another one. */
function presentedIn({ flag, task, claim }: Turn): [ClaimModel | undefined, object] {
  const presented = flag ? (task.active ?? claim) : undefined;
  return [presented, presented === undefined ? {} : { claimId: presented.id, fencingToken: presented.token }];
}

async function ifMatchOf(actor: Actor, { id }: TaskModel): Promise<Record<string, string>> {
  return { 'if-match': `task-${(await done(actor.get(`/tasks/${id}`))).version}` };
}

const newKey = () => ({ 'idempotency-key': randomUUID() });

async function compareStates({ baton: { admin } }: Cast, model: Model): Promise<void> {
  for (const { id, status, epoch, active } of model.tasks) {
    const task = await done(admin.get(`/tasks/${id}`));
    assert.deepEqual([task.status, task.claimEpoch, task.activeClaimId], [status, epoch, active?.id ?? null]);
  }
  for (const { id, status, token } of model.claims) {
    const claim = await done(admin.get(`/claims/${id}`));
    assert.deepEqual([claim.status, claim.fencingToken], [status, token]);
  }
  for (const { id, status, attempt } of model.runs) {
    const run = await done(admin.get(`/runs/${id}`));
    assert.deepEqual([run.status, run.attempt], [status, attempt]);
  }
  for (const { id, status } of model.approvals)
    assert.equal((await done(admin.get(`/approvals/${id}`))).status, status);
  for (const { id, run, isRevoked } of model.handles) {
    const { childHandle } = await done(admin.get(`/child-handles/${id}`));
    if (run !== undefined)
      assert.deepEqual([childHandle.status, childHandle.childRunId], [run.status, run.id]);
    else if (isRevoked) assert.equal(childHandle.status, 'revoked');
  }
}

async function compareJournals({ baton }: Cast, model: Model): Promise<void> {
  const objects = [...model.tasks, ...model.claims, ...model.runs, ...model.approvals];
  const events = await eventsOf(baton, ...objects.map(({ id }) => id));
  const written = Map.groupBy(events, ({ entity_id: id }) => id);
  for (const { id, events: expected } of objects)
    assert.deepEqual(written.get(id)?.map(({ type }) => type) ?? [], expected, `the journal of ${id}`);
}
