import { queryOptions } from '@tanstack/react-query';
import { BatonError, type Task, type TaskTransitions } from '@baton/sdk';
import { baton } from '../../client.ts';
import { versionOf } from '../../queries.ts';
import { fenceOf } from '../../task/holds.ts';
import { sendAnswers } from '../../task/step-form/unsent.ts';

/** A status that a task can go to. */
export type Target = TaskTransitions['targets'][number];

/** Why a task has not moved. */
export interface Refusal {
  readonly error: unknown;
  /** After a conflict: the task as it is now, and who has changed it, where that may be read. */
  readonly now?: Task;
  readonly by?: string | null;
  /** The status is the same as before, because the checks of the task come first. */
  readonly isBeingChecked?: boolean;
}

/** Where a task can go from where it stands; the same key as on its own page. */
export const transitionsQuery = ({ id, version }: Pick<Task, 'id' | 'version'>) =>
  queryOptions({
    queryKey: ['tasks', 'transitions', id, version],
    queryFn: ({ signal }) => baton.tasks.listTransitions(id, { signal }),
  });

/**
 * Moves a task, if it is still as the person sees it.
 * @param task of a list or alone: its version is what must still hold
 * @returns why not; nothing when it has moved
 */
export async function moveTask(task: Task, { status, route }: Target): Promise<Refusal | undefined> {
  const fence = fenceOf(task.id);
  try {
    if (route === 'update') {
      await baton.tasks.update(task.id, { status, ...fence }, { ifMatch: versionOf(task) });
      return undefined;
    }
    const ifMatch = versionOf(await sendAnswers(task));
    const completed = await baton.tasks.complete(task.id, fence, { ifMatch });
    return completed.status === status ? undefined : { error: undefined, isBeingChecked: true };
  } catch (error) {
    const isConflict = error instanceof BatonError && error.code === 'version_conflict';
    return { error, ...(isConflict && (await changeOf(task))) };
  }
}

/** What has become of a task meanwhile. Whoever may not read the journal does not learn by whom. */
async function changeOf({ id, updatedAt }: Task): Promise<Pick<Refusal, 'now' | 'by'>> {
  const [now, events] = await Promise.allSettled([
    baton.tasks.get(id),
    baton.events.list({ entityId: id, tail: 1 }),
  ]);
  const newest = events.status === 'fulfilled' ? events.value.items.at(-1) : undefined;
  // The journal shows an event some moments after the change: an older one is not what was in the way.
  const isKnown = newest !== undefined && newest.occurredAt > updatedAt;
  return {
    ...(now.status === 'fulfilled' && { now: now.value }),
    ...(isKnown && { by: newest.actorId }),
  };
}
