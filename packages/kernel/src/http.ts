import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { type Call, execute, isTemporary } from './command.ts';
import type { Db, Pool } from './db.ts';
import type { IdempotencyOptions } from './idempotency.ts';
import { ClientGone, headOf, readBody, type RequestHead, write } from './http-message.ts';
import { inputReader } from './input.ts';
import type { RequestMetrics } from './metrics.ts';
import { observer } from './observer.ts';
import { InvalidRequest, Refusal, type RenderedError, UnstorableText } from './refusal.ts';
import { type Endpoint, endpointName, type Operation } from './service.ts';
import type { UnreadableHandler } from './unreadable.ts';

export type { RequestHead } from './http-message.ts';

/** A service that answers requests; whoever owns the port passes them on. */
export interface RunningService {
  handler(req: IncomingMessage, res: ServerResponse): void;
  upgrade?(req: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Answers what the parser of the port's owner refused; see `answerUnreadable`. */
  unreadable?: UnreadableHandler;
  /** Finishes what is under way and lets go of the store. */
  close(): Promise<void>;
}

/** What one service adds to the pipeline. `Caller` is who asks, `Context` is what a handler gets. */
export interface ServiceRuntime<Caller, Context extends object> {
  readonly name: string;
  readonly basePath: string;
  readonly pool: Pool;
  readonly log: Logger;
  readonly metrics: RequestMetrics;
  /** Absent where no endpoint keeps answered keys. */
  readonly idempotency?: IdempotencyOptions;
  /** The codes that any endpoint may answer, by the pipeline itself. */
  readonly pipelineCodes: ReadonlySet<string>;
  bodyBytesMax(endpoint: Operation): number;
  /** Whether the declared length is looked at before the credential. */
  sizeBeforeCredential(endpoint: Operation): boolean;
  /** Who asks; throws a Refusal. Called before anything of the request's content is looked at. */
  authenticate(head: RequestHead, endpoint: Operation): Promise<Caller>;
  /** The flat permission. */
  authorize(caller: Caller, endpoint: Operation): void;
  /** Whose keys and fingerprints they are; needed where idempotency is. */
  keyOwner?(caller: Caller): { tenantId: string; principalId: string };
  /** Locks the caller's row for the command and refuses one that is no longer active. */
  lockCaller?(tx: Db, caller: Caller): Promise<void>;
  context(call: Call<Caller>, db: Db, transactional: boolean): Context;
  /** Writes what the handler left to the end: journal rows. */
  beforeCommit?(context: Context): Promise<void>;
  /** After the commit: wake readers. Must not throw. */
  committed?(context: Context): void;
  /** @param path of the request: a service may have several envelopes */
  render(error: unknown, requestId: string, path: string): RenderedError;
}

/** Builds the HTTP side of a service: one route per endpoint, and an honest answer to everything else. */
export function buildHttp<Caller, Context extends object>(
  runtime: ServiceRuntime<Caller, Context>,
  endpoints: readonly Endpoint<Context>[],
): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: Number.MAX_SAFE_INTEGER,
    // To the router only a bare colon is one, and clients may write it either way.
    rewriteUrl: ({ url = '' }) => withColons(url),
    requestTimeout: 120_000,
    keepAliveTimeout: 75_000,
    routerOptions: {
      maxParamLength: 1000,
      onBadUrl: (_path, req, res) => sendRaw(req, res, new Refusal('not_found')),
    },
    // A path that its router gives up on, for the length of a parameter.
    frameworkErrors: (_error, request, reply) => fail(request, reply, new Refusal('not_found')),
    // What arrives during a shutdown is answered as long as the store is there, then with our own 503.
    return503OnClosing: false,
  });
  // The pipeline reads the body itself, after the credential: an anonymous caller must not make us parse. To the
  // framework no method has a body, so it doesn't judge the content type either.
  for (const method of app.supportedMethods)
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true });

  const methodsOf = new Map<string, string[]>();
  for (const endpoint of endpoints) {
    const url = routeOf(endpoint.root ? endpoint.path : `${runtime.basePath}${endpoint.path}`);
    const methods = methodsOf.get(url) ?? [];
    methodsOf.set(url, methods);
    methods.push(...(endpoint.method === 'GET' ? ['GET', 'HEAD'] : [endpoint.method]));
    app.route({ method: endpoint.method, url, handler: serve(endpoint) });
  }
  for (const [url, methods] of methodsOf) {
    const others = app.supportedMethods.filter((method) => !methods.includes(method));
    const allow = methods.join(', ');
    app.route({
      method: others,
      url,
      exposeHeadRoute: false,
      handler: (request, reply) =>
        fail(request, reply, new Refusal('method_not_allowed', {}, { headers: { allow } })),
    });
  }
  app.setNotFoundHandler((request, reply) => fail(request, reply, new Refusal('not_found')));
  app.setErrorHandler((error, request, reply) => fail(request, reply, error));
  return app;

  /** The steps of core section 1.2, in its order. The router has done the third. */
  function serve(endpoint: Endpoint<Context>) {
    const name = endpointName(endpoint);
    const readInput = inputReader(endpoint);
    const bytesMax = runtime.bodyBytesMax(endpoint);
    const sizeFirst = runtime.sizeBeforeCredential(endpoint);
    return async (request: FastifyRequest, reply: FastifyReply) => {
      const head = headOf(request.raw, request.ip);
      const started = performance.now();
      try {
        if (sizeFirst) refuseDeclaredSize(request, bytesMax);
        const caller = await runtime.authenticate(head, endpoint);
        if (!sizeFirst) refuseDeclaredSize(request, bytesMax);
        const bytes = await readBody(request.raw, bytesMax);
        const authorize = endpoint.permissionFirst ? () => runtime.authorize(caller, endpoint) : undefined;
        const input = readInput(request.params, request.query, head.headers, bytes, authorize);
        const answer = await execute(
          runtime,
          endpoint,
          { ...head, endpoint: name, caller, whenGone: goneOf(reply.raw) },
          input,
        );
        runtime.metrics.count(request.method, answer.status, (performance.now() - started) / 1000);
        return send(reply, head, answer.status, answer.body, answer.headers);
      } catch (error) {
        return refuse(request, reply, head, error, name, endpoint);
      }
    };
  }

  function refuse(
    request: FastifyRequest,
    reply: FastifyReply,
    head: RequestHead,
    error: unknown,
    name: string,
    endpoint: Operation | undefined,
  ) {
    // Nobody is left to read an answer, and it is no failure of ours.
    if (error instanceof ClientGone) return reply.hijack();
    if (observer() !== undefined) error = observed(error, name, endpoint);
    const rendered = runtime.render(error, head.requestId, head.path);
    // A refusal with such a status is no failure here: what it comes from is told in the log where it was found.
    if (rendered.status >= 500 && !(error instanceof Refusal)) {
      runtime.log.error({ err: error, endpoint: name, requestId: head.requestId }, 'request failed');
    } else if (error instanceof Refusal && error.reason !== undefined) {
      runtime.log.info(
        { endpoint: name, code: error.code, reason: error.reason, requestId: head.requestId },
        'refused',
      );
    }
    runtime.metrics.count(request.method, rendered.status, 0);
    // What is left of a refused body is not read: the connection ends with the answer.
    const isCutOff = !request.raw.complete && rendered.status === 413;
    const headers = isCutOff ? { ...rendered.headers, connection: 'close' } : rendered.headers;
    return send(reply, head, rendered.status, rendered.body, headers);
  }

  /** Tells the tests about a failure; one that is not declared becomes a failure of the program. */
  function observed(error: unknown, name: string, endpoint: Operation | undefined): unknown {
    const code = codeOf(error);
    observer()?.refused(runtime.name, name, code);
    const declared = endpoint === undefined || endpoint.errors.includes(code);
    if (declared || !(error instanceof Refusal) || runtime.pipelineCodes.has(code)) return error;
    try {
      return observer()?.violated(`${runtime.name}: ${name} answered ${code}, which it does not declare`);
    } catch (violation) {
      return violation;
    }
  }

  function fail(request: FastifyRequest, reply: FastifyReply, error: unknown) {
    const head = headOf(request.raw, request.ip);
    let reason = error;
    try {
      refuseDeclaredSize(request, 1024 * 1024);
    } catch (tooLarge) {
      if (error instanceof Refusal && ['not_found', 'method_not_allowed'].includes(error.code))
        reason = tooLarge;
    }
    return refuse(request, reply, head, reason, `${request.method} (no route)`, undefined);
  }

  /** For an address that the router can't even read. */
  function sendRaw(req: IncomingMessage, res: ServerResponse, error: Refusal) {
    const head = headOf(req, '');
    const { status, body } = runtime.render(error, head.requestId, head.path);
    runtime.metrics.count(head.method, status, 0);
    write(res, head, status, body, undefined);
  }
}

