import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { lingerBeforeClose } from '../listener/lingering-close.ts';
import { observer } from '../process/observer.ts';
import { isTemporary } from './command.ts';
import { declaredBytesOf, headOf, type RequestHead, send, write } from './http-message.ts';
import {
  ClientGone,
  envelopeAt,
  InvalidRequest,
  Refusal,
  type RenderError,
  UnstorableText,
} from './refusal.ts';
import type { ServiceRuntime } from './runtime.ts';
import { endpointName, type Operation } from './service.ts';

/** The parts of a runtime that error responses need. */
type Reporting = Pick<
  ServiceRuntime<unknown, object>,
  'name' | 'log' | 'metrics' | 'pipelineCodes' | 'refused' | 'render' | 'envelopes' | 'trustedProxies'
>;

/** A failed request; `endpoint` is undefined if its path or method has no route. */
interface Failed {
  readonly head: RequestHead;
  readonly endpoint: Operation | undefined;
  readonly render: RenderError;
  /** Undefined if the credential hasn't been verified. */
  readonly caller: unknown;
}

/** The maximum declared body size for a request without an endpoint. */
const unroutedBytesMax = 1024 * 1024;
const routingCodes: readonly string[] = ['not_found', 'method_not_allowed'];

/** The error envelope for a path, whether or not it has an endpoint. */
export function rendererAt({ envelopes = [], render }: Reporting, path: string): RenderError {
  return envelopeAt(envelopes, path)?.render ?? render;
}

/**
 * Responds to a failed request in its envelope, counts it, and logs internal failures and the hidden reasons of
 * refusals.
 */
export function answerError(
  runtime: Reporting,
  request: FastifyRequest,
  reply: FastifyReply,
  failed: Failed,
  thrown: unknown,
): void {
  // The client has disconnected: nobody would read the response, and this isn't an internal failure.
  if (thrown instanceof ClientGone) return void reply.hijack();
  const { head } = failed;
  const name = failed.endpoint === undefined ? `${head.method} (no route)` : endpointName(failed.endpoint);
  const error = observer() === undefined ? thrown : observed(runtime, name, failed.endpoint, thrown);
  if (error instanceof Refusal) runtime.refused?.(error, failed.caller);
  const { status, body, headers } = failed.render(error, head.requestId);
  logError(runtime, name, head, status, error);
  runtime.metrics.count(head.method, status, 0);
  // If a body is too large or a byte stream, the rest of it isn't read, so the connection is closed after the response.
  const isCutOff = (status === 413 || failed.endpoint?.bytes === true) && !request.raw.complete;
  if (isCutOff) lingerBeforeClose(request.raw);
  send(reply, head, status, body, isCutOff ? { ...headers, connection: 'close' } : headers);
}

/** Responds to a request without an endpoint. A declared body that is too large is refused first. */
export function answerUnrouted(
  runtime: Reporting,
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
): void {
  const head = headOf(request.raw, runtime.trustedProxies);
  const isRouting = error instanceof Refusal && routingCodes.includes(error.code);
  const isTooLarge = isRouting && declaredBytesOf(head) > unroutedBytesMax;
  const reason = isTooLarge ? new Refusal('request_too_large', { maxBytes: unroutedBytesMax }) : error;
  const render = rendererAt(runtime, head.path);
  answerError(runtime, request, reply, { head, endpoint: undefined, render, caller: undefined }, reason);
}

/** Returns 404 for a path that the router can't decode. */
export function answerBadUrl(runtime: Reporting, req: IncomingMessage, res: ServerResponse): void {
  const head = headOf(req, runtime.trustedProxies);
  const render = rendererAt(runtime, head.path);
  const { status, body, headers } = render(new Refusal('not_found'), head.requestId);
  runtime.metrics.count(head.method, status, 0);
  write(res, head, status, body, headers);
}

function logError(
  { log }: Reporting,
  endpoint: string,
  { requestId, address }: RequestHead,
  status: number,
  error: unknown,
): void {
  if (error instanceof Refusal) {
    // A refusal with status 500 or higher is logged at its cause, not here.
    const { code, reason } = error;
    if (reason !== undefined) log.info({ endpoint, code, reason, requestId, address }, 'refused');
  } else if (status >= 500) log.error({ err: error, endpoint, requestId }, 'request failed');
}

/** Reports an error to the tests; a refusal that its endpoint doesn't declare becomes an internal error. */
function observed(
  runtime: Reporting,
  name: string,
  endpoint: Operation | undefined,
  error: unknown,
): unknown {
  const code = codeOf(error);
  observer()?.refused(runtime.name, name, code);
  const isDeclared = endpoint === undefined || endpoint.errors.includes(code);
  if (isDeclared || !(error instanceof Refusal) || runtime.pipelineCodes.has(code)) return error;
  try {
    return observer()?.violated(`${runtime.name}: ${name} answered ${code}, which it does not declare`);
  } catch (violation) {
    return violation;
  }
}

/** The code of an error in the table of errors, for the tests. */
function codeOf(error: unknown): string {
  if (error instanceof Refusal) return error.code;
  if (error instanceof InvalidRequest) return 'invalid_request';
  if (error instanceof UnstorableText) return 'validation_error';
  return isTemporary(error) ? 'unavailable' : 'internal_error';
}
