import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { Pace, requestsMax } from './pace.ts';

const request = (id: number | string): JSONRPCMessage => ({ jsonrpc: '2.0', id, method: 'tools/call' });

function paced() {
  const delivered: unknown[] = [];
  const refused: unknown[] = [];
  const pace = new Pace(
    (message) => delivered.push((message as { id: unknown }).id),
    (id) => refused.push(id),
  );
  return { pace, delivered, refused };
}

test('an id that is under way or waits is refused until it was answered', () => {
  const { pace, delivered, refused } = paced();
  for (let n = 0; n < 1_000; n += 1) pace.receive(request('same'));
  assert.deepEqual([delivered.length, refused.length], [1, 999]);
  for (let n = 0; n < requestsMax; n += 1) pace.receive(request(n));
  pace.receive(request(requestsMax - 1));
  assert.deepEqual(
    [delivered.length, refused.length],
    [requestsMax, 1_000],
    'the last one waits, and is refused again',
  );
  pace.answered('same');
  assert.equal(delivered.at(-1), requestsMax - 1);
  pace.answered(0);
  pace.receive(request('same'));
  assert.equal(delivered.at(-1), 'same');
});
