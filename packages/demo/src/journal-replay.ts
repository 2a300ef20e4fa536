import { setTimeout as sleep } from 'node:timers/promises';
import type { BatonClient, JournalEvent } from '@baton/sdk';
import { DemoFailed } from './demo-failed.ts';

const pageEvents = 200;
const waitMs = 50;
const waitsMax = 600;

/**
 * Reads the journal page by page, from `cursor` to the event for which `isLast` is true. An event is delivered once
 * no older transaction is open, so the last events may take a moment.
 * @throws DemoFailed if that event is not delivered within 30 s
 */
export async function replayJournal(
  baton: BatonClient,
  cursor: string,
  isLast: (event: JournalEvent) => boolean,
): Promise<JournalEvent[]> {
  const events: JournalEvent[] = [];
  let next = cursor;
  for (let waits = 0; waits < waitsMax; ) {
    const page = await baton.events.list({ cursor: next, limit: pageEvents });
    events.push(...page.items);
    if (page.items.some(isLast)) return events;
    next = page.nextCursor;
    if (page.items.length > 0) continue;
    waits += 1;
    await sleep(waitMs);
  }
  throw new DemoFailed('The journal did not deliver its last events within 30 s.');
}
