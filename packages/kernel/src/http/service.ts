import type { z } from 'zod';
import type { Incoming } from '../listener/byte-stream.ts';
import type { KeyedCall } from './idempotency.sql.ts';
import type { Page } from './paging.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Shape = Record<string, z.ZodType>;
/** The success statuses with the schemas of their bodies; null for an empty body. */
export type Returns = Readonly<Record<number, z.ZodType | null>>;

/** One event type. Whenever the tests write such an event, its payload is validated. */
export interface EventDeclaration<Payload extends z.ZodType = z.ZodType> {
  readonly type: string;
  readonly version: number;
  /** The kind of object whose stream the event belongs to. */
  readonly entity: string;
  readonly payload: Payload;
}

export function defineEvent<Payload extends z.ZodType>(
  type: string,
  entity: string,
  payload: Payload,
  version = 1,
): EventDeclaration<Payload> {
  return { type, version, entity, payload };
}

/** The vocabulary of one service, declared once as types: its endpoints accept nothing else. */
export interface Vocabulary {
  code: string;
  permission: string;
  /** Kinds of credentials other than the service's usual one. */
  auth: string;
  context: object;
}

type Fields<S extends Shape | undefined> = S extends Shape
  ? { [K in keyof S]: z.output<S[K]> }
  : Record<string, never>;
type BodyOf<B> = B extends z.ZodType ? z.output<B> : undefined;
type BodiesOf<R extends Returns> = {
  [Status in keyof R]: R[Status] extends z.ZodType ? z.output<R[Status]> : undefined;
}[keyof R];

export interface Input<P, Q, B, X = never> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** The version in If-Match; 0 if the endpoint has no `ifMatch`, -1 if it is optional and absent. */
  readonly ifMatch: number;
  /** Present if the endpoint is `paging`. */
  readonly page: Page;
  /** The value that `around` passed to the command. */
  readonly prepared: X;
}

/** The surroundings of a command, outside of its transaction; see `EndpointSpec.around`. */
export interface Surroundings<X, C> {
  readonly incoming: Incoming;
  /** `db` is not a transaction here: each statement is its own transaction, and is queued. */
  readonly context: C;
  /** The Idempotency-Key of the call. A stored response is replayed without `around`. */
  readonly keyed: KeyedCall | undefined;
  /**
   * Runs the command, as an endpoint without `around` would be run. Call it once.
   * @param sent represents the bytes of the body in the fingerprint of an Idempotency-Key
   */
  command(prepared: X, sent?: object): Promise<Answer>;
}

/** The response to a request. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** A response with its own status or headers; every other response has the first status of `returns`. */
export class Reply<Body> {
  readonly status: number;
  readonly body: Body;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: Body, headers: Record<string, string> = {}) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

export function reply<Body>(status: number, body: Body, headers?: Record<string, string>): Reply<Body> {
  return new Reply(status, body, headers);
}

export interface EndpointSpec<
  V extends Vocabulary,
  P extends Shape | undefined,
  Q extends Shape | undefined,
  B extends z.ZodType | undefined,
  R extends Returns,
  X = undefined,
