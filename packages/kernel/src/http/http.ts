import fastify, { type FastifyInstance } from 'fastify';
import { answerBadUrl, answerUnrouted } from './error-answer.ts';
import { Refusal } from './refusal.ts';
import { requestHandler } from './request.ts';
import type { ServiceRuntime } from './runtime.ts';
import { type Endpoint, pathOf } from './service.ts';

/** The HTTP server of a service, to which the service adds plugins and hooks. */
export type HttpApp = FastifyInstance;

/**
 * Builds the HTTP side of a service: one route per endpoint, 405 with `Allow` for another method on the same path, and
 * 404 for every other path.
 */
export function buildHttp<Caller, Context extends object>(
  runtime: ServiceRuntime<Caller, Context>,
  endpoints: readonly Endpoint<Context>[],
): HttpApp {
  const app = fastify({
    logger: false,
    bodyLimit: Number.MAX_SAFE_INTEGER,
    // No route uses the framework's schemas, and loading their compilers takes 50 ms.
    schemaController: { compilersFactory: { buildValidator: neverCompiled, buildSerializer: neverCompiled } },
    // The router compares colons literally, and clients may escape them.
    rewriteUrl: ({ url = '' }) => withColons(url),
    requestTimeout: 120_000,
    keepAliveTimeout: 75_000,
    routerOptions: {
      maxParamLength: 1000,
      onBadUrl: (_path, req, res) => answerBadUrl(runtime, req, res),
    },
    // The router refuses a path whose parameter is longer than `maxParamLength`.
    frameworkErrors: (_error, request, reply) =>
      answerUnrouted(runtime, request, reply, new Refusal('not_found')),
    // A request that arrives during a shutdown is served while the database pool is still open, and gets the service's
    // own 503 afterwards.
    return503OnClosing: false,
  });
  leaveBodiesUnread(app);
  const methodsByUrl = addEndpoints(app, runtime, endpoints);
  refuseOtherMethods(app, runtime, methodsByUrl);
  app.setNotFoundHandler((request, reply) =>
    answerUnrouted(runtime, request, reply, new Refusal('not_found')),
  );
  app.setErrorHandler((error, request, reply) => answerUnrouted(runtime, request, reply, error));
  return app;
}

const neverCompiled = () => () => {
  throw new Error('A route has a framework schema; requests are validated by their declarations.');
};

/**
 * The pipeline reads the body itself, after it has checked the credential: the framework must not parse the body of an
 * anonymous caller. No method is registered as having a body, so the framework doesn't check the content type either.
 */
function leaveBodiesUnread(app: FastifyInstance): void {
  for (const method of app.supportedMethods)
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
}

/** @returns the methods of each route's path, in the form of `Allow` */
function addEndpoints<Caller, Context extends object>(
  app: FastifyInstance,
  runtime: ServiceRuntime<Caller, Context>,
  endpoints: readonly Endpoint<Context>[],
): ReadonlyMap<string, readonly string[]> {
  const methodsByUrl = new Map<string, string[]>();
  for (const endpoint of endpoints) {
    const url = routeOf(pathOf(runtime.basePath, endpoint));
    const methods = methodsByUrl.get(url) ?? [];
    methodsByUrl.set(url, methods);
    methods.push(...(endpoint.method === 'GET' ? ['GET', 'HEAD'] : [endpoint.method]));
    app.route({ method: endpoint.method, url, handler: requestHandler(runtime, endpoint) });
  }
  return methodsByUrl;
}

function refuseOtherMethods<Caller, Context extends object>(
  app: FastifyInstance,
  runtime: ServiceRuntime<Caller, Context>,
  methodsByUrl: ReadonlyMap<string, readonly string[]>,
): void {
  for (const [url, methods] of methodsByUrl) {
    const headers = { allow: methods.join(', ') };
    app.route({
      method: app.supportedMethods.filter((method) => !methods.includes(method)),
      url,
      exposeHeadRoute: false,
      handler: (request, reply) =>
        answerUnrouted(runtime, request, reply, new Refusal('method_not_allowed', {}, { headers })),
    });
  }
}

/**
 * `/tasks/{ref}:claim` in the router's syntax. A parameter ends at a colon, because a bare `{ref}` would otherwise
 * match unknown verbs. A `{urn}` may contain colons.
 */
export function routeOf(path: string): string {
  return path
    .replaceAll(':', '::')
    .replaceAll(/\{(\w+)\}/g, (_, name: string) => (name === 'urn' ? ':urn(^[^/]+)' : `:${name}(^[^:/]+)`));
}

/** A path with unescaped colons; its query is unchanged. */
function withColons(url: string): string {
  return /%3a/i.test(url) ? url.replace(/^[^?]+/, (path) => path.replaceAll(/%3a/gi, ':')) : url;
}
