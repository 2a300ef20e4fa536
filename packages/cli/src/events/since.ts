import type { BatonClient, JournalEvent } from '@baton/sdk';
import { invocation } from '../../../../bin/invocation.mjs';
import { PlainError } from '../plain-error.ts';

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time with its offset, or an age: `90s`, `15m`, `2h`, `3d`. @returns undefined for anything else */
export function sinceMs(text: string, nowMs: number): number | undefined {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count !== undefined) return nowMs - Number(count) * (unitMs[unit] ?? 0);
  const at = /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/**
 * An upper bound on the duration of a change. The journal is in commit order, but an event's time is the start of its
 * change, so event times can be out of order by this much.
 */
const disorderMsMax = 10 * 60_000;
const pageEventsMax = 200;
/** A limit of 100,000 events, more than a person would read. */
const pagesMax = 500;

/** Where reading starts. */
export interface Beginning {
  /** Events to be read first, because no cursor precedes the journal's first event. */
  readonly first: readonly JournalEvent[];
  readonly cursor: string;
}

/**
 * Returns a starting position that includes every event since this time, and some older ones.
 * @throws PlainError if too many events have occurred since then
 */
export async function beginningAt(baton: BatonClient, at: number, signal: AbortSignal): Promise<Beginning> {
  let page = await baton.events.list({ tail: pageEventsMax, limit: pageEventsMax }, { signal });
  let oldest = page.items[0];
  if (oldest === undefined) return { first: [], cursor: page.nextCursor };
  for (let pages = 1; Date.parse(oldest.occurredAt) >= at - disorderMsMax; pages += 1) {
    if (pages === pagesMax)
      throw new PlainError(
        `More than ${pagesMax * pageEventsMax} events have happened since: ${invocation()} operations export writes all of them.`,
      );
    page = await baton.events.list({ before: oldest.cursor, limit: pageEventsMax }, { signal });
    const [older] = page.items;
    if (older === undefined) return { first: [oldest], cursor: oldest.cursor };
    oldest = older;
  }
  return { first: [], cursor: oldest.cursor };
}
