import { lifecycle } from './specialties.ts';
import { readHistories, type TaskHistory, type ToldEvent } from './task-history.ts';

export interface ProofInput {
  /** The events of the journal in order. */
  readonly events: readonly ToldEvent[];
  /** The tasks that the agents had to do. */
  readonly openTaskIds: ReadonlySet<string>;
  /**
   * The ids of the open tasks whose type has its own statuses (features), that need a debugger (bugs), and that have a
   * gate.
   */
  readonly featureIds: ReadonlySet<string>;
  readonly bugIds: ReadonlySet<string>;
  readonly gatedIds: ReadonlySet<string>;
  readonly debuggerIds: ReadonlySet<string>;
  readonly reviewerId: string;
  /** The dependencies that were imported: `taskId` waits for `blockerId`. */
  readonly waits: readonly { readonly taskId: string; readonly blockerId: string }[];
}

/** One statement about the whole journal. */
export interface Check {
  readonly statement: string;
  /** What was checked, such as "339 tasks", because an empty check would prove nothing. */
  readonly looked: string;
  /** One sentence for each violation of the statement. */
  readonly violations: readonly string[];
}

export interface Proof {
  readonly holds: boolean;
  readonly checks: readonly Check[];
}

/**
 * Checks the outcome from the journal alone, not from what the agents report. A pure function: the same journal gives
 * the same proof.
 */
export function proveJournal(input: ProofInput): Proof {
  const histories = readHistories(input.events, input.openTaskIds);
  const checks = [
    checkDelivery(input.events),
    checkDoneOnce(histories),
    checkBlockers(histories, input.waits),
    checkTokens(histories),
    checkLeases(histories),
    checkMoves(histories, input.featureIds),
    checkHolders(histories, input),
    checkGates(histories, input),
    checkCheckpoints(histories),
  ];
  return { holds: checks.every(({ violations }) => violations.length === 0), checks };
}

function checkDelivery(events: readonly ToldEvent[]): Check {
  const ids = new Set<string>();
  const violations: string[] = [];
  for (const { id, type } of events) {
    if (ids.has(id)) violations.push(`event ${id} (${type}) was delivered twice`);
    ids.add(id);
  }
  return { statement: 'every event was delivered once', looked: `${events.length} events`, violations };
}

function checkDoneOnce(histories: readonly TaskHistory[]): Check {
  const violations = histories.flatMap(({ name, completions, successes }) => {
    if (completions.length === 1 && successes.length === 1) return [];
    return [`${name} was completed ${completions.length} times, by ${successes.length} successful runs`];
  });
  return {
    statement: 'every open task was done exactly once',
    looked: `${histories.length} tasks`,
    violations,
  };
}

function checkBlockers(histories: readonly TaskHistory[], waits: ProofInput['waits']): Check {
  const byId = new Map(histories.map((history) => [history.taskId, history]));
  const own = waits.filter(({ taskId }) => byId.has(taskId));
  const violations = own.flatMap(({ taskId, blockerId }) => {
    const task = byId.get(taskId) as TaskHistory;
    if (!task.waitsFor.has(blockerId))
      return [`the journal does not contain the dependency of ${task.name} on ${blockerId}`];
    const blocker = byId.get(blockerId);
    // A blocker that is not an open task was done before the agents started.
    if (blocker === undefined) return [];
    const blockerDoneAt = blocker.completions[0]?.position ?? Number.POSITIVE_INFINITY;
    const early = [...task.starts, ...task.completions].find(({ position }) => position < blockerDoneAt);
    return early === undefined
      ? []
      : [`${task.name}: ${early.what} before its blocker ${blocker.name} was done`];
  });
  return {
    statement: 'no task was started or finished before its blockers were done',
    looked: `${own.length} blockers`,
    violations,
  };
}

function checkTokens(histories: readonly TaskHistory[]): Check {
  const violations = histories.flatMap(({ name, leases }) =>
    leases.flatMap(({ fencingToken }, index) => {
      const previous = leases[index - 1]?.fencingToken ?? 0;
      return fencingToken > previous ? [] : [`${name} gave fencing token ${fencingToken} after ${previous}`];
    }),
  );
  const claims = histories.reduce((sum, { leases }) => sum + leases.length, 0);
  return {
    statement: 'fencing tokens increase with every claim of a task',
    looked: `${claims} claims`,
    violations,
  };
}

