import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPlaces } from './places.ts';

const settle = () => new Promise((done) => setImmediate(done));

/** Deliveries that run until they are ended, in the order in which they began. */
function begin(
  places: ReturnType<typeof createPlaces>,
  ...claimants: { tenantId: string; isAgain?: boolean }[]
) {
  const running: { tenantId: string; end: () => void }[] = [];
  for (const { tenantId, isAgain = false } of claimants)
    void places.run({ tenantId, isAgain }, () => new Promise<void>((end) => running.push({ tenantId, end })));
  return running;
}
const tenants = (running: readonly { tenantId: string }[]) =>
  running.map(({ tenantId }) => tenantId).join('');
const of = (letters: string) => [...letters].map((tenantId) => ({ tenantId }));

test('without shares places are given in order, whatever the tenant', async () => {
  const running = begin(
    createPlaces(() => 3),
    ...of('aaaab'),
  );
  await settle();
  assert.equal(tenants(running), 'aaa');
  running[0]?.end();
  await settle();
  assert.equal(tenants(running), 'aaaa');
});

test('with shares a tenant uses its share, and another one the rest', async () => {
  const running = begin(
    createPlaces(() => 4, 2),
    ...of('aaaaab'),
  );
  await settle();
  assert.equal(tenants(running), 'aab');
  running[2]?.end();
  await settle();
  assert.equal(tenants(running), 'aab');
});

test('a free place goes to the tenant that runs least, then to the one that waits longest', async () => {
  const running = begin(
    createPlaces(() => 2, 2),
    ...of('aaaabbc'),
  );
  await settle();
  assert.equal(tenants(running), 'aa');
  running[0]?.end();
  await settle();
  assert.equal(tenants(running), 'aab');
  running[1]?.end();
  await settle();
  // Neither tenant a nor tenant c has a running delivery now, and a has waited longer.
  assert.equal(tenants(running), 'aaba');
  running[2]?.end();
  await settle();
  assert.equal(tenants(running), 'aabab');
});

test('retried deliveries use at most half of the places', async () => {
  const again = { tenantId: 'a', isAgain: true };
  const running = begin(
    createPlaces(() => 4, 4),
    again,
    again,
    again,
    { tenantId: 'b' },
  );
  await settle();
  assert.equal(tenants(running), 'aab');
});
