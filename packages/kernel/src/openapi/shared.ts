import { pageLimitDefault, pageLimitMax } from '../http/paging.ts';

/** What is the same at many operations: described once under `components`, and referred to by name. */

export const headers = {
  'X-Request-Id': {
    description: 'Names this request in logs and events: the id that was sent, else a new one.',
    schema: { type: 'string' },
  },
  ETag: {
    description: 'The version of what is answered, for If-Match: `"<entity>-<version>"`.',
    schema: { type: 'string' },
  },
  'Idempotency-Replayed': {
    description: 'Present when this is the stored answer to an earlier request with the same key.',
    schema: { type: 'string', const: 'true' },
  },
  'Retry-After': {
    description: 'How many seconds to wait before the next attempt.',
    schema: { type: 'integer', minimum: 0 },
  },
} as const;

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'The same key and request give the same answer, executed once.',
  schema: { type: 'string' },
};

export const parameters = {
  Limit: {
    name: 'limit',
    in: 'query',
    required: false,
    description: 'How many items at most.',
    schema: { type: 'integer', minimum: 1, maximum: pageLimitMax, default: pageLimitDefault },
  },
  Cursor: {
    name: 'cursor',
    in: 'query',
    required: false,
    description: 'The `nextCursor` of the page before; absent for the first page.',
    schema: { type: 'string' },
  },
  IdempotencyKey: idempotencyKey,
  RequiredIdempotencyKey: { ...idempotencyKey, required: true },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    required: true,
    description: 'The ETag that was read: `"<entity>-<version>"`. Another version is refused.',
    schema: { type: 'string' },
  },
  OptionalIfMatch: {
    name: 'If-Match',
    in: 'header',
    required: false,
    description: 'The ETag that was read: `"<entity>-<version>"`. Given, another version is refused.',
    schema: { type: 'string' },
  },
} as const;

/** The header objects of a response: the request id, which every answer has, and the named others. */
export function headersOf(...others: (keyof typeof headers)[]): Record<string, object> {
  const names = ['X-Request-Id', ...others] as const;
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

export function parameterReference(name: keyof typeof parameters): object {
  return { $ref: `#/components/parameters/${name}` };
}

/** Those components of one kind that a document refers to. */
export function usedOf<T extends object>(kind: string, components: T, document: object): Partial<T> {
  const text = JSON.stringify(document);
  const used = Object.entries(components).filter(([name]) => text.includes(`"#/components/${kind}/${name}"`));
  return Object.fromEntries(used) as Partial<T>;
}
