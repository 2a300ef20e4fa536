import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { newIdempotencyKey, type Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { notify } from '../parts/Notices.tsx';
import { meQuery, taskQuery, versionOf } from '../queries.ts';
import { useCanClaim } from '../task/claimability.ts';
import { claimTask, fenceOf, releaseTask } from '../task/holds.ts';
import { useHold } from '../task/use-holds.tsx';
import { moveTask, transitionsQuery } from '../work/board/moves.ts';
import { Refused } from '../work/board/Refused.tsx';
import type { Action } from './actions.ts';

const commentCharactersMax = 10_000;

/** Actions on the open task; none on other pages. */
export function useTaskActions(): readonly Action[] {
  const { ref } = useParams({ strict: false });
  const queries = useQueryClient();
  const me = useQuery(meQuery).data?.principal.id;
  const task = useQuery({ ...taskQuery(ref ?? ''), enabled: ref !== undefined }).data;
  const { data } = useQuery({
    ...transitionsQuery(task ?? { id: '', version: 0 }),
    enabled: task !== undefined,
  });
  const hold = useHold(task?.id ?? '');
  const canTake = useCanClaim(task);
  if (ref === undefined || task === undefined) return [];
  const settle = () => void queries.invalidateQueries({ queryKey: ['me'] });
  const link = `${location.origin}/tasks/${encodeURIComponent(task.publicId)}`;
  return [
    ...(hold === undefined && canTake
      ? [
          {
            name: 'Claim',
            group: 'This task',
            run: () => change(queries, `Claimed ${task.publicId}.`, () => claimTask(task)).then(settle),
          } as const,
        ]
      : []),
    ...(hold === undefined
      ? []
      : [
          {
            name: 'Release',
            group: 'This task',
            run: () => change(queries, `Released ${task.publicId}.`, () => releaseTask(hold)).then(settle),
          } as const,
        ]),
    ...(data?.targets ?? []).map(
      (target): Action => ({
        name: `Move to ${target.displayName}`,
        group: 'This task',
        run: async () => {
          const refusal = await moveTask(task, target);
          if (refusal !== undefined)
            notify(<Refused task={task} to={target.displayName} refusal={refusal} />, { isBad: true });
          await queries.invalidateQueries({ queryKey: ['tasks'] });
          settle();
        },
      }),
    ),
    {
      name: 'Comment',
      group: 'This task',
      prompt: { label: `Comment on ${task.publicId}`, charactersMax: commentCharactersMax },
      run: (body) =>
        change(queries, `Commented on ${task.publicId}.`, () =>
          baton.tasks.createComment(task.id, { body }, { idempotencyKey: newIdempotencyKey() }),
        ),
    },
    task.assigneeId === me
      ? { name: 'Unassign', group: 'This task', run: () => assign(queries, task, null) }
      : {
          name: 'Assign to me',
          group: 'This task',
          run: () => me !== undefined && assign(queries, task, me),
        },
    { name: `Copy ID ${task.publicId}`, group: 'This task', run: () => copy(task.publicId) },
    { name: 'Copy link', group: 'This task', run: () => copy(link) },
  ];
}

function assign(queries: QueryClient, task: Task, assigneeId: string | null): Promise<void> {
  const done = assigneeId === null ? `Unassigned ${task.publicId}.` : `Assigned ${task.publicId} to you.`;
  return change(queries, done, () =>
    baton.tasks.update(task.id, { assigneeId, ...fenceOf(task.id) }, { ifMatch: versionOf(task) }),
  );
}

async function change(queries: QueryClient, done: string, act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
    notify(done);
  } catch (error) {
    notify(<ErrorNote error={error} />, { isBad: true });
  }
  await queries.invalidateQueries({ queryKey: ['tasks'] });
}

/** If the browser denies access to the clipboard, as over HTTP from another machine, the text is shown instead. */
async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify(`Copied: ${text}`);
  } catch {
    notify(`Copying is not allowed in this browser. Copy it manually: ${text}`, { isBad: true });
  }
}