> {
  /**
   * The name of the operation for client generators and the matrix fixtures: verb and noun, unique in the service,
   * stable.
   */
  id: string;
  method: Method;
  /** Below the service's base path, with `{name}` for a parameter and `:verb` for an action. */
  path: string;
  /** The path starts at the root instead: health, metrics, well-known documents. */
  root?: boolean;
  summary: string;
  description?: string;
  /** A later version removes it; the description specifies the replacement (docs/reference/versions.md#deprecation). */
  deprecated?: true;
  /**
   * Any one of these permissions suffices. If absent, the handler checks the permission (ownership), or `auth` does.
   */
  permission?: V['permission'] | readonly V['permission'][];
  /**
   * The subset of `permission` that a refusal lists; absent, all of them. It omits permissions that only the owner of
   * the object uses.
   */
  deniedAs?: readonly V['permission'][];
  /** One of these permissions is also required. */
  alsoOneOf?: readonly V['permission'][];
  /** The credential that the endpoint accepts; by default, the service's usual one. */
  auth?: V['auth'];
  params?: P;
  query?: Q;
  /**
   * Unknown query parameters are ignored, and the case of known ones doesn't matter, for standards that require this.
   * With `kept`, unknown parameters of callbacks are passed on unchanged with the known ones.
   */
  looseQuery?: boolean | 'kept';
  body?: B;
  /** An absent body is read as `{}`. */
  bodyOptional?: boolean;
  /** The body is a form (application/x-www-form-urlencoded): an object of strings without repeated names. */
  form?: boolean;
  /** The body is bytes of any type, which only `around` reads. */
  bytes?: boolean;
  /** The maximum body size in bytes, if it differs from the service's limit for this kind of credential. */
  bodyBytesMax?: number;
  /** The body may be longer than usual. Only a few such bodies are processed at once, per tenant and in total. */
  largeBody?: boolean;
  returns: R;
  /** The codes of this endpoint in addition to those of the pipeline, in the order of its checks. */
  errors?: readonly V['code'][];
  emits?: readonly EventDeclaration[];
  /**
   * `own`: the handler stores keys itself. Absent: `accepted` for a mutation, unless the service has another default.
   */
  idempotency?: 'accepted' | 'required' | 'own' | 'ignored';
  /** The entity prefix that If-Match must contain. The header is then required, unless `ifMatchOptional` is set. */
  ifMatch?: string;
  /** The header may be absent or blank; the handler's `ifMatch` is then -1. */
  ifMatchOptional?: boolean;
  /** The permission is checked before If-Match, so 403 takes precedence over 428. */
  permissionFirst?: boolean;
  /**
   * The entity prefix of the response's ETag, whose version is the response's `rowVersion` if it has one, otherwise its
   * `version`.
   */
  etag?: string;
  paging?: boolean;
  /** A list that is requested by POST: it is queued with the reads, and its statements have the timeout for lists. */
  isList?: boolean;
  /**
   * `command` (the default of a mutation): all in one transaction. `statement`: the handler runs one statement that is
   * its own transaction, and gets a transaction only when a key must be stored with it. `none` (the default of a
   * read): on the pool.
   */
  transaction?: 'command' | 'statement' | 'none';
  /** The handler locks the caller itself, because it locks another principal too and the order matters. */
  handlerLocksCaller?: boolean;
  /** The operation revokes access, so it doesn't queue behind other requests. */
  isEmergency?: boolean;
  /**
   * Paths of secrets and tokens in the response: null in the stored copy. The response has `Cache-Control: no-store`.
   */
  secrets?: readonly string[];
  /** Fields of the body that hold secrets: the fingerprint of an Idempotency-Key leaves them out. */
  unprinted?: readonly string[];
  /** A valid body: shown in the docs, sent by the matrix tests. */
  example?: unknown;
  /** Validates a list's own filters, after the permission and before `limit`. */
  checkFilters?(query: Fields<Q>): void;
  /** Validates the body alone, before the idempotency key and the permission are checked. */
  precheck?(input: Input<Fields<P>, Fields<Q>, BodyOf<B>>): void;
  /**
   * For work that must not happen in a transaction: reading the bytes of the body, and calling the network. Runs after
   * the permission check, holds no database connection and no slot, and calls `command` for the rest. If the
   * Idempotency-Key already has a response, that response is returned instead, unless the body is bytes.
   */
  around?(
    input: Input<Fields<P>, Fields<Q>, BodyOf<B>>,
    surroundings: Surroundings<X, V['context']>,
  ): Promise<Answer>;
  handle(
    input: Input<Fields<P>, Fields<Q>, BodyOf<B>, X>,
    context: V['context'],
  ): Promise<BodiesOf<R> | Reply<BodiesOf<R>>> | BodiesOf<R> | Reply<BodiesOf<R>>;
}

/** An endpoint as the pipeline, the docs and the matrix tests see it. */
export interface Endpoint<Context = object> {
  readonly id: string;
  readonly method: Method;
  readonly path: string;
  readonly root: boolean;
  readonly summary: string;
  readonly description: string | undefined;
  readonly deprecated: boolean;
  readonly permission: readonly string[];
  readonly deniedAs: readonly string[];
  readonly alsoOneOf: readonly string[];
  readonly auth: string | undefined;
  readonly params: Shape;
  readonly query: Shape;
  readonly looseQuery: boolean | 'kept';
  readonly body: z.ZodType | undefined;
  readonly bodyOptional: boolean;
  readonly form: boolean;
  readonly bytes: boolean;
  readonly bodyBytesMax: number | undefined;
  readonly largeBody: boolean;
  readonly returns: Returns;
  readonly status: number;
  readonly errors: readonly string[];
  readonly emits: readonly EventDeclaration[];
  readonly idempotency: 'accepted' | 'required' | 'own' | 'ignored';
  readonly ifMatch: string | undefined;
  readonly ifMatchOptional: boolean;
  readonly permissionFirst: boolean;
  readonly etag: string | undefined;
  readonly paging: boolean;
  readonly isList: boolean;
  readonly transaction: 'command' | 'statement' | 'none';
  readonly handlerLocksCaller: boolean;
  readonly isEmergency: boolean;
  readonly secrets: readonly string[];
  readonly unprinted: readonly string[];
  readonly example: unknown;
  readonly checkFilters: ((query: never) => void) | undefined;
  readonly precheck: ((input: Input<never, never, never>) => void) | undefined;
  readonly around:
    | ((input: Input<never, never, never>, surroundings: Surroundings<never, Context>) => Promise<Answer>)
    | undefined;
  readonly handle: (input: Input<never, never, never, never>, context: Context) => unknown;
}

