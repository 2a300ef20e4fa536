import assert from 'node:assert/strict';
import type { z } from 'zod';
import type { Operation } from '../../http/service.ts';
import {
  assertRefused,
  type Matrix,
  type MatrixCase,
  type SampleRequest,
  sampleRequest,
  sendAs,
} from './matrix-service.ts';

const canary = 'canary-5b7e21';

/** A malformed request is refused before it has any effect, and the response doesn't repeat the input. */
export const formCases: readonly MatrixCase[] = [
  {
    name: 'an unknown field of the body is refused',
    applies: (endpoint, adapter) =>
      endpoint.method !== 'GET' &&
      !endpoint.bytes &&
      (endpoint.body === undefined || adapter.ignoresUnknownFields?.(endpoint) !== true),
    async run(matrix, endpoint) {
      const request = sampleRequest(endpoint, matrix.adapter);
      await refuses(matrix, endpoint, { ...request, body: { ...(request.body as object), zebra: canary } });
    },
  },
  {
    name: 'an unknown query parameter is refused',
    applies: ({ looseQuery }) => !looseQuery,
    run: (matrix, endpoint) =>
      refuses(matrix, endpoint, { ...sampleRequest(endpoint, matrix.adapter), query: `?zebra=${canary}` }),
  },
  {
    name: 'an unknown query parameter is ignored where a standard wants it',
    applies: ({ looseQuery }) => looseQuery !== false,
    async run(matrix, endpoint) {
      const request = sampleRequest(endpoint, matrix.adapter);
      const loose = { ...request, query: `?zebra=${canary}&zebra=%00` };
      const { status, text } = await sendAs(matrix, endpoint, 'allowed', loose);
      if (status !== matrix.adapter.rulesOf(endpoint).invalid.status) return;
      // The endpoint requires other parameters, so only their absence is refused.
      assert.equal((await sendAs(matrix, endpoint, 'allowed', request)).text, text);
    },
  },
  {
    name: 'a missing body is refused',
    applies: (endpoint) => endpoint.body !== undefined && !endpoint.bodyOptional,
    async run(matrix, endpoint) {
      const received = await sendAs(matrix, endpoint, 'allowed', sampleRequest(endpoint, matrix.adapter), {
        text: undefined,
      });
      assertRefused(matrix, received, matrix.adapter.rulesOf(endpoint).invalid);
    },
  },
  {
    name: 'a body that is not JSON, or not an object, is refused',
    applies: (endpoint) => endpoint.body !== undefined,
    async run(matrix, endpoint) {
      for (const text of [`{"${canary}`, `"${canary}"`, `["${canary}"]`, 'null', '1', ' ', '{}{}']) {
        const received = await sendAs(matrix, endpoint, 'allowed', sampleRequest(endpoint, matrix.adapter), {
          text,
        });
        const { invalid, notJson = invalid } = matrix.adapter.rulesOf(endpoint);
        assertRefused(matrix, received, isJson(text) ? invalid : notJson);
        assert.ok(!received.text.includes(canary), received.text);
      }
    },
  },
  {
    name: 'a malformed identifier in the path is refused',
    applies: (endpoint) => malformedParams(endpoint).length > 0,
    async run(matrix, endpoint) {
      const request = sampleRequest(endpoint, matrix.adapter);
      for (const name of malformedParams(endpoint))
        await refuses(matrix, endpoint, { ...request, params: { ...request.params, [name]: canary } });
    },
  },
  {
    name: 'a NUL character in the path or the query is refused as described by the API description',
    applies: (endpoint) => textParams(endpoint).length > 0 || freeQuery(endpoint) !== undefined,
    async run(matrix, endpoint) {
      const { statuses, codes } = await describedRefusals(matrix, endpoint);
      const request = sampleRequest(endpoint, matrix.adapter);
      const query = freeQuery(endpoint);
      const sent = textParams(endpoint).map((name) => ({
        ...request,
        params: { ...request.params, [name]: 'a\0b' },
      }));
      if (query !== undefined) sent.push({ ...request, query: `?${query}=a%00b` });
      for (const one of sent) {
        const received = await sendAs(matrix, endpoint, 'allowed', one);
        assertRefused(matrix, received, matrix.adapter.rulesOf(endpoint).unstorable);
        assert.ok(statuses.includes(String(received.status)), `${received.status} is not declared`);
        assert.ok(codes.includes('validation_error'), 'validation_error is not declared');
      }
    },
  },
  {
    name: 'a NUL character or half a surrogate pair is refused',
    applies: (endpoint) => withText(endpoint, '\0') !== undefined || freeQuery(endpoint) !== undefined,
    async run(matrix, endpoint) {
      const { adapter } = matrix;
      const request = sampleRequest(endpoint, adapter);
      // A form can't contain a lone surrogate.
      for (const text of endpoint.form ? ['\0'] : ['\0', '\ud800', '\udc00x']) {
        const body = withText(endpoint, text);
        if (body === undefined) continue;
        const received = await sendAs(matrix, endpoint, 'allowed', { ...request, body });
        assertRefused(matrix, received, adapter.rulesOf(endpoint).unstorable);
      }
      const name = freeQuery(endpoint);
      if (name === undefined) return;
      const received = await sendAs(matrix, endpoint, 'allowed', { ...request, query: `?${name}=a%00b` });
      assertRefused(matrix, received, adapter.rulesOf(endpoint).unstorable);
    },
  },
];

async function refuses(matrix: Matrix, endpoint: Operation, request: SampleRequest): Promise<void> {
  const received = await sendAs(matrix, endpoint, 'allowed', request);
  assertRefused(matrix, received, matrix.adapter.rulesOf(endpoint).invalid);
  assert.ok(!received.text.includes(canary), received.text);
}

function malformedParams({ params }: Operation): string[] {
  return Object.keys(params).filter((name) => params[name]?.safeParse(canary).success === false);
}

/** The path parameters whose schema accepts any string. */
function textParams({ params }: Operation): string[] {
  return Object.keys(params).filter((name) => params[name]?.safeParse('a\0b').success);
}

/** The statuses and codes that the API description declares for an operation. */
async function describedRefusals({ client }: Matrix, { id }: Operation) {
  const { body } = await client.send({ method: 'GET', path: '/openapi.json' });
  const { paths } = body as { paths: Record<string, Record<string, DescribedOperation>> };
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const described = operations.find(({ operationId }) => operationId === id);
  assert.ok(described !== undefined);
  return { statuses: Object.keys(described.responses), codes: described['x-errors'] };
}

interface DescribedOperation {
  readonly operationId: string;
  readonly responses: object;
  readonly 'x-errors': readonly string[];
}

function freeQuery({ query }: Operation): string | undefined {
  return Object.keys(query).find((name) => query[name]?.safeParse('a\0b').success);
}

/**
 * The endpoint's example with `text` added to a string whose content the schema leaves free; undefined if there is no
 * such string.
 */
export function withText(
  { body, example }: Operation,
  text: string,
  without: readonly string[] = [],
): unknown {
  for (const path of stringsIn(example)) {
    if (without.includes(path[0] as string)) continue;
    const copy = structuredClone(example);
    const last = path.at(-1) as string;
    const owner = path.slice(0, -1).reduce((at, name) => at[name] as Tree, copy as Tree);
    owner[last] = `${owner[last]}${text}`;
    if ((body as z.ZodType).safeParse(copy).success) return copy;
  }
  return undefined;
}

type Tree = Record<string, unknown>;

function stringsIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value === 'string') return path.length === 0 ? [] : [path];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => stringsIn(item, [...path, name]));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
