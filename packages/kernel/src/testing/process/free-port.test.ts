import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort } from './free-port.ts';

test('within a process no port is returned twice', async () => {
  // If ports were drawn at random from 12,000, at least one of 300 would repeat with a probability of 98 %.
  const ports = new Set<string>();
  for (let n = 0; n < 300; n += 1) ports.add(await freePort());
  assert.equal(ports.size, 300);
});
