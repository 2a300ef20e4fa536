import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BoundedCache } from './bounded-cache.ts';

test('the oldest values are evicted first when the total weight would exceed the limit', () => {
  const cache = new BoundedCache<string>(10);
  cache.keep('a', 'A', 4);
  cache.keep('b', 'B', 4);
  cache.keep('a', 'AA', 3);
  assert.deepEqual([cache.get('a'), cache.get('b')], ['AA', 'B']);
  cache.keep('c', 'C', 5);
  assert.deepEqual([cache.get('b'), cache.get('a'), cache.get('c')], [undefined, 'AA', 'C']);
});

test('a value that is heavier than everything may be is not kept, and drives nothing out', () => {
  const cache = new BoundedCache<string>(10);
  cache.keep('a', 'A', 10);
  cache.keep('b', 'B', 11);
  assert.deepEqual([cache.get('a'), cache.get('b')], ['A', undefined]);
});
