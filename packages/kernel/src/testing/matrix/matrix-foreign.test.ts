import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { Uuid } from '@baton/values/wire';
import { endpointsOf } from '../../http/service.ts';
import { noteStatement } from '../database/statements.ts';
import { foreignCases, unknownIdentifiers } from './matrix-foreign.ts';
import type { Matrix, MatrixAdapter } from './matrix-service.ts';

const endpoint = endpointsOf<{ code: string; permission: string; auth: string; context: object }>();
const hangDoor = endpoint({
  id: 'hangDoor',
  method: 'POST',
  path: '/doors',
  summary: 'Hang a door.',
  query: { streetId: Uuid.optional() },
  body: z.strictObject({
    houseId: Uuid,
    keys: z.array(z.strictObject({ lockId: Uuid.nullish() })).default([]),
  }),
  returns: { 204: null },
  handle: () => undefined,
});

const adapter = {
  service: 'doors',
  basePath: '',
  endpoints: [hangDoor],
  identifiers: { houseId: { object: '/houses/{id}' }, 'keys.[].lockId': { object: null } },
} as unknown as MatrixAdapter;
const foreignHouse = '0190b2c4-7e1f-7a2b-8c3d-4e5f60718293';

/** Runs the body tests against a service that returns these responses and sends these statements. */
async function compare(service: (houseId: string) => { status: number; body: object; statements: string[] }) {
  const bodies = foreignCases.find(({ name }) => name.includes('in the body'));
  await bodies?.run(
    {
      adapter,
      service: { headersOf: () => ({}) },
      client: {
        async send({ body }: { body: string }) {
          const { statements, status, body: answer } = service(JSON.parse(body).houseId);
          for (const text of statements) noteStatement(text);
          return { status, body: answer, headers: {}, text: JSON.stringify(answer) };
        },
      },
      store: { mark: async () => undefined, changesSince: async () => [] },
      makeRequest: async () => ({ params: {}, body: { houseId: 'mine' } }),
      foreignId: async () => foreignHouse,
    } as unknown as Matrix,
    hangDoor,
  );
}

const refusal = (houseId: string, code = 'not_found') => ({
  error: { code, message: 'no', details: { houseId }, requestId: 'alike' },
});

test('identifiers are found in bodies and queries, and those without a fixture are named', () => {
  assert.deepEqual(unknownIdentifiers(adapter), [
    "hangDoor has the identifier streetId in its query: declare among the matrix's identifiers what it names.",
  ]);
});

test('answers that differ in nothing but the identifier are alike', async () => {
  await compare((id) => ({ status: 404, body: refusal(id), statements: ['b', 'a'] }));
});

test('another code, another statement and an accepted identifier are found', async () => {
  const otherCode = (id: string) => refusal(id, id === foreignHouse ? 'forbidden' : 'not_found');
  await assert.rejects(
    compare((id) => ({ status: 404, body: otherCode(id), statements: [] })),
    /another tenant's, then absent/,
  );
  const more = (id: string) => (id === foreignHouse ? ['select house', 'select owner'] : ['select house']);
  await assert.rejects(
    compare((id) => ({ status: 404, body: refusal(id), statements: more(id) })),
    /its statements/,
  );
  await assert.rejects(
    compare(() => ({ status: 204, body: {}, statements: [] })),
    /was accepted/,
  );
});
