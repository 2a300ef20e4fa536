import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { sql } from '@baton/kernel/sql';
import type { Job } from '../../service/job.ts';
import { type Answer, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { checkLeaseInvariants } from '../../testing/lease-invariants.ts';
import { done, endClaimLease, makeTask, makeWorker, openSession, type Worker } from '../../testing/leases.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';
import { expireDueClaims } from '../sweeper/sweeper.ts';

// Random doings of several agents on a few tasks, against a model of core sections 8.6, 9 and 10 that fits a screen.

const workersCount = 3;
const tasksCount = 2;

let baton: TestCoordination;
let workers: Worker[];
let sweeper: { claims: Job; close(): Promise<void> };

before(async () => {
  baton = await startCoordination();
  const permissions = ['sessions.open', 'tasks.read', 'tasks.write', 'tasks.claim'] as const;
  workers = await Promise.all(Array.from({ length: workersCount }, () => makeWorker(baton, { permissions })));
  const { tools, close } = makeWorkerTools(baton);
  sweeper = { claims: expireDueClaims(tools), close };
});
after(async () => {
  await sweeper.close();
  await baton.close();
});

interface TaskModel {
  id: string;
  isDone: boolean;
  epoch: number;
  active: ClaimModel | undefined;
}

interface ClaimModel {
  id: string;
  task: TaskModel;
  holder: number;
  token: number;
  status: 'active' | 'released' | 'stale';
  isOver: boolean;
}

interface RunModel {
  id: string;
  claim: ClaimModel;
  status: 'running' | 'succeeded' | 'failed';
}

interface World {
  tasks: TaskModel[];
  claims: ClaimModel[];
  runs: RunModel[];
}

const verbs = [
  'claim',
  'beat',
  'release',
  'reclaim',
  'expire',
  'sweep',
  'close',
  'patch',
  'complete',
  'start',
  'succeed',
] as const;

interface Step {
  verb: (typeof verbs)[number];
  worker: number;
  task: number;
  /** Which of the claims or runs so far, the newest first. */
  back: number;
  flag: boolean;
}

const step: fc.Arbitrary<Step> = fc.record({
  verb: fc.constantFrom(...verbs, 'claim' as const, 'start' as const),
  worker: fc.nat(workersCount - 1),
  task: fc.nat(tasksCount - 1),
  back: fc.nat(3),
  flag: fc.boolean(),
});

const isLive = (claim: ClaimModel | undefined) => claim?.status === 'active' && !claim.isOver;
const outcomeOf = ({ status, body }: Answer): string => (status < 300 ? 'ok' : body.error.code);

function end(claim: ClaimModel, status: 'released' | 'stale'): void {
  claim.status = status;
  claim.task.active = undefined;
}

/** What `:claim` answers, and does. */
function expectClaim(task: TaskModel): string {
  if (task.isDone) return 'task_not_claimable';
  if (isLive(task.active)) return 'task_already_claimed';
  if (task.active !== undefined) end(task.active, 'stale');
  return 'ok';
}

/** The table of section 8.6. */
function expectGate(task: TaskModel, presented: ClaimModel | undefined, worker: number): string {
  const live = isLive(task.active) ? task.active : undefined;
  if (live === undefined) return presented === undefined ? 'ok' : 'stale_claim';
  if (presented === undefined) return 'task_claimed';
  if (presented !== live) return 'stale_claim';
  return live.holder === worker ? 'ok' : 'claim_holder_mismatch';
}

const runningOf = (world: World, task: TaskModel) =>
  world.runs.find(({ claim, status }) => claim.task === task && status === 'running');

/** Does one step over HTTP and in the model. @returns what was answered and what the model expects */
async function act(world: World, { verb, worker: n, task: t, back, flag }: Step) {
  const { actor, sessionId } = workers[n] as Worker;
  const task = world.tasks[t] as TaskModel;
  const claim = world.claims.at(-1 - back);
  const keys = claim === undefined ? {} : { claimId: claim.id, fencingToken: claim.token };
  const note = ({ status, body }: Answer, of: TaskModel) => {
    if (status !== 200) return;
    of.epoch += 1;
    assert.equal(body.fencingToken, of.epoch, 'tokens rise by one');
    of.active = { id: body.id, task: of, holder: n, token: of.epoch, status: 'active', isOver: false };
    world.claims.push(of.active);
  };

  switch (verb) {
    case 'claim': {
      const expected = expectClaim(task);
      const answer = await actor.post(`/tasks/${task.id}:claim`, { sessionId });
      note(answer, task);
      return { answer, expected };
    }
    case 'expire':
      await endClaimLease(baton, task.id);
      if (task.active !== undefined) task.active.isOver = true;
      return undefined;
    case 'sweep':
      await sweeper.claims.run();
      for (const { active } of world.tasks) if (active?.isOver) end(active, 'stale');
      return undefined;
    case 'close': {
      for (const { active } of world.tasks) if (active?.holder === n) end(active, 'released');
      const answer = await actor.post(`/sessions/${sessionId}:close`);
      workers[n] = { actor, sessionId: await openSession(actor) };
      return { answer, expected: 'ok' };
    }
    case 'complete': {
      const { version } = await done(actor.get(`/tasks/${task.id}`));
      const presented = flag && claim?.task === task ? claim : undefined;
      const run = runningOf(world, task);
      let expected: string = task.isDone ? 'task_already_completed' : expectGate(task, presented, n);
      if (expected === 'ok' && presented !== undefined && run?.claim === presented)
        expected = 'run_in_progress';
      if (expected === 'ok') {
        task.isDone = true;
        if (run !== undefined) run.status = 'failed';
        if (presented !== undefined) end(presented, 'released');
      }
      const body = presented === undefined ? {} : keys;
      const ifMatch = { 'if-match': `task-${version}` };
      return { answer: await actor.post(`/tasks/${task.id}:complete`, body, ifMatch), expected };
    }
    case 'succeed': {
      const run = world.runs.at(-1 - back);
      if (run === undefined) return undefined;
      const answer = await actor.post(`/runs/${run.id}:succeed`, { completeTask: flag });
      if (run.status !== 'running') return { answer, expected: 'run_not_active' };
      if (run.claim.holder !== n) return { answer, expected: 'run_holder_mismatch' };
      if (flag && run.claim.task.isDone) return { answer, expected: 'task_already_completed' };
      const expected = expectGate(run.claim.task, run.claim, n);
      if (expected !== 'ok') return { answer, expected };
      run.status = 'succeeded';
      run.claim.task.isDone ||= flag;
      if (flag) end(run.claim, 'released');
      return { answer, expected };
    }
  }

  if (claim === undefined) return undefined;
  switch (verb) {
    case 'beat': {
      const answer = await actor.post(`/claims/${claim.id}:heartbeat`);
      if (claim.holder !== n) return { answer, expected: 'claim_holder_mismatch' };
      if (claim.status !== 'active') return { answer, expected: 'claim_not_active' };
      return { answer, expected: claim.isOver ? 'claim_expired' : 'ok' };
    }
    case 'release': {
      const answer = await actor.post(`/claims/${claim.id}:release`);
      if (claim.holder !== n) return { answer, expected: 'claim_holder_mismatch' };
      if (claim.status === 'active') end(claim, 'released');
      return { answer, expected: 'ok' };
    }
    case 'reclaim': {
      const expected = isLive(claim) ? 'claim_not_expired' : expectClaim(claim.task);
      const answer = await actor.post(`/claims/${claim.id}:reclaim`, { sessionId });
      note(answer, claim.task);
      return { answer, expected };
    }
    case 'patch': {
      const { version } = await done(actor.get(`/tasks/${claim.task.id}`));
      const body = { title: `written under ${claim.id}`, ...keys };
      const answer = await actor.patch(`/tasks/${claim.task.id}`, body, { 'if-match': `task-${version}` });
      return { answer, expected: expectGate(claim.task, claim, n) };
    }
    case 'start': {
      const answer = await actor.post(`/tasks/${claim.task.id}:start-run`, keys);
      if (claim.task.isDone) return { answer, expected: 'task_not_runnable' };
      const gate = expectGate(claim.task, claim, n);
      const running = runningOf(world, claim.task);
      if (gate === 'ok' && running?.claim === claim) return { answer, expected: 'run_already_active' };
      if (gate === 'ok' && running !== undefined) running.status = 'failed';
      if (gate === 'ok') world.runs.push({ id: answer.body.id, claim, status: 'running' });
      return { answer, expected: gate };
    }
  }
}

async function makeWorld(): Promise<World> {
  const made = await Promise.all(Array.from({ length: tasksCount }, () => makeTask(baton)));
  const tasks = made.map(({ id }) => ({ id, isDone: false, epoch: 0, active: undefined }));
  return { tasks, claims: [], runs: [] };
}

/** Whoever changed the title held the claim at that place of the journal. */
async function checkWriters(): Promise<void> {
  const strays = await baton.pool.rows(sql`
    select * from (
      select e.type, e.payload #>> '{changes,title}' as title,
        (select c.payload ->> 'claimId' from events c
          where c.type = 'task.claimed' and c.entity_id = e.entity_id and (c.position, c.sequence) < (e.position, e.sequence)
          order by c.position desc, c.sequence desc limit 1) as claim_id
      from events e where e.type = 'task.updated') written
    where title <> 'written under ' || claim_id`);
  assert.deepEqual(strays, [], 'a stale writer wrote');
}

test('one agent after the other: every answer is the one of the model', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 50 }), async (steps) => {
      const world = await makeWorld();
      for (const [index, one] of steps.entries()) {
        const result = await act(world, one);
        if (result === undefined) continue;
        assert.equal(outcomeOf(result.answer), result.expected, `step ${index}: ${JSON.stringify(one)}`);
      }
      for (const { id, status, token } of world.claims) {
        const claim = await done(baton.admin.get(`/claims/${id}`));
        assert.deepEqual([claim.status, claim.fencingToken], [status, token]);
      }
      for (const { id, status } of world.runs)
        assert.equal((await done(baton.admin.get(`/runs/${id}`))).status, status);
    }),
    { numRuns: 30, endOnFailure: true },
  );
  await checkLeaseInvariants(baton);
  await checkWriters();
});

