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

/** Characters of a JSON text: the service takes documents of 64 KiB. */
const jsonCharactersMax = 200_000;

/**
 * A JSON object of any members, which the service validates. It is listed as `{"type": "object"}`: Gemini and LangChain refuse a
 * tool whose schema refers to itself or describes the names of members. Some models send the object as a JSON text.
 */
export const jsonObject = (what: string) =>
  z
    .unknown()
    .transform((value, context): Record<string, unknown> => {
      const read = typeof value === 'string' && value.length <= jsonCharactersMax ? parsed(value) : value;
      if (isObject(read)) return read;
      context.issues.push({ code: 'custom', input: value, message: 'expected a JSON object' });
      return z.NEVER;
    })
    .meta({ type: 'object', description: what });

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
