import assert from 'node:assert/strict';
import { test } from 'node:test';
import { everyAct, runChaos } from './chaos/chaos.ts';

// `npm run chaos` runs the same for ten minutes. This test also proves that the checker detects faulty consumers.

test('through kills, restarts and stalls each consumer gets every committed event once, in order, and no others', async (t) => {
  const { problems, planted, figures, pruned } = await runChaos({
    seconds: 12,
    tenants: 2,
    actEveryMs: 500,
    kinds: everyAct,
    plants: true,
  });
  for (const line of figures) t.diagnostic(line);
  assert.deepEqual(problems, []);
  // On a busy machine this short run may end before the lagging consumer permits any pruning, so the number is only
  // reported; ten minutes are always enough.
  t.diagnostic(`${pruned} events pruned`);
  const found = (name: string) => planted.get(name)?.join('\n') ?? assert.fail(`${name} was not planted`);
  assert.match(found('notes its cursor first'), /misses [1-9]/);
  assert.match(found('ignores the horizon'), /misses [1-9]/);
  assert.match(found('reads by sequence'), /misses [1-9]/);
  assert.match(found('reads pages backward'), /received events out of order/);
  assert.match(found('is notified before the commit'), /received events that are not in the journal: [1-9]/);
});
