import { counted } from '@baton/values/counted';
import type { BacklogPlan } from './backlog-plan.ts';
import { percentile } from './latency.ts';
import type { Proof } from './proof.ts';
import { type Tally, total } from './tally.ts';

export interface DemoResult {
  /** The slug of the demo's workspace. */
  readonly workspace: string;
  readonly plan: BacklogPlan;
  readonly agents: number;
  readonly importSeconds: number;
  readonly drainSeconds: number;
  readonly replaySeconds: number;
  readonly totalSeconds: number;
  readonly exchanges: number;
  readonly tally: Tally;
  readonly proof: Proof;
}

const violationsShownMax = 5;

/**
 * Whether the proof holds, and the service accepted neither a write under an expired lease nor an action over a budget.
 */
export function allHolds({ proof, tally }: DemoResult): boolean {
  return proof.holds && tally.stalledAccepted === 0 && tally.budgetsExceeded === 0;
}

/** The report as JSON. */
export function resultJson(result: DemoResult): object {
  const { workspace, tally, proof, plan, agents, exchanges } = result;
  return {
    holds: allHolds(result),
    workspace,
    issues: countFates(plan),
    relations: plan.relations.length,
    dropped: plan.dropped,
    agents,
    importSeconds: round(result.importSeconds),
    drainSeconds: round(result.drainSeconds),
    replaySeconds: round(result.replaySeconds),
    totalSeconds: round(result.totalSeconds),
    exchanges,
    claims: tally.claims,
    claimsPerSecond: round(tally.claims / result.drainSeconds),
    claimMs: { p50: round(percentile(tally.claimMs, 50)), p99: round(percentile(tally.claimMs, 99)) },
    conflicts: Object.fromEntries(tally.conflicts),
    killed: tally.killed,
    stalledRefused: Object.fromEntries(tally.stalledRefused),
    stalledAccepted: tally.stalledAccepted,
    approved: tally.approved,
    budgetsRefused: tally.budgetsRefused,
    budgetsExceeded: tally.budgetsExceeded,
    proof: proof.checks.map(({ statement, looked, violations }) => ({
      statement,
      looked,
      holds: violations.length === 0,
      violations: violations.slice(0, violationsShownMax),
    })),
  };
}

/** The report as plain text. */
export function resultLines(result: DemoResult): string[] {
  const { workspace, plan, proof, tally, agents } = result;
  const { open, done, deleted } = countFates(plan);
  const perSecond = Math.round(tally.claims / result.drainSeconds);
  return [
    '',
    `Imported ${counted(plan.tasks.length, 'issue')} in ${seconds(result.importSeconds)}: ${open} are open work, ${done} are done, ${deleted} are deleted; ${counted(plan.relations.length, 'relation')}.`,
    ...plan.droppedLines,
    `${counted(agents, 'agent')} worked for ${seconds(result.drainSeconds)}: ${counted(tally.claims, 'claim')} (${perSecond}/s, p50 ${ms(tally.claimMs, 50)}, p99 ${ms(tally.claimMs, 99)}), ${counted(result.exchanges, 'token exchange')}.`,
    `Conflicts: ${total(tally.conflicts)}${byCode(tally.conflicts)}.`,
    ...killLines(tally),
    `A person gave ${counted(tally.approved, 'approval')}. Refused beyond a run's budget: ${counted(tally.budgetsRefused, 'action')}${tally.budgetsExceeded === 0 ? '' : `; ${tally.budgetsExceeded} WERE ACCEPTED`}.`,
    '',
    `Proof, from the journal replayed in ${seconds(result.replaySeconds)}:`,
    ...proof.checks.flatMap(({ statement, looked, violations }) => [
      `  ${violations.length === 0 ? 'holds ' : 'BROKEN'}  ${statement} (${looked})`,
      ...violations.slice(0, violationsShownMax).map((violation) => `          ${violation}`),
      ...(violations.length > violationsShownMax
        ? [`          and ${violations.length - violationsShownMax} more`]
        : []),
    ]),
    allHolds(result)
      ? `All of it holds. ${seconds(result.totalSeconds)} in total.`
      : `It does NOT hold. ${seconds(result.totalSeconds)} in total.`,
    `Its tasks are in the archived workspace ${workspace}; its principals are disabled.`,
  ];
}

function killLines(tally: Tally): string[] {
  if (tally.killed === 0) return [];
  const accepted =
    tally.stalledAccepted === 0 ? '' : `; ${tally.stalledAccepted} WRITES OF STALLED AGENTS WERE ACCEPTED`;
  return [
    `Killed ${counted(tally.killed, 'agent')} while they held leases. Those that resumed later were refused ${counted(total(tally.stalledRefused), 'time')}${byCode(tally.stalledRefused)}${accepted}.`,
  ];
}

function countFates({ tasks }: BacklogPlan) {
  const countOf = (wanted: string) => tasks.filter(({ fate }) => fate === wanted).length;
  return { open: countOf('open'), done: countOf('done'), deleted: countOf('deleted') };
}

function byCode(codes: ReadonlyMap<string, number>): string {
  return codes.size === 0 ? '' : ` (${[...codes].map(([code, times]) => `${code} ${times}`).join(', ')})`;
}

function seconds(value: number): string {
  return `${value.toFixed(1)} s`;
}

function ms(values: readonly number[], percent: number): string {
  return `${percentile(values, percent).toFixed(1)} ms`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
