import { queryOptions } from '@tanstack/react-query';
import { BatonError, type Task, type TaskTransitions } from '@baton/sdk';
import { baton } from '../../client.ts';
import { versionOf } from '../../queries.ts';
import { fenceOf } from '../../task/holds.ts';
import { sendAnswers } from '../../task/step-form/form-registry.ts';

/** An available transition of a task. */
export type Target = TaskTransitions['targets'][number];

/** The reason why a task was not moved. */
export interface Refusal {
  readonly error: unknown;
  /** After a conflict: the current task, and the author of the change, if readable. */
  readonly now?: Task;
  readonly by?: string | null;
  /** The status is unchanged, because the task's acceptance checks run first. */
  readonly isBeingChecked?: boolean;
}

/** The available transitions of a task, under the same key as on its own page. */
export const transitionsQuery = ({ id, version }: Pick<Task, 'id' | 'version'>) =>
  queryOptions({
    queryKey: ['tasks', 'transitions', id, version],
    queryFn: ({ signal }) => baton.tasks.listTransitions(id, { signal }),
  });

/**
 * Moves a task, if its version is still the displayed one.
 * @param task with the expected version
 * @returns the reason if it was not moved
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
    return { error, ...(isConflict && (await findConflict(task))) };
  }
}

/** The current state of a changed task, and the author of the change, if the journal is readable. */
async function findConflict({ id, updatedAt }: Task): Promise<Pick<Refusal, 'now' | 'by'>> {
  const [now, events] = await Promise.allSettled([
    baton.tasks.get(id),
    baton.events.list({ entityId: id, tail: 1 }),
  ]);
  const newest = events.status === 'fulfilled' ? events.value.items.at(-1) : undefined;
  // The journal shows an event shortly after the change, so an older event is not the conflicting one.
  const isKnown = newest !== undefined && newest.occurredAt > updatedAt;
  return {
    ...(now.status === 'fulfilled' && { now: now.value }),
    ...(isKnown && { by: newest.actorId }),
  };
}
