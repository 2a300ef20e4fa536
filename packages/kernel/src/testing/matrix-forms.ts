import assert from 'node:assert/strict';
import type { z } from 'zod';
import type { Operation } from '../service.ts';
import { assertRefused, type Bench, formed, type MatrixCase, type Prepared, sendAs } from './matrix-bench.ts';

const canary = 'canary-5b7e21';

/** What is wrong with the form of a request is said before anything is done, and without repeating what was sent. */
export const formCases: readonly MatrixCase[] = [
  {
    name: 'an unknown field of the body is refused',
    applies: (endpoint, adapter) =>
      endpoint.method !== 'GET' &&
      (endpoint.body === undefined || adapter.ignoresUnknownFields?.(endpoint) !== true),
    async run(bench, endpoint) {
      const prepared = formed(endpoint, bench.adapter);
      await refuses(bench, endpoint, { ...prepared, body: { ...(prepared.body as object), zebra: canary } });
    },
  },
  {
    name: 'an unknown query parameter is refused',
    applies: () => true,
    run: (bench, endpoint) =>
      refuses(bench, endpoint, { ...formed(endpoint, bench.adapter), query: `?zebra=${canary}` }),
  },
  {
    name: 'a missing body is refused',
    applies: (endpoint) => endpoint.body !== undefined && !endpoint.bodyOptional,
    async run(bench, endpoint) {
      const received = await sendAs(bench, endpoint, 'allowed', formed(endpoint, bench.adapter), {
        text: undefined,
      });
      assertRefused(bench, received, bench.adapter.rulesOf(endpoint).invalid);
    },
  },
  {
    name: 'a body that is not JSON, or not an object, is refused',
    applies: (endpoint) => endpoint.body !== undefined,
    async run(bench, endpoint) {
      for (const text of [`{"${canary}`, `"${canary}"`, `["${canary}"]`, 'null', '1', ' ', '{}{}']) {
        const received = await sendAs(bench, endpoint, 'allowed', formed(endpoint, bench.adapter), { text });
        assertRefused(bench, received, bench.adapter.rulesOf(endpoint).invalid);
        assert.ok(!received.text.includes(canary), received.text);
      }
    },
  },
  {
    name: 'a malformed identifier in the path is refused',
    applies: (endpoint) => malformedParams(endpoint).length > 0,
    async run(bench, endpoint) {
      const prepared = formed(endpoint, bench.adapter);
      for (const name of malformedParams(endpoint))
        await refuses(bench, endpoint, { ...prepared, params: { ...prepared.params, [name]: canary } });
    },
  },
  {
    name: 'a NUL character or half a surrogate pair is refused',
    applies: (endpoint) => withText(endpoint, '\0') !== undefined || freeQuery(endpoint) !== undefined,
    async run(bench, endpoint) {
      const { adapter } = bench;
      const prepared = formed(endpoint, adapter);
      // A form can't hold half a pair.
      for (const text of endpoint.form ? ['\0'] : ['\0', '\ud800', '\udc00x']) {
        const body = withText(endpoint, text);
        if (body === undefined) continue;
        const received = await sendAs(bench, endpoint, 'allowed', { ...prepared, body });
        assertRefused(bench, received, adapter.rulesOf(endpoint).unstorable);
      }
      const name = freeQuery(endpoint);
      if (name === undefined) return;
      const received = await sendAs(bench, endpoint, 'allowed', { ...prepared, query: `?${name}=a%00b` });
      assertRefused(bench, received, adapter.rulesOf(endpoint).unstorable);
    },
  },
];

async function refuses(bench: Bench, endpoint: Operation, prepared: Prepared): Promise<void> {
  const received = await sendAs(bench, endpoint, 'allowed', prepared);
  assertRefused(bench, received, bench.adapter.rulesOf(endpoint).invalid);
  assert.ok(!received.text.includes(canary), received.text);
}

function malformedParams({ params }: Operation): string[] {
  return Object.keys(params).filter((name) => params[name]?.safeParse(canary).success === false);
}

function freeQuery({ query }: Operation): string | undefined {
  return Object.keys(query).find((name) => query[name]?.safeParse('a\0b').success);
}

/** The endpoint's example with `text` added to a string whose content the schema leaves free; undefined without one. */
export function withText({ body, example }: Operation, text: string): unknown {
  for (const path of stringsIn(example)) {
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
