import assert from 'node:assert/strict';
import { endpointName, type Operation } from '../../http/service.ts';
import type { Client, Received } from './matrix-client.ts';
import type { StoreWatch } from './store-changes.ts';

/** The caller of a request in the matrix. */
export type MatrixCaller =
  /** May do everything. */
  | 'allowed'
  /** Another principal with all permissions. */
  | 'second'
  /** Sends no credential. */
  | 'anonymous'
  /** Has a credential and none of the endpoint's permissions. */
  | 'powerless'
  /** Has the permission, and a token whose scope covers none of it. */
  | 'narrow'
  /** Has a token without any scope of this service. */
  | 'scopeless';

/** The expected response: its status, and the code in the service's envelope. */
export interface Expected {
  readonly status: number;
  readonly code: string;
}

export interface MatrixRules {
  readonly unauthenticated: Expected;
  readonly invalid: Expected;
  /** The response to text that is not JSON, if that differs from `invalid`. */
  readonly notJson?: Expected;
  readonly unstorable: Expected;
  readonly tooLarge: Expected;
  readonly wrongMethod: Expected;
  readonly keyRequired: Expected;
  readonly keyTooLong: Expected;
  /** Present for services whose endpoints require permissions. */
  readonly denied?: Expected;
  readonly scopeless?: Expected;
  /** The store of responses by idempotency key. */
  readonly keyReused?: Expected;
  /** Present for services whose endpoints require If-Match. */
  readonly ifMatchRequired?: Expected;
  readonly ifMatchInvalid?: Expected;
}

/** A request to which no credential has been added yet. */
export interface SampleRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The description of a service for the matrix. */
export interface MatrixAdapter {
  readonly service: string;
  readonly basePath: string;
  readonly endpoints: readonly Operation[];
  readonly migrationsDirectory: string;
  /** Tables (`table`) and columns (`table.column`) whose changes no client can observe. */
  readonly ignoredChanges: readonly string[];
  /** The rules may differ by endpoint: SCIM has its own envelope. */
  rulesOf(endpoint: Operation): MatrixRules;
  /** The code in a response's envelope; undefined if the body isn't this envelope. */
  codeOf(body: unknown): string | undefined;
  keyRequired(endpoint: Operation): boolean;
  bodyBytesMax(endpoint: Operation): number;
  sizeBeforeCredential(endpoint: Operation): boolean;
  /**
   * The kinds of objects that identifiers in bodies and queries refer to, by the path of the field
   * (`evidence.[].artifactId`), prefixed by the operation's id if operations differ (`createTask.typeId`). Absent: they
   * are not tested.
   */
  readonly identifiers?: Readonly<Record<string, IdentifierFixture>>;
  /** The operations whose standard requires unknown body fields to be ignored; none by default. */
  ignoresUnknownFields?(endpoint: Operation): boolean;
}

/** An identifier in a body or a query. */
export interface IdentifierFixture {
  /** The path of the object: `/claims/{id}`. Null for identifiers of objects outside tenants. */
  readonly object: string | null;
  /**
   * An identifier of an absent object is allowed too, for instance in a call that removes an object that may already
   * have been removed.
   */
  readonly mayBeAbsent?: true;
  /** The fields that contain the identifier, if it occurs in more fields than this one. */
  fields?(id: string): object;
}

/** One service under test. Its fixtures create objects with a `Tenant`. */
export interface MatrixService<Tenant = object> {
  readonly url: string;
  readonly databaseUrl: string;
  /** Objects created with this tenant are the allowed caller's own. */
  readonly tenant: Tenant;
  /** Objects created with this tenant are foreign to the allowed caller. */
  readonly otherTenant: Tenant;
  /** The settings with which another process of the service uses the same database. */
  readonly env?: Readonly<Record<string, string>>;
  /** The headers of a caller; undefined if the endpoint has no such caller, in which case its tests are omitted. */
  headersOf(endpoint: Operation, caller: MatrixCaller): Readonly<Record<string, string>> | undefined;
  close(): Promise<void>;
}

/** A service under test, and the requests to it. */
export interface MatrixTarget {
  readonly adapter: MatrixAdapter;
  readonly service: MatrixService;
  readonly client: Client;
}

