import { queryOptions } from '@tanstack/react-query';
import type { Checkpoint, ControlMessage, JournalEvent, Run, RunAction } from '@baton/sdk';
import { baton } from '../client.ts';

const pageSize = 200;
/** If a run has more checkpoints, actions or messages, the page shows the first ones and a note. */
const pagesMax = 5;
/** Actions write no events, so they are polled while the run is running. */
const pollMs = 10_000;
/** The same for actions of several pages, each of which may have 4 MiB. */
const longPollMs = 60_000;
/** How long the notes of checkpoints are cached. */
const notesMs = 30_000;

/** The beginning of a list, and whether the list has more items. */
export interface Listed<Item> {
  readonly items: readonly Item[];
  readonly isCut: boolean;
  /** How many requests the list takes. */
  readonly pages: number;
}

interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
  /** Only in lists that can be followed, whose pages always have a cursor. */
  readonly hasMore?: boolean;
}

async function readAll<Item>(
  read: (query: { readonly limit: number; readonly cursor?: string }) => Promise<Page<Item>>,
): Promise<Listed<Item>> {
  const items: Item[] = [];
  let cursor: string | null = null;
  for (let pages = 1; pages <= pagesMax; pages += 1) {
    const page: Page<Item> = await read({
      limit: pageSize,
      ...(cursor !== null && { cursor }),
    });
    items.push(...page.items);
    // A short page need not be the last one: large documents end a page early.
    if (page.nextCursor === null || page.hasMore === false) return { items, isCut: false, pages };
    cursor = page.nextCursor;
  }
  return { items, isCut: true, pages: pagesMax };
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

/**
 * The first page of a run's checkpoints, for a sentence about one of them. Its key isn't that of the run, because each
 * event of the run would then read the whole page, which may have 4 MiB, for each run of a journal.
 */
export const noteQuery = (id: string, seq: number) =>
  queryOptions({
    queryKey: ['notes', id],
    queryFn: ({ signal }) => baton.runs.listCheckpoints(id, { limit: pageSize }, { signal }),
    staleTime: notesMs,
    // Only a page that was read before the checkpoint is read again.
    refetchInterval: ({ state: { data } }) =>
      data?.nextCursor === null && seq > (data.items.at(-1)?.seq ?? 0) ? notesMs : false,
  });

/** The actions of a run, oldest first. */
export const actionsQuery = ({ id, status }: Pick<Run, 'id' | 'status'>) =>
  queryOptions({
    queryKey: ['runs', id, 'actions'],
    queryFn: ({ signal }): Promise<Listed<RunAction>> =>
      readAll((query) => baton.runs.listActions(id, query, { signal })),
    refetchInterval: ({ state: { data } }) => {
      if (status !== 'running') return false;
      return (data?.pages ?? 1) > 1 ? longPollMs : pollMs;
    },
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