/**
 * `/tasks/{ref}:claim` as the router wants it. A parameter stops at a colon, or a bare `{ref}` would swallow verbs
 * that don't exist. A `{urn}` is made of colons and reaches over them.
 */
export function routeOf(path: string): string {
  return path
    .replaceAll(':', '::')
    .replaceAll(/\{(\w+)\}/g, (_, name: string) => (name === 'urn' ? ':urn(^[^/]+)' : `:${name}(^[^:/]+)`));
}

/** A path whose colons are not escaped; its query stays as it is. */
function withColons(url: string): string {
  return /%3a/i.test(url) ? url.replace(/^[^?]+/, (path) => path.replaceAll(/%3a/gi, ':')) : url;
}

/** The code of a failure in the table of errors, for the tests. */
function codeOf(error: unknown): string {
  if (error instanceof Refusal) return error.code;
  if (error instanceof InvalidRequest) return 'invalid_request';
  if (error instanceof UnstorableText) return 'validation_error';
  return isTemporary(error) ? 'unavailable' : 'internal_error';
}

/** For handlers that wait: what nobody reads any more need not be waited for. */
function goneOf(res: ServerResponse) {
  return (listener: () => void) => {
    if (res.destroyed) listener();
    else res.once('close', listener);
  };
}

function refuseDeclaredSize(request: FastifyRequest, bytesMax: number): void {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax)
    throw new Refusal('request_too_large', { maxBytes: bytesMax });
}

/** Past the framework's own reply, whose hooks nobody uses here: a tenth of a small request. */
function send(
  reply: FastifyReply,
  head: RequestHead,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> | undefined,
) {
  reply.hijack();
  write(reply.raw, head, status, body, headers);
  return reply;
}
