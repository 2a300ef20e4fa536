import { fail } from './errors.ts';

/** The status that a list is asked for. @throws Refusal `invalid_status` with those that there are (organisation, 26, 8) */
export function requireStatus<Status extends string>(
  wanted: string | undefined,
  allowed: readonly Status[],
): Status | undefined {
  if (wanted === undefined) return undefined;
  return allowed.find((known) => known === wanted) ?? fail('invalid_status', { allowed });
}
