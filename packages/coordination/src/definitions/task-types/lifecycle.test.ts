import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { byDepth } from '@baton/testing/depth';
import { type Answer, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeWorker, type Worker } from '../../testing/leases.ts';
import { statusCategories } from './lifecycle.ts';

/** The number of histories per kind, which run concurrently; a history has 12 to 16 calls. */
const lanes = 6;
const historiesOfLane = byDepth(10, 60);
const callsMin = byDepth(300, 2_000);

let baton: TestCoordination;
let workers: Worker[];
before(async () => {
  baton = await startCoordination();
  workers = await Promise.all(
    Array.from({ length: lanes }, () =>
      makeWorker(baton, { permissions: ['tasks.read', 'tasks.write', 'tasks.claim', 'sessions.open'] }),
    ),
  );
});
after(() => baton.close());

const keys = ['a', 'b', 'c', 'd', 'e'];

/** A lifecycle as sent by a client, valid or not. */
interface Sent {
  statuses: { key: string; category: (typeof statusCategories)[number] }[];
  initialStatus: string;
  transitions: { from: string; to: string[] }[];
  claimStatus?: string;
  releaseStatus?: string;
  claimFrom?: string[];
  completionStatus?: string;
}

const key = fc.constantFrom(...keys);
/** Mostly one of these statuses, so that most lifecycles are valid. */
const mostly = (...usual: string[]) => fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...usual) }, key);

/** The statuses a, b and c are open; d has any category, and e is a success. */
const lifecycles: fc.Arbitrary<Sent> = fc
  .record(
    {
      categories: fc.tuple(
        ...['abc', 'abc', 'abc'].map(() =>
          fc.constantFrom('backlog' as const, 'active' as const, 'blocked' as const),
        ),
        fc.constantFrom(...statusCategories),
      ),
      edges: fc.uniqueArray(fc.tuple(key, key), { minLength: 8, maxLength: 20, selector: String }),
      initialStatus: mostly('a', 'b'),
      claimStatus: mostly('b', 'c'),
      releaseStatus: mostly('a', 'c'),
      claimFrom: fc.subarray(keys),
      isWild: fc.nat(12).map((n) => n === 0),
      completionStatus: mostly('e'),
    },
    { requiredKeys: ['categories', 'edges', 'initialStatus', 'isWild'] },
  )
  .map(({ categories, edges, claimFrom, isWild, ...named }) => ({
    statuses: keys.map((one, index) => ({ key: one, category: categories[index] ?? 'terminal_success' })),
    transitions: keys.map((from) => ({
      from,
      to: edges.filter(([start]) => start === from).map(([, to]) => to),
    })),
    // Mostly blocked statuses, because others are refused.
    ...(claimFrom !== undefined && {
      claimFrom: claimFrom.filter((one) => isWild || categories[keys.indexOf(one)] === 'blocked'),
    }),
    ...named,
  }));

/** A call: the operation and, if it has one, its target status. */
const calls = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.tuple(fc.constant('update' as const), fc.oneof(key, fc.constant('unheard-of'))),
    },
    { weight: 3, arbitrary: fc.tuple(fc.constant('claim' as const), key) },
    { weight: 3, arbitrary: fc.tuple(fc.constant('release' as const), key) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('complete' as const), key) },
  ),
  { minLength: 12, maxLength: 16 },
);

/** The documented rules (docs/reference/definitions.md#lifecycle), applied literally to the document as sent. */
class NaiveTask {
  readonly type: Sent;
  readonly completionStatus: string;
  status: string;
  isClaimed = false;

  constructor(type: Sent) {
    this.type = type;
    this.status = type.initialStatus;
    this.completionStatus =
      type.completionStatus ??
      type.statuses.find(({ category }) => category === 'terminal_success')?.key ??
      '';
  }

  category(status = this.status): string | undefined {
    return this.type.statuses.find((one) => one.key === status)?.category;
  }

  leads(from: string, to: string | undefined): boolean {
    return this.type.transitions.some((one) => one.from === from && to !== undefined && one.to.includes(to));
  }

  isOver(): boolean {
    return this.category()?.startsWith('terminal') ?? false;
  }

  isOnHold(): boolean {
    return this.category() === 'blocked' && this.type.claimFrom?.includes(this.status) !== true;
  }

  /** @returns the code of the refusal, or undefined for a success */
  update(to: string): string | undefined {
    if (this.category(to) === undefined) return 'status_not_in_lifecycle';
    if (this.category(to) === 'terminal_success') return 'invalid_status';
    if (to === this.status || !this.leads(this.status, to)) return 'invalid_transition';
    this.status = to;
    // Cancelling a task ends its holder's claim.
    if (this.category() === 'terminal_cancelled') this.isClaimed = false;
    return undefined;
  }

  claim(): string | undefined {
    if (this.isOver() || this.isOnHold()) return 'task_not_claimable';
    if (this.isClaimed) return 'task_already_claimed';
    this.isClaimed = true;
    const { claimStatus } = this.type;
    if (claimStatus !== undefined && this.leads(this.status, claimStatus)) this.status = claimStatus;
    return undefined;
  }

