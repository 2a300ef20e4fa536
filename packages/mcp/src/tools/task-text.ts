import type { Task } from '@baton/sdk';
import { documentFromOthers } from '../others-text.ts';

const descriptionCharactersShown = 12_000;

/**
 * Returns the details of a task for an agent, in an envelope. Of a long description, it contains only the part that
 * begins at `from`.
 */
export function taskText(task: Task, from = 0): string {
  const { publicId, title, status, systemStatusCategory, priority, typeKey, dueDate, availableAt } = task;
  const { customFields, acceptance, verification, ownerId, assigneeId, workspaceId, projectId } = task;
  return documentFromOthers(`the task ${publicId}`, {
    publicId,
    title,
    ...descriptionOf(task, from),
    status: `${status} (${systemStatusCategory})`,
    priority,
    type: typeKey,
    ...present({ dueDate, availableAt, ownerId, assigneeId, workspaceId, projectId }),
    ...(Object.keys(customFields).length > 0 && { fields: customFields }),
    ...(acceptance.length > 0 && {
      acceptance: acceptance.map(({ key, kind, description: wanted }) => ({ key, kind, wanted })),
    }),
    ...(verification !== null && { verification: verification.status }),
  });
}

function descriptionOf({ description }: Task, from: number) {
  const part = description.slice(from, from + descriptionCharactersShown);
  const end = from + part.length;
  if (part.length === description.length) return { description };
  const more = end < description.length ? `; for more: task_get with descriptionFrom ${end}` : '';
  return { description: part, shown: `characters ${from} to ${end} of ${description.length}${more}` };
}

/** Returns a task as one line of a list. */
export function taskLine({ publicId, title, status, priority, dueDate }: Task): Record<string, unknown> {
  return { publicId, title, status, priority, ...present({ dueDate }) };
}

function present<Fields extends Record<string, unknown>>(fields: Fields): Partial<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Partial<Fields>;
}
