import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { longTest } from '@baton/testing/depth';
import { runChaos } from './chaos/chaos.ts';
import { Deliveries } from './chaos/deliveries.ts';
import { checkConsumer, checkJournal, type Writing } from './chaos/oracle.ts';
import { ServiceProcess } from './chaos/service-process.ts';

const stored = ['a', 'b', 'c', 'd'].map((id) => ({
  id,
  tenant_id: id === 'd' ? 'other' : 'first',
  type: id === 'b' ? 'run.started' : 'task.updated',
  entity_id: `entity of ${id}`,
}));

function consumed(ids: readonly string[], options = {}): string[] {
  const deliveries = new Deliveries('reader', 'first', options);
  for (const id of ids) deliveries.take(id);
  return checkConsumer(deliveries, stored);
}

test('a consumer that received everything once and in order has no problems; later duplicates are dropped', () => {
  assert.deepEqual(consumed(['a', 'b', 'c']), []);
  assert.deepEqual(consumed(['a', 'b', 'a', 'b', 'c']), []);
  assert.deepEqual(
    consumed(['a', 'c'], { wants: ({ type }: { type: string }) => type === 'task.updated' }),
    [],
  );
  assert.deepEqual(consumed(['c', 'a', 'b'], { isOrdered: false }), []);
});

test('missing, forged, foreign and unordered events are found', () => {
  assert.deepEqual(consumed(['a', 'c']), ['reader: misses 1 (b)']);
  assert.deepEqual(consumed(['a', 'b', 'c', 'x']), [
    'reader: received events that are not in the journal: 1 (x)',
  ]);
  assert.deepEqual(consumed(['a', 'b', 'c', 'd']), [
    'reader: received events that are not in the journal: 1 (d)',
  ]);
  assert.deepEqual(consumed(['b', 'a', 'c']), ['reader: received events out of order']);
  assert.deepEqual(consumed([]), ['reader: misses 3 (a, b, c)']);
});

function journal(writing: Partial<Writing>): string[] {
  return checkJournal(stored, {
    committed: new Set(),
    rolledBack: new Set(),
    unknown: [],
    answered: [],
    unanswered: [],
    ...writing,
  });
}

test('a journal that lost, kept or split known transactions is detected', () => {
  assert.deepEqual(journal({ committed: new Set(['a']), rolledBack: new Set(['x']) }), []);
  assert.deepEqual(journal({ committed: new Set(['x']) }), ['the journal: lost what was committed: 1 (x)']);
  assert.deepEqual(journal({ rolledBack: new Set(['a']) }), [
    'the journal: holds what was rolled back: 1 (a)',
  ]);
  assert.deepEqual(
    journal({
      unknown: [
        ['a', 'b'],
        ['x', 'y'],
      ],
    }),
    [],
  );
  assert.deepEqual(journal({ unknown: [['a', 'x']] }), ['the journal: holds parts of 1 transactions']);
});

test('an answered command leaves its event exactly once', () => {
  const command = { type: 'task.updated', entityId: 'entity of a' };
  assert.deepEqual(journal({ answered: [command] }), []);
  assert.equal(journal({ answered: [command, command] }).length, 1);
  assert.equal(journal({ answered: [{ ...command, entityId: 'nothing' }] }).length, 1);
  const twice = { ...command, entityId: 'entity of c' };
  assert.deepEqual(journal({ answered: [twice], unanswered: [twice] }), []);
});

longTest(
  'a service whose readers ignore the horizon is detected, through pages and through sockets',
  async (t) => {
    const { problems, figures } = await runChaos({
      seconds: 5,
      tenants: 1,
      actEveryMs: 500,
      kinds: ['idle transactions'],
      horizonIsIgnored: true,
      quietMs: 5000,
    });
    for (const line of figures) t.diagnostic(line);
    for (const name of ['pages of 200', 'pages of 7', 'socket', 'another socket'])
      assert.ok(
        problems.some((problem) => problem.startsWith(`${name}: misses `)),
        `${name} among\n${problems.join('\n')}`,
      );
  },
);

test('a program that ends by itself is reported with its last 50 lines of output', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'baton-chaos-lines-'));
  const program = join(folder, 'program.mjs');
  writeFileSync(
    program,
    `for (let n = 1; n <= 60; n += 1) console.log('line ' + n);
    process.stderr.write('x'.repeat(100_000) + '\\nError: the end');
    process.exitCode = 3;`,
  );
  const one = new ServiceProcess({
    name: 'program',
    command: [relative(join(import.meta.dirname, '..'), program)],
    env: {},
    logFile: join(folder, 'log'),
  });
  one.launch();
  while (one.unasked.length === 0) await sleep(20);
  rmSync(folder, { recursive: true });
  const [told] = one.unasked;
  const lines = told?.split('\n    ') ?? [];
  assert.equal(lines[0], 'program ended by itself with 3; it printed last:');
  assert.equal(lines.length, 51);
  assert.equal(lines.at(-1), 'Error: the end');
  assert.ok(lines.includes('line 60') && !lines.includes('line 12'));
  assert.ok((told?.length ?? 0) < 5000);
});
