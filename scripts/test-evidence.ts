// Loaded into each test process (scripts/test-run.ts). It stores the last response, so that a failing test prints that
// response and the service's log of its request.
import { subscribe } from 'node:diagnostics_channel';
import { afterEach } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { isMainThread } from 'node:worker_threads';
import { logLinesWith } from '@baton/testing/recent-log';

interface Exchange {
  readonly request: string;
  status?: number;
  requestId?: string;
  body: string;
}

/** The fields of undici's and node:http's messages that this file reads. */
interface FetchMessage {
  readonly request: { readonly method: string; readonly path: string };
  readonly response: { readonly statusCode: number; readonly headers: readonly Buffer[] };
  readonly chunk: Uint8Array;
}
interface HttpMessage {
  readonly request: { readonly method: string; readonly path: string };
  readonly response: {
    readonly statusCode: number;
    readonly headers: Readonly<Record<string, string | undefined>>;
  };
}

const bodyCharactersMax = 1000;
const lineCharactersMax = 400;
const logLinesMax = 7;

let last: Exchange | undefined;
const open = new WeakMap<object, Exchange>();
const evidence = new WeakMap<object, readonly string[]>();

on<FetchMessage>('undici:request:headers', ({ request, response }) => {
  const headers = response.headers.map(String);
  const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'x-request-id');
  last = { request: `${request.method} ${request.path}`, status: response.statusCode, body: '' };
  if (at >= 0) last.requestId = headers[at + 1] as string;
  open.set(request, last);
});
on<FetchMessage>('undici:request:bodyChunkReceived', ({ request, chunk }) => {
  const exchange = open.get(request);
  if (exchange !== undefined && exchange.body.length < bodyCharactersMax)
    exchange.body += Buffer.from(chunk.subarray(0, bodyCharactersMax)).toString();
});
on<HttpMessage>('http.client.response.finish', ({ request, response }) => {
  const id = response.headers['x-request-id'];
  last = { request: `${request.method} ${request.path}`, status: response.statusCode, body: '' };
  if (id !== undefined) last.requestId = id;
});

// Workers and child processes of a test load this file too. They get no hook, because they would overwrite the test's
// report.
if (isMainThread && /\.test\.\w+$|\/test-group\.ts$/.test(process.argv[1] ?? ''))
  afterEach(async (t) => {
    const { error } = t as { error?: unknown };
    if (typeof error !== 'object' || error === null) return;
    const { cause } = error as Error;
    const lines = await evidenceNow(typeof cause === 'object' && cause !== null ? cause : error);
    evidence.set(error, lines);
    if (typeof cause === 'object' && cause !== null) evidence.set(cause, lines);
  });

/** Returns at most ten lines about a failed test: the expected and actual values, the last response, and its log. */
export const collectEvidence = (error: unknown): readonly string[] =>
  (typeof error === 'object' && error !== null ? evidence.get(error) : undefined) ?? [];

async function evidenceNow(error: object): Promise<string[]> {
  const { maskSecrets } = await import('@baton/kernel/testing/leaks/secret-forms');
  const { actual, expected } = error as { actual?: unknown; expected?: unknown };
  const isComparison = 'expected' in error && 'actual' in error && !isDeepStrictEqual(actual, expected);
  const lines = isComparison ? [`expected: ${written(expected)}; got: ${written(actual)}`] : [];
  if (last !== undefined) {
    const { request, status, requestId, body } = last;
    lines.push(`last answer: ${request} → ${status}, request ${requestId ?? 'without an id'}`);
    if (body !== '') lines.push(`its body: ${body}`);
    const logged = requestId === undefined ? [] : logLinesWith(requestId);
    const shown = logged.slice(-logLinesMax);
    lines.push(
      ...(shown.length > 0 ? shown.map((line) => `logged: ${line}`) : ['logged: nothing about that request']),
    );
  }
  return lines.map((line) => maskSecrets(line).replaceAll('\n', ' ').slice(0, lineCharactersMax));
}

/** Formats a value on one line. */
function written(value: unknown): string {
  if (value instanceof RegExp || typeof value === 'function') return String(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

function on<Message>(channel: string, note: (message: Message) => void): void {
  subscribe(channel, (message) => note(message as Message));
}
