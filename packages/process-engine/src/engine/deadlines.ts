import type { JsonObject } from '@baton/values/wire';
import type { Assignee, Escalation } from '../language/forms.ts';
import { type Machine, ProcessFault } from './machine.ts';
import { failElement } from './sequences.ts';
import type { Deadline, ElementNode, ProcessState, SlaState, Timer } from './state.ts';
import { evaluated, evaluatedBy } from './step-kinds.ts';
import { endVote } from './votes.ts';

/**
 * The consequences of a missed deadline: one warning and one breach per attempt, and escalations
 * (docs/reference/processes.md#deadlines).
 */

type Owner = Pick<ElementNode, 'due' | 'slaState'>;

/** The deadline of a step, or of the whole instance, was reached or is near. */
export function passDeadline(m: Machine, timer: Timer): void {
  const node = m.element(timer.element);
  const owner: Owner = node ?? m.state;
  const isBreach = timer.purpose === 'due';
  if (owner.due === null || owner.slaState === 'breached') return;
  if (isBreach) return breach(m, node, 'timer');
  owner.slaState = 'warning';
  tellDeadline(m, node, owner.due, null);
}

/**
 * A missed deadline, once per attempt.
 * @param node undefined for the deadline of the instance
 */
export function breach(m: Machine, node: ElementNode | undefined, detectedBy: DetectedBy): void {
  const owner: Owner = node ?? m.state;
  if (owner.due === null || owner.slaState === 'breached') return;
  owner.slaState = 'breached';
  tellDeadline(m, node, owner.due, detectedBy);
  if (node !== undefined) decideOnDue(m, node);
}

type DetectedBy = 'timer' | 'migration';

/** @param detectedBy null for a warning */
function tellDeadline(
  m: Machine,
  node: ElementNode | undefined,
  due: Deadline,
  detectedBy: DetectedBy | null,
): void {
  const { dueAt, warnAt, provisional } = due;
  const head: JsonObject = {
    scope: node === undefined ? 'process' : 'step',
    element: node?.id ?? null,
    attempt: node?.attempt ?? 1,
    activityId: node?.activityId ?? m.state.id,
    dueAt,
  };
  const responsible = { owner: ownerOf(m), taskId: node?.taskId ?? null };
  if (detectedBy === null)
    return m.tell('process.sla_warning', { ...head, warnAt, provisional }, responsible);
  const payload = {
    ...head,
    detectedAt: m.now,
    overdueSeconds: overdueSecondsOf(m.now, dueAt),
    detectedBy,
    provisional,
  };
  m.tell('process.sla_breached', payload, responsible);
}

/**
 * The owner of the process; an expression that yields no principal is skipped, like an assignee that doesn't resolve.
 */
function ownerOf(m: Machine): Assignee[] {
  return (m.definition.spec.owner ?? []).flatMap((assignee) => {
    try {
      return evaluatedBy(m, m.roots(), [assignee]);
    } catch (error) {
      if (!(error instanceof ProcessFault)) throw error;
      m.note('decision', null, 'owner', { code: error.code, reason: error.message });
      return [];
    }
  });
}

export function overdueSecondsOf(now: string, dueAt: string | null): number {
  return dueAt === null ? 0 : Math.max(0, Math.floor((Date.parse(now) - Date.parse(dueAt)) / 1000));
}

function decideOnDue(m: Machine, node: ElementNode): void {
  const onDue = m.step(node.id).approve?.onDue;
  if (onDue === 'approve') endVote(m, node, 'approved', 'due');
  if (onDue === 'reject') endVote(m, node, 'rejected', 'due');
}

/** One escalation of a step. The shell, which executes it, resolves its recipients. */
export function escalate(m: Machine, node: ElementNode, level: number): void {
  const { human, approve } = m.step(node.id);
  const escalation: Escalation | undefined = (human ?? approve)?.escalations[level - 1];
  if (escalation === undefined) return;
  const { action, to = [], error } = escalation;
  m.effect({
    kind: 'escalate',
    element: node.id,
    level,
    action,
    taskId: node.taskId ?? null,
    to: evaluated(m, node, to),
    ...(action === 'remind' &&
      to.length === 0 && { otherwise: { voters: missingVotersOf(node), owner: ownerOf(m) } }),
  });
  if (action !== 'raise' || error === undefined) return;
  const { type, status = null, detail } = error;
  failElement(m, node, {
    type,
    status,
    detail: detail === undefined ? null : m.tools.render(detail, m.rootsIn(node)),
  });
}

function missingVotersOf({ ballots = [] }: ElementNode): string[] {
  return ballots.flatMap(({ principalId, asked, vote }) =>
    asked && vote === 'pending' ? [principalId] : [],
  );
}

const worstFirst: readonly SlaState[] = ['breached', 'warning', 'unknown', 'paused', 'ok'];

/** The worst status among the instance's own deadline and those of its open steps. */
export function slaStateOf({
  slaState,
  nodes,
  status,
}: Pick<ProcessState, 'slaState' | 'nodes' | 'status'>): SlaState {
  const states = Object.values(nodes).flatMap((node) => (node.kind === 'element' ? [node.slaState] : []));
  const shown = [slaState, ...states].map((state) =>
    state === 'ok' && status === 'suspended' ? 'paused' : state,
  );
  return worstFirst.find((state) => shown.includes(state)) ?? 'none';
}
