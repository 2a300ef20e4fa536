import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { endpointName, type Operation } from '../../http/service.ts';
import { createTestDatabase } from '../database/database.ts';
import { type Client, createClient } from './matrix-client.ts';
import {
  addressesShared,
  type Fixtures,
  findFixtureProblems,
  makeFixture,
  makeFixtureRequest,
} from './matrix-fixtures.ts';
import { foreignCases, unknownIdentifiers } from './matrix-foreign.ts';
import { formCases } from './matrix-forms.ts';
import { guardCases } from './matrix-guards.ts';
import { replayCases } from './matrix-replay.ts';
import {
  type Matrix,
  type MatrixAdapter,
  type MatrixService,
  type MatrixTarget,
  type SampleRequest,
  sendAs,
} from './matrix-service.ts';
import { watchStore } from './store-changes.ts';
import { findUnnoticedChanges } from './store-changes-check.ts';

export interface MatrixSetup<Tenant extends object> extends MatrixAdapter {
  readonly fixtures: Fixtures<Tenant>;
  start(): Promise<MatrixService<Tenant>>;
}

/**
 * Registers the tests that every endpoint must pass, so that nobody has to write them by hand (CONTRIBUTING.md). The
 * cost of each doesn't depend on the number of endpoints; the last line of the report contains that cost.
 */
export function matrixTests<Tenant extends object>(setup: MatrixSetup<Tenant>): void {
  const { service, endpoints, fixtures } = setup;
  const cases = [...guardCases, ...foreignCases, ...formCases, ...replayCases];
  const cost = { cases: 0, requests: 0, ms: 0 };
  describe(`matrix of ${service}`, () => {
    let matrix: Matrix;
    before(async () => {
      matrix = await startMatrix(setup, () => {
        cost.requests += 1;
      });
    });
    after(async (suite) => {
      suite.diagnostic(costLine(setup, cost));
      matrix.client.close();
      await matrix.store.close();
      await matrix.service.close();
    });

    test('the matrix sees every operation that the service describes', async () => {
      const { body } = await matrix.client.send({ method: 'GET', path: '/openapi.json' });
      const { paths } = body as { paths: Record<string, Record<string, { operationId: string }>> };
      const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
      assert.ok(endpoints.length > 0);
      assert.equal(operations.length, endpoints.length);
      assert.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length);
    });

    test('every parameter has a fixture, and every fixture an operation', () => {
      const named = Object.values(setup.identifiers ?? {}).map(({ object }) => object);
      assert.deepEqual(findFixtureProblems(fixtures, endpoints, named), []);
    });

    test('every identifier in a body or a query has a fixture', () => {
      assert.deepEqual(unknownIdentifiers(setup), []);
    });

    test('a change of any table is noticed', () => seesEveryTable(setup));

    for (const endpoint of endpoints) {
      describe(endpointName(endpoint), () => {
        for (const { name, applies, run } of cases) {
          if (!applies(endpoint, setup)) continue;
          test(name, async () => {
            const began = performance.now();
            await run(matrix, endpoint);
            cost.ms += performance.now() - began;
            cost.cases += 1;
          });
        }
      });
    }
  });
}

async function startMatrix<Tenant extends object>(
  setup: MatrixSetup<Tenant>,
  onRequest: () => void,
): Promise<Matrix> {
  const { fixtures } = setup;
  const service = await setup.start();
  const client = createClient(service.url);
  const counted: Client = {
    ...client,
    send(sent) {
      onRequest();
      return client.send(sent);
    },
  };
  const matrix: Matrix & { readonly service: MatrixService<Tenant> } = {
    adapter: setup,
    service,
    client: counted,
    store: await watchStore(service.databaseUrl, setup.ignoredChanges),
    makeRequest: (endpoint) => makeSampleRequest(setup, matrix, endpoint),
    foreignId: (path) => makeForeignId(setup, service, path),
    async makeForeignParams(endpoint) {
      const { params } = await makeFixtureRequest(fixtures, endpoint, service.otherTenant);
      const shared = addressesShared(fixtures, endpoint);
      return Object.fromEntries(Object.entries(params).filter(([name]) => name !== shared));
    },
  };
  return matrix;
}

/** A successful request from the allowed caller to its own objects; undefined if none can succeed. */
export async function makeSampleRequest<Tenant extends object>(
  setup: MatrixSetup<Tenant>,
  target: MatrixTarget & { readonly service: MatrixService<Tenant> },
  endpoint: Operation,
): Promise<SampleRequest | undefined> {
  const { fixtures } = setup;
  if (typeof fixtures.operations.get(endpoint.id) === 'object') return undefined;
  const request = await makeFixtureRequest(fixtures, endpoint, target.service.tenant);
  const key: Record<string, string> = setup.keyRequired(endpoint) ? { 'idempotency-key': randomUUID() } : {};
  const ifMatch = endpoint.ifMatch === undefined ? {} : await findIfMatch(target, endpoint, request);
  return { ...request, headers: { ...key, ...ifMatch, ...request.headers } };
}

/**
 * The ETag of the object that the endpoint changes, as returned by the operation that reads the object: the last one in
 * the path, or its parent.
 */
async function findIfMatch(matrix: MatrixTarget, endpoint: Operation, request: SampleRequest) {
  const path = endpoint.path.replace(/:[\w-]+$/, '');
  const readerOf = (place: string) =>
    matrix.adapter.endpoints.find((other) => other.method === 'GET' && other.path === place);
  const reader = readerOf(path) ?? readerOf(path.replace(/\/[^/]+\/\{\w+\}$/, ''));
  assert.ok(
    reader !== undefined,
    `${endpointName(endpoint)} wants If-Match, and nothing answers GET ${path}`,
  );
  const { headers, text } = await sendAs(matrix, reader, 'allowed', { params: request.params });
  assert.ok(headers.etag !== undefined, `${endpointName(reader)} has no ETag: ${text}`);
  return { 'if-match': headers.etag };
}

async function makeForeignId<Tenant extends object>(
  { fixtures }: MatrixSetup<Tenant>,
  { otherTenant }: MatrixService<Tenant>,
  path: string,
): Promise<string> {
  const object = fixtures.objects.get(path);
  assert.ok(object !== undefined, `no fixture makes ${path}`);
  const fields = (await makeFixture(object, otherTenant)) as Readonly<Record<string, string>>;
  const name = /\{(\w+)\}$/.exec(path)?.[1] ?? 'id';
  return (fields['id'] ?? fields[name]) as string;
}

async function seesEveryTable({ migrationsDirectory, ignoredChanges }: MatrixAdapter): Promise<void> {
  const database = await createTestDatabase(migrationsDirectory);
  const store = await watchStore(database.url, ignoredChanges);
  try {
    assert.deepEqual(await findUnnoticedChanges(database.url, store, ignoredChanges), []);
  } finally {
    await store.close();
    await database.drop();
  }
}

function costLine<Tenant extends object>(
  { service, endpoints, fixtures }: MatrixSetup<Tenant>,
  { cases, requests, ms }: { cases: number; requests: number; ms: number },
): string {
  const excluded = [...fixtures.operations].filter(([, operation]) => typeof operation === 'object');
  const without =
    excluded.length === 0 ? '' : `; never accepted in it: ${excluded.map(([id]) => id).join(', ')}`;
  return (
    `matrix of ${service}: ${cases} cases of ${endpoints.length} endpoints in ${(ms / 1000).toFixed(1)} s, ` +
    `${(ms / cases).toFixed(1)} ms per case, ${requests} requests${without}`
  );
}
