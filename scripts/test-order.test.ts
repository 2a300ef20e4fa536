import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { groupFiles, parseShard } from './test-order.ts';

async function ordered(
  sizes: Record<string, number>,
  index: number,
  total: number,
  seed?: number,
): Promise<string[]> {
  const root = await mkdtemp(join(tmpdir(), 'baton-order-'));
  try {
    for (const [file, bytes] of Object.entries(sizes)) await writeFile(join(root, file), 'x'.repeat(bytes));
    return groupFiles(root, Object.keys(sizes), { shard: { index, total }, depth: 'usual', seed }).flat();
  } finally {
    await rm(root, { recursive: true });
  }
}

const sizes = { 'small.test.ts': 10, 'large.test.ts': 90, 'middle.test.ts': 50, 'other.test.ts': 50 };

test('the longest files run first', async () => {
  const files = ['large.test.ts', 'middle.test.ts', 'other.test.ts', 'small.test.ts'];
  assert.deepEqual(await ordered(sizes, 1, 1), files);
});

test('shards take about equally long, and together contain all files', async () => {
  assert.deepEqual(await ordered(sizes, 1, 2), ['large.test.ts', 'small.test.ts']);
  assert.deepEqual(await ordered(sizes, 2, 2), ['middle.test.ts', 'other.test.ts']);
});

test('short files of a service share a process, unless they declare that they must not', async () => {
  const root = await mkdtemp(join(tmpdir(), 'baton-order-'));
  const path = (service: string, name: string) => `packages/${service}/src/${name}.test.ts`;
  const texts = {
    [path('coordination', 'a')]: '',
    [path('identity', 'a')]: '',
    [path('coordination', 'b')]: '// Needs its own process: it counts its memory.\n',
    [path('coordination', 'c')]: '',
    [path('coordination', 'long')]: 'x'.repeat(200_000),
    [path('coordination', 'liveness')]: '',
    [path('runner', 'a')]: '',
    [path('runner', 'b')]: '',
  };
  try {
    for (const [file, text] of Object.entries(texts)) {
      await mkdir(dirname(join(root, file)), { recursive: true });
      await writeFile(join(root, file), text);
    }
    const groups = groupFiles(root, Object.keys(texts), { shard: { index: 1, total: 1 }, depth: 'long' });
    assert.deepEqual(
      groups.filter((files) => files.length > 1),
      [[path('coordination', 'a'), path('coordination', 'c')]],
    );
    assert.deepEqual(groups.flat().sort(), Object.keys(texts).sort());
  } finally {
    await rm(root, { recursive: true });
  }
});

test('each seed determines one order of all files', async () => {
  const many = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`${n}.test.ts`, 10 + n]));
  const [first, again, other] = [
    await ordered(many, 1, 1, 1),
    await ordered(many, 1, 1, 1),
    await ordered(many, 1, 1, 2),
  ];
  assert.deepEqual(first, again);
  assert.notDeepEqual(first, other);
  assert.deepEqual(first.toSorted(), other.toSorted());
});

test('a shard is written as its number and the total', () => {
  assert.deepEqual(parseShard('2/3'), { index: 2, total: 3 });
  for (const text of ['0/2', '3/2', '1', 'a/b', '1/2/3'])
    assert.throws(() => parseShard(text), /A shard is written/);
});
