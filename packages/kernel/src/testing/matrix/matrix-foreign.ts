import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Operation } from '../../http/service.ts';
import { statementsOf } from '../database/statements.ts';
import {
  type IdentifierFixture,
  type Matrix,
  type MatrixAdapter,
  type MatrixCase,
  type SampleRequest,
  sendAs,
} from './matrix-service.ts';

/**
 * A request that refers to an object of another tenant reveals nothing about it: status, code and body are the same as
 * for an object that doesn't exist, and the service runs the same statements, so the timing is the same.
 */
export const foreignCases: readonly MatrixCase[] = [
  {
    name: "another tenant's object in the path is indistinguishable from one that does not exist",
    applies: ({ params }, { identifiers }) => Object.keys(params).length > 0 && identifiers !== undefined,
    async run(matrix, endpoint) {
      const own = await matrix.makeRequest(endpoint);
      if (own === undefined) return;
      for (const [name, foreign] of Object.entries(await matrix.makeForeignParams(endpoint))) {
        // Some parameters are not identifiers, such as a skill's name.
        if (!isUuid(foreign)) continue;
        await comparesAlike(matrix, endpoint, name, foreign, (id) => ({
          ...own,
          params: { ...own.params, [name]: id },
        }));
      }
    },
  },
  {
    name: "another tenant's object in the query is indistinguishable from one that does not exist",
    applies: (endpoint, adapter) => fixturesIn(endpoint, adapter, 'query').length > 0,
    async run(matrix, endpoint) {
      const own = await matrix.makeRequest(endpoint);
      if (own === undefined) return;
      for (const { path, object } of fixturesIn(endpoint, matrix.adapter, 'query')) {
        const query = new URLSearchParams(own.query);
        await comparesAlike(matrix, endpoint, path, await matrix.foreignId(object), (id) => {
          query.set(path, id);
          return { ...own, query: `?${query.toString()}` };
        });
      }
    },
  },
  {
    name: "another tenant's object in the body is refused, indistinguishable from one that does not exist",
    applies: (endpoint, adapter) => fixturesIn(endpoint, adapter, 'body').length > 0,
    async run(matrix, endpoint) {
      const own = await matrix.makeRequest(endpoint);
      if (own === undefined) return;
      const fixtures = fixturesIn(endpoint, matrix.adapter, 'body');
      const foreign = new Map<string, string>();
      for (const { object } of fixtures) foreign.set(object, await matrix.foreignId(object));
      const before = await matrix.store.mark();
      for (const { path, object, fixture } of fixtures) {
        const status = await comparesAlike(matrix, endpoint, path, foreign.get(object) as string, (id) => ({
          ...own,
          body: { ...(own.body as object), ...(fixture.fields?.(id) ?? fieldAt(path, id, own.body)) },
        }));
        if (fixture.mayBeAbsent !== true)
          assert.ok(status >= 400, `${path}: an object that doesn't exist was accepted`);
      }
      assert.deepEqual(await matrix.store.changesSince(before), [], 'nothing is changed');
    },
  },
];

/** Identifiers in bodies and queries whose target the adapter doesn't declare; one sentence each. */
export function unknownIdentifiers(adapter: MatrixAdapter): string[] {
  const { identifiers, endpoints } = adapter;
  if (identifiers === undefined) return [];
  return endpoints.flatMap((endpoint) =>
    (['query', 'body'] as const).flatMap((place) =>
      identifiersIn(endpoint, place)
        .filter((path) => fixtureOf(endpoint, identifiers, path) === undefined)
        .map(
          (path) =>
            `${endpoint.id} has the identifier ${path} in its ${place}: declare among the matrix's identifiers what it names.`,
        ),
    ),
  );
}

interface FoundIdentifier {
  readonly path: string;
  readonly object: string;
  readonly fixture: IdentifierFixture;
}