/** An endpoint without its handlers. */
export type Operation = Omit<Endpoint, 'handle' | 'checkFilters' | 'precheck' | 'around'>;

/**
 * Creates the `endpoint` function of a service whose vocabulary is `V`. Everything else about an operation (route,
 * strict parsing, permission, OpenAPI, docs, matrix and truth tests) is derived from its declaration.
 * @param defaults the default Idempotency-Key mode of this service's mutations
 */
export function endpointsOf<V extends Vocabulary>(
  defaults: { idempotency: Endpoint['idempotency'] } = { idempotency: 'accepted' },
) {
  return <
    const P extends Shape | undefined = undefined,
    const Q extends Shape | undefined = undefined,
    B extends z.ZodType | undefined = undefined,
    const R extends Returns = Returns,
    X = undefined,
  >(
    spec: EndpointSpec<V, P, Q, B, R, X>,
  ): Endpoint<V['context']> => {
    const reads = spec.method === 'GET';
    const permission = typeof spec.permission === 'string' ? [spec.permission] : (spec.permission ?? []);
    return {
      id: spec.id,
      method: spec.method,
      path: spec.path,
      root: spec.root ?? false,
      summary: spec.summary,
      description: spec.description,
      deprecated: spec.deprecated ?? false,
      permission,
      deniedAs: spec.deniedAs ?? permission,
      alsoOneOf: spec.alsoOneOf ?? [],
      auth: spec.auth,
      params: spec.params ?? {},
      query: spec.query ?? {},
      looseQuery: spec.looseQuery ?? false,
      body: spec.body,
      bodyOptional: spec.bodyOptional ?? false,
      form: spec.form ?? false,
      bytes: spec.bytes ?? false,
      bodyBytesMax: spec.bodyBytesMax,
      largeBody: spec.largeBody ?? false,
      returns: spec.returns,
      status: Math.min(...Object.keys(spec.returns).map(Number)),
      errors: spec.errors ?? [],
      emits: spec.emits ?? [],
      idempotency: spec.idempotency ?? (reads ? 'ignored' : defaults.idempotency),
      ifMatch: spec.ifMatch,
      ifMatchOptional: spec.ifMatchOptional ?? false,
      permissionFirst: spec.permissionFirst ?? false,
      etag: spec.etag,
      paging: spec.paging ?? false,
      isList: spec.isList ?? (reads && spec.paging === true),
      transaction: spec.transaction ?? (reads ? 'none' : 'command'),
      handlerLocksCaller: spec.handlerLocksCaller ?? false,
      isEmergency: spec.isEmergency ?? false,
      secrets: spec.secrets ?? [],
      unprinted: spec.unprinted ?? [],
      example: spec.example,
      checkFilters: spec.checkFilters,
      precheck: spec.precheck,
      around: spec.around,
      handle: spec.handle,
    };
  };
}

/** The path of an endpoint from the root of its service. */
export function pathOf(basePath: string, { root, path }: Pick<Operation, 'root' | 'path'>): string {
  return root ? path : `${basePath}${path}`;
}

/** `POST /tasks/{ref}:claim`, the name of an endpoint in docs, tests and metrics. */
export function endpointName(endpoint: Pick<Operation, 'method' | 'path'>): string {
  return `${endpoint.method} ${endpoint.path}`;
}

/**
 * Whether text that PostgreSQL can't store (NUL, a lone surrogate) can pass the schemas of the path, the query and the
 * body, so that the pipeline has to refuse it.
 */
export function takesText({
  params,
  query,
  body,
  looseQuery,
  paging,
}: Pick<Operation, 'params' | 'query' | 'body' | 'looseQuery' | 'paging'>): boolean {
  const isText = (form: z.ZodType) => form.safeParse('a\0b').success;
  const known = [...Object.values(params), ...Object.values(query)];
  return body !== undefined || looseQuery === 'kept' || paging || known.some(isText);
}
