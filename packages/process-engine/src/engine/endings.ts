import type { Machine } from './machine.ts';
import { endAll, startList } from './sequences.ts';
import type { Parked } from './state.ts';
import { freeze, thaw } from './timers.ts';

/** Suspends, resumes and ends instances (docs/reference/processes.md#instances). */

export function completeInstance(m: Machine, outcome: string | null): void {
  endAll(m, 'cancelled');
  m.state.status = 'completed';
  m.state.outcome = outcome;
  m.note('state', null, 'completed', { outcome });
  m.tell('process.completed', { outcome, memory: null });
}

type SuspendCause = 'event' | 'operator' | 'input_failed';

/**
 * Suspends an instance: timers stop, and inputs are stored. When it resumes, `continueLists` finds the lists that were
 * about to continue.
 */
export function suspendNow(m: Machine, cause: SuspendCause, reason: string | null): void {
  freeze(m);
  m.state.status = 'suspended';
  m.ready.splice(0);
  m.note('state', null, 'suspended', { cause, reason });
  m.tell('process.suspended', { cause, reason });
}

/** Suspends an instance that can't continue until an operator retries or skips the failed step. */
export function suspendForOperator(m: Machine, { element, code, reason }: Parked): void {
  m.state.parked = { element, code, reason };
  suspendNow(m, 'input_failed', `${code}: ${reason}`);
}

/** Whether a list of steps resumes a suspended instance: it begins with `resume`. */
export function resumes(m: Machine, list: string): boolean {
  const [first] = m.definition.lists.get(list) ?? [];
  return first?.resume !== undefined && (first.when === undefined || m.holds(first.when));
}

export function continueLists(m: Machine): void {
  m.state.status = 'running';
  m.state.parked = null;
  thaw(m);
  // The input that led to the pause may have changed the data.
  m.areTimersStale = true;
  const busy = new Set(m.elements().map(({ parent }) => parent));
  for (const { id } of m.sequences()) if (!busy.has(id)) m.ready.push(id);
}

/** Ends everything, after compensating in reverse order. */
export function beginCancel(m: Machine, reason: string, compensate: boolean): void {
  const { undoable, ending } = m.state;
  if (ending !== null && compensate) return;
  m.state.status = 'running';
  m.state.parked = null;
  const undone = (ending?.undone ?? []).filter(
    (element) => m.sequence(`${element}/onCompensate`) === undefined,
  );
  endAll(m, 'cancelled');
  if (!compensate) m.state.undoable = [];
  m.state.ending = { reason: ending?.reason ?? reason, undone };
  m.note('state', null, 'cancelling', { reason, compensate, undoable: undoable.length });
}

/** The next step of a cancel; its last one ends the instance. */
export function continueCancel(m: Machine): void {
  const { ending, undoable } = m.state;
  if (ending === null || Object.keys(m.state.nodes).length > 0) return;
  const next = undoable.pop();
  if (next !== undefined) {
    ending.undone.push(next.element);
    m.state.lastStep = next.step;
    return startList(m, `${next.element}/onCompensate`, null, next.stage);
  }
  const { reason, undone } = ending;
  m.state.status = 'cancelled';
  m.note('state', null, 'cancelled', { reason, compensated: undone });
  if (undone.length > 0) m.tell('process.compensated', { scope: 'process', steps: undone });
  m.tell('process.cancelled', { reason, compensated: undone });
}
