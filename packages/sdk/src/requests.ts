import type { CallOptions, Matched, RawAnswer, RawBody } from './call.ts';
import type { Operation } from './call-table.ts';
import { certificateCodeOf } from './certificate-failure.ts';
import type { AccessToken } from './credentials.ts';
import { BatonError, jsonIn, parseError } from './errors.ts';
import { keepEtag } from './etag.ts';
import { newIdempotencyKey } from './idempotency-key.ts';
import { readText } from './response-text.ts';
import type { Transport, WireRequest } from './transport.ts';
import { backoffMs, sleep, TimeLimit } from './wait.ts';

/** The parts that the calls of one client share. */
export interface Caller {
  readonly transport: Transport;
  readonly deadlineMs: number;
  readonly attempts: number;
  readonly attemptMs: number;
  /** Headers that are sent with every request. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The service of an operation, and the credential to send. */
export interface Service {
  readonly url: string;
  readonly accessToken: AccessToken | undefined;
  readonly adminSecret: string | undefined;
  /** Used instead of the admin secret. */
  readonly administration: AccessToken | undefined;
  readonly provisioningToken: string | undefined;
}

export interface Call {
  readonly operation: Operation;
  /** Values of the path's parameters, in order. */
  readonly parameters: readonly string[];
  readonly body?: unknown;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly options?: (CallOptions & Partial<Matched>) | undefined;
}

/**
 * Sends one operation and returns its response. Reads, and changes under an idempotency key, are retried after
 * transient failures. The key is generated before the first attempt and reused, so that the service repeats a lost
 * response.
 * @throws BatonError; the signal's reason if it is aborted
 */
export async function send(caller: Caller, service: Service, call: Call): Promise<unknown> {
  const { operation, options = {} } = call;
  const endsAtMs = performance.now() + (options.deadlineMs ?? caller.deadlineMs);
  const request = requestOf(caller, service, call);
  const source = tokenSourceOf(operation, service);
  const isStream = request.body instanceof ReadableStream;
  const isRepeatable = (operation.isKeyed || operation.method === 'GET') && !isStream;
  let isRenewed = false;
  let isSent = false;
  for (let attempt = 1; ; ) {
    let token: string | undefined;
    try {
      token = await tokenOf(source, request, endsAtMs, options.signal);
      options.beforeAttempt?.();
      isSent = true;
      return await attemptOnce(caller, operation, withToken(request, token), endsAtMs, options.signal);
    } catch (error) {
      if (!(error instanceof BatonError)) throw error;
      // The token may have expired, or its key may have been rotated: retry once with a new token.
      if (error.status === 401 && token !== undefined && !isRenewed && !isStream) {
        isRenewed = true;
        source?.forget(token);
        continue;
      }
      // If only the exchange of the token failed, the call itself wasn't sent, so any call may be retried.
      const attemptsMax = isRepeatable || !isSent ? (options.attempts ?? caller.attempts) : 1;
      const waitMs = backoffMs(attempt, error.retryAfterMs);
      if (!error.retryable || attempt >= attemptsMax || performance.now() + waitMs >= endsAtMs) throw error;
      await sleep(waitMs, options.signal);
      attempt += 1;
    }
  }
}

/** The source of the token that an operation is sent with; undefined if it is sent with another credential. */
function tokenSourceOf({ credential }: Operation, service: Service): AccessToken | undefined {
  if (credential === 'access token') return service.accessToken;
  return credential === 'admin secret' && service.adminSecret === undefined
    ? service.administration
    : undefined;
}

/** Returns the token, within the timeout of the call. */
async function tokenOf(
  accessToken: AccessToken | undefined,
  request: Prepared,
  endsAtMs: number,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const held = accessToken?.held();
  if (accessToken === undefined || held !== undefined) return held;
  const limit = new TimeLimit(endsAtMs - performance.now(), signal);
  try {
    return await accessToken.get(limit.signal);
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw limit.isOver ? unanswered(request, true, true, error) : error;
  } finally {
    limit.end();
  }
}

type Prepared = Omit<WireRequest, 'signal'>;

function requestOf(
  caller: Caller,
  service: Service,
  { operation, parameters, body, query, options = {} }: Call,
): Prepared {
  const path = operation.path.map((part, place) => part + encodeParameter(parameters[place])).join('');
  const isJson =
    operation.bodyMedia === 'application/json' || operation.bodyMedia === 'application/scim+json';
  const hasBody = operation.hasBody && body !== undefined;
  return {
    method: operation.method,
    url: service.url + path + queryText(query),
    body: !hasBody ? undefined : isJson ? JSON.stringify(body) : encodeBody(operation, body),
    headers: {
      accept: operation.isRaw ? '*/*' : 'application/json, application/scim+json',
      ...(hasBody && { 'content-type': mediaOf(operation, body) }),
      ...(operation.isKeyed && { 'idempotency-key': options.idempotencyKey ?? newIdempotencyKey() }),
      ...(options.ifMatch !== undefined && { 'if-match': options.ifMatch }),
      ...credentialHeaders(operation, service),
      ...caller.headers,
    },
  };
}

function encodeParameter(value: string | undefined): string {
  return value === undefined ? '' : encodeURIComponent(value);
}

/** Each list item becomes one parameter; undefined and null are omitted. */
function queryText(query: Readonly<Record<string, unknown>> | undefined): string {
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) =>
    [value]
      .flat()
      .filter((one) => one !== undefined && one !== null)
      .map((one): [string, string] => [name, String(one)]),
  );
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
}

