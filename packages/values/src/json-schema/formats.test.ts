import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepareSchema } from './schema.ts';

const fitting: Record<string, string[]> = {
  'date-time': ['2026-11-22T10:00:00Z', '2024-02-29t10:00:00.123+05:30'],
  date: ['2024-02-29'],
  time: ['10:00:00Z', '23:59:60.5+01:00'],
  duration: ['P1DT2H', 'P3W'],
  email: ['a.b+c@example.com'],
  hostname: ['a', 'example.com', 'xn--bcher-kva.example'],
  ipv4: ['192.0.2.1'],
  ipv6: ['::1', '2001:db8::192.0.2.1'],
  uri: ['https://example.com/a?b#c', 'urn:isbn:0451450523'],
  uuid: ['01A20577-eba9-7ae4-8ed1-961adbf1c7c3'],
  'json-pointer': ['', '/a~1b/~0/0'],
};
const missing: Record<string, string[]> = {
  'date-time': ['2026-11-22', '2026-02-30T10:00:00Z', '2026-11-22T10:00:00'],
  date: ['2023-02-29', '22.11.2026'],
  time: ['24:00:00Z', '10:00:00', '10:00Z'],
  duration: ['P', '1 day', 'PT'],
  email: ['a', 'a@', '@example.com'],
  hostname: ['-a.example', 'a..b', `${'a'.repeat(64)}.example`, ''],
  ipv4: ['256.0.0.1', '1.2.3'],
  ipv6: ['fe80::1%eth0', ':::', '192.0.2.1'],
  uri: ['/relative', 'no scheme', 'https://exa mple.com'],
  uuid: ['01a20577', '01a20577eba97ae48ed1961adbf1c7c3'],
  'json-pointer': ['a', '/~2'],
};

test('formats are asserted on request, and annotate otherwise', () => {
  for (const [format, texts] of Object.entries(fitting)) {
    const asserting = prepareSchema({ format }, { formats: 'assert' });
    for (const text of texts) assert.deepEqual(asserting.faultsOf(text), [], `${format}: ${text}`);
    assert.deepEqual(asserting.faultsOf(5), []);
    for (const text of missing[format] ?? []) {
      const message = `must have the format ${format}`;
      assert.deepEqual(asserting.faultsOf(text), [{ path: '', message }], `${format}: ${text}`);
      assert.deepEqual(prepareSchema({ format }).faultsOf(text), []);
    }
  }
});

test('a format that is not known fits everything; a text of more than 2,000 characters has no known one', () => {
  for (const format of ['iri', 'constructor', 'made-up'])
    assert.deepEqual(prepareSchema({ format }, { formats: 'assert' }).faultsOf('x'), []);
  const uri = prepareSchema({ format: 'uri' }, { formats: 'assert' });
  assert.equal(uri.faultsOf(`https://example.com/${'a'.repeat(2000)}`).length, 1);
  const email = prepareSchema({ items: { format: 'email' } }, { formats: 'assert' });
  assert.ok(email.stepsFor(Array.from({ length: 5000 }, () => 'a@example.com')) > 100_000);
});
