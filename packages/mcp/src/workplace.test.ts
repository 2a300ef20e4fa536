import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BatonInMemory, batonInMemory, refusalInMemory } from './testing/baton-in-memory.ts';
import { Workplace } from './workplace.ts';

const workplaceAt = ({ baton }: BatonInMemory) => new Workplace(baton, { version: '1', leaseSeconds: 60 });

test('however many calls ask for work at once, they share one session, which is closed', async () => {
  const memory = batonInMemory();
  const workplace = workplaceAt(memory);
  const leases = await Promise.all([1, 2, 3].map(() => workplace.take({ once: true })));
  assert.deepEqual(
    new Set(leases.map((lease) => lease?.claim.id)),
    new Set(['claim-1', 'claim-2', 'claim-3']),
  );
  await workplace.close();
  assert.deepEqual([memory.count('sessions'), memory.count('close')], [1, 1]);
});

test('where a session can not be opened, those who waited for it share the next one', async () => {
  const memory = batonInMemory({
    sessions: () => (memory.count('sessions') === 1 ? refusalInMemory(503, 'unavailable') : undefined),
  });
  const workplace = workplaceAt(memory);
  const takes = await Promise.allSettled([1, 2, 3].map(() => workplace.take({ once: true })));
  assert.deepEqual(
    takes.map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled'],
  );
  await workplace.close();
  assert.deepEqual([memory.count('sessions'), memory.count('close')], [2, 1]);
});
