import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownHosts } from './services.ts';

test('identity may reach the own port over loopback, and no other port of this machine', () => {
  assert.deepEqual(ownHosts('http://127.0.0.1:8080'), ['127.0.0.1:8080', 'localhost:8080']);
  assert.deepEqual(ownHosts('http://[::1]:80'), ['[::1]:80', 'localhost:80']);
});
