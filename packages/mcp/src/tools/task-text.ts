import type { Task } from '@baton/sdk';
import { documentFromOthers } from '../others-text.ts';

/** What an agent should know of a task, in an envelope. */
export function taskText(task: Task): string {
  const { publicId, title, description, status, systemStatusCategory, priority, typeKey, dueDate } = task;
  const { customFields, acceptance, verification, ownerId, assigneeId, workspaceId, projectId } = task;
  return documentFromOthers(`the task ${publicId}`, {
    publicId,
    title,
    description,
    status: `${status} (${systemStatusCategory})`,
    priority,
    type: typeKey,
    ...present({ dueDate, ownerId, assigneeId, workspaceId, projectId }),
    ...(Object.keys(customFields).length > 0 && { fields: customFields }),
    ...(acceptance.length > 0 && {
      acceptance: acceptance.map(({ key, kind, description: wanted }) => ({ key, kind, wanted })),
    }),
    ...(verification !== null && { verification: verification.status }),
  });
}

/** A task in one line of a list. */
export function taskLine({ publicId, title, status, priority, dueDate }: Task): Record<string, unknown> {
  return { publicId, title, status, priority, ...present({ dueDate }) };
}

function present<Fields extends Record<string, unknown>>(fields: Fields): Partial<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Partial<Fields>;
}