function checkLeases(histories: readonly TaskHistory[]): Check {
  const violations = histories.flatMap(({ name, leases, starts }) => [
    ...leases.flatMap((lease, index) => {
      const next = leases[index + 1];
      if (next === undefined)
        return lease.end === undefined ? [`${name}: claim ${lease.claimId} never ended`] : [];
      const endedBefore = lease.end !== undefined && lease.end.position < next.position;
      const isExpired = next.takenAtMs >= lease.expiresAtMs;
      return endedBefore || isExpired
        ? []
        : [`${name}: claim ${next.claimId} was granted while ${lease.claimId} was live`];
    }),
    ...starts.flatMap(({ claimId, position }) => {
      const current = leases.findLast((lease) => lease.position < position);
      return current?.claimId === claimId
        ? []
        : [`${name}: a run started under claim ${claimId}, not under the current one`];
    }),
  ]);
  const takeovers = histories.reduce((sum, { leases }) => sum + Math.max(0, leases.length - 1), 0);
  return {
    statement: 'no task had two live leases at any time',
    looked: `${takeovers} takeovers, ${histories.length} tasks`,
    violations,
  };
}

function checkMoves(histories: readonly TaskHistory[], featureIds: ReadonlySet<string>): Check {
  const typed = histories.filter(({ taskId }) => featureIds.has(taskId));
  const moves: Readonly<Record<string, readonly string[]>> = lifecycle;
  const violations = typed.flatMap(({ name, statuses }) =>
    statuses.flatMap((to, index) => {
      const from = statuses[index - 1];
      const isDeclared = from === undefined ? to === 'queued' : moves[from]?.includes(to) === true;
      return isDeclared ? [] : [`${name} moved from ${from ?? 'nothing'} to ${to}`];
    }),
  );
  return {
    statement: 'tasks with their own statuses moved only as their type allows',
    looked: `${typed.length} tasks, ${typed.reduce((sum, { statuses }) => sum + statuses.length, 0)} statuses`,
    violations,
  };
}

function checkHolders(
  histories: readonly TaskHistory[],
  { bugIds, debuggerIds }: Pick<ProofInput, 'bugIds' | 'debuggerIds'>,
): Check {
  const bugs = histories.filter(({ taskId }) => bugIds.has(taskId));
  const violations = bugs.flatMap(({ name, leases }) =>
    leases
      .filter(({ holderId }) => !debuggerIds.has(holderId))
      .map(({ holderId }) => `${name} was held by ${holderId}, who lacks the capability`),
  );
  return {
    statement: 'tasks that require a capability were held only by agents that have it',
    looked: `${bugs.length} tasks, ${debuggerIds.size} agents`,
    violations,
  };
}

function checkGates(
  histories: readonly TaskHistory[],
  { gatedIds, reviewerId }: Pick<ProofInput, 'gatedIds' | 'reviewerId'>,
): Check {
  const gated = histories.filter(({ taskId }) => gatedIds.has(taskId));
  const violations = gated.flatMap(({ name, gates, leases, completions }) => {
    const [gate] = gates;
    if (gate?.openedBy !== reviewerId) return [`${name} was approved by ${gate?.openedBy ?? 'nobody'}`];
    const early = [...leases, ...completions].some(({ position }) => position < (gate.openedAt as number));
    return early ? [`${name} was claimed or completed before a person approved it`] : [];
  });
  return {
    statement: 'no task with a gate was claimed before the person opened it',
    looked: `${gated.length} approvals`,
    violations,
  };
}

function checkCheckpoints(histories: readonly TaskHistory[]): Check {
  const runs = histories.flatMap(({ checkpoints }) => [...checkpoints]);
  const violations = runs.flatMap(([runId, numbers]) =>
    numbers.every((number, index) => number === index + 1)
      ? []
      : [`run ${runId} has the checkpoints ${numbers.join(', ')}`],
  );
  return {
    statement: 'the checkpoints of every run are numbered without a gap',
    looked: `${runs.length} runs`,
    violations,
  };
}
