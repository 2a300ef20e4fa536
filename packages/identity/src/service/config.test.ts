import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readIdentitySettings } from '../app/settings.ts';

describe('the settings', () => {
  /** Tests docs/configuration.md#identity. */
  const defaults = {
    IAM_BOOTSTRAP_TOKEN: '',
    IAM_SIGNING_KEY_FILE: undefined,
    IAM_SIGNING_PRIVATE_KEY: undefined,
    IAM_SIGNING_KEY_ID: 'local-dev',
    IAM_ISSUER: undefined,
    IAM_PUBLIC_URL: 'http://localhost:8010',
    IAM_DATABASE_URL: 'postgresql://iam:iam@localhost:5435/iam',
    IAM_CREATE_SCHEMA_ON_STARTUP: false,
    IAM_TOKEN_TTL_SECONDS: 300,
    IAM_PAT_DEFAULT_TTL_SECONDS: 2_592_000,
    IAM_PAT_MAX_TTL_SECONDS: 31_536_000,
    IAM_PAT_MAX_AUTHENTICATION_AGE_SECONDS: 300,
    IAM_LEGACY_CREDENTIAL_MAX_TTL_SECONDS: 7_776_000,
    IAM_SCIM_AUDIENCE: 'iam-scim',
    IAM_SCIM_SCOPE: 'scim:write',
    IAM_SCIM_MAX_PAGE_SIZE: 200,
    IAM_PRIVILEGED_SCOPES: {},
    IAM_PEOPLE_SCOPE: 'iam:people',
    IAM_PEOPLE_ADMIN_GROUP: 'people-admins',
    IAM_PORT: 8010,
  };
  const names = Object.keys(defaults) as (keyof typeof defaults)[];

  test('have the documented defaults, also if a value is empty', () => {
    for (const env of [{}, Object.fromEntries(names.map((name) => [name, '']))]) {
      const settings = readIdentitySettings(env);
      assert.deepEqual(Object.fromEntries(names.map((name) => [name, settings[name]])), defaults);
      assert.equal(settings.issuer, 'http://localhost:8010/iam');
    }
  });

  test('each is read under its name in any case', () => {
    for (const name of names) {
      const former: unknown = defaults[name];
      const [text, value] =
        typeof former === 'number'
          ? ['77', 77]
          : typeof former === 'boolean'
            ? ['true', true]
            : typeof former === 'object'
              ? ['{"a":"b"}', { a: 'b' }]
              : ['https://given.example', 'https://given.example'];
      for (const written of [name, name.toLowerCase(), name.replace('IAM', 'Iam')])
        assert.deepEqual(readIdentitySettings({ [written]: text })[name], value, written);
    }
  });

  test('the file of the signing key has a second name, and the first one wins', () => {
    const second = { IAM_SIGNING_PRIVATE_KEY_FILE: '/second.pem' };
    assert.equal(readIdentitySettings(second).IAM_SIGNING_KEY_FILE, '/second.pem');
    const both = { ...second, IAM_SIGNING_KEY_FILE: '/first.pem' };
    assert.equal(readIdentitySettings(both).IAM_SIGNING_KEY_FILE, '/first.pem');
  });

  test('the issuer is the public address with /iam, or the given text, unchanged', () => {
    assert.equal(
      readIdentitySettings({ IAM_PUBLIC_URL: 'https://a.example' }).issuer,
      'https://a.example/iam',
    );
    const given = { IAM_PUBLIC_URL: 'https://a.example', IAM_ISSUER: 'https://b.example' };
    assert.equal(readIdentitySettings(given).issuer, 'https://b.example');
  });

  test('an address that ends in a slash, or is no address, is refused', () => {
    for (const name of ['IAM_PUBLIC_URL', 'IAM_ISSUER'])
      for (const [value, sentence] of [
        ['https://a.example/', new RegExp(`^${name} must not end with a slash`)],
        ['https://a.example/iam/', new RegExp(`^${name} must not end with a slash`)],
        ['a.example', new RegExp(`^${name} must be an http or https address`)],
        ['https://a.example/iam?x', new RegExp(`^${name} must be an http`)],
      ] as const)
        assert.throws(
          () => readIdentitySettings({ [name]: value }),
          (error: Error) => sentence.test(error.message),
        );
  });

  test('values out of range are refused without being repeated', () => {
    for (const [name, value] of [
      ['IAM_TOKEN_TTL_SECONDS', '-7'],
      ['IAM_PAT_MAX_TTL_SECONDS', '59'],
      ['IAM_PORT', '65536'],
      ['IAM_PRIVILEGED_SCOPES', '["fleet:admin"]'],
      ['IAM_PRIVILEGED_SCOPES', '{"fleet:admin": 1}'],
      ['IAM_CREATE_SCHEMA_ON_STARTUP', 'perhaps'],
      ['IAM_LOG_LEVEL', 'loud'],
    ] as const)
      assert.throws(
        () => readIdentitySettings({ [name]: value }),
        (error: Error) => error.message.startsWith(name) && !error.message.includes(value),
      );
  });

  test('names are case-insensitive and unknown ones are ignored', () => {
    const settings = readIdentitySettings({ iam_token_ttl_seconds: '60', IAM_UNKNOWN: 'x' });
    assert.equal(settings.IAM_TOKEN_TTL_SECONDS, 60);
  });

  test('privileged scopes can be added and given another group; built-in ones cannot be removed', () => {
    const builtIn = { 'fleet:admin': 'fleet-admins', 'iam:people': 'people-admins' };
    assert.deepEqual(Object.fromEntries(readIdentitySettings({}).privilegedScopes), builtIn);
    const settings = readIdentitySettings({
      IAM_PRIVILEGED_SCOPES: '{"fleet:admin": "captains", "vault:open": "keepers"}',
      IAM_PEOPLE_ADMIN_GROUP: 'hr',
    });
    assert.deepEqual(Object.fromEntries(settings.privilegedScopes), {
      'fleet:admin': 'captains',
      'iam:people': 'hr',
      'vault:open': 'keepers',
    });
  });
});
