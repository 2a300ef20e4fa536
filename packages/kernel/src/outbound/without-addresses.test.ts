import assert from 'node:assert/strict';
import { test } from 'node:test';
import { processorMsOf } from '../testing/process/processor-time.ts';
import { withoutAddresses } from './without-addresses.ts';

test('addresses of the network are taken out of a text', () => {
  for (const [text, told] of [
    ['connect ECONNREFUSED 10.1.2.3:4222', 'connect ECONNREFUSED [address]'],
    ['getaddrinfo ENOTFOUND nats.internal', 'getaddrinfo ENOTFOUND [address]'],
    ['no route to fd00:12::1 today', 'no route to [address] today'],
    ['connect to [fe80::1%eth0]:443 failed', 'connect to [address] failed'],
    ['see http://memory.internal:8080/x?y=1 please', 'see [address] please'],
    ['postgres://user:pw@db/x is down', '[address] is down'],
    ['db-1.internal:5432 is down, localhost:80 too', '[address] is down, [address] too'],
    ['192.168.0.7 refused', '[address] refused'],
  ] as const)
    assert.equal(withoutAddresses(text), told);
});

test('what is no address stays', () => {
  for (const text of [
    'answered 500',
    'no stream takes the subject',
    'no response within 500 ms',
    'task.created is not known (schema 1.2.3) at 12:30:05',
    'the item {"kind":"run","n":[1,2]} is refused: too long',
  ])
    assert.equal(withoutAddresses(text), text);
});

test('a text of 100,000 characters of any kind takes no longer than a moment', () => {
  const tookMs = processorMsOf(() => {
    for (const part of ['a', 'a.', '1.', ':', 'a:', 'http', '[', 'x-'])
      withoutAddresses(part.repeat(100_000 / part.length));
  });
  assert.ok(tookMs < 3000, `${tookMs} ms`);
});
