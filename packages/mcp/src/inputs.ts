import { z } from 'zod';

/** Forms of arguments, with the bounds of the contract. */
export const leaseId = z.uuid().describe('The lease that work_next gave you.');
export const taskRef = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[\w-]+$/)
  .describe('The task, such as TASK-000042, or its id.');
export const shortText = (what: string, charactersMax: number) =>
  z.string().trim().min(1).max(charactersMax).describe(what);
export const limit = z.int().min(1).max(25).default(10).describe('How many at most.');
export const priority = z.enum(['critical', 'high', 'medium', 'low']);
