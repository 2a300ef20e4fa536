import type { Trigger } from '../language/forms.ts';
import type { Definition, Handler } from './definition-lists.ts';
import { resumes } from './endings.ts';
import type { Input } from './inputs.ts';
import { type EngineTools, Machine, ProcessFault } from './machine.ts';
import { startList } from './sequences.ts';
import { type EventRoot, migrationFailed, type Node, type ProcessState } from './state.ts';
import { enterKind } from './step-kinds.ts';

/** What an instance does at events, of `correlate` and of `onEvent` (docs/reference/processes.md#triggers). */

type EventInput = Extract<Input, { kind: 'event' }>;

/** In the place of a correlation's number: the event is one that starts instances. */
export const startCorrelation = -1;

/** Events that wait for the handler that is at work. */
const queuedMax = 100;

/**
 * Whether an event lets a suspended instance go on: it begins a list whose first step is `resume` (docs/reference/processes.md#triggers).
 * What can't be judged lets nothing go on.
 */
export function isResumedBy(
  definition: Definition,
  state: ProcessState,
  input: Input,
  tools: EngineTools,
): boolean {
  if (state.status !== 'suspended' || input.kind !== 'event') return false;
  // By the version that it should leave nothing lets it go on but an operator.
  if (state.parked?.code === migrationFailed) return false;
  const m = new Machine({ definition, tools, enter: enterKind }, state, state.clock);
  m.event = input.event;
  const holds = (where: string | undefined) => where === undefined || m.holds(where);
  try {
    return handlersFor(m, input).some((n) => {
      const { on, list } = definition.handlers[n] as Handler;
      return list !== undefined && holds(on.where) && resumes(m, list);
    });
  } catch (error) {
    if (error instanceof ProcessFault) return false;
    throw error;
  }
}

/** Whether an event is one that a trigger waits for; `where` is judged by who knows what it reads. */
export function isOfTrigger(trigger: Trigger, { type, payload }: EventRoot): boolean {
  if (trigger.event !== undefined) return trigger.event === type;
  if (type !== 'observation.recorded' || payload['kind'] !== trigger.observation) return false;
  return trigger.source === undefined || payload['source'] === trigger.source;
}

/** The handlers that an event is for: those that it was found by, and those of the instance's own events. */
export function handlersFor(m: Machine, { event, correlations = [] }: EventInput): number[] {
  const { handlers } = m.definition;
  const own = ownHandlersOf(m.definition, m.state, event);
  return [...correlations.filter((n) => handlers[n] !== undefined), ...own];
}

/**
 * Handlers without a key that an event fits: it comes from the instance, or is about a task, an approval, a call or an instance
 * that it has open.
 */
export function ownHandlersOf(
  { handlers }: Pick<Definition, 'handlers'>,
  { id, nodes }: Pick<ProcessState, 'id' | 'nodes'>,
  event: EventRoot,
): number[] {
  const found = handlers.flatMap(({ key, on }, n) =>
    key === undefined && isOfTrigger(on, event) ? [n] : [],
  );
  if (found.length === 0 || event.correlationId === `process:${id}`) return found;
  const isAbout = (node: Node) =>
    node.kind === 'element' &&
    [
      node.taskId,
      node.callId,
      node.childId,
      ...(node.ballots ?? []).flatMap(({ approvalId, asked }) => (asked ? [approvalId] : [])),
    ].includes(event.entityId);
  return Object.values(nodes).some(isAbout) ? found : [];
}

export function handle(m: Machine, n: number, event: EventRoot): void {
  const { on, set, list } = m.definition.handlers[n] as Handler;
  if (on.where !== undefined && !m.holds(on.where)) return;
  const before = m.changedFields.length;
  if (set !== undefined) m.write(m.evaluateAll(set), null);
  const changedFields = [...new Set(m.changedFields.slice(before))];
  m.note('decision', null, 'handler', { handler: list ?? `correlate/${n}` });
  tellCorrelated(m, event, changedFields);
  if (list === undefined) return;
  if (m.sequence(list) === undefined) return startList(m, list, null, null);
  if (m.state.queued.length >= queuedMax)
    throw new ProcessFault('too_many_events', 'a handler can not keep up');
  m.state.queued.push({ handler: list, event });
}

export function tellCorrelated(m: Machine, event: EventRoot, changedFields: string[]): void {
  m.tell('process.correlated', { triggerEventId: event.id, triggerType: event.type, changedFields });
}
