import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { processorMsOf } from '../testing/process/processor-time.ts';
import { clientAddressOf, type Networks, networks } from './client-address.ts';

const setting = networks({ doc: 'Proxies.' });
const trusted = setting.parse('["10.0.0.0/8", "192.0.2.7", "2001:db8:aaaa::/48", "::1"]');

function clientBehind(proxies: Networks, peer: string, forwarded?: string): string {
  const headers = { 'x-forwarded-for': forwarded };
  return clientAddressOf({ socket: { remoteAddress: peer }, headers } as unknown as IncomingMessage, proxies);
}

const clientOf = (peer: string, forwarded?: string) => clientBehind(trusted, peer, forwarded);

test('without trusted proxies, or from anybody else, the header is ignored', () => {
  assert.equal(clientBehind(undefined, '10.0.0.1', '203.0.113.9'), '10.0.0.1');
  assert.equal(clientBehind(setting.parse('[]'), '10.0.0.1', '203.0.113.9'), '10.0.0.1');
  assert.equal(clientOf('198.51.100.1', '203.0.113.9'), '198.51.100.1');
  assert.equal(clientOf('2001:db8:bbbb::1', '203.0.113.9'), '2001:db8:bbbb::1');
  assert.equal(clientOf('10.0.0.1'), '10.0.0.1');
});

test('the client is the rightmost address that is not a trusted proxy, whatever precedes it', () => {
  for (const forwarded of [
    '203.0.113.9',
    '1.1.1.1, 203.0.113.9',
    '10.0.0.5,203.0.113.9',
    'unknown, , 203.0.113.9, 10.1.1.1',
    '1.1.1.1, 203.0.113.9 ,192.0.2.7,  10.255.255.255',
    '1.1.1.1, 203.0.113.9:4711, [2001:db8:aaaa::5]:80, ::1',
    '1.1.1.1, ::ffff:203.0.113.9, ::ffff:10.0.0.9',
    '1.1.1.1, ::ffff:cb00:7109, ::FFFF:a00:9',
  ])
    assert.equal(clientOf('10.0.0.1', forwarded), '203.0.113.9', forwarded);
  assert.equal(clientOf('::ffff:10.0.0.1', '203.0.113.9'), '203.0.113.9');
  assert.equal(clientOf('::1', '[2001:DB8::1]:443'), '2001:db8::1');
  assert.equal(clientOf('::1', '2001:db8::1'), '2001:db8::1');
});

test('what is no address names nobody: the proxy that wrote it counts', () => {
  for (const entry of [
    'unknown',
    '',
    '_hidden',
    '203.0.113.9.9',
    '0x7f.1',
    '010.0.0.1',
    '1.2.3.4:x',
    '[::1',
    'a b',
  ])
    assert.equal(clientOf('10.0.0.1', `203.0.113.9, ${entry}, 10.0.0.2`), '10.0.0.2', entry);
  assert.equal(clientOf('10.0.0.1', ','), '10.0.0.1');
  assert.equal(clientOf('10.0.0.1', '10.0.0.3, 10.0.0.2'), '10.0.0.3', 'all are proxies: the first one');
  assert.equal(clientOf('', '203.0.113.9'), '');
});

test('a header as long as the largest that is read costs next to nothing, and names no client of its own', () => {
  const tookMs = processorMsOf(() => {
    for (const [forwarded, client] of [
      [`203.0.113.9,${'10.0.0.2,'.repeat(1700)}10.0.0.2`, '10.0.0.2'],
      [`${'1.1.1.1,'.repeat(2000)}203.0.113.9`, '203.0.113.9'],
      [`203.0.113.9,${','.repeat(16_000)}`, '10.0.0.1'],
      [`203.0.113.9,${'9'.repeat(16_000)}`, '10.0.0.1'],
      [`203.0.113.9,${' '.repeat(16_000)}`, '10.0.0.1'],
      [`203.0.113.9,[${'::'.repeat(8000)}`, '10.0.0.1'],
    ] as const)
      for (let n = 0; n < 100; n += 1) assert.equal(clientOf('10.0.0.1', forwarded), client);
  });
  assert.ok(tookMs < 3000, `600 of them in ${tookMs} ms`);
});

test('a setting that names no networks is refused with a sentence', () => {
  for (const value of [
    '10.0.0.0/8',
    '{}',
    '[1]',
    '["10.0.0.0/33"]',
    '["::/129"]',
    '["10.0.0/8"]',
    '["proxy.example.com"]',
    '["10.0.0.0/-1"]',
    '["10.0.0.0/"]',
    '["fe80::1%eth0"]',
    '["::ffff:10.0.0.0/104"]',
    '[""]',
  ])
    assert.throws(() => setting.parse(value), /^Error: must .*\.$/, value);
  assert.equal(clientBehind(setting.parse('["0.0.0.0/0"]'), '9.9.9.9', '203.0.113.9'), '203.0.113.9');
});
