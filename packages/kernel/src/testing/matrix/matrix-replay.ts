import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { withText } from './matrix-forms.ts';
import { assertRefused, keyed, type MatrixCase, sendAs } from './matrix-service.ts';

/** Tests that a valid request is accepted, and the response when it is repeated. */
export const replayCases: readonly MatrixCase[] = [
  {
    name: 'a request of the right form is accepted',
    applies: (endpoint) => !keyed(endpoint),
    async run(matrix, endpoint) {
      const request = await matrix.makeRequest(endpoint);
      if (request === undefined) return;
      const received = await sendAs(matrix, endpoint, 'allowed', request);
      assert.ok(received.status in endpoint.returns, received.text);
      if (endpoint.method !== 'GET') return;
      const head = await sendAs(matrix, { ...endpoint, method: 'HEAD' as 'GET' }, 'allowed', request);
      assert.deepEqual([head.status, head.text], [received.status, '']);
    },
  },
  {
    name: 'with a key it is executed once, and its answer is repeated',
    applies: keyed,
    async run(matrix, endpoint) {
      const { adapter, service, store } = matrix;
      const request = await matrix.makeRequest(endpoint);
      if (request === undefined) return;
      const headers = { 'idempotency-key': ` ${randomUUID()} ` };
      const first = await sendAs(matrix, endpoint, 'allowed', request, { headers });
      assert.ok(first.status in endpoint.returns, first.text);
      assert.equal(first.headers['idempotency-replayed'], undefined);
      const done = await store.mark();

      const again = await sendAs(matrix, endpoint, 'allowed', request, { headers });
      assert.equal(again.headers['idempotency-replayed'], 'true');
      assert.equal(again.status, first.status);
      assert.deepEqual(again.body, withoutSecrets(first.body, endpoint.secrets));

      const changed = withText(endpoint, ' changed', endpoint.unprinted);
      if (changed !== undefined) {
        const other = await sendAs(matrix, endpoint, 'allowed', { ...request, body: changed }, { headers });
        assertRefused(matrix, other, adapter.rulesOf(endpoint).keyReused);
      }
      if (service.headersOf(endpoint, 'second') !== undefined) {
        const stranger = await sendAs(matrix, endpoint, 'second', request, { headers });
        assertRefused(matrix, stranger, adapter.rulesOf(endpoint).keyReused);
      }
      if (endpoint.permission.length > 0) {
        const powerless = await sendAs(matrix, endpoint, 'powerless', request, { headers });
        assert.notEqual(powerless.headers['idempotency-replayed'], 'true');
      }
      assert.deepEqual(await store.changesSince(done), [], 'nothing is done again');
    },
  },
];

function withoutSecrets(body: unknown, paths: readonly string[]): unknown {
  const copy = structuredClone(body);
  for (const path of paths) {
    const names = path.split('.');
    const last = names.pop() as string;
    const owner = names.reduce(
      (at, name) => at?.[name] as Record<string, unknown>,
      copy as Record<string, unknown>,
    );
    assert.notEqual(owner[last], null, `${path} is shown in the first answer`);
    owner[last] = null;
  }
  return copy;
}
