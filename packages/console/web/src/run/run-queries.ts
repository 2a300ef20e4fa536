import { queryOptions } from '@tanstack/react-query';
import type { Checkpoint, ControlMessage, JournalEvent, Run, RunAction } from '@baton/sdk';
import { baton } from '../client.ts';

const pageSize = 200;
/** If a run has more checkpoints, actions or messages, the page shows the first ones and a note. */
const pagesMax = 5;
/** Actions write no events, so they are polled while the run is running. */
const pollMs = 10_000;

/** The beginning of a list, and whether the list has more items. */
export interface Listed<Item> {
  readonly items: readonly Item[];
  readonly isCut: boolean;
}

interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

async function readAll<Item>(
  read: (query: { readonly limit: number; readonly cursor?: string }) => Promise<Page<Item>>,
): Promise<Listed<Item>> {
  const items: Item[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < pagesMax; page += 1) {
    const { items: more, nextCursor }: Page<Item> = await read({
      limit: pageSize,
      ...(cursor !== null && { cursor }),
    });
    items.push(...more);
    if (nextCursor === null || more.length < pageSize) return { items, isCut: false };
    cursor = nextCursor;
  }
  return { items, isCut: true };
}

/** One attempt at a task. Its own events refetch everything below its key (see live.ts). */
export const runQuery = (id: string) =>
  queryOptions({
    queryKey: ['runs', id, 'run'],
    queryFn: ({ signal }) => baton.runs.get(id, { signal }),
    // The ETag is stored for exactly this object, so the cache must not replace the object with a copy.
    structuralSharing: false,
  });

/** The checkpoints of a run, oldest first. */
export const checkpointsQuery = (id: string) =>
  queryOptions({
    queryKey: ['runs', id, 'checkpoints'],
    queryFn: ({ signal }): Promise<Listed<Checkpoint>> =>
      readAll((query) => baton.runs.listCheckpoints(id, query, { signal })),
  });

/** The actions of a run, oldest first. */
export const actionsQuery = ({ id, status }: Pick<Run, 'id' | 'status'>) =>
  queryOptions({
    queryKey: ['runs', id, 'actions'],
    queryFn: ({ signal }): Promise<Listed<RunAction>> =>
      readAll((query) => baton.runs.listActions(id, query, { signal })),
    refetchInterval: status === 'running' ? pollMs : false,
  });

/** The control messages of a run, oldest first. */
export const messagesQuery = (id: string) =>
  queryOptions({
    queryKey: ['runs', id, 'messages'],
    queryFn: ({ signal }): Promise<Listed<ControlMessage>> =>
      readAll((query) => baton.runs.listControlMessages(id, query, { signal })),
  });

/** The journal events of a run, oldest first. */
export const eventsQuery = (id: string) =>
  queryOptions({
    queryKey: ['runs', id, 'events'],
    queryFn: ({ signal }): Promise<Listed<JournalEvent>> =>
      readAll((query) => baton.events.list({ entityId: id, ...query }, { signal })),
  });