function fixturesIn(endpoint: Operation, adapter: MatrixAdapter, place: 'query' | 'body'): FoundIdentifier[] {
  const { identifiers } = adapter;
  if (identifiers === undefined) return [];
  return identifiersIn(endpoint, place).flatMap((path) => {
    const fixture = fixtureOf(endpoint, identifiers, path);
    return fixture === undefined || fixture.object === null
      ? []
      : [{ path, object: fixture.object, fixture }];
  });
}

function fixtureOf(
  { id }: Operation,
  identifiers: Readonly<Record<string, IdentifierFixture>>,
  path: string,
) {
  return identifiers[`${id}.${path}`] ?? identifiers[path];
}

const found = new WeakMap<z.ZodType | object, string[]>();

/** The paths of the fields that are declared as identifiers: a UUID, or another string that is declared as an id. */
function identifiersIn({ body, query }: Operation, place: 'query' | 'body'): string[] {
  const key = place === 'body' ? body : query;
  if (key === undefined || (place === 'query' && Object.keys(query).length === 0)) return [];
  const known = found.get(key);
  if (known !== undefined) return known;
  const form = place === 'body' ? (body as z.ZodType) : z.object(query);
  const schema: unknown = z.toJSONSchema(form, { io: 'input', unrepresentable: 'any' });
  const paths = [...new Set(pathsIn(schema as JsonSchema, schema as JsonSchema))];
  found.set(key, paths);
  return paths;
}

interface JsonSchema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly format?: string;
  readonly description?: string;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
}

function pathsIn(given: JsonSchema, root: JsonSchema, path: readonly string[] = []): string[] {
  const name = given.$ref?.replace('#/$defs/', '');
  const schema = name === undefined ? given : { ...root.$defs?.[name], ...given };
  const isIdentifier =
    schema.format === 'uuid' || /^The id of the .+, or its public id/.test(schema.description ?? '');
  if (isIdentifier) return [path.join('.')];
  return [
    ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap((one) => pathsIn(one, root, path)),
    ...(schema.items === undefined ? [] : pathsIn(schema.items, root, [...path, '[]'])),
    ...Object.entries(schema.properties ?? {}).flatMap(([key, value]) =>
      pathsIn(value, root, [...path, key]),
    ),
  ];
}

/** The first field of a path, with the identifier inside: for `excluded.[]`, `{ excluded: [id] }`. */
function fieldAt(path: string, id: string, body: unknown): object {
  const [first, ...rest] = path.split('.') as [string, ...string[]];
  const inside = (body as Readonly<Record<string, unknown>> | undefined)?.[first];
  if (rest.length === 0) return { [first]: id };
  if (rest.length === 1 && rest[0] === '[]') return { [first]: [id] };
  return { [first]: { ...(inside as object), ...fieldAt(rest.join('.'), id, inside) } };
}

/**
 * Background work of the process can change the state between the two requests. If the responses differ, both requests
 * are sent and compared again.
 */
const attemptsMax = 5;

/** Sends the same request with a foreign and with an absent identifier. @returns the status of both responses */
async function comparesAlike(
  matrix: Matrix,
  endpoint: Operation,
  name: string,
  foreign: string,
  requestWith: (id: string) => SampleRequest,
): Promise<number> {
  const ask = async (id: string) => {
    const headers = { 'x-request-id': 'alike' };
    const send = () => sendAs(matrix, endpoint, 'allowed', requestWith(id), { headers });
    const { result, statements } = await statementsOf(send);
    const body = result.text.replaceAll(id, '<id>');
    return { answer: { status: result.status, body }, statements };
  };
  for (let attempt = 1; ; attempt += 1) {
    const [of, absent] = [await ask(foreign), await ask(randomUUID())];
    assert.deepEqual(of.answer, absent.answer, `${name}: another tenant's, then absent`);
    if (attempt === attemptsMax)
      assert.deepEqual(of.statements, absent.statements, `${name}: its statements`);
    if (isAlike(of.statements, absent.statements)) return of.answer.status;
  }
}

function isAlike(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((text, index) => text === right[index]);
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}
