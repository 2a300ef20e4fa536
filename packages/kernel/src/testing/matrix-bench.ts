import assert from 'node:assert/strict';
import { endpointName, type Operation } from '../service.ts';
import type { Client, Received } from './matrix-client.ts';

/** Who sends a request of the matrix. */
export type MatrixCaller =
  /** May do everything. */
  | 'allowed'
  /** May do everything too, and is somebody else. */
  | 'second'
  /** Sends no credential. */
  | 'anonymous'
  /** Has a credential and none of the endpoint's permissions. */
  | 'powerless'
  /** Has the permission, and a token whose scope covers none of it. */
  | 'narrow'
  /** Has a token without any scope of this service. */
  | 'scopeless';

/** What an answer must be: its status, and the code as the service's envelope shows it. */
export interface Expected {
  readonly status: number;
  readonly code: string;
}

export interface MatrixRules {
  readonly unauthenticated: Expected;
  readonly invalid: Expected;
  readonly unstorable: Expected;
  readonly tooLarge: Expected;
  readonly wrongMethod: Expected;
  readonly keyRequired: Expected;
  readonly keyTooLong: Expected;
  /** Where endpoints ask for permissions. */
  readonly denied?: Expected;
  readonly scopeless?: Expected;
  /** Where the pipeline keeps answers under keys. */
  readonly keyReused?: Expected;
  /** Where endpoints ask for If-Match. */
  readonly ifMatchRequired?: Expected;
  readonly ifMatchInvalid?: Expected;
}

/** A request with everything that its endpoint wants. */
export interface Prepared {
  readonly params: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One service under test. */
export interface MatrixService {
  readonly url: string;
  /** The headers that make a caller; undefined where the endpoint knows no such caller, and its tests are left out. */
  headersOf(endpoint: Operation, caller: MatrixCaller): Readonly<Record<string, string>> | undefined;
  /** A request that the allowed caller makes with success; makes what it needs. Undefined where none could succeed. */
  prepare(endpoint: Operation): Promise<Prepared | undefined>;
  /** An object of another tenant for one parameter of the path; undefined where none could exist. */
  foreign(endpoint: Operation, param: string): Promise<string | undefined>;
  /** A text that changes with any change of the store that a client could notice. */
  state(): Promise<string>;
  close(): Promise<void>;
}

export interface MatrixAdapter {
  readonly service: string;
  readonly basePath: string;
  readonly endpoints: readonly Operation[];
  /** The rules may differ by endpoint: SCIM has an envelope of its own. */
  rulesOf(endpoint: Operation): MatrixRules;
  /** The code in an answer's envelope; undefined for one of another form. */
  codeOf(body: unknown): string | undefined;
  keyRequired(endpoint: Operation): boolean;
  bodyBytesMax(endpoint: Operation): number;
  sizeBeforeCredential(endpoint: Operation): boolean;
  /** Where a standard wants unknown fields of a body ignored; nowhere when absent. */
  ignoresUnknownFields?(endpoint: Operation): boolean;
  start(): Promise<MatrixService>;
}

/** What every case works with. */
export interface Bench {
  readonly adapter: MatrixAdapter;
  readonly service: MatrixService;
  readonly client: Client;
}

export interface MatrixCase {
  /** The sentence that the endpoint keeps. */
  readonly name: string;
  applies(endpoint: Operation, adapter: MatrixAdapter): boolean;
  run(bench: Bench, endpoint: Operation): Promise<void>;
}

const sampleUuid = '0190b2c4-7e1f-7a2b-8c3d-4e5f60718293';

/** A request whose form is right and whose objects need not exist: for what is refused before they are looked for. */
export function formed(endpoint: Operation, adapter: MatrixAdapter): Prepared {
  const params = Object.fromEntries(Object.keys(endpoint.params).map((name) => [name, sampleUuid]));
  if (endpoint.body !== undefined && endpoint.example === undefined)
    throw new Error(
      `${endpointName(endpoint)} needs an example of its body: the matrix and the docs send it.`,
    );
  return {
    params,
    headers: {
      ...(endpoint.ifMatch === undefined ? {} : { 'if-match': `"${endpoint.ifMatch}-1"` }),
      ...(adapter.keyRequired(endpoint) ? { 'idempotency-key': 'matrix' } : {}),
    },
    ...(endpoint.body === undefined ? {} : { body: endpoint.example }),
  };
}

/** The path of an endpoint with its parameters filled in. */
export function pathOf(endpoint: Operation, adapter: MatrixAdapter, params: Prepared['params']): string {
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  );
  return endpoint.root ? path : `${adapter.basePath}${path}`;
}

/** Sends a request as one of the callers; `changes` replaces parts of it, and an undefined header takes it away. */
export function sendAs(
  { adapter, service, client }: Bench,
  endpoint: Operation,
  caller: MatrixCaller,
  prepared: Prepared,
  changes: { headers?: Record<string, string | undefined>; text?: string | undefined } = {},
): Promise<Received> {
  const credential = service.headersOf(endpoint, caller) ?? {};
  const media = endpoint.form ? { 'content-type': 'application/x-www-form-urlencoded' } : {};
  const headers = Object.entries({ ...media, ...prepared.headers, ...credential, ...changes.headers }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const text =
    'text' in changes
      ? changes.text
      : prepared.body === undefined
        ? undefined
        : endpoint.form
          ? new URLSearchParams(prepared.body as Record<string, string>).toString()
          : JSON.stringify(prepared.body);
  return client.send({
    method: endpoint.method,
    path: `${pathOf(endpoint, adapter, prepared.params)}${prepared.query ?? ''}`,
    headers: Object.fromEntries(headers),
    ...(text === undefined ? {} : { body: text }),
  });
}

/** Asserts that an answer is the refusal expected, with the service's envelope. */
export function assertRefused({ adapter }: Bench, received: Received, expected: Expected | undefined): void {
  assert.ok(expected !== undefined, `${adapter.service} has no rule for this refusal`);
  const got = { status: received.status, code: adapter.codeOf(received.body) };
  assert.deepEqual(got, { status: expected.status, code: expected.code }, received.text);
}

/** Whether the pipeline keeps the answers of this endpoint under a key. */
export function keyed(endpoint: Operation): boolean {
  return endpoint.idempotency === 'accepted' || endpoint.idempotency === 'required';
}
