import { isTemporary } from '@baton/kernel/http/command';
import { Refusal } from '@baton/kernel/http/refusal';
import { type ErrorCode, errors } from '../errors.ts';

/** The reason for a stream's end, as sent to its client. See docs/reference/journal.md#streams. */
export interface StreamEnd {
  readonly code: number;
  /** The code of the refusal, for people to read. */
  readonly reason: string;
}

export const goingAway: StreamEnd = { code: 1001, reason: 'going_away' };
/** This service's own limit. The code is the protocol's "try again later". */
export const tooManyStreams: StreamEnd = { code: 1013, reason: 'too_many_streams' };

const byStatus: Readonly<Record<number, number>> = {
  400: 4400,
  410: 4400,
  422: 4400,
  401: 4401,
  403: 4403,
  404: 4404,
  429: tooManyStreams.code,
  503: 4503,
};

export function streamEndOf(error: unknown): StreamEnd {
  if (error instanceof Refusal) {
    const status = errors[error.code as ErrorCode]?.status ?? 500;
    return { code: byStatus[status] ?? 1011, reason: error.code };
  }
  // The database is briefly unavailable, and the client still has its rights: it may connect again.
  return isTemporary(error)
    ? { code: 4503, reason: 'unavailable' }
    : { code: 1011, reason: 'internal_error' };
}
