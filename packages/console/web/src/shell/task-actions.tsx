import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { newIdempotencyKey, type Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { tell } from '../parts/Notices.tsx';
import { meQuery, taskQuery, versionOf } from '../queries.ts';
import { useCanTake } from '../task/claimability.ts';
import { fenceOf, giveBack, takeTask } from '../task/holds.ts';
import { useHold } from '../task/use-holds.tsx';
import { moveTask, transitionsQuery } from '../work/board/moves.ts';
import { Refused } from '../work/board/Refused.tsx';
import type { Action } from './actions.ts';

const commentCharactersMax = 10_000;

/** What can be done with the task whose page is open; nothing elsewhere. */
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
  const canTake = useCanTake(task);
  if (ref === undefined || task === undefined) return [];
  const settle = () => void queries.invalidateQueries({ queryKey: ['me'] });
  const link = `${location.origin}/tasks/${encodeURIComponent(task.publicId)}`;
  return [
    ...(hold === undefined && canTake
      ? [
          {
            name: 'Take it',
            group: 'This task',
            run: () => change(queries, `You hold ${task.publicId}.`, () => takeTask(task)).then(settle),
          } as const,
        ]
      : []),
    ...(hold === undefined
      ? []
      : [
          {
            name: 'Give it back',
            group: 'This task',
            run: () => change(queries, `${task.publicId} is given back.`, () => giveBack(hold)).then(settle),
          } as const,
        ]),
    ...(data?.targets ?? []).map(
      (target): Action => ({
        name: `Move to ${target.displayName}`,
        group: 'This task',
        run: async () => {
          const refusal = await moveTask(task, target);
          if (refusal !== undefined)
            tell(<Refused task={task} to={target.displayName} refusal={refusal} />, { isBad: true });
          await queries.invalidateQueries({ queryKey: ['tasks'] });
          settle();
        },
      }),
    ),
    {
      name: 'Comment',
      group: 'This task',
      asks: { label: `Your comment on ${task.publicId}`, charactersMax: commentCharactersMax },
      run: (body) =>
        change(queries, `Your comment on ${task.publicId} is there.`, () =>
          baton.tasks.createComment(task.id, { body }, { idempotencyKey: newIdempotencyKey() }),
        ),
    },
    task.assigneeId === me
      ? { name: 'Give it to nobody', group: 'This task', run: () => assign(queries, task, null) }
      : {
          name: 'Assign to me',
          group: 'This task',
          run: () => me !== undefined && assign(queries, task, me),
        },
    { name: `Copy the id ${task.publicId}`, group: 'This task', run: () => copy(task.publicId) },
    { name: 'Copy the link', group: 'This task', run: () => copy(link) },
  ];
}

function assign(queries: QueryClient, task: Task, assigneeId: string | null): Promise<void> {
  const said = assigneeId === null ? 'is given to nobody' : 'is yours';
  return change(queries, `${task.publicId} ${said}.`, () =>
    baton.tasks.update(task.id, { assigneeId, ...fenceOf(task.id) }, { ifMatch: versionOf(task) }),
  );
}

async function change(queries: QueryClient, done: string, act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
    tell(done);
  } catch (error) {
    tell(<ErrorNote error={error} />, { isBad: true });
  }
  await queries.invalidateQueries({ queryKey: ['tasks'] });
}

/** Where the browser lets no page write to the clipboard, as by http from another machine, the text is shown. */
async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    tell(`Copied: ${text}`);
  } catch {
    tell(`This browser does not let the page copy: ${text}`, { isBad: true });
  }
}
