import { type Query, type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { JournalEvent } from '@baton/sdk';
import { baton, isSignedOut } from './client.ts';
import { Refetches } from './refetches.ts';

/** Delay before the journal is followed again after an error. */
const againMs = 10_000;

/**
 * Events are shown in batches at this interval, at most this many of the newest: rendering 5,000 a second one by one
 * freezes the page.
 */
const showMs = 200;
const showMax = 100;

/** Listeners for events, with their callback for events that were left out. */
const listeners = new Map<(event: JournalEvent) => void, () => void>();
let unseen: JournalEvent[] = [];
let hasLeftOut = false;

/**
 * Subscribes to events while the page is open.
 * @param onLeftOut called before the newest events of a batch whose older ones are skipped
 * @returns a function that unsubscribes
 */
export function onEvent(
  listener: (event: JournalEvent) => void,
  onLeftOut: () => void = () => undefined,
): () => void {
  listeners.set(listener, onLeftOut);
  return () => listeners.delete(listener);
}

const watchers = new Set<(event: JournalEvent) => void>();

/**
 * Subscribes to each event, without batches and omissions. The listener must be cheap.
 * @returns a function that unsubscribes
 */
export function onEveryEvent(watcher: (event: JournalEvent) => void): () => void {
  watchers.add(watcher);
  return () => void watchers.delete(watcher);
}

/** Shows an event in the next batch, so that the page renders once for all of them. */
function show(event: JournalEvent): void {
  if (unseen.length === 0)
    setTimeout(() => {
      const newest = unseen.slice(-showMax);
      if (hasLeftOut || newest.length < unseen.length)
        for (const onLeftOut of listeners.values()) onLeftOut();
      unseen = [];
      hasLeftOut = false;
      for (const one of newest) for (const listener of listeners.keys()) listener(one);
    }, showMs);
  unseen.push(event);
  if (unseen.length <= showMax * 2) return;
  unseen.splice(0, showMax);
  hasLeftOut = true;
}

/** Follows the journal and refetches the objects of its events. @returns the connection status to show */
export function useLive(isAllowed: boolean): 'live' | 'connecting' | 'not live' {
  const queries = useQueryClient();
  const [state, setState] = useState<'live' | 'connecting' | 'not live'>('connecting');
  useEffect(() => {
    if (!isAllowed) return setState('not live');
    const stop = new AbortController();
    const refetches = new Refetches((key) => readAgain(queries, key));
    let timer: ReturnType<typeof setTimeout> | undefined;
    async function follow() {
      setState('live');
      try {
        for await (const event of baton.events.follow({ signal: stop.signal })) {
          show(event);
          for (const watcher of watchers) watcher(event);
          for (const key of queryKeysOf(event)) refetches.request(key);
        }
      } catch (error) {
        if (stop.signal.aborted) return;
        setState('not live');
        if (isSignedOut(error)) {
          // A revocation ends the stream at once, so the page shows it before the next poll.
          void queries.invalidateQueries({ queryKey: ['me'] });
          return;
        }
        timer = setTimeout(() => {
          // Events that occurred in the meantime are not delivered again, so everything is refetched.
          void queries.invalidateQueries();
          void follow();
        }, againMs);
      }
    }
    void follow();
    return () => {
      stop.abort();
      clearTimeout(timer);
      refetches.stop();
    };
  }, [isAllowed, queries]);
  return state;
}

/** A list with more pages is refetched at most every half minute: 10,000 tasks are 100 requests. */
const pagesMax = 5;
const longListMs = 30_000;

function readAgain(queries: QueryClient, key: string): Promise<unknown> {
  const isLongAndNew = ({ state }: Query) => {
    const { pages = [] } = (state.data ?? {}) as { pages?: readonly unknown[] };
    return pages.length > pagesMax && Date.now() - state.dataUpdatedAt < longListMs;
  };
  // Long lists are only marked as stale: they are refetched when the page is opened or the window gets the focus.
  const queryKey = key.split(' ');
  void queries.invalidateQueries({ queryKey, predicate: isLongAndNew, refetchType: 'none' });
  return queries.invalidateQueries({ queryKey, predicate: (query) => !isLongAndNew(query) });
}

/** The first elements of the query keys that an event may affect, separated by spaces. */
function queryKeysOf({ entityType, entityId }: JournalEvent): string[] {
  if (entityType === 'run') return ['tasks', 'inbox', 'me', `runs ${entityId}`];
  if (['task', 'claim'].includes(entityType)) return ['tasks', 'inbox', 'me'];
  if (['comment', 'task_relation'].includes(entityType)) return ['tasks', 'me'];
  if (entityType === 'approval') return ['approvals', 'tasks', 'me'];
  if (entityType === 'session') return ['me'];
  if (entityType.startsWith('process')) return ['processes'];
  if (entityType.startsWith('project')) return ['projects'];
  if (entityType === 'skill' || entityType === 'agent') return ['skills'];
  if (entityType === 'rule') return ['knowledge'];
  if (entityType === 'workspace') return ['workspaces'];
  if (entityType === 'principal') return ['principals', 'people'];
  return [];
}
