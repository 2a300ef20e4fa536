import { z } from 'zod';

/** Argument schemas, with the service's limits. */
export const leaseId = z.uuid().describe('The lease that work_next gave you.');
export const taskRef = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[\w-]+$/)
  .describe('The task, such as TASK-000042, or its id.');
export const shortText = (what: string, charactersMax: number) =>
  z.string().trim().min(1).max(charactersMax).describe(what);
export const limit = z.int().min(1).max(25).default(10).describe('The maximum number of results.');
export const priority = z.enum(['critical', 'high', 'medium', 'low']);

/** The maximum length of a JSON text. The service itself accepts documents of up to 64 KiB. */
const jsonCharactersMax = 200_000;
/**
 * The maximum depth of a JSON text: that of a message over HTTP, where the text counts as one value. The service
 * accepts 20 levels; thousands would overflow the stack before it could reject them.
 */
const jsonLevelsMax = 64;

/**
 * A JSON object with any members, which the service validates. It is listed as `{"type": "object"}`, because Gemini and
 * LangChain refuse a tool whose schema refers to itself or describes the names of members. Some models send the object
 * as a JSON text.
 */
export const jsonObject = (what: string) =>
  z
    .unknown()
    .transform((value, context): Record<string, unknown> => {
      const read = typeof value === 'string' && value.length <= jsonCharactersMax ? parsed(value) : value;
      const isRead = isObject(read);
      if (isRead && !isDeep(read)) return read;
      const message = isRead ? `expected at most ${jsonLevelsMax} levels` : 'expected a JSON object';
      context.issues.push({ code: 'custom', input: value, message });
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

function isDeep(value: object): boolean {
  let level = [value];
  for (let levels = 1; levels <= jsonLevelsMax && level.length > 0; levels += 1)
    level = level.flatMap((one) =>
      Object.values(one).filter((item): item is object => typeof item === 'object' && item !== null),
    );
  return level.length > 0;
}
