import type { JournalEvent } from '@baton/sdk';

// The activity of a task is spread over several journal streams: those of the task, its claims, attempts, approvals and
// artifacts. These functions merge the streams page by page, newest first. They read a stream only when a page may
// contain its events, so a task with 2,000 events opens with a few requests.

/** One journal stream, and how much of it has been read. */
export interface Source {
  readonly entityId: string;
  /** Prefixes of event types, separated by commas; empty for all types. */
  readonly types: string;
  /** The cursor before which the next page ends; undefined before the first read. */
  readonly before?: string;
  /** No unread event of this source is newer, in milliseconds; -Infinity once everything has been read. */
  readonly unreadUntilMs: number;
  /** Events that were read and belong to later pages, newest first. */
  readonly rest: readonly JournalEvent[];
}

/** The result of one read of a source. */
export interface SourcePage {
  /** Newest first. */
  readonly items: readonly JournalEvent[];
  readonly prevCursor?: string | null;
}

export interface MergedPage {
  /** Newest first. */
  readonly events: readonly JournalEvent[];
  /** The state from which the next page continues; null if nothing is left. */
  readonly next: readonly Source[] | null;
}

/**
 * A stream of which nothing has been read. Its newest event may be up to `clocksMs` later than `endedAt`, because the
 * times of rows and events may differ slightly.
 * @param endedAt when the object ended; null if it may still get events
 */
export function sourceOf(entityId: string, types: readonly string[], endedAt: string | null = null): Source {
  const unreadUntilMs = endedAt === null ? Number.POSITIVE_INFINITY : Date.parse(endedAt) + clocksMs;
  return { entityId, types: types.join(','), unreadUntilMs, rest: [] };
}

const clocksMs = 60_000;
/** Limits the rounds of reads for one page of the activity, because filtered reads may return empty pages. */
const roundsMax = 20;

/**
 * Reads the next page of the merged streams.
 * @param read reads the next page of a source
 */
export async function nextPage(
  sources: readonly Source[],
  pageSize: number,
  read: (source: Source) => Promise<SourcePage>,
): Promise<MergedPage> {
  let state = sources;
  for (let round = 0; round < roundsMax; round += 1) {
    const last = newestFirst(state).at(pageSize - 1);
    // If the page isn't full, every source with unread events may have one for it.
    const fromMs = last === undefined ? Number.NEGATIVE_INFINITY : Date.parse(last.occurredAt);
    const missing = state.filter(({ unreadUntilMs }) => unreadUntilMs > fromMs);
    if (missing.length === 0) break;
    // The streams that still get events usually suffice for the first page.
    const live = missing.filter(({ unreadUntilMs }) => unreadUntilMs === Number.POSITIVE_INFINITY);
    const reading = new Map(
      await Promise.all(
        (round === 0 && live.length > 0 ? live : missing).map(
          async (source) => [source, readOn(source, await read(source))] as const,
        ),
      ),
    );
    state = state.map((source) => reading.get(source) ?? source);
  }
  const events = newestFirst(state).slice(0, pageSize);
  const taken = new Set(events.map(({ id }) => id));
  const left = state
    .map((source) => ({ ...source, rest: source.rest.filter(({ id }) => !taken.has(id)) }))
    .filter(({ rest, unreadUntilMs }) => rest.length > 0 || unreadUntilMs > Number.NEGATIVE_INFINITY);
  return { events, next: left.length === 0 ? null : left };
}

function readOn(source: Source, { items, prevCursor }: SourcePage): Source {
  const oldest = items.at(-1);
  return {
    ...source,
    rest: [...source.rest, ...items],
    ...(prevCursor != null && { before: prevCursor }),
    unreadUntilMs:
      prevCursor == null
        ? Number.NEGATIVE_INFINITY
        : oldest === undefined
          ? source.unreadUntilMs
          : Date.parse(oldest.occurredAt),
  };
}

const newestFirst = (sources: readonly Source[]): JournalEvent[] =>
  sources.flatMap(({ rest }) => rest).sort(byTime);

/** Newest first. Events with the same time are sorted by sequence, highest first. */
export const byTime = (one: JournalEvent, other: JournalEvent): number =>
  other.occurredAt.localeCompare(one.occurredAt) || other.sequence - one.sequence;

/** One line of the activity: an event, and those that the same request caused. */
export interface Happening {
  /** The event that the line describes. */
  readonly event: JournalEvent;
  /** All events of the line, newest first. */
  readonly events: readonly JournalEvent[];
}

/** Event types by how well they describe a request, best first. */
const order: readonly RegExp[] = [
  /^run\.(succeeded|failed|cancelled|suspended|handoff_prepared)$/,
  /^approval\./,
  /^task\.(verified|verification_failed|completed|claimed|created)$/,
  /^task\.(attempts_exhausted|retry_scheduled)$/,
  /^run\./,
  /^claim\.expired$/,
  /^task\./,
];
/** Events that always have their own line, even if the same request caused others. */
const alone = /^(task\.comment_|artifact\.|run\.checkpointed)/;

const rankOf = ({ type }: JournalEvent): number => {
  const place = order.findIndex((pattern) => pattern.test(type));
  return place === -1 ? order.length : place;
};

/** Joins adjacent events of one request: `finished it` represents the ends of the run, the claim and the task. */
export function happeningsOf(events: readonly JournalEvent[]): Happening[] {
  const lines: JournalEvent[][] = [];
  for (const event of events) {
    const line = lines.at(-1);
    const before = line?.[0];
    const isSame =
      before !== undefined &&
      event.requestId !== null &&
      before.requestId === event.requestId &&
      before.actorId === event.actorId &&
      !alone.test(event.type) &&
      !alone.test(before.type);
    if (isSame) line?.push(event);
    else lines.push([event]);
  }
  return lines.map((line) => ({
    event: line.reduce((best, one) => (rankOf(one) < rankOf(best) ? one : best)),
    events: line,
  }));
}
