import { OutboundError, type OutboundFailure } from '@baton/kernel/outbound/outbound';

/** A directory rejected a write. The message contains no part of the directory's response. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  /** `status_500`, `too_late`, `token_status_401`, ... */
  readonly why: string;
  /** Whether it is certain that nothing was written; if false, the outcome is unknown. */
  readonly isSettled: boolean;
  /** Whether the account no longer exists. */
  readonly isGone: boolean;

  constructor(why: string, isSettled: boolean, cause?: unknown, isGone = false) {
    super(why, { cause });
    this.why = why;
    this.isSettled = isSettled;
    this.isGone = isGone;
  }
}

/** Failures of requests that were not sent. */
const unsent: ReadonlySet<OutboundFailure> = new Set([
  'bad_address',
  'not_https',
  'not_public',
  'name_not_found',
]);

/** Turns a failed request into an `UpstreamError`. @throws any other error unchanged */
export function upstreamErrorOf(error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error;
  if (!(error instanceof OutboundError)) throw error;
  const isRefused = (error.cause as { code?: unknown } | undefined)?.code === 'ECONNREFUSED';
  return new UpstreamError(error.failure, isRefused || unsent.has(error.failure), error);
}

/**
 * The error for a status other than 2xx. After a 4xx other than 408, nothing was written; after any other status the
 * outcome is unknown.
 */
export function errorOfStatus(status: number): UpstreamError {
  return new UpstreamError(`status_${status}`, status >= 400 && status < 500 && status !== 408);
}
