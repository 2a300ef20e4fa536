import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientOfAddress } from './counted-address.ts';

test('an IPv4 address counts for itself, in whatever form it is written', () => {
  for (const address of [
    '203.0.113.9',
    '::ffff:203.0.113.9',
    '::ffff:cb00:7109',
    '0:0:0:0:0:FFFF:203.0.113.9',
  ])
    assert.equal(clientOfAddress(address), '203.0.113.9', address);
});

test('an IPv6 address counts for its network of 64 bits', () => {
  const cases: [string, string][] = [
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002::', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::ffff:1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::203.0.113.9', '64:ff9b:0:0::/64'],
  ];
  for (const [address, client] of cases) assert.equal(clientOfAddress(address), client, address);
});

test('a text that is no address counts for itself', () => {
  for (const text of ['', 'unix', '1.2.3']) assert.equal(clientOfAddress(text), text);
});
