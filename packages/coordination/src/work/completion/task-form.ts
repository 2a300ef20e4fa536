import { z } from 'zod';
import { FreeObject, Uuid } from '@baton/values/wire';

/** The form of the process step that a task belongs to. */
export const TaskForm = z
  .strictObject({
    taskId: Uuid,
    publicId: z.string(),
    process: z
      .strictObject({
        instanceId: Uuid,
        element: z
          .string()
          .nullable()
          .describe('The step; null for the task that reviews an ended instance.'),
      })
      .nullable()
      .describe('The process instance that created the task; null for any other task.'),
    form: FreeObject.nullable().describe(
      'A JSON Schema of the result; null if the completion validates none.',
    ),
    context: FreeObject.describe('The data that the step passes to its task.'),
    values: FreeObject.describe('The custom fields of the task that make up the result: those in the form.'),
    errors: z
      .array(z.strictObject({ path: z.string(), message: z.string() }))
      .describe('The reasons for which a completion with these values would be refused, at most 20.'),
  })
  .meta({ id: 'TaskForm' });
export type TaskForm = z.infer<typeof TaskForm>;
