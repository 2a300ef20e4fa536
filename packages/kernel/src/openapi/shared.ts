import { pageLimitDefault, pageLimitMax } from '../http/paging.ts';

/** The parts that many operations share: described once under `components`, and referred to by name. */

export const headers = {
  'X-Request-Id': {
    description: 'The id of this request in logs and events: the sent one, or a new one.',
    schema: { type: 'string' },
  },
  ETag: {
    description: 'The version of the returned object, for If-Match: `"<entity>-<version>"`.',
    schema: { type: 'string' },
  },
  'Idempotency-Replayed': {
    description: 'Present if this is the stored response to an earlier request with the same key.',
    schema: { type: 'string', const: 'true' },
  },
  'Retry-After': {
    description: 'The number of seconds to wait before the next attempt.',
    schema: { type: 'integer', minimum: 0 },
  },
} as const;

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'The same key and request get the same response; the request is executed once.',
  schema: { type: 'string' },
};

export const parameters = {
  Limit: {
    name: 'limit',
    in: 'query',
    required: false,
    description: 'The maximum number of items.',
    schema: { type: 'integer', minimum: 1, maximum: pageLimitMax, default: pageLimitDefault },
  },
  Cursor: {
    name: 'cursor',
    in: 'query',
    required: false,
    description: 'The `nextCursor` of the previous page; absent for the first page.',
    schema: { type: 'string' },
  },
  IdempotencyKey: idempotencyKey,
  RequiredIdempotencyKey: { ...idempotencyKey, required: true },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    required: true,
    description:
      'The ETag of the object as you read it: `"<entity>-<version>"`. If the version has changed, the request is refused.',
    schema: { type: 'string' },
  },
  OptionalIfMatch: {
    name: 'If-Match',
    in: 'header',
    required: false,
    description:
      'Optional: the ETag of the object as you read it, `"<entity>-<version>"`. If the version has changed, the request is refused.',
    schema: { type: 'string' },
  },
} as const;

/** The header objects of a response: the request id, which every response has, and the given others. */
export function headersOf(...others: (keyof typeof headers)[]): Record<string, object> {
  const names = ['X-Request-Id', ...others] as const;
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

export function parameterReference(name: keyof typeof parameters): object {
  return { $ref: `#/components/parameters/${name}` };
}

/** The components of one kind that a document refers to. */
export function usedOf<T extends object>(kind: string, components: T, document: object): Partial<T> {
  const text = JSON.stringify(document);
  const used = Object.entries(components).filter(([name]) => text.includes(`"#/components/${kind}/${name}"`));
  return Object.fromEntries(used) as Partial<T>;
}
