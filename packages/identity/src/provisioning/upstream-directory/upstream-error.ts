import { OutboundError, type OutboundFailure } from '../../operations/outbound/outbound.ts';

/** A directory did not do what it was asked. The message says why in words of ours, nothing of its answer. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  /** `status_500`, `too_late`, `token_status_401`, ... */
  readonly why: string;
  /** It surely did nothing; otherwise nobody knows. */
  readonly isSettled: boolean;
  /** Whoever it was asked about is not there. */
  readonly isGone: boolean;

  constructor(why: string, isSettled: boolean, cause?: unknown, isGone = false) {
    super(why, { cause });
    this.why = why;
    this.isSettled = isSettled;
    this.isGone = isGone;
  }
}

/** Failures of requests that were never sent. */
const unsent: ReadonlySet<OutboundFailure> = new Set([
  'bad_address',
  'not_https',
  'not_public',
  'name_not_found',
]);

/** @throws whatever is no failure of a directory */
export function upstreamErrorOf(error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error;
  if (!(error instanceof OutboundError)) throw error;
  const isRefused = (error.cause as { code?: unknown } | undefined)?.code === 'ECONNREFUSED';
  return new UpstreamError(error.failure, isRefused || unsent.has(error.failure), error);
}

/** A status other than one of success. Refusals of clients' faults are certain; behind the others anything can hide. */
export function errorOfStatus(status: number): UpstreamError {
  return new UpstreamError(`status_${status}`, status >= 400 && status < 500 && status !== 408);
}
