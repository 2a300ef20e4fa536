import {
  type InfiniteData,
  infiniteQueryOptions,
  type QueryClient,
  useQueryClient,
} from '@tanstack/react-query';
import { useEffect } from 'react';
import { BatonError, type JournalEvent, type Task } from '@baton/sdk';
import { baton } from '../../client.ts';
import { NewerEvents } from '../../journal/newer-events.ts';
import { type Kind, kinds } from '../../journal/sentences/sentences.ts';
import { onEvent } from '../../live.ts';
import { runsQuery } from '../runs.ts';
import { byTime, type MergedPage, nextPage, type Source, sourceOf } from './merged-events.ts';

const pageSize = 40;
/** The maximum number of pages that a person can load. The journal page shows older events. */
const pagesMax = 60;
/** The newest claims, attempts, approvals and artifacts whose events are shown. */
const partsMax = 20;
/** New events are added to the first page. At this length the list is read again from its newest page. */
const firstPageMax = 4 * pageSize;

type Pages = InfiniteData<MergedPage, readonly Source[] | null>;

/** Artifact events that belong to the activity. Reads of the content do not. */
const ofArtifacts = ['artifact.created', 'artifact.content_purged'];

/** The activity of a task, newest first. */
export const activityQuery = ({ id }: Pick<Task, 'id'>, kind: Kind | undefined) =>
  infiniteQueryOptions({
    // Not under the key `tasks`, because every task event in the tenant would refetch all pages. New events are added.
    queryKey: ['activity', id, kind ?? 'all'],
    queryFn: async ({ pageParam, signal }) =>
      nextPage(pageParam ?? (await sourcesOf(id, kind, signal)), pageSize, (source) =>
        readSource(source, signal),
      ),
    // Events that occur while another page is open are not added, so the list is stale when this page opens again.
    staleTime: 0,
    initialPageParam: null as readonly Source[] | null,
    getNextPageParam: ({ next }, pages) => (pages.length < pagesMax ? next : null),
  });

function readSource({ entityId, types, before }: Source, signal: AbortSignal) {
  const where = before === undefined ? { tail: pageSize } : { before };
  return baton.events.list(
    { entityId, limit: pageSize, order: 'desc', ...where, ...(types !== '' && { types }) },
    { signal },
  );
}

/** The journal streams that belong to a task. */
async function sourcesOf(taskId: string, kind: Kind | undefined, signal: AbortSignal): Promise<Source[]> {
  const prefixes: readonly string[] = kind === undefined ? [] : kinds[kind].prefixes;
  const wants = (...types: readonly string[]) =>
    kind === undefined || prefixes.some((prefix) => types.some((type) => prefix.startsWith(type)));
  const query = { taskId, limit: partsMax };
  const none = { items: [] };
  // A person who may not read one of them still sees the others.
  const orNone = <Page>(page: Promise<Page>) =>
    page.catch((error: unknown) => {
      signal.throwIfAborted();
      if (isDenied(error)) return none;
      throw error;
    });
  const [claims, runs, approvals, artifacts] = await Promise.all([
    wants('claim.') ? baton.claims.list(query, { signal }) : none,
    wants('run.') ? baton.runs.list(query, { signal }) : none,
    wants('approval.') ? orNone(baton.approvals.list(query, { signal })) : none,
    wants('artifact.') ? orNone(baton.artifacts.list(query, { signal })) : none,
  ]);
  return [
    sourceOf(taskId, prefixes),
    // The stream of a claim has no events until the claim ends.
    ...claims.items
      .filter(({ releasedAt }) => releasedAt !== null)
      .map(({ id, releasedAt }) => sourceOf(id, prefixes, releasedAt)),
    ...runs.items.map(({ id, finishedAt, updatedAt }) =>
      sourceOf(id, prefixes, finishedAt === null ? null : updatedAt),
    ),
    ...approvals.items.map(({ id, status, updatedAt, outcomeStatus }) =>
      sourceOf(id, prefixes, status === 'pending' || outcomeStatus === 'pending' ? null : updatedAt),
    ),
    ...artifacts.items.map(({ id, contentState, createdAt }) =>
      sourceOf(id, ofArtifacts, contentState === 'purged' ? null : createdAt),
    ),
  ];
}

const isDenied = (error: unknown): boolean => error instanceof BatonError && error.status === 403;

/** The ids of the shown attempts, because events about their children don't name the task. */
const attemptsOf = (queries: QueryClient, taskId: string): readonly string[] =>
  (queries.getQueryData(runsQuery({ id: taskId }).queryKey) ?? []).map(({ id }) => id);

/** Whether an event belongs to the activity of a task. */
function isOfTask(
  taskId: string,
  kind: Kind | undefined,
  { type, entityId, payload }: JournalEvent,
  attempts: readonly string[] = [],
): boolean {
  if (entityId !== taskId && payload['taskId'] !== taskId && !attempts.includes(entityId)) return false;
  if (type.startsWith('artifact.') && !ofArtifacts.includes(type)) return false;
  return kind === undefined || kinds[kind].prefixes.some((prefix) => type.startsWith(prefix));
}

/** Adds new events of the task to its activity as they occur. */
export function useNewActivity(taskId: string, kind: Kind | undefined): void {
  const queries = useQueryClient();
  useEffect(() => {
    const queryKey = ['activity', taskId, kind ?? 'all'];
    const newer = new NewerEvents({
      isReading: () => queries.isFetching({ queryKey, exact: true }) > 0,
      show: (events) => addEvents(queries, queryKey, events),
      readAgain: () => void queries.invalidateQueries({ queryKey, exact: true }),
    });
    const stop = onEvent(
      (event) => isOfTask(taskId, kind, event, attemptsOf(queries, taskId)) && newer.add(event),
      () => newer.leftOut(),
    );
    return () => {
      stop();
      newer.stop();
    };
  }, [queries, taskId, kind]);
}

function addEvents(queries: QueryClient, queryKey: readonly unknown[], added: readonly JournalEvent[]): void {
  queries.setQueryData<Pages>(queryKey, (shown) => {
    const [first, ...older] = shown?.pages ?? [];
    if (shown === undefined || first === undefined) return shown;
    const known = new Set(shown.pages.flatMap(({ events }) => events.map(({ id }) => id)));
    const events = [...added.filter(({ id }) => !known.has(id)), ...first.events].sort(byTime);
    return { ...shown, pages: [{ ...first, events }, ...older] };
  });
  const [first] = queries.getQueryData<Pages>(queryKey)?.pages ?? [];
  if (first === undefined || first.events.length <= firstPageMax) return;
  queries.setQueryData<Pages>(queryKey, { pages: [first], pageParams: [null] });
  void queries.invalidateQueries({ queryKey, exact: true });
}
