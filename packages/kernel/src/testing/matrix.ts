import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { endpointName } from '../service.ts';
import type { Bench, MatrixAdapter } from './matrix-bench.ts';
import { createClient } from './matrix-client.ts';
import { formCases } from './matrix-forms.ts';
import { guardCases } from './matrix-guards.ts';
import { replayCases } from './matrix-replay.ts';

/** Registers the tests that every endpoint must pass and nobody should have to write (design, section 3). */
export function matrixTests(adapter: MatrixAdapter): void {
  const cases = [...guardCases, ...formCases, ...replayCases];
  describe(`matrix of ${adapter.service}`, () => {
    let bench: Bench;
    before(async () => {
      const service = await adapter.start();
      bench = { adapter, service, client: createClient(service.url) };
    });
    after(async () => {
      bench.client.close();
      await bench.service.close();
    });

    test('the matrix sees every operation that the service describes', async () => {
      const { body } = await bench.client.send({ method: 'GET', path: '/openapi.json' });
      const { paths } = body as { paths: Record<string, Record<string, { operationId: string }>> };
      const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
      assert.ok(adapter.endpoints.length > 0);
      assert.equal(operations.length, adapter.endpoints.length);
      assert.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length);
    });

    for (const endpoint of adapter.endpoints) {
      describe(endpointName(endpoint), () => {
        for (const { name, applies, run } of cases) {
          if (applies(endpoint, adapter)) test(name, () => run(bench, endpoint));
        }
      });
    }
  });
}
