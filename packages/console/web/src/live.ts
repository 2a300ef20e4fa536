import { type Query, type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { JournalEvent } from '@baton/sdk';
import { baton, isSignedOut } from './client.ts';
import { Readings } from './readings.ts';

/** After a refusal the journal is followed anew this much later. */
const againMs = 10_000;

/** Events are shown so often, and of a flood the newest so many: drawn one by one, 5,000 a second stop the page. */
const showMs = 200;
const showMax = 100;

/** Those who show events, and what they do where some were left out. */
const listeners = new Map<(event: JournalEvent) => void, () => void>();
let unseen: JournalEvent[] = [];
let hasLeftOut = false;

/**
 * Calls back for events while the page is open.
 * @param onLeftOut called before the newest events of a flood, of which older ones are not told
 * @returns what ends it
 */
export function onEvent(
  listener: (event: JournalEvent) => void,
  onLeftOut: () => void = () => undefined,
): () => void {
  listeners.set(listener, onLeftOut);
  return () => listeners.delete(listener);
}

/** Shows an event soon, in one go with those that come at the same time: the page is drawn once for all of them. */
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

/**
 * Follows the journal and reads again what an event is about.
 * @returns what to tell the person: whether pages change by themselves
 */
export function useLive(isAllowed: boolean): 'live' | 'connecting' | 'not live' {
  const queries = useQueryClient();
  const [state, setState] = useState<'live' | 'connecting' | 'not live'>('connecting');
  useEffect(() => {
    if (!isAllowed) return setState('not live');
    const stop = new AbortController();
    const readings = new Readings((key) => readAgain(queries, key));
    let timer: ReturnType<typeof setTimeout> | undefined;
    async function follow() {
      setState('live');
      try {
        for await (const event of baton.events.follow({ signal: stop.signal })) {
          show(event);
          for (const key of queryKeysOf(event.entityType)) readings.want(key);
        }
      } catch (error) {
        if (stop.signal.aborted) return;
        setState('not live');
        if (isSignedOut(error)) return;
        timer = setTimeout(() => {
          // What has happened meanwhile is not told again.
          void queries.invalidateQueries();
          void follow();
        }, againMs);
      }
    }
    void follow();
    return () => {
      stop.abort();
      clearTimeout(timer);
      readings.stop();
    };
  }, [isAllowed, queries]);
  return state;
}

/** A list of more pages is read again at most every half minute: 10,000 tasks are 100 requests. */
const pagesMax = 5;
const longListMs = 30_000;

function readAgain(queries: QueryClient, key: string): Promise<unknown> {
  const isLongAndNew = ({ state }: Query) => {
    const { pages = [] } = (state.data ?? {}) as { pages?: readonly unknown[] };
    return pages.length > pagesMax && Date.now() - state.dataUpdatedAt < longListMs;
  };
  // It counts as old: it is read again when the page is opened, or the window comes to the front.
  void queries.invalidateQueries({ queryKey: [key], predicate: isLongAndNew, refetchType: 'none' });
  return queries.invalidateQueries({ queryKey: [key], predicate: (query) => !isLongAndNew(query) });
}

/** The first words of the queries that an event of this entity may change. */
function queryKeysOf(entityType: string): string[] {
  if (['task', 'claim', 'run'].includes(entityType)) return ['tasks', 'inbox', 'me'];
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