/** The context of every case. */
export interface Matrix extends MatrixTarget {
  readonly store: StoreWatch;
  /** A successful request from the allowed caller to its own objects; undefined if none can succeed. */
  makeRequest(endpoint: Operation): Promise<SampleRequest | undefined>;
  /**
   * The path parameters of such a request for another tenant's objects, without the parameters for objects that no
   * tenant owns.
   */
  makeForeignParams(endpoint: Operation): Promise<Readonly<Record<string, string>>>;
  /** The identifier of an object of another tenant, by the path of such objects. */
  foreignId(path: string): Promise<string>;
}

export interface MatrixCase {
  /** The rule that the endpoint must satisfy. */
  readonly name: string;
  applies(endpoint: Operation, adapter: MatrixAdapter): boolean;
  run(matrix: Matrix, endpoint: Operation): Promise<void>;
}

/** A valid identifier without an object. */
export const sampleUuid = '0190b2c4-7e1f-7a2b-8c3d-4e5f60718293';

/** A number, or a key with its version, for parameters whose schema doesn't accept the identifier. */
function sampleOf(form: Operation['params'][string]): string {
  return [sampleUuid, '1', 'key@1'].find((text) => form.safeParse(text).success) ?? sampleUuid;
}

/** A valid request whose objects need not exist, for refusals before the lookup. */
export function sampleRequest(endpoint: Operation, adapter: MatrixAdapter): SampleRequest {
  const params = Object.fromEntries(
    Object.entries(endpoint.params).map(([name, form]) => [name, sampleOf(form)]),
  );
  if (endpoint.body !== undefined && endpoint.example === undefined)
    throw new Error(
      `${endpointName(endpoint)} needs an example of its body: the matrix and the docs send it.`,
    );
  const needed = Object.entries(endpoint.query).filter(([, form]) => !form.safeParse(undefined).success);
  return {
    params,
    ...(needed.length > 0 && { query: `?${needed.map(([name]) => `${name}=${sampleUuid}`).join('&')}` }),
    headers: {
      ...(endpoint.ifMatch === undefined ? {} : { 'if-match': `"${endpoint.ifMatch}-1"` }),
      ...(adapter.keyRequired(endpoint) ? { 'idempotency-key': 'matrix' } : {}),
    },
    ...(endpoint.body === undefined && !endpoint.bytes ? {} : { body: endpoint.example }),
  };
}

/** The path of an endpoint with its parameters filled in. */
export function pathOf(endpoint: Operation, adapter: MatrixAdapter, params: SampleRequest['params']): string {
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  );
  return endpoint.root ? path : `${adapter.basePath}${path}`;
}

/** Sends a request as one of the callers; `changes` replaces parts of it, and an undefined header is removed. */
export function sendAs(
  { adapter, service, client }: MatrixTarget,
  endpoint: Operation,
  caller: MatrixCaller,
  request: SampleRequest,
  changes: { headers?: Record<string, string | undefined>; text?: string | undefined } = {},
): Promise<Received> {
  const credential = service.headersOf(endpoint, caller) ?? {};
  const media = endpoint.form ? { 'content-type': 'application/x-www-form-urlencoded' } : {};
  const headers = Object.entries({ ...media, ...request.headers, ...credential, ...changes.headers }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const text =
    'text' in changes
      ? changes.text
      : request.body === undefined
        ? undefined
        : endpoint.form
          ? new URLSearchParams(request.body as Record<string, string>).toString()
          : JSON.stringify(request.body);
  return client.send({
    method: endpoint.method,
    path: `${pathOf(endpoint, adapter, request.params)}${request.query ?? ''}`,
    headers: Object.fromEntries(headers),
    ...(text === undefined ? {} : { body: text }),
  });
}

/** Asserts that a response is the expected refusal in the service's envelope. */
export function assertRefused({ adapter }: Matrix, received: Received, expected: Expected | undefined): void {
  assert.ok(expected !== undefined, `${adapter.service} has no rule for this refusal`);
  const got = { status: received.status, code: adapter.codeOf(received.body) };
  assert.deepEqual(got, { status: expected.status, code: expected.code }, received.text);
}

/** Whether the pipeline stores the responses of this endpoint under a key. */
export function keyed(endpoint: Operation): boolean {
  return endpoint.idempotency === 'accepted' || endpoint.idempotency === 'required';
}
