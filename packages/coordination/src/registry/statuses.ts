import { fail } from './errors.ts';

/** Parses the status filter of a list. @throws Refusal `invalid_status` with the valid statuses */
export function requireStatus<Status extends string>(
  wanted: string | undefined,
  allowed: readonly Status[],
): Status | undefined {
  if (wanted === undefined) return undefined;
  return allowed.find((known) => known === wanted) ?? fail('invalid_status', { allowed });
}
