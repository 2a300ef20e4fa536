import { BatonError } from '@baton/sdk';
import type { Ask } from './protocol.ts';
import { faultOfDocument, UnstorableError } from './storable.ts';

/** Statuses of errors that concern a report's content; the work itself may be fine. */
const contentStatuses = [400, 413, 422];

/** @throws UnstorableError */
export function rejectUnstorable(document: Record<string, unknown>): void {
  const fault = faultOfDocument(document);
  if (fault !== undefined) throw new UnstorableError(fault);
}

/** Whether an error means that a report's content can't be stored. */
export function isContentError(error: unknown): error is UnstorableError | BatonError {
  if (error instanceof UnstorableError) return true;
  return error instanceof BatonError && contentStatuses.includes(error.status);
}

export function describeFault(error: UnstorableError | BatonError): string {
  return error instanceof BatonError ? `${error.code}: ${error.message}` : error.message;
}

export function describeReport(ask: Ask): string {
  return ask.do === 'checkpoint' ? `the checkpoint ${JSON.stringify(ask.kind)}` : `"do":"${ask.do}"`;
}
