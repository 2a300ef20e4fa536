import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { HarnessContext, Run, Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import { Who } from '../parts/Who.tsx';
import styles from './inbox.module.css';

const shownMax = 20;
/** So many suspended runs are looked through, the newest first: one that was gone on with stays suspended, too. */
const runsPageSize = 50;
const runsPagesMax = 4;

/**
 * Suspended runs that nobody has resumed, blocked tasks, and suspended processes. Tasks that wait for this person's decision are
 * listed above already.
 */
export function Parked({ me }: { me: HarnessContext }) {
  const may = (permission: string) => me.permissions.includes(permission) || me.permissions.includes('admin');
  const waiting = new Set(me.pendingApprovals.flatMap(({ taskId }) => taskId ?? []));
  const runs = useQuery({
    // Not with the tasks, each reading of which would take as many requests more.
    queryKey: ['inbox', 'parked', ...waiting],
    queryFn: ({ signal }) => readParked(waiting, signal),
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
  const parked = new Set([...waiting, ...(runs.data ?? []).map(({ task }) => task.id)]);
  const onlyBlocked = (blocked.data ?? []).filter(({ id }) => !parked.has(id));
  const failed = [runs, processes, blocked].filter(({ isError }) => isError);
  const isEmpty = !runs.data?.length && !processes.data?.length && onlyBlocked.length === 0;
  if (isEmpty && failed.length === 0) return null;
  return (
    <section className={styles.section} aria-labelledby="parked">
      <h2 id="parked">Parked</h2>
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
              {reasonIn(run)}. Whoever takes the task goes on from its last checkpoint.
            </p>
          </li>
        ))}
        {onlyBlocked.map((task) => (
          <li key={task.id} className="card stack">
            <TaskHead task={task} />
            <p className="soft">
              This task is blocked; last change <Moment at={task.updatedAt} />. Its page shows why; nobody is
              offered it until somebody moves it.
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
              This process is suspended, <Moment at={updatedAt} />. Resume or cancel it on its page.
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

interface ParkedRun {
  readonly run: Run;
  readonly task: Task;
}

/** Suspended runs that are not the newest ones of their tasks, which stays so: each is looked at once. */
const goneOnWith = new Set<string>();

/** @param waiting tasks that are left out */
async function readParked(waiting: ReadonlySet<string>, signal: AbortSignal): Promise<ParkedRun[]> {
  const parked: ParkedRun[] = [];
  let cursor: string | null | undefined;
  for (let page = 0; page < runsPagesMax && cursor !== null && parked.length < shownMax; page += 1) {
    const { items, nextCursor }: { items: readonly Run[]; nextCursor: string | null } = await baton.runs.list(
      { status: 'suspended', limit: runsPageSize, ...(cursor && { cursor }) },
      { signal },
    );
    const found = await Promise.all(
      items
        .filter(({ id, taskId }) => !goneOnWith.has(id) && !waiting.has(taskId))
        .map((run) => asParked(run, signal)),
    );
    parked.push(...found.filter((one) => one !== undefined));
    cursor = nextCursor;
  }
  return parked.slice(0, shownMax);
}

/** @returns nothing where somebody has gone on with the task, or nobody has to */
async function asParked(run: Run, signal: AbortSignal): Promise<ParkedRun | undefined> {
  const { items } = await baton.runs.list({ taskId: run.taskId, limit: 1 }, { signal });
  if (items[0]?.id !== run.id) {
    goneOnWith.add(run.id);
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
