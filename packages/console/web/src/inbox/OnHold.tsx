import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { HarnessContext, Run, Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import { Who } from '../parts/Who.tsx';
import styles from './inbox.module.css';

const shownMax = 20;
/**
 * How many of the newest suspended runs are read. A run keeps its status `suspended` after a later run has resumed its
 * work.
 */
const runsPageSize = 50;
const runsPagesMax = 4;

/**
 * Suspended runs that nobody has resumed, blocked tasks, and suspended processes. Tasks with an approval that this
 * person may decide are already listed above.
 */
export function OnHold({ me }: { me: HarnessContext }) {
  const may = (permission: string) => me.permissions.includes(permission) || me.permissions.includes('admin');
  const awaiting = new Set(me.pendingApprovals.flatMap(({ taskId }) => taskId ?? []));
  const runs = useQuery({
    // Not under the query key of tasks: every change to a task would then start a refetch of many requests.
    queryKey: ['inbox', 'on-hold', ...awaiting],
    queryFn: ({ signal }) => readOnHold(awaiting, signal),
    placeholderData: keepPreviousData,
    enabled: may('tasks.read'),
  });
  const processes = useQuery({
    queryKey: ['processes', 'suspended'],
    queryFn: ({ signal }) =>
      baton.processInstances
        .list({ status: 'suspended', limit: shownMax }, { signal })
        .then(({ items }) => items),
    enabled: may('processes.read'),
  });
  const blocked = useQuery({
    queryKey: ['inbox', 'blocked'],
    queryFn: ({ signal }) =>
      baton.tasks
        .list({ systemStatusCategory: 'blocked', limit: shownMax }, { signal })
        .then(({ items }) => items.filter(({ activeClaimId }) => activeClaimId === null)),
    enabled: may('tasks.read'),
  });
  const onHold = new Set([...awaiting, ...(runs.data ?? []).map(({ task }) => task.id)]);
  const onlyBlocked = (blocked.data ?? []).filter(({ id }) => !onHold.has(id));
  const failed = [runs, processes, blocked].filter(({ isError }) => isError);
  const isEmpty = !runs.data?.length && !processes.data?.length && onlyBlocked.length === 0;
  if (isEmpty && failed.length === 0) return null;
  return (
    <section className={styles.section} aria-labelledby="on-hold">
      <h2 id="on-hold">On hold</h2>
      {failed.map(({ error, refetch }, place) => (
        <ErrorNote key={place} error={error} onRetry={() => void refetch()} />
      ))}
      <ul className="stack">
        {runs.data?.map(({ run, task }) => (
          <li key={run.id} className="card stack">
            <TaskHead task={task} />
            <p className="soft">
              <Who id={run.principalId} /> suspended attempt {run.attempt}{' '}
              <Moment at={run.finishedAt ?? run.updatedAt} />
              {reasonIn(run)}. The next holder resumes from its last checkpoint.
            </p>
          </li>
        ))}
        {onlyBlocked.map((task) => (
          <li key={task.id} className="card stack">
            <TaskHead task={task} />
            <p className="soft">
              Blocked, updated <Moment at={task.updatedAt} />. Nobody is offered the task until it is moved to
              an open status. Open it to see the reason.
            </p>
          </li>
        ))}
        {processes.data?.map(({ id, definitionKey, instanceKey, updatedAt }) => (
          <li key={id} className="card stack">
            <p>
              <Link to="/processes/$id" params={{ id }} className={styles.title}>
                {definitionKey} {instanceKey}
              </Link>
            </p>
            <p className="soft">
              Process suspended <Moment at={updatedAt} />. Open it to resume or cancel it.
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}

function TaskHead({ task }: { readonly task: Task }) {
  return (
    <p className="row">
      <span className="mono soft">{task.publicId}</span>
      <Link to="/tasks/$ref" params={{ ref: task.publicId }} className={styles.title}>
        {task.title}
      </Link>
    </p>
  );
}

interface SuspendedRun {
  readonly run: Run;
  readonly task: Task;
}

/** Suspended runs that a later run of the same task has superseded. That never changes, so each is read once. */
const superseded = new Set<string>();

/** @param excluded tasks that are skipped */
async function readOnHold(excluded: ReadonlySet<string>, signal: AbortSignal): Promise<SuspendedRun[]> {
  const found: SuspendedRun[] = [];
  let cursor: string | null | undefined;
  for (let page = 0; page < runsPagesMax && cursor !== null && found.length < shownMax; page += 1) {
    const { items, nextCursor }: { items: readonly Run[]; nextCursor: string | null } = await baton.runs.list(
      { status: 'suspended', limit: runsPageSize, ...(cursor && { cursor }) },
      { signal },
    );
    const runs = await Promise.all(
      items
        .filter(({ id, taskId }) => !superseded.has(id) && !excluded.has(taskId))
        .map((run) => findOnHold(run, signal)),
    );
    found.push(...runs.filter((one) => one !== undefined));
    cursor = nextCursor;
  }
  return found.slice(0, shownMax);
}

/** @returns undefined if somebody has resumed the task, or its work has ended */
async function findOnHold(run: Run, signal: AbortSignal): Promise<SuspendedRun | undefined> {
  const { items } = await baton.runs.list({ taskId: run.taskId, limit: 1 }, { signal });
  if (items[0]?.id !== run.id) {
    superseded.add(run.id);
    return undefined;
  }
  const task = await baton.tasks.get(run.taskId, { signal });
  const isStill = task.activeClaimId === null && !task.systemStatusCategory.startsWith('terminal');
  return isStill ? { run, task } : undefined;
}

function reasonIn({ metadata }: Run): string {
  const { suspendReason } = metadata;
  return typeof suspendReason === 'string' ? ` (${suspendReason.replaceAll('_', ' ')})` : '';
}
