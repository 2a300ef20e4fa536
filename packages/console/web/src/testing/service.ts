import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { BatonClient, ErrorCode } from '@baton/sdk';
import { readTable } from '../../../../sdk/src/call-table.ts';
import { coordinationOperations } from '../../../../sdk/src/generated/coordination-operations.ts';
import { identityOperations } from '../../../../sdk/src/generated/identity-operations.ts';

// A fake service. Tests define its responses by SDK operation, with the SDK's types. Without a response a list is
// empty, and any other request fails the test.

type Groups = Omit<BatonClient, 'identity' | 'accessToken' | 'coordinationUrl' | 'request'>;
type NamesIn<All> = {
  [Group in keyof All & string]: `${Group}.${keyof All[Group] & string}`;
}[keyof All & string];
type AnswerIn<All, Name> = Name extends `${infer Group}.${infer Short}`
  ? Group extends keyof All
    ? Short extends keyof All[Group]
      ? All[Group][Short] extends (...args: never[]) => infer Answer
        ? Awaited<Answer>
        : never
      : never
    : never
  : never;

/** For example `tasks.get` or `identity.principals.list`. */
export type OperationName = NamesIn<Groups> | `identity.${NamesIn<BatonClient['identity']>}`;
export type Answer<Name> = Name extends `identity.${infer Rest}`
  ? AnswerIn<BatonClient['identity'], Rest>
  : AnswerIn<Groups, Name>;
export type Item<Name> =
  Answer<Name> extends { items: (infer One)[] }
    ? One
    : Answer<Name> extends readonly (infer One)[]
      ? One
      : never;

/** One request as the service receives it. */
export interface Asked {
  readonly name: string;
  /** Path parameters, in order. */
  readonly ids: readonly string[];
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly headers: Headers;
}

export class Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;

  constructor(
    status: number,
    code: ErrorCode | 'signed_out' | 'browser_session_required' | 'code_invalid' | 'signed_in_as_other',
    message = `The code is ${code}.`,
  ) {
    this.status = status;
    this.code = code;
    this.message = message;
  }
}

type Answered<Value> = Value | Refusal | Response;
type Given<Value> = Answered<Value> | ((asked: Asked) => Answered<Value> | Promise<Answered<Value>>);
export type Answers = { [Name in OperationName]?: Given<Answer<Name>> };
/** Responses to requests that are not API operations, by path. */
export type Others = Record<string, Given<unknown>>;

interface Row {
  readonly name: string;
  readonly method: string;
  readonly path: RegExp;
  readonly template: string;
  readonly isPaged: boolean;
}

const rows: readonly Row[] = [
  ...rowsOf('', '', coordinationOperations),
  ...rowsOf('identity.', '/iam', identityOperations),
];

function rowsOf(prefix: string, base: string, table: string): Row[] {
  return [...readTable(table).values()].flatMap((group) =>
    [...group.values()].map(({ name, method, path, isPaged }) => ({
      name: prefix + name,
      method,
      path: new RegExp(
        `^${base}${path.map((part) => part.replaceAll(/[.*+?^$()[\]\\]/g, '\\$&')).join('([^/:]+)')}$`,
      ),
      template: path.join('{}'),
      isPaged,
    })),
  );
}

interface Media {
  readonly example?: unknown;
  readonly examples?: Record<string, { readonly $ref?: string }>;
}
interface Described {
  readonly responses: Record<string, { readonly content?: Record<string, Media> }>;
}
interface Document {
  readonly paths: Record<string, Record<string, Described>>;
  readonly components: { readonly examples: Record<string, { readonly value: unknown }> };
}

const documents = new Map<string, Document>();

function documentOf(name: 'coordination' | 'identity'): Document {
  const url = new URL(`../../../../../openapi/${name}.json`, import.meta.url);
  const known = documents.get(name) ?? (JSON.parse(readFileSync(url, 'utf8')) as Document);
  documents.set(name, known);
  return known;
}

/** Returns the example response of an operation from the API description, with some fields replaced. */
export function exampleOf<Name extends OperationName>(
  name: Name,
  other: Partial<Answer<Name>> = {},
): Answer<Name> {
  return { ...(documentedAnswer(name) as object), ...other } as Answer<Name>;
}

