import type { Trigger } from '../language/forms.ts';
import type { Definition, Handler } from './definition-lists.ts';
import { resumes } from './endings.ts';
import type { Input } from './inputs.ts';
import { type EngineTools, Machine, ProcessFault } from './machine.ts';
import { startList } from './sequences.ts';
import { type EventRoot, migrationFailed, type Node, type ProcessState } from './state.ts';
import { enterKind } from './step-kinds.ts';

/** The handlers of an instance, from `correlate` and `onEvent` (docs/reference/processes.md#triggers). */

type EventInput = Extract<Input, { kind: 'event' }>;

/** Used in place of a correlation's index when an event starts instances. */
export const startCorrelation = -1;

/** The maximum number of events that wait for a running handler. */
const queuedMax = 100;

/**
 * Whether an event resumes a suspended instance: it does if it starts a handler whose first step is `resume`
 * (docs/reference/processes.md#triggers). A condition that can't be evaluated resumes nothing.
 */
export function isResumedBy(
  definition: Definition,
  state: ProcessState,
  input: Input,
  tools: EngineTools,
): boolean {
  if (state.status !== 'suspended' || input.kind !== 'event') return false;
  // Only an operator can resume an instance whose migration failed.
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

/** Whether an event matches a trigger; the caller evaluates `where`, because it has the roots. */
export function isOfTrigger(trigger: Trigger, { type, payload }: EventRoot): boolean {
  if (trigger.event !== undefined) return trigger.event === type;
  if (type !== 'observation.recorded' || payload['kind'] !== trigger.observation) return false;
  return trigger.source === undefined || payload['source'] === trigger.source;
}

/** The handlers to run for an event: those whose correlation matched it, and those without a key. */
export function handlersFor(m: Machine, { event, correlations = [] }: EventInput): number[] {
  const { handlers } = m.definition;
  const own = ownHandlersOf(m.definition, m.state, event);
  return [...correlations.filter((n) => handlers[n] !== undefined), ...own];
}

/**
 * Handlers without a key that match an event: events from the instance, or about a task, an approval, a call or an
 * instance that it has open.
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
  emitCorrelated(m, event, changedFields);
  if (list === undefined) return;
  if (m.sequence(list) === undefined) return startList(m, list, null, null);
  if (m.state.queued.length >= queuedMax)
    throw new ProcessFault('too_many_events', 'too many events wait for a handler');
  m.state.queued.push({ handler: list, event });
}

export function emitCorrelated(m: Machine, event: EventRoot, changedFields: string[]): void {
  m.tell('process.correlated', { triggerEventId: event.id, triggerType: event.type, changedFields });
}
