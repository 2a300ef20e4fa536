import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type BatonInMemory,
  batonInMemory,
  type InMemoryAnswer,
  refusalInMemory,
} from './testing/baton-in-memory.ts';
import { workTools } from './tools/work.ts';
import { Workplace } from './workplace.ts';

const workplaceAt = ({ baton }: BatonInMemory) => new Workplace(baton, { version: '1', leaseSeconds: 60 });

test('any number of concurrent calls for work share one session, which is closed', async () => {
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

test('if a session can not be opened, the waiting calls share the next one', async () => {
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

/** Calls `work_next` at a Baton that returns this for a read of the run's context. */
async function nextWith(context: () => InMemoryAnswer, signal: AbortSignal, release?: () => InMemoryAnswer) {
  const memory = batonInMemory({
    context: ({ pathname }) => (pathname.includes('/runs/') ? context() : undefined),
    ...(release && { release }),
  });
  const workplace = workplaceAt(memory);
  const next = workTools.find(({ name }) => name === 'work_next');
  const input = { assignedToMe: false, waitSeconds: 0 } as never;
  const answer = await next
    ?.run(input, { baton: memory.baton, workplace, signal })
    .catch((error: unknown) => error);
  const { size } = workplace;
  await workplace.close();
  return { answer, size, released: memory.count('release') };
}

test('a task whose lease the agent does not learn is released', async () => {
  const away = () => refusalInMemory(503, 'unavailable');
  const { signal } = new AbortController();
  const failed = await nextWith(away, signal);
  assert.equal((failed.answer as { code?: string }).code, 'unavailable');
  assert.deepEqual([failed.size, failed.released], [0, 1]);
  // A lease that can't be released expires, and doesn't count among the leases of this client.
  const lost = await nextWith(away, signal, away);
  assert.deepEqual([lost.size, lost.released], [0, 2]);
  const cancel = new AbortController();
  const context = { checkpoints: [], instructions: { layers: [] } };
  const cancelled = await nextWith(() => {
    cancel.abort();
    return context;
  }, cancel.signal);
  assert.equal((cancelled.answer as Error).name, 'AbortError');
  assert.deepEqual([cancelled.size, cancelled.released], [0, 1]);
});