function encodeBody({ bodyMedia }: Operation, body: unknown): RawBody {
  if (bodyMedia === 'raw') return body as RawBody;
  return new URLSearchParams(body as Record<string, string>).toString();
}

function mediaOf({ bodyMedia }: Operation, body: unknown): string {
  if (bodyMedia !== 'raw') return bodyMedia;
  return body instanceof Blob && body.type !== '' ? body.type : 'application/octet-stream';
}

function credentialHeaders({ credential }: Operation, service: Service): Record<string, string> {
  if (
    credential === 'admin secret' &&
    service.adminSecret === undefined &&
    service.administration !== undefined
  )
    return {};
  if (credential === 'admin secret')
    return { 'x-iam-bootstrap-token': needed(service.adminSecret, credential) };
  if (credential === 'provisioning token')
    return { authorization: `Bearer ${needed(service.provisioningToken, credential)}` };
  if (credential === 'access token') needed(service.accessToken, 'credential');
  return {};
}

function needed<Value>(value: Value | undefined, what: string): Value {
  if (value === undefined) throw new TypeError(`this call needs the ${what}: give it to the client`);
  return value;
}

function withToken(request: Prepared, token: string | undefined): Prepared {
  return token === undefined
    ? request
    : { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } };
}

async function attemptOnce(
  caller: Caller,
  operation: Operation,
  request: Prepared,
  endsAtMs: number,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const leftMs = endsAtMs - performance.now();
  const isUpload = operation.bodyMedia === 'raw';
  const limit = new TimeLimit(isUpload ? leftMs : Math.min(leftMs, caller.attemptMs), signal);
  let answer: RawAnswer;
  let text: string;
  try {
    answer = await caller.transport({ ...request, signal: limit.signal });
    if (isRedirect(answer)) throw await redirected(request, answer);
    if (operation.isRaw && answer.status < 300) {
      // The timeout must include the transfer, because the bytes arrive while the caller reads them.
      limit.allow(endsAtMs - performance.now());
      return answer;
    }
    text = await readText(answer);
    limit.end();
  } catch (error) {
    limit.end();
    if (signal?.aborted) throw signal.reason;
    if (error instanceof BatonError) throw error;
    throw unanswered(request, limit.isOver, performance.now() >= endsAtMs, error);
  }
  const header = (name: string) => answer.headers.get(name);
  if (answer.status >= 300) throw parseError(answer.status, text, header);
  if (header('content-type')?.startsWith('text/')) return text;
  const value = jsonIn(text);
  if (value === undefined && text !== '')
    throw new BatonError({
      code: 'unreadable_answer',
      message: 'the response is not JSON',
      status: answer.status,
    });
  keepEtag(value, header('etag'));
  return value;
}

/** Browsers report status 0 for a redirect that they don't follow. */
function isRedirect({ status }: RawAnswer): boolean {
  return status === 0 || (status >= 300 && status < 400);
}

async function redirected({ url }: Prepared, { status, headers, body }: RawAnswer): Promise<BatonError> {
  if (body?.locked === false) await body.cancel().catch(() => undefined);
  const { origin } = new URL(url);
  const location = headers.get('location');
  const to = location !== null && URL.canParse(location, url) ? ` to ${new URL(location, url).origin}` : '';
  const message = `${origin} redirects${to}, which is not followed: give the client the address where Baton itself answers`;
  return new BatonError({ code: 'unreadable_answer', message, status });
}

function unanswered({ url }: Prepared, isSlow: boolean, isOver: boolean, cause: unknown): BatonError {
  const { origin } = new URL(url);
  if (isOver) {
    const message = `${origin} did not answer in time`;
    return new BatonError({ code: 'deadline_exceeded', message, retryable: true, cause });
  }
  const certificateCode = certificateCodeOf(cause);
  if (certificateCode !== undefined) {
    const message = `the certificate of ${origin} is not accepted (${certificateCode})`;
    return new BatonError({ code: 'network_error', message, cause });
  }
  const why = isSlow ? 'did not answer in time' : "can't be reached";
  return new BatonError({ code: 'network_error', message: `${origin} ${why}`, retryable: true, cause });
}
