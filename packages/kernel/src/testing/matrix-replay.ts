import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { assertRefused, keyed, type MatrixCase, sendAs } from './matrix-bench.ts';
import { withText } from './matrix-forms.ts';

/** What a client may count on that repeats a request. */
export const replayCases: readonly MatrixCase[] = [
  {
    name: 'a request of the right form is accepted',
    applies: (endpoint) => !keyed(endpoint),
    async run(bench, endpoint) {
      const prepared = await bench.service.prepare(endpoint);
      if (prepared === undefined) return;
      const received = await sendAs(bench, endpoint, 'allowed', prepared);
      assert.ok(received.status in endpoint.returns, received.text);
      if (endpoint.method !== 'GET') return;
      const head = await sendAs(bench, { ...endpoint, method: 'HEAD' as 'GET' }, 'allowed', prepared);
      assert.deepEqual([head.status, head.text], [received.status, '']);
    },
  },
  {
    name: 'with a key it is executed once, and its answer is repeated',
    applies: keyed,
    async run(bench, endpoint) {
      const { adapter, service } = bench;
      const prepared = await service.prepare(endpoint);
      if (prepared === undefined) return;
      const headers = { 'idempotency-key': ` ${randomUUID()} ` };
      const first = await sendAs(bench, endpoint, 'allowed', prepared, { headers });
      assert.ok(first.status in endpoint.returns, first.text);
      assert.equal(first.headers['idempotency-replayed'], undefined);
      const done = await service.state();

      const again = await sendAs(bench, endpoint, 'allowed', prepared, { headers });
      assert.equal(again.headers['idempotency-replayed'], 'true');
      assert.equal(again.status, first.status);
      assert.deepEqual(again.body, withoutSecrets(first.body, endpoint.secrets));

      const changed = withText(endpoint, ' changed');
      if (changed !== undefined) {
        const other = await sendAs(bench, endpoint, 'allowed', { ...prepared, body: changed }, { headers });
        assertRefused(bench, other, adapter.rulesOf(endpoint).keyReused);
      }
      if (service.headersOf(endpoint, 'second') !== undefined) {
        const stranger = await sendAs(bench, endpoint, 'second', prepared, { headers });
        assertRefused(bench, stranger, adapter.rulesOf(endpoint).keyReused);
      }
      if (endpoint.permission.length > 0) {
        const powerless = await sendAs(bench, endpoint, 'powerless', prepared, { headers });
        assert.notEqual(powerless.headers['idempotency-replayed'], 'true');
      }
      assert.equal(await service.state(), done);
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
