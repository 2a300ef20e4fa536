import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { choice, flag, integer, list, map, readSettings, SettingError, text } from './config.ts';

const table = {
  A_PORT: integer({ default: 8010, min: 0, max: 65_535, doc: '' }),
  A_OPEN: flag({ default: false, doc: '' }),
  A_MODE: choice(['local', 'shadow'], { default: 'local', doc: '' }),
  A_ORIGINS: list({ default: [], doc: '' }),
  A_GROUPS: map({ default: {}, doc: '' }),
  A_TOKEN: text<string | undefined>({ default: undefined, secret: true, doc: '', aliases: ['OLD_TOKEN'] }),
  A_SECRET_LIST: list({ default: [], secret: true, doc: '' }),
};

test('an absent or empty setting has its default', () => {
  const defaults = {
    A_PORT: 8010,
    A_OPEN: false,
    A_MODE: 'local',
    A_ORIGINS: [],
    A_GROUPS: {},
    A_TOKEN: undefined,
    A_SECRET_LIST: [],
  };
  assert.deepEqual(readSettings(table, {}), defaults);
  const empty = Object.fromEntries(Object.keys(table).map((name) => [name, '']));
  assert.deepEqual(readSettings(table, { ...empty, SOMETHING_ELSE: 'x' }), defaults);
});

test('values are parsed; names match in any case and by alias', () => {
  const env = {
    a_port: ' 0 ',
    A_Open: 'Yes',
    A_MODE: 'SHADOW',
    A_ORIGINS: '["a","b"]',
    A_GROUPS: '{"a":"b"}',
    OLD_TOKEN: 't',
  };
  assert.deepEqual(readSettings(table, env), {
    A_PORT: 0,
    A_OPEN: true,
    A_MODE: 'shadow',
    A_ORIGINS: ['a', 'b'],
    A_GROUPS: { a: 'b' },
    A_TOKEN: 't',
    A_SECRET_LIST: [],
  });
  assert.equal(readSettings(table, { A_TOKEN: 'new', OLD_TOKEN: 'old' }).A_TOKEN, 'new');
});

test('an invalid value is reported in one sentence that names the setting and never repeats the value', () => {
  const bad: [string, string][] = [
    ['A_PORT', 'canary'],
    ['A_PORT', '65536'],
    ['A_PORT', '-1'],
    ['A_PORT', '1.5'],
    ['A_PORT', '1e3'],
    ['A_PORT', '0x10'],
    ['A_PORT', '99999999999999999999'],
    ['A_OPEN', 'canary'],
    ['A_MODE', 'canary'],
    ['A_ORIGINS', 'canary'],
    ['A_ORIGINS', '[1]'],
    ['A_ORIGINS', '{"a":"canary"}'],
    ['A_GROUPS', '["canary"]'],
    ['A_GROUPS', '{"a":1}'],
    ['A_GROUPS', 'null'],
    ['A_SECRET_LIST', '["canary"'],
  ];
  for (const [name, value] of bad)
    assert.throws(
      () => readSettings(table, { [name]: value }),
      (error: Error) => {
        assert.ok(error instanceof SettingError);
        assert.match(error.message, new RegExp(`^${name} must be .*\\.$`));
        assert.ok(!error.message.includes('canary'));
        return true;
      },
      `${name}=${value}`,
    );
});

test('an error never contains the value of a secret setting', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 8 }), (value) => {
      try {
        readSettings(table, { A_SECRET_LIST: value });
      } catch (error) {
        assert.ok(!(error as Error).message.includes(value));
      }
    }),
  );
});
