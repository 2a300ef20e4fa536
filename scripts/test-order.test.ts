import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { orderFiles, parseShard } from './test-order.ts';

async function ordered(sizes: Record<string, number>, index: number, total: number): Promise<string[]> {
  const root = await mkdtemp(join(tmpdir(), 'baton-order-'));
  try {
    for (const [file, bytes] of Object.entries(sizes)) await writeFile(join(root, file), 'x'.repeat(bytes));
    return orderFiles(root, Object.keys(sizes), { index, total });
  } finally {
    await rm(root, { recursive: true });
  }
}

const sizes = { 'small.test.ts': 10, 'large.test.ts': 90, 'middle.test.ts': 50, 'other.test.ts': 50 };

test('the files that take longest come first', async () => {
  const files = ['large.test.ts', 'middle.test.ts', 'other.test.ts', 'small.test.ts'];
  assert.deepEqual(await ordered(sizes, 1, 1), files);
});

test('shards take about equally long, and together they are all files', async () => {
  assert.deepEqual(await ordered(sizes, 1, 2), ['large.test.ts', 'small.test.ts']);
  assert.deepEqual(await ordered(sizes, 2, 2), ['middle.test.ts', 'other.test.ts']);
});

test('a shard is written as its number of so many', () => {
  assert.deepEqual(parseShard('2/3'), { index: 2, total: 3 });
  for (const text of ['0/2', '3/2', '1', 'a/b', '1/2/3'])
    assert.throws(() => parseShard(text), /A shard is written/);
});
