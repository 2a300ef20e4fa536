import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { JournalEvent } from '@baton/sdk';
import { baton } from '../client.ts';
import { onEvent } from '../live.ts';

const pageSize = 200;
const pagesMax = 10;
/** The next event is looked for at most so often. */
const gatherMs = 500;

/** What the journal says of one object up to one of its events. */
export interface Then {
  /** Oldest first; the last one is the event that was asked for. */
  readonly events: readonly JournalEvent[];
  /** Whether there are older ones than were read. */
  readonly isCut: boolean;
}

/** @param at cursor of the event; the answer is null where the object has no such event */
export const thenQuery = (object: string, at: string) =>
  queryOptions({
    queryKey: ['then', object, at],
    queryFn: ({ signal }) => readThen(object, at, signal),
  });

async function readThen(entityId: string, at: string, signal: AbortSignal): Promise<Then | null> {
  let older: readonly JournalEvent[] = [];
  let before: string | null | undefined = at;
  for (let page = 0; page < pagesMax && before != null; page += 1) {
    const read = await baton.events.list({ entityId, before, limit: pageSize }, { signal });
    older = [...read.items, ...older];
    before = read.prevCursor;
  }
  // The event itself stands just after those that end before it.
  const cursor = older.at(-1)?.cursor;
  const { items } = await baton.events.list(
    { entityId, limit: 1, ...(cursor !== undefined && { cursor }) },
    { signal },
  );
  const [event] = items;
  if (event?.cursor !== at) return null;
  return { events: [...older, event], isCut: before != null };
}

/** The object's next event after one of its events; null where there is none by now. */
const nextQuery = (entityId: string, at: string) =>
  queryOptions({
    queryKey: ['then', 'next', entityId, at],
    queryFn: ({ signal }) =>
      baton.events
        .list({ entityId, cursor: at, limit: 1 }, { signal })
        .then(({ items: [event = null] }) => event),
  });

/** The object's next event, also where it happens while the page is open. */
export function useNext(object: string, at: string) {
  const queries = useQueryClient();
  const next = useQuery(nextQuery(object, at));
  const isKnown = next.data != null;
  useEffect(() => {
    if (isKnown) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        // In a flood a reading that takes longer than the gathering would never end.
        void queries.invalidateQueries(
          { queryKey: nextQuery(object, at).queryKey },
          { cancelRefetch: false },
        );
      }, gatherMs);
    };
    const stop = onEvent(({ entityId }) => entityId === object && look(), look);
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [object, at, isKnown, queries]);
  return next;
}

/** One thing that the journal says of an object. */
export interface Fact {
  readonly name: string;
  readonly value: unknown;
  /** Who said it last. */
  readonly from: JournalEvent;
}

/** Events about a part of their object, or about what others do with it; their members are not the object's. */
const ofParts =
  /^(task\.(comment|relation|external_reference|context_pack|completion_work|verification_started)|work\.|project\.(external_reference|config)|run\.(checkpointed|child|control_message|handoff)|rule\.evaluated|(role|capability|skill)\.(assigned|revoked)|workspace\.member|knowledge\.|process\.(stage|step|timer|sla|escalated|recall|correlated|milestone|data_changed|compensated)|artifact\.content_read)/;

/** Members that tell of the happening, and of the lease that began by it. */
const ofHappening =
  /^(changes|changed.*|from[A-Z].*|previous.*|reason|comment|actions|trigger|results|evidence|checks|attempt|cause|channel|claimId|sessionId|holderId|fencingToken|expiresAt|instanceId|(task|goal|rule)Id|released.*|revoked.*|closed.*|failed.*|withdrawn.*)$/;

/** What an object was after the last of these events, by what they say. @param events oldest first */
export function factsOf(events: readonly JournalEvent[]): Fact[] {
  const facts = new Map<string, Fact>();
  for (const event of events) {
    if (ofParts.test(event.type)) continue;
    const { changes } = event.payload;
    // A claim, a run or a session names its task, its holder and its end in the event that makes it.
    const isOwn = event.type !== 'task.claimed' && event.entityType !== 'task';
    const told = Object.entries(event.payload).filter(
      ([name]) => !ofHappening.test(name) || (isOwn && ofOwn.has(name)),
    );
    const changed = typeof changes === 'object' && changes !== null ? Object.entries(changes) : [];
    const saysStatus = ['status', 'statusKey'].some((name) => name in event.payload);
    const state =
      saysStatus || event.entityType === 'task' ? [] : [['state', lastWordOf(event.type)] as const];
    for (const [name, value] of [...state, ...told, ...changed])
      if (JSON.stringify(facts.get(name)?.value) !== JSON.stringify(value))
        facts.set(name, { name, value, from: event });
  }
  return [...facts.values()].filter(({ value }) => value !== null && value !== '' && value !== false);
}

const ofOwn = new Set(['claimId', 'fencingToken', 'expiresAt', 'taskId', 'attempt']);

/** `run.failed` is told as `failed`. */
const lastWordOf = (type: string): string => type.slice(type.lastIndexOf('.') + 1).replaceAll('_', ' ');

/** The claim of a task that was the newest one then. */
export function claimOf(events: readonly JournalEvent[]): JournalEvent | undefined {
  return events.findLast(({ type }) => type === 'task.claimed');
}

/** Who held a task after an event: nobody where the newest claim had ended by then. */
export const holderQuery = (claimed: JournalEvent | undefined, at: string) =>
  queryOptions({
    queryKey: ['then', 'holder', claimed?.id, at],
    enabled: claimed !== undefined,
    queryFn: async ({ signal }) => {
      const { claimId, holderId } = (claimed?.payload ?? {}) as { claimId: string; holderId: string };
      // Of the claim's own events each ends it.
      const { items } = await baton.events.list({ entityId: claimId, before: at, limit: 1 }, { signal });
      return items.length > 0 ? null : holderId;
    },
  });
