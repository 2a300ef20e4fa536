import type { BatonClient, JournalEvent } from '@baton/sdk';
import { PlainError } from '../plain-error.ts';

export interface EventRange {
  readonly after?: string | undefined;
  readonly through?: string | undefined;
  /** In ms since 1970, inclusive. */
  readonly since?: number | undefined;
  /** In ms since 1970, exclusive. */
  readonly until?: number | undefined;
  readonly types?: string | undefined;
}

const pageEventsMax = 200;
/**
 * An upper bound on the duration of a change. The journal is in commit order, but an event's time is the start of its
 * change, so event times can be out of order by this much.
 */
const disorderMsMax = 10 * 60_000;

/**
 * The events in a range, in the order of the journal, read page by page, with one page in memory. It ends at the
 * current end of the journal.
 * @throws PlainError if `through` was not found
 */
export async function* eventsOf(
  baton: BatonClient,
  { after, through, since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY, types }: EventRange,
): AsyncGenerator<JournalEvent, void> {
  let cursor = after;
  for (;;) {
    const page = await baton.events.list({
      limit: pageEventsMax,
      ...(cursor !== undefined && { cursor }),
      ...(types !== undefined && { types }),
    });
    for (const event of page.items) {
      const at = Date.parse(event.occurredAt);
      if (at >= since && at < until) yield event;
      if (event.cursor === through) return;
    }
    const last = page.items.at(-1);
    if (last !== undefined && Date.parse(last.occurredAt) > until + disorderMsMax) return;
    if (!page.hasMore) break;
    cursor = page.nextCursor;
  }
  if (through !== undefined) throw new PlainError(`The journal ended without an event at ${through}.`);
}
