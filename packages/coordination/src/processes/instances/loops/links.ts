import type { ProcessState } from '@baton/process-engine/engine/state';
import type { EventRow } from '../../../ledger/journal/event.ts';
import { causeOfEvent } from '../../../rules/acts/cause.ts';
import { findChain, noteLinks } from '../../../rules/acts/chain.ts';
import type { Context } from '../../context.ts';
import { findLinks } from './links.sql.ts';

/**
 * Processes that follow from themselves: what an instance files, remembers or tells may start others, or be correlated with
 * them, and so on. Each trigger is a link; an answer that a step waits for is none, however many steps wait one after the other.
 */

/** As deep as processes call each other. */
export const linksMax = 10;
/** What an instance does of itself later than this after its start did not follow from that alone: it has waited. */
const linkSecondsMax = 60;
const ofProcess = /^process:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

export const loopFault = {
  element: null,
  code: 'process_loop',
  reason: `${linksMax} processes in a row have led to it, each by an event of the one before`,
} as const;

/** The instance that an event comes from, by its correlation; undefined for none. */
export function sourceOfEvent(correlation: string | null): string | undefined {
  return ofProcess.exec(correlation ?? '')?.[1];
}

/** How many links have led to an event; undefined for one that comes from outside of processes and rules. */
export async function linksTo(context: Context, event: EventRow): Promise<number | undefined> {
  const { correlation_id: correlation, causation_id: cause, occurred_at: at } = event;
  const instanceId = sourceOfEvent(correlation);
  if (instanceId !== undefined) {
    const source = cause === null ? null : `event:${cause}`;
    const found = findLinks(context.tenantId, { instanceId, source, at, linkSecondsMax });
    return (await context.db.row(found))?.links;
  }
  // Of rules the chain is known by the task. It counts rules, too, so it may pass the limit by more than one.
  if (correlation?.startsWith('work-rule:') !== true) return undefined;
  return Math.min((await findChain(context, causeOfEvent(event))) - 1, linksMax);
}

/** How many links have led to what an instance does without an event: at a timer, or as it was called. */
export function linksOfStart({ links = 0, startedAt }: ProcessState, at: string): number {
  return Date.parse(at) - Date.parse(startedAt) <= linkSecondsMax * 1000 ? links : 0;
}

/** Has rules that act on a task, which an instance has filed, count on. */
export async function linkTask(context: Context, taskId: string, links: number): Promise<void> {
  if (links > 0) await noteLinks(context, taskId, links);
}
