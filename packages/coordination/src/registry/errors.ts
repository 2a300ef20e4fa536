import type { ErrorTable } from '@baton/kernel/refusal';
import { errors as lowerErrors } from '../results/errors.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;