/** Returns the first item of a list operation's example, with some fields replaced. */
export function itemOf<Name extends OperationName>(name: Name, other: Partial<Item<Name>> = {}): Item<Name> {
  const answer = documentedAnswer(name) as { items: object[] } | object[];
  const [item] = Array.isArray(answer) ? answer : answer.items;
  return { ...item, ...other } as Item<Name>;
}

/** Returns the last page of a list. */
export function pageOf<One>(...items: One[]): { items: One[]; nextCursor: null } {
  return { items, nextCursor: null };
}

function documentedAnswer(name: string): unknown {
  const row = rows.find((one) => one.name === name);
  assert.ok(row, `there is no operation ${name}`);
  const document = documentOf(name.startsWith('identity.') ? 'identity' : 'coordination');
  const path =
    Object.keys(document.paths).find((one) => one.replaceAll(/\{\w+\}/g, '{}') === row.template) ?? '';
  const { responses } = document.paths[path]?.[row.method.toLowerCase()] ?? { responses: {} };
  const good = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1];
  const media = good?.content?.['application/json'];
  const [named] = Object.values(media?.examples ?? {});
  const value = media?.example ?? document.components.examples[named?.$ref?.split('/').at(-1) ?? '']?.value;
  assert.ok(value !== undefined, `${name} has no example`);
  return structuredClone(value);
}

/** A service that returns the given responses and records its requests. */
export class FakeService {
  readonly asked: Asked[] = [];
  /** Requests for which the test defined no response. */
  readonly unknown: string[] = [];
  readonly #answers: Map<string, Given<unknown>>;
  /** The `Date` header of its responses. */
  date: string | undefined;

  constructor(answers: Answers, others: Others) {
    this.#answers = new Map<string, Given<unknown>>([...Object.entries(answers), ...Object.entries(others)]);
  }

  /** Replaces responses from now on. */
  answer(answers: Answers, others: Others = {}): void {
    for (const [name, given] of [...Object.entries(answers), ...Object.entries(others)])
      this.#answers.set(name, given);
  }

  /** Returns the requests of one operation, in order. */
  askedFor(name: OperationName | `/${string}`): Asked[] {
    return this.asked.filter((one) => one.name === name);
  }

  readonly fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(String(input), 'http://baton.test');
    const row = rows.find(({ method, path }) => method === (init.method ?? 'GET') && path.test(url.pathname));
    const asked: Asked = {
      name: row?.name ?? url.pathname,
      ids: (row?.path.exec(url.pathname) ?? []).slice(1).map(decodeURIComponent),
      query: Object.fromEntries(url.searchParams),
      body: typeof init.body === 'string' ? (JSON.parse(init.body) as unknown) : init.body,
      headers: new Headers(init.headers),
    };
    this.asked.push(asked);
    // A network responds asynchronously, and not to an aborted request.
    await new Promise((resolve) => setImmediate(resolve));
    init.signal?.throwIfAborted();
    const given = this.#answers.get(asked.name);
    if (given === undefined && !row?.isPaged) this.unknown.push(`${init.method ?? 'GET'} ${url.pathname}`);
    if (given === undefined && !row?.isPaged) return this.#respond(new Refusal(404, 'not_found'));
    const value: unknown = typeof given === 'function' ? await given(asked) : (given ?? pageOf());
    init.signal?.throwIfAborted();
    return value instanceof Response ? value : this.#respond(value);
  };

  #respond(value: unknown): Response {
    const headers = { 'x-request-id': 'req_test', ...(this.date && { date: this.date }) };
    if (value instanceof Refusal) {
      const { status, code, message } = value;
      return Response.json({ error: { code, message, requestId: 'req_test' } }, { status, headers });
    }
    if (value === undefined) return new Response(null, { status: 204, headers });
    const { version } = value as { version?: number };
    return Response.json(value, {
      headers: { ...headers, ...(version !== undefined && { etag: `"v-${version}"` }) },
    });
  }
}
