import { canonicalJson } from '@baton/values/canonical-json';
import type { JsonObject } from '@baton/values/wire';
import { breach } from '../deadlines.ts';
import type { Input } from '../inputs.ts';
import { type Machine, ProcessFault } from '../machine.ts';
import { cancelElement, cancelSequence, finish, undoNext } from '../sequences.ts';
import {
  type ElementNode,
  migrationFailed,
  type Node,
  type SequenceNode,
  type StageState,
  type Undoable,
} from '../state.ts';
import { freeze, timerOf } from '../timers.ts';
import { continueVote } from '../votes.ts';
import { retime } from './migrate-timers.ts';
import type { MigrationPlan } from './migration-plan.ts';

/**
 * Migrates an instance to a later version of its definition (docs/reference/processes.md#migration). Open elements that
 * still exist stay open; removed elements are closed, and their lists continue after the steps that were done. Steps
 * added before that position, branches added to an open fork, and stages before one that has begun are skipped.
 */

type Migration = Extract<Input, { kind: 'migrate' }>;

/**
 * The machine has the definition of the later version and the state of the earlier one.
 * @throws ProcessFault `data_invalid`, and faults of expressions of the later version
 */
export function takeMigration(m: Machine, plan: MigrationPlan, { fromVersion }: Migration): void {
  m.tell('process.migrated', { fromVersion, map: mapOfOpen(m, plan), policy: 'migrate' });
  const fault = m.tools.faultOfData(m.state.data);
  if (fault !== undefined) throw new ProcessFault('data_invalid', fault);
  const bereft = closeWhatIsGone(m, plan);
  moveStages(m, plan);
  renameTasks(m, plan);
  m.state.nodes = movedNodes(m, plan);
  moveNames(m, plan);
  retime(m, plan);
  for (const id of bereft) endWithoutList(m, plan.stepOf(id));
  if (m.state.status === 'suspended') return freeze(m);
  for (const node of m.elements())
    if (m.element(node.id) === node && node.waitsFor === 'approvals' && node.ballots && !node.isFindingVoters)
      continueVote(m, node);
  judgeDeadlines(m);
  const busy = new Set(m.elements().map(({ parent }) => parent));
  for (const { id } of m.sequences()) if (!busy.has(id) && !m.ready.includes(id)) m.ready.push(id);
}

/** The entries of the map for open elements. The whole map may be long, and each instance records its entries. */
function mapOfOpen({ state }: Machine, { map }: MigrationPlan): JsonObject {
  const stages = Object.keys(state.stages).filter((id) => state.stages[id]?.state === 'active');
  const open = [...stages, ...Object.keys(state.nodes)].filter((id) => Object.hasOwn(map, id));
  return Object.fromEntries(open.map((id) => [id, map[id] as string | null]));
}

/** @returns remaining steps that lost one of their inner lists */
function closeWhatIsGone(m: Machine, plan: MigrationPlan): Set<string> {
  const bereft = new Set<string>();
  for (const node of m.elements())
    if (m.element(node.id) === node && plan.stepOf(node.id) === null) cancelElement(m, node, 'migrated');
  for (const sequence of m.sequences()) {
    if (m.sequence(sequence.id) === undefined || plan.listOf(sequence.id) !== null) continue;
    cancelSequence(m, sequence, 'migrated');
    if (sequence.parent !== null) bereft.add(sequence.parent);
  }
  return bereft;
}

function moveStages(m: Machine, plan: MigrationPlan): void {
  const { from, to, became, stepOf } = plan;
  const before = m.state.stages;
  const names = new Map(Object.keys(before).map((id) => [became(id), id]));
  tellRenamedStages(m, plan);
  const stages: Record<string, StageState> = {};
  let hasBegun = false;
  for (const { id, entry } of to.spec.stages.toReversed()) {
    const known = from.stages.has(names.get(id) ?? '') ? before[names.get(id) as string] : undefined;
    const isPassed = known === undefined && entry === undefined && hasBegun;
    stages[id] =
      known === undefined
        ? { state: isPassed ? 'terminated' : 'available', attempt: 0, entryHeld: false }
        : { ...known, ...(known.begun && { begun: known.begun.flatMap((step) => stepOf(step) ?? []) }) };
    if (isPassed) m.note('state', id, 'passed_over');
    hasBegun ||= known !== undefined && known.state !== 'available';
  }
  m.state.stageOrder = to.spec.stages.map(({ id }) => id);
  m.state.stages = Object.fromEntries(to.spec.stages.map(({ id }) => [id, stages[id] as StageState]));
}

/**
 * Emits the entry and exit events of renamed stages. A stage has no id besides its name: while it is active, it is
 * entered and exited once under each of its names.
 */
function tellRenamedStages(m: Machine, { to, became }: MigrationPlan): void {
  const entered: string[] = [];
  for (const [id, { state }] of Object.entries(m.state.stages)) {
    const name = became(id);
    if (state !== 'active' || (name === id && to.stages.has(id))) continue;
    if (name !== null && to.stages.has(name)) entered.push(name);
    else m.note('state', id, 'migrated');
    m.tell('process.stage_exited', { stage: id });
  }
  for (const stage of entered) m.tell('process.stage_entered', { stage });
}

/**
 * A person who has the task of an open step must fill in the form of the later version, because that version reads the
 * result.
 */
