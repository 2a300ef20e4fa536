import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { z } from 'zod';
import { InstantInput, QueryFlag, queryInteger, Timestamp, textsByName, Uuid } from './wire.ts';

const storable = fc.date({
  min: new Date('0001-01-01T00:00:00Z'),
  max: new Date('9999-12-31T23:59:59.999Z'),
  noInvalidDate: true,
});

test('an instant is accepted with any offset, and without one is UTC', () => {
  for (const [given, wire] of [
    ['2026-11-21T12:00:00Z', '2026-11-21T12:00:00.000Z'],
    ['2026-11-21T12:00:00.5+02:00', '2026-11-21T10:00:00.500Z'],
    ['2026-11-21T12:00:00-05:30', '2026-11-21T17:30:00.000Z'],
    ['2026-11-21T12:00:00', '2026-11-21T12:00:00.000Z'],
    ['2026-11-21T12:00:00.123456', '2026-11-21T12:00:00.123Z'],
    ['2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ])
    assert.equal(InstantInput.parse(given), wire);
});

test('a text that is not an instant in the years 1 to 9999 is refused', () => {
  for (const given of [
    '',
    'now',
    '2026-02-29',
    '2026-11-31T00:00:00Z',
    '2026-11-21T24:30:00Z',
    '2026-11-21T12:00:60Z',
    '2026-11-21 12:00:00Z',
    '20261121T120000Z',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+05:00',
    '9999-12-31T23:59:59-05:00',
    '+012026-11-21T12:00:00Z',
    1_700_000_000,
    null,
  ])
    assert.equal(InstantInput.safeParse(given).success, false, String(given));
});

test('an instant is converted to the format of responses', () => {
  fc.assert(
    fc.property(storable, (date) => {
      assert.equal(InstantInput.parse(date.toISOString()), date.toISOString());
    }),
  );
  fc.assert(
    fc.property(fc.string(), (text) => {
      const result = InstantInput.safeParse(text);
      assert.ok(!result.success || Timestamp.safeParse(result.data).success);
    }),
  );
});

test('a UUID is taken in either case and kept in lower case', () => {
  fc.assert(
    fc.property(fc.uuid(), (id) => {
      assert.equal(Uuid.parse(id.toUpperCase()), id.toLowerCase());
    }),
  );
  for (const text of [
    '',
    'x',
    '{0190b2c4-7e1f-7a2b-8c3d-4e5f60718293}',
    '0190b2c47e1f7a2b8c3d4e5f60718293',
    '0190b2c4-7e1f-7a2b-8c3d-4e5f60718293\n',
  ])
    assert.equal(Uuid.safeParse(text).success, false, JSON.stringify(text));
});

test('an integer in a query is digits within its bounds', () => {
  const schema = queryInteger(0, 10);
  assert.equal(schema.parse('10'), 10);
  for (const text of ['', '11', '-1', '1.0', '1e1', ' 1', '٣', '99999999999999999999'])
    assert.equal(schema.safeParse(text).success, false, text);
});

test('an integer in a query may be as large as its bound and no larger', () => {
  const schema = queryInteger(0, Number.MAX_SAFE_INTEGER);
  assert.equal(schema.parse('9007199254740991'), Number.MAX_SAFE_INTEGER);
  for (const text of ['9007199254740993', '9'.repeat(400)])
    assert.equal(schema.safeParse(text).error?.issues[0]?.message, 'must be from 0 to 9007199254740991');
});

test('a flag in a query is true or false in any case, and nothing else', () => {
  assert.deepEqual(
    ['true', 'True', 'TRUE', 'false', 'False'].map((text) => QueryFlag.parse(text)),
    [true, true, true, false, false],
  );
  for (const text of ['', '1', 'yes', ' true', ['true', 'false']])
    assert.equal(QueryFlag.safeParse(text).success, false, String(text));
});

test('texts by name keep every name, and refuse the name that would be lost', () => {
  const texts = textsByName(z.string(), z.string(), 2);
  const named = { constructor: 'a', '': 'b' };
  assert.deepEqual(texts.parse(named), named);
  for (const refused of [
    JSON.parse('{"__proto__": "a"}'),
    { a: 1 },
    { a: 'a', b: 'b', c: 'c' },
    ['a'],
    null,
    'a',
  ])
    assert.equal(texts.safeParse(refused).success, false, JSON.stringify(refused));
});
