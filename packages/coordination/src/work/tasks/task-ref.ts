import { z } from 'zod';

/** A task in a path or body: its id, or its public id in upper or lower case. Any other string matches no task. */
export interface TaskRef {
  readonly id: string | null;
  readonly number: number | null;
}

export const TaskRef = z
  .string()
  .min(1)
  .max(100)
  .transform(parseTaskRef)
  .meta({ description: 'The id of the task, or its public id such as TASK-000042.' });

export function parseTaskRef(text: string): TaskRef {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text))
    return { id: text.toLowerCase(), number: null };
  const digits = /^task-(\d{6,15})$/i.exec(text)?.[1];
  return { id: null, number: digits === undefined ? null : Number(digits) };
}
