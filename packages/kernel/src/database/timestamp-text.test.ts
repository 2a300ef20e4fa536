import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Timestamp } from '@baton/values/wire';
import { timestampText } from './db.ts';

const storable = fc.date({
  min: new Date('0001-01-01T00:00:00Z'),
  max: new Date('9999-12-31T23:59:59.999Z'),
  noInvalidDate: true,
});

test("the server's text of a timestamp becomes RFC 3339 with three digits, whatever zeros it leaves out", () => {
  fc.assert(
    fc.property(storable, (date) => {
      const wire = date.toISOString();
      const fraction = wire.slice(20, 23).replace(/0+$/, '');
      const server = `${wire.slice(0, 10)} ${wire.slice(11, 19)}${fraction === '' ? '' : `.${fraction}`}+00`;
      assert.equal(timestampText(server), wire);
      assert.ok(Timestamp.safeParse(timestampText(server)).success);
    }),
  );
});
