import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiCaller, isTransientFailure, pickAny, send } from './api-client.ts';
import type { Deliveries } from './deliveries.ts';

/** Determines when consumers end: they continue until they have read all events after the last write. */
export interface Ending {
  /** Writing has ended, and everything can be read. */
  isWritten: boolean;
  /** The time for reading has passed: missing events are lost. */
  isOver: boolean;
}

export interface Consumer extends ApiCaller {
  readonly deliveries: Deliveries;
  readonly ending: Ending;
  /** The query, such as `types=task.`. */
  readonly filter?: string;
  /** The probability that the consumer stops between two steps and resumes from its last stored cursor. */
  readonly crashes: number;
  /** A switch for the checker's own tests: stores its cursor before it has handled the events. */
  readonly notesCursorFirst?: boolean;
  /** Another switch for these tests: handles the events of a page in reverse order. */
  readonly isBackward?: boolean;
}

const upTo = (ms: number) => Math.random() * ms;
const has = (likelihood: number) => Math.random() < likelihood;

interface Page {
  items: { id: string }[];
  nextCursor: string;
  hasMore: boolean;
}

/** Reads by pages. Its cursor is stored when the page is handled; after a crash before that, the page is read again. */
export async function consumePages(consumer: Consumer & { limit: number }): Promise<void> {
  const { deliveries, ending, limit, filter = '', crashes, notesCursorFirst, isBackward } = consumer;
  let cursor = '';
  while (!ending.isOver) {
    const wasWritten = ending.isWritten;
    const answer = await send(consumer, 'GET', `/events?limit=${limit}&${filter}${cursor}`);
    if (isTransientFailure(answer)) {
      deliveries.interruptions += 1;
      await sleep(20 + upTo(200));
      continue;
    }
    if (answer.status !== 200) {
      deliveries.fault(`a page was answered ${answer.status} ${answer.body?.error?.code}`);
      await sleep(200);
      continue;
    }
    const page = answer.body as Page;
    const items = isBackward ? page.items.toReversed() : page.items;
    const next = `&cursor=${page.nextCursor}`;
    if (notesCursorFirst) cursor = next;
    const isCrashing = has(crashes);
    for (const { id } of isCrashing ? items.slice(0, Math.floor(items.length / 2)) : items)
      deliveries.take(id);
    if (isCrashing) continue;
    cursor = next;
    if (wasWritten && page.items.length === 0 && !page.hasMore) return;
    if (!page.hasMore) await sleep(upTo(100));
  }
}

/** The close codes of a stream when the service stops, is killed, or its database is unavailable. */
const passingCloses = new Set([1001, 1005, 1006, 1013, 4503]);
const openingMsMax = 15_000;

/** Reads by WebSocket; after each close it reconnects, to any process, with the cursor of the last event. */
export async function consumeStream(consumer: Consumer): Promise<void> {
  const { deliveries, ending, crashes } = consumer;
  const noted = { cursor: '0' };
  while (!ending.isOver) {
    const code = await readStream(consumer, noted);
    if (ending.isOver) return;
    if (!passingCloses.has(code)) deliveries.fault(`a stream was closed with ${code}`);
    deliveries.interruptions += 1;
    // An immediate reconnect tests the moment at which the next process takes over.
    await sleep(has(crashes) ? 0 : upTo(200));
  }
}

/** One connection. @returns its close code */
function readStream(
  { urls, token, filter = '', deliveries, ending, crashes }: Consumer,
  noted: { cursor: string },
): Promise<number> {
  const url = pickAny(urls).replace('http', 'ws');
  const ws = new WebSocket(`${url}/api/v1/events/ws?${filter}&after=${noted.cursor}`, [
    'baton',
    `bearer.${token}`,
  ]);
  // Simulates a consumer that ends before it has stored its latest cursor: it gets the events after its stored cursor
  // again.
  let isNoting = true;
  const later: NodeJS.Timeout[] = [
    setTimeout(() => ws.readyState === ws.CONNECTING && ws.close(), openingMsMax),
  ];
  if (has(crashes * 5)) {
    const endsMs = 200 + upTo(3000);
    later.push(
      setTimeout(() => {
        isNoting = false;
      }, endsMs),
      setTimeout(() => ws.close(), endsMs + 100 + upTo(900)),
    );
  }
  const watch = setInterval(() => ending.isOver && ws.close(), 50);
  ws.addEventListener('message', ({ data }) => {
    const { id, cursor } = JSON.parse(String(data)) as { id: string; cursor: string };
    deliveries.take(id);
    if (isNoting) noted.cursor = cursor;
  });
  return new Promise((done) => {
    ws.addEventListener('error', () => undefined);
    ws.addEventListener('close', ({ code }) => {
      clearInterval(watch);
      for (const timer of later) clearTimeout(timer);
      done(code);
    });
  });
}
