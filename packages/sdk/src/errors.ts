import type { ErrorCode } from './generated/error-codes.ts';

/** The error codes of the client itself. */
export type ClientErrorCode =
  /** No response: the service can't be reached, or the connection broke. */
  | 'network_error'
  /** The timeout of all attempts has passed. */
  | 'deadline_exceeded'
  /** A response that isn't the service's: a proxy or gateway responded instead. */
  | 'unreadable_answer'
  /** The platform has no identity token for this program, or its source is not usable. */
  | 'no_identity_token'
  /** The lease has expired or belongs to another holder: nothing more is written under it. */
  | 'lease_lost';

export interface ErrorFields {
  readonly code: ErrorCode | ClientErrorCode;
  readonly message: string;
  readonly status?: number;
  readonly requestId?: string | undefined;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly retryable?: boolean;
  readonly retryAfterMs?: number | undefined;
  readonly docs?: string | undefined;
  readonly cause?: unknown;
}

/**
 * A request that a service rejected, or a service that can't be reached. Handle errors by `code`; the message is for
 * people.
 */
export class BatonError extends Error {
  override readonly name: string = 'BatonError';
  readonly code: ErrorCode | ClientErrorCode;
  /** The HTTP status; 0 without a response. */
  readonly status: number;
  /** Identifies the request in the service's log. */
  readonly requestId: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
  /** Whether the same call may succeed later. The client has already retried it if that is safe. */
  readonly retryable: boolean;
  /** The wait that the service requires before a retry, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The address of the page that describes the code, if the service's operator has set one. */
  readonly docs: string | undefined;

  constructor(fields: ErrorFields) {
    super(fields.message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.code = fields.code;
    this.status = fields.status ?? 0;
    this.requestId = fields.requestId;
    this.details = fields.details ?? {};
    this.retryable = fields.retryable ?? false;
    this.retryAfterMs = fields.retryAfterMs;
    this.docs = fields.docs;
  }
}

/** The lease is lost: another holder may continue the task, and this one must stop. The client never retries it. */
export class LeaseLostError extends BatonError {
  override readonly name = 'LeaseLostError';

  constructor(message: string, cause?: unknown) {
    super({ code: 'lease_lost', message, cause });
  }
}

const passingStatuses = new Set([429, 500, 502, 503, 504]);

/** Returns the error that a response describes. */
export function parseError(
  status: number,
  text: string,
  header: (name: string) => string | null,
): BatonError {
  const said = errorIn(text);
  const requestId = said?.requestId ?? header('x-request-id') ?? undefined;
  return new BatonError({
    code: said?.code ?? 'unreadable_answer',
    message: said?.message ?? `the response has status ${status} and no Baton error`,
    status,
    requestId,
    details: said?.details ?? {},
    retryable: passingStatuses.has(status) || said?.code === 'idempotency_in_flight',
    retryAfterMs: retryAfterMsOf(header('retry-after')),
    docs: said?.docs,
  });
}

/** Seconds, or a date, which proxies may send. */
function retryAfterMsOf(text: string | null): number | undefined {
  if (text === null || text.trim() === '') return undefined;
  const seconds = Number(text);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0);
}

interface SaidError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly requestId?: string;
  readonly docs?: string | undefined;
}

/**
 * Coordination returns `{error: {code, message, …}}`, identity `{detail: code}`, sometimes with a `field`, or a list of faults, SCIM `{scimType,
 * detail}`.
 */
function errorIn(text: string): SaidError | undefined {
  const body = jsonIn(text);
  if (!isRecord(body)) return undefined;
  const { error, detail, scimType, schemas } = body;
  if (isRecord(error) && typeof error['code'] === 'string')
    return { ...(error as unknown as SaidError), docs: addressIn(error['docs']) };
  const docs = addressIn(body['docs'] ?? body['error_uri']);
  if (typeof error === 'string') return { ...saidBy(error, body['error_description']), docs };
  if (Array.isArray(schemas)) return saidBy(typeof scimType === 'string' ? scimType : 'scim_error', detail);
  if (typeof detail === 'string') return { ...saidBy(detail, undefined), ...fieldIn(body['field']), docs };
  if (!Array.isArray(detail)) return undefined;
  const faults = detail.filter(isRecord).map(({ loc, msg }) => `${[loc].flat().join('.')}: ${String(msg)}`);
  return { ...saidBy('invalid_request', faults.join('; ')), details: { problems: detail }, docs };
}

const addressIn = (value: unknown) => (typeof value === 'string' ? value : undefined);

const fieldIn = (field: unknown) => (typeof field === 'string' ? { details: { field } } : {});

function saidBy(code: string, message: unknown): SaidError {
  const words = code.replaceAll('_', ' ');
  return {
    code: code as ErrorCode,
    message: typeof message === 'string' && message !== '' ? message : words,
  };
}

/** Parses JSON; undefined for invalid JSON. */
export function jsonIn(text: string): unknown {
  try {
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