test('all agents at once: no failure, one active claim, rising tokens, and no stale writer writes', async () => {
  const together = 6;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 24, maxLength: 48 }), async (steps) => {
      const world = await makeWorld();
      // Something to hold from the start; what the model says is not asked here.
      for (const n of [0, 1]) await act(world, { verb: 'claim', worker: n, task: n, back: 0, flag: false });
      for (let from = 0; from < steps.length; from += together) {
        const results = await Promise.all(
          steps.slice(from, from + together).map((one) => attempt(world, one)),
        );
        for (const status of results) assert.ok(status < 500, `answered ${status}`);
      }
    }),
    { numRuns: 15, endOnFailure: true },
  );
  await checkLeaseInvariants(baton);
  await checkWriters();
});

/** One request of a step; what it leads to goes into the world for later steps. */
async function attempt(world: World, { verb, worker: n, task: t, back, flag }: Step): Promise<number> {
  const { actor, sessionId } = workers[n] as Worker;
  const task = world.tasks[t] as TaskModel;
  const claim = world.claims.at(-1 - (back % world.claims.length)) as ClaimModel;
  const keys = { claimId: claim.id, fencingToken: claim.token };
  const ifMatch = async (id: string) => ({
    'if-match': `task-${(await done(actor.get(`/tasks/${id}`))).version}`,
  });
  const hold = ({ status, body }: Answer, of: TaskModel) => {
    if (status === 200) {
      const { id, fencingToken: token } = body;
      world.claims.push({ id, task: of, holder: n, token, status: 'active', isOver: false });
    }
    return status;
  };
  switch (verb) {
    case 'claim':
      return hold(await actor.post(`/tasks/${task.id}:claim`, { sessionId }), task);
    case 'reclaim':
      return hold(await actor.post(`/claims/${claim.id}:reclaim`, { sessionId }), claim.task);
    case 'expire':
      await endClaimLease(baton, task.id);
      return 200;
    case 'sweep':
      await sweeper.claims.run();
      return 200;
    case 'close': {
      const { status } = await actor.post(`/sessions/${sessionId}:close`);
      workers[n] = { actor, sessionId: await openSession(actor) };
      return status;
    }
    case 'beat':
      return (await actor.post(`/claims/${claim.id}:heartbeat`)).status;
    case 'release':
      return (await actor.post(`/claims/${claim.id}:release`)).status;
    case 'patch': {
      const { id } = claim.task;
      const body = { title: `written under ${claim.id}`, ...keys };
      return (await actor.patch(`/tasks/${id}`, body, await ifMatch(id))).status;
    }
    case 'complete': {
      const { id } = claim.task;
      return (await actor.post(`/tasks/${id}:complete`, flag ? keys : {}, await ifMatch(id))).status;
    }
    case 'start': {
      const { status, body } = await actor.post(`/tasks/${claim.task.id}:start-run`, keys);
      if (status === 201) world.runs.push({ id: body.id, claim, status: 'running' });
      return status;
    }
    case 'succeed': {
      const run = world.runs.at(-1 - back);
      return run === undefined
        ? 200
        : (await actor.post(`/runs/${run.id}:succeed`, { completeTask: flag })).status;
    }
  }
}
