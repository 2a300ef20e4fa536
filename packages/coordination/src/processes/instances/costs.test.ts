import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertTookLess } from '@baton/testing/depth';
import { humanStep, setStep, startProcesses } from '../../testing/processes/process-instances.ts';

// Tests the cost of the most expensive definition: all expressions in a text share a limit, and so do the expressions
// in all consequences of one input.

const { start } = await startProcesses();

/** About 8,000 steps of the 10,000 that one expression may cost. */
const dear = 'data.l.map(x, data.l.map(y, x + y)).size() > 0';
const data = { l: Array.from({ length: 30 }, () => 1) };

test('all expressions of a text share the cost limit of a single one', async () => {
  const title = (count: number) => ({
    title: Array.from({ length: count }, () => `{{ ${dear} }}`).join(' '),
  });
  const one = await start([humanStep('a', title(1))], {}, data);
  assert.equal(one.status, 'running');
  const many = await start([humanStep('a', title(20))], {}, data);
  assert.deepEqual(
    [many.status, many.suspension.element, many.suspension.code],
    ['suspended', 'a', 'expression_cost_exceeded'],
  );
  assert.match(many.suspension.reason, /together/);
});

test('the expressions of one input share a cost limit, and the instance reports the element that exceeded it', async () => {
  const steps = Array.from({ length: 100 }, (_, n) => ({ ...setStep(`a-${n}`, { n: `${n}` }), when: dear }));
  const stages = Array.from({ length: 3 }, (_, n) => ({
    id: `s-${n}`,
    steps: steps.map((step) => ({ ...step, id: `${step.id}-${n}` })),
  }));
  const began = performance.now();
  const made = await start([], { stages }, data);
  assertTookLess(began, 5000);
  assert.deepEqual([made.status, made.suspension.code], ['suspended', 'expression_cost_exceeded']);
  assert.match(made.suspension.element, /^a-/);
});

test('a definition with the maximum number of steps per input ends in one short transaction', async () => {
  const stages = Array.from({ length: 50 }, (_, stage) => ({
    id: `s-${stage}`,
    steps: Array.from({ length: 98 }, (_step, n) => setStep(`a-${stage}-${n}`, { n: `${n}` })),
  }));
  const began = performance.now();
  const made = await start([], { stages });
  assert.deepEqual([made.status, made.data], ['completed', { n: 97 }]);
  // This includes the publication, and takes 1 s on an idle machine.
  assertTookLess(began, 20_000);
});
