import type { ProcessState } from '@baton/process-engine/engine/state';
import type { EventRow } from '../../../ledger/journal/event.ts';
import { causeOfEvent } from '../../../rules/acts/cause.ts';
import { findChain, recordChain } from '../../../rules/acts/chain.ts';
import type { Context } from '../../context.ts';
import { findLinks } from './links.sql.ts';

/**
 * Loops of processes: tasks, observations and events of an instance may start other instances or correlate with them,
 * which may trigger others in turn. Each trigger is a link. A result that a step waits for is not a link, regardless of
 * the number of consecutive steps.
 */

/** The same value as the maximum depth of calls. */
export const linksMax = 10;
/**
 * If no event caused an effect, and the instance started longer ago than this, the effect doesn't continue the chain of
 * the start: the instance has been waiting in the meantime.
 */
const linkSecondsMax = 60;
const ofProcess = /^process:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

export const loopFault = {
  element: null,
  code: 'process_loop',
  reason: `a chain of ${linksMax} processes led to it, each triggered by an event of the one before`,
} as const;

/** The instance that caused an event, by the event's correlation id; undefined if none did. */
export function sourceOfEvent(correlation: string | null): string | undefined {
  return ofProcess.exec(correlation ?? '')?.[1];
}

/** The number of links that led to an event; undefined for an event that neither a process nor a rule caused. */
export async function linksTo(context: Context, event: EventRow): Promise<number | undefined> {
  const { correlation_id: correlation, causation_id: cause, occurred_at: at } = event;
  const instanceId = sourceOfEvent(correlation);
  if (instanceId !== undefined) {
    const source = cause === null ? null : `event:${cause}`;
    const found = findLinks(context.tenantId, { instanceId, source, at, linkSecondsMax });
    return (await context.db.row(found))?.links;
  }
  // For rules, the task stores the length of the chain. That length includes rules, so it may exceed the limit by more
  // than one.
  if (correlation?.startsWith('work-rule:') !== true) return undefined;
  return Math.min((await findChain(context, causeOfEvent(event))) - 1, linksMax);
}

/** The number of links that led to an action of an instance that was caused by a timer or a call, not by an event. */
export function linksOfStart({ links = 0, startedAt }: ProcessState, at: string): number {
  return Date.parse(at) - Date.parse(startedAt) <= linkSecondsMax * 1000 ? links : 0;
}

/** Stores the chain length for rules that act on a task of the instance. */
export async function linkTask(context: Context, taskId: string, links: number): Promise<void> {
  if (links > 0) await recordChain(context, taskId, links);
}