  release(): undefined {
    if (!this.isClaimed) return;
    this.isClaimed = false;
    const { claimStatus, releaseStatus } = this.type;
    if (this.status === claimStatus && releaseStatus !== undefined && this.leads(this.status, releaseStatus))
      this.status = releaseStatus;
  }

  complete(): string | undefined {
    if (this.category() === 'terminal_success') return 'task_already_completed';
    if (this.category() === 'terminal_cancelled') return 'task_cancelled';
    if (!this.leads(this.status, this.completionStatus)) return 'invalid_transition';
    this.status = this.completionStatus;
    this.isClaimed = false;
    return undefined;
  }

  targets(): [string, string][] {
    const to = this.type.transitions.find(({ from }) => from === this.status)?.to ?? [];
    return to
      .filter((one) => one !== this.status)
      .filter((one) => this.category(one) !== 'terminal_success' || one === this.completionStatus)
      .map((one) => [one, one === this.completionStatus ? 'complete' : 'update']);
  }
}

/** Whether the document is valid: its initial and claim statuses are open, and its completion status is unambiguous. */
function isSound({
  statuses,
  initialStatus,
  claimStatus,
  releaseStatus,
  claimFrom,
  completionStatus,
}: Sent): boolean {
  const categoryOf = (one: string) => statuses.find((status) => status.key === one)?.category ?? '';
  const successes = statuses.filter(({ category }) => category === 'terminal_success');
  return (
    [initialStatus, claimStatus, releaseStatus].every(
      (one) => one === undefined || !categoryOf(one).startsWith('terminal'),
    ) &&
    (claimFrom ?? []).every((one) => categoryOf(one) === 'blocked') &&
    (completionStatus === undefined
      ? successes.length === 1
      : categoryOf(completionStatus) === 'terminal_success')
  );
}

let called = 0;
let moved = 0;

/** Runs one history with a task of its own type, and compares every response with the naive task. */
async function tell(worker: Worker, typeKey: string, sent: Sent, history: [string, string][]): Promise<void> {
  const made = await baton.admin.post('/task-types', {
    key: typeKey,
    displayName: 'T',
    lifecycleSchema: sent,
  });
  if (!isSound(sent)) {
    assert.equal(made.body.error?.code, 'invalid_lifecycle_schema');
    return;
  }
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const naive = new NaiveTask(sent);
  let task = await done(worker.actor.post('/tasks', { title: 'x', typeId: made.body.id }), 201);
  let presented: { claimId?: string; fencingToken?: number } = {};
  const path = `/tasks/${task.id}`;
  const ifMatch = () => ({ 'if-match': `task-${task.version}` });
  const act: Record<string, (to: string) => Promise<Answer>> = {
    update: (status) => worker.actor.patch(path, { status, ...presented }, ifMatch()),
    claim: () => worker.actor.post(`${path}:claim`, { sessionId: worker.sessionId }),
    release: () => worker.actor.post(`/claims/${presented.claimId}:release`),
    complete: () => worker.actor.post(`${path}:complete`, presented, ifMatch()),
  };
  for (const [call, to] of history) {
    if (call === 'release' && !naive.isClaimed) continue;
    const before = naive.status;
    const expected = naive[call as 'update'](to);
    const { body } = await (act[call] as (to: string) => Promise<Answer>)(to);
    called += 1;
    assert.equal(body.error?.code, expected, JSON.stringify({ call, to, before }));
    if (call === 'claim' && expected === undefined)
      presented = { claimId: body.id, fencingToken: body.fencingToken };
    if (!naive.isClaimed) presented = {};
    if (expected === undefined) task = await done(worker.actor.get(path));
    assert.deepEqual(
      [task.status, task.systemStatusCategory, task.activeClaimId !== null],
      [naive.status, naive.category(), naive.isClaimed],
      JSON.stringify({ call, to, before }),
    );
    assert.equal(task.completedAt !== null, naive.category() === 'terminal_success');
    if (naive.status === before) continue;
    moved += 1;
    const { targets } = await done(worker.actor.get(`${path}/transitions`));
    assert.deepEqual(
      targets.map(({ status, route }: { status: string; route: string }) => [status, route]),
      naive.targets(),
    );
  }
}

test(`in any lifecycle, each call makes the documented transitions, in ${callsMin.toLocaleString('en')} calls`, async () => {
  await Promise.all(
    workers.map(async (worker, lane) => {
      let histories = 0;
      await fc.assert(
        fc.asyncProperty(lifecycles, calls, (sent, history) => {
          histories += 1;
          return tell(worker, `lane-${lane}-${histories}`, sent, history);
        }),
        { numRuns: historiesOfLane },
      );
    }),
  );
  assert.ok(called >= callsMin, `${called} calls`);
  assert.ok(moved >= callsMin / 10, `${moved} moves`);
});
