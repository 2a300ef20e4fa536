import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { JournalEvent } from '@baton/sdk';
import { baton } from '../client.ts';
import { onEvent } from '../live.ts';

const pageSize = 200;
const pagesMax = 10;
/** The shortest interval between two queries for the next event. */
const gatherMs = 500;

/** An object's events up to one of them. */
export interface Then {
  /** Oldest first; the last one is the requested event. */
  readonly events: readonly JournalEvent[];
  /** Whether older events exist that were not read. */
  readonly isCut: boolean;
}

/** @param at cursor of the event; the result is null if the object has no such event */
export const objectAtEventQuery = (object: string, at: string) =>
  queryOptions({
    queryKey: ['then', object, at],
    queryFn: ({ signal }) => readObjectAtEvent(object, at, signal),
  });

async function readObjectAtEvent(entityId: string, at: string, signal: AbortSignal): Promise<Then | null> {
  let older: readonly JournalEvent[] = [];
  let before: string | null | undefined = at;
  for (let page = 0; page < pagesMax && before != null; page += 1) {
    const read = await baton.events.list({ entityId, before, limit: pageSize }, { signal });
    older = [...read.items, ...older];
    before = read.prevCursor;
  }
  // The requested event is the one after the last older event.
  const cursor = older.at(-1)?.cursor;
  const { items } = await baton.events.list(
    { entityId, limit: 1, ...(cursor !== undefined && { cursor }) },
    { signal },
  );
  const [event] = items;
  if (event?.cursor !== at) return null;
  return { events: [...older, event], isCut: before != null };
}

/** The object's next event after one of its events; null if none exists yet. */
const nextQuery = (entityId: string, at: string) =>
  queryOptions({
    queryKey: ['then', 'next', entityId, at],
    queryFn: ({ signal }) =>
      baton.events
        .list({ entityId, cursor: at, limit: 1 }, { signal })
        .then(({ items: [event = null] }) => event),
  });

/** The object's next event, even if it occurs while the page is open. */
export function useNext(object: string, at: string) {
  const queries = useQueryClient();
  const next = useQuery(nextQuery(object, at));
  const isKnown = next.data != null;
  useEffect(() => {
    if (isKnown) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const schedule = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        // Under heavy traffic, a query that takes longer than `gatherMs` would otherwise be cancelled again and again.
        void queries.invalidateQueries(
          { queryKey: nextQuery(object, at).queryKey },
          { cancelRefetch: false },
        );
      }, gatherMs);
    };
    const stop = onEvent(({ entityId }) => entityId === object && schedule(), schedule);
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [object, at, isKnown, queries]);
  return next;
}

/** One property of an object, taken from its events. */
export interface Fact {
  readonly name: string;
  readonly value: unknown;
  /** The event that set it. */
  readonly from: JournalEvent;
}

/** Events about a part of their object, or about its use by others. Their members don't belong to the object. */
const ofParts =
  /^(task\.(comment|relation|external_reference|context_pack|completion_work|verification_started)|work\.|project\.(external_reference|config)|run\.(checkpointed|child|control_message|handoff)|rule\.evaluated|(role|capability|skill)\.(assigned|revoked)|workspace\.member|knowledge\.|process\.(stage|step|timer|sla|escalated|recall|correlated|milestone|data_changed|compensated)|artifact\.content_read)/;

/** Members that describe the event, or the lease that it started. */
const ofHappening =
  /^(changes|changed.*|from[A-Z].*|previous.*|reason|comment|actions|trigger|results|evidence|checks|attempt|cause|channel|claimId|sessionId|holderId|fencingToken|expiresAt|instanceId|(task|goal|rule)Id|released.*|revoked.*|closed.*|failed.*|withdrawn.*)$/;

/** The properties of an object after the last of these events. @param events oldest first */
export function factsOf(events: readonly JournalEvent[]): Fact[] {
  const facts = new Map<string, Fact>();
  for (const event of events) {
    if (ofParts.test(event.type)) continue;
    const { changes } = event.payload;
    // A claim, a run or a session has its task, holder and expiry in the event that creates it.
    const isOwn = event.type !== 'task.claimed' && event.entityType !== 'task';
    const members = Object.entries(event.payload).filter(
      ([name]) => !ofHappening.test(name) || (isOwn && ofOwn.has(name)),
    );
    const changed = typeof changes === 'object' && changes !== null ? Object.entries(changes) : [];
    const hasStatus = ['status', 'statusKey'].some((name) => name in event.payload);
    const state =
      hasStatus || event.entityType === 'task' ? [] : [['state', lastWordOf(event.type)] as const];
    for (const [name, value] of [...state, ...members, ...changed])
      if (JSON.stringify(facts.get(name)?.value) !== JSON.stringify(value))
        facts.set(name, { name, value, from: event });
  }
  return [...facts.values()].filter(({ value }) => value !== null && value !== '' && value !== false);
}

const ofOwn = new Set(['claimId', 'fencingToken', 'expiresAt', 'taskId', 'attempt']);

/** Turns `run.failed` into `failed`. */
const lastWordOf = (type: string): string => type.slice(type.lastIndexOf('.') + 1).replaceAll('_', ' ');

/** The newest claim of a task among these events. */
export function claimOf(events: readonly JournalEvent[]): JournalEvent | undefined {
  return events.findLast(({ type }) => type === 'task.claimed');
}

/** The holder of a task after an event; null if the newest claim had ended by then. */
export const holderQuery = (claimed: JournalEvent | undefined, at: string) =>
  queryOptions({
    queryKey: ['then', 'holder', claimed?.id, at],
    enabled: claimed !== undefined,
    queryFn: async ({ signal }) => {
      const { claimId, holderId } = (claimed?.payload ?? {}) as { claimId: string; holderId: string };
      // Any event about the claim itself means that it has ended.
      const { items } = await baton.events.list({ entityId: claimId, before: at, limit: 1 }, { signal });
      return items.length > 0 ? null : holderId;
    },
  });