function renameTasks(m: Machine, { from, stepOf, to }: MigrationPlan): void {
  const tasks = m.elements().flatMap(({ id, taskId }) => {
    const step = stepOf(id);
    if (taskId === undefined || step === null) return [];
    const form = to.steps.get(step)?.human?.form ?? null;
    const before = from.steps.get(id)?.human?.form ?? null;
    return step === id && canonicalJson(form) === canonicalJson(before) ? [] : [{ taskId, step, form }];
  });
  // No note is written for this effect: the replay of a migration from before the effect existed would not find the
  // note.
  if (tasks.length > 0) m.acts.push({ do: 'effect', effect: { kind: 'rename_tasks', element: null, tasks } });
}

function movedNodes(m: Machine, plan: MigrationPlan): Record<string, Node> {
  const nodes: Record<string, Node> = {};
  for (const node of Object.values(m.state.nodes)) {
    const moved = node.kind === 'sequence' ? movedSequence(plan, node) : movedElement(plan, node);
    nodes[moved.id] = moved;
  }
  return nodes;
}

function movedSequence(plan: MigrationPlan, node: SequenceNode): SequenceNode {
  const id = plan.listOf(node.id) as string;
  const parent = node.parent && plan.stepOf(node.parent);
  return { ...node, id, parent, stage: node.stage && plan.became(node.stage), at: placeIn(plan, node, id) };
}

/** The list continues at the same step or, if that was removed, after the last remaining step before it. */
function placeIn({ from, to, stepOf }: MigrationPlan, { id, at }: SequenceNode, now: string): number {
  const steps = to.lists.get(now) ?? [];
  const indexOf = (step: string) => steps.findIndex((one) => one.id === stepOf(step));
  const before = from.lists.get(id) ?? [];
  const same = before[at] === undefined ? -1 : indexOf(before[at].id);
  if (same >= 0) return same;
  return Math.max(-1, ...before.slice(0, at).map((step) => indexOf(step.id))) + 1;
}

function movedElement(plan: MigrationPlan, node: ElementNode): ElementNode {
  return {
    ...node,
    id: plan.stepOf(node.id) as string,
    parent: plan.listOf(node.parent) as string,
    stage: node.stage && plan.became(node.stage),
    ...(node.undoing && { undoing: movedUndoable(plan, node.undoing) }),
  };
}

/** Elements that the later version can't compensate are not compensated. */
function movedUndoable(plan: MigrationPlan, undoable: readonly Undoable[]): Undoable[] {
  return undoable.flatMap((one) => {
    const { element, stage } = one;
    const id = plan.stepOf(element);
    if (id === null || plan.to.steps.get(id)?.onCompensate === undefined) return [];
    return [{ ...one, element: id, stage: stage && plan.became(stage) }];
  });
}

/** All other members that refer to elements. */
function moveNames(m: Machine, plan: MigrationPlan): void {
  const { state } = m;
  const { became, to } = plan;
  for (const [id, attempt] of Object.entries(state.attempts)) {
    const name = became(id);
    // A restored id continues its attempt count, because the ids of objects opened under it contain the attempt.
    if (name !== null) state.attempts[name] = Math.max(attempt, state.attempts[name] ?? 0);
  }
  const milestones = new Set(to.spec.stages.flatMap((stage) => stage.milestones.map(({ id }) => id)));
  state.milestones = Object.fromEntries(
    Object.entries(state.milestones).flatMap(([id, isReached]) => {
      const name = became(id);
      return name !== null && milestones.has(name) ? [[name, isReached]] : [];
    }),
  );
  const kept = movedUndoable(plan, state.undoable);
  if (kept.length < state.undoable.length)
    m.note('state', null, 'not_undoable', { steps: state.undoable.length - kept.length });
  state.undoable = kept;
  state.skipped = state.skipped.flatMap((id) => plan.stepOf(id) ?? []);
  const queued = state.queued.flatMap((one) => {
    const handler = plan.listOf(one.handler);
    return handler === null ? [] : [{ ...one, handler }];
  });
  if (queued.length < state.queued.length)
    m.note('state', null, 'not_handled', { events: state.queued.length - queued.length });
  state.queued = queued;
  // A failed migration to an earlier version no longer matters; the worker resumes the instance.
  if (state.parked?.code === migrationFailed) state.parked = null;
  if (state.parked?.element != null)
    state.parked = { ...state.parked, element: plan.stepOf(state.parked.element) };
}

/** Continues a step whose list was removed, unless the step waits for other lists. */
function endWithoutList(m: Machine, id: string | null): void {
  const node = id === null ? undefined : m.element(id);
  if (node === undefined || m.sequences().some(({ parent }) => parent === node.id)) return;
  if (node.stepKind === 'compensate') return undoNext(m, node);
  const isRace = m.step(node.id).fork?.mode === 'compete';
  finish(
    m,
    node,
    isRace ? { winner: null } : null,
    node.stepKind === 'listen' ? { status: 'timed_out' } : {},
  );
}

/** Deadlines that the later version makes overdue are reported at once. */
function judgeDeadlines(m: Machine): void {
  const owners = [
    { owner: m.state, id: m.state.id, node: undefined },
    ...m.elements().map((node) => ({ owner: node, id: node.id, node })),
  ];
  for (const { owner, id, node } of owners) {
    const timer = timerOf(m, id, 'due');
    if (owner.due?.dueAt == null || owner.due.dueAt > m.now || timer === undefined) continue;
    if (node !== undefined && m.element(id) !== node) continue;
    timer.state = 'fired';
    breach(m, node, 'migration');
  }
}
