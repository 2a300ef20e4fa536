import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type AccessOptions, findAccess } from './access.ts';
import { findOwnConnection } from './connection.ts';
import { PlainError } from './plain-error.ts';

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'baton-access-'));
  for (const name of ['home', 'other']) {
    const url = `http://127.0.0.1/${name}`;
    const connection = {
      coordinationUrl: url,
      identityUrl: `${url}/iam`,
      issuer: 'i',
      tenantId: 't',
      iamBootstrapToken: 'secret',
      adminToken: `administrator of ${name}`,
    };
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'connection.json'), JSON.stringify(connection), { mode: 0o600 });
  }
  mkdirSync(join(folder, 'config', 'baton'), { recursive: true });
  const profiles = {
    near: { url: 'https://near.example', token: 'near token' },
    far: { url: 'https://far.example', token: 'far token' },
  };
  const file = join(folder, 'config', 'baton', 'profiles.json');
  writeFileSync(file, JSON.stringify({ current: 'near', profiles }), { mode: 0o600 });
});
after(() => rmSync(folder, { recursive: true, force: true }));

type Variables = Record<string, string>;
const local = () => ({ BATON_HOME: join(folder, 'home') });
const signedIn = () => ({ XDG_CONFIG_HOME: join(folder, 'config') });
const nobody = () => ({ XDG_CONFIG_HOME: join(folder, 'nobody') });

function accessOf(environment: Variables, options: AccessOptions = {}) {
  const home = environment['BATON_HOME'];
  const { token, coordinationUrl, adminSecret, source } = findAccess(options, { home, environment });
  return { token, url: coordinationUrl, isAdministrator: adminSecret !== undefined, source };
}

function refused(environment: Variables, options: AccessOptions = {}): PlainError {
  try {
    accessOf(environment, options);
  } catch (error) {
    if (error instanceof PlainError) return error;
    throw error;
  }
  throw new assert.AssertionError({ message: 'it was not refused' });
}

test('explicit settings take precedence, in this order: flag, environment, profile, local folder', () => {
  const environment = { BATON_URL: 'https://env.example/', BATON_TOKEN: 'env token', BATON_PROFILE: 'near' };
  const all = { ...local(), ...signedIn(), ...environment };
  const { BATON_URL: _url, BATON_TOKEN: _token, ...byName } = { ...all, BATON_PROFILE: 'far' };
  const other = join(folder, 'other', 'connection.json');
  for (const [variables, options, token, url, source] of [
    [all, { profile: 'far' }, 'far token', 'https://far.example', /^profile far \(--profile\)$/],
    [all, { connection: other }, 'administrator of other', 'http://127.0.0.1/other', /^the file .*other/],
    [all, {}, 'env token', 'https://env.example', /^BATON_URL and BATON_TOKEN$/],
    [byName, {}, 'far token', 'https://far.example', /^profile far \(BATON_PROFILE\)$/],
    [{ ...local(), ...signedIn() }, {}, 'near token', 'https://near.example', /^profile near \(in use\)$/],
    [
      { ...local(), ...nobody() },
      {},
      'administrator of home',
      'http://127.0.0.1/home',
      /^the connection file of BATON_HOME \(.*home\), as the administrator$/,
    ],
  ] as const) {
    const found = accessOf(variables, options);
    assert.deepEqual([found.token, found.url], [token, url]);
    assert.match(found.source, source);
    assert.equal(found.isAdministrator, token.startsWith('administrator'));
  }
});

test('BATON_TOKEN alone acts at the Baton of this machine, and never as its administrator', () => {
  const found = accessOf({ ...local(), ...signedIn(), BATON_TOKEN: 'mine' });
  assert.deepEqual([found.token, found.url, found.isAdministrator], ['mine', 'http://127.0.0.1/home', false]);
  const elsewhere = { ...local(), ...nobody(), BATON_TOKEN: 'mine' };
  const named = accessOf(elsewhere, { url: 'https://there.example' });
  assert.deepEqual([named.token, named.url], ['mine', 'https://there.example']);
});

test('half of an explicit account, a profile that does not exist, and two accounts are errors', () => {
  const all = { ...local(), ...signedIn() };
  for (const [error, message] of [
    [refused({ ...all, BATON_URL: 'https://env.example' }), /BATON_URL is set, but BATON_TOKEN is not/],
    [
      refused(all, { profile: 'nowhere' }),
      /There is no profile nowhere \(--profile\); valid profiles: near, far\./,
    ],
    [refused({ ...all, BATON_PROFILE: 'constructor' }), /no profile constructor \(BATON_PROFILE\)/],
  ] as const) {
    assert.equal(error.exitCode, 4);
    assert.match(error.message, message);
  }
  const both = refused(all, { profile: 'near', connection: 'x' });
  assert.deepEqual([both.exitCode, /not both/.test(both.message)], [2, true]);
});

test("a token is sent only to the address for which it was entered, and the administrator's only to this machine", () => {
  const all = { ...local(), ...signedIn() };
  assert.equal(accessOf(all, { url: 'https://far.example/' }).token, 'far token');
  const stranger = refused(all, { url: 'https://stranger.example' });
  assert.match(stranger.message, /You are not signed in at https:\/\/stranger\.example: .* login --url/);
  assert.equal(accessOf(all, { url: 'http://localhost:9' }).token, 'administrator of home');
  assert.equal(refused(all, { url: 'ftp://far.example' }).exitCode, 2);
});

test('a command of the administrator is rejected for an explicitly named account, and never carried out in its place', () => {
  const own = (environment: Variables, options: AccessOptions = {}) =>
    findOwnConnection(options, { home: environment['BATON_HOME'], environment })?.adminToken;
  const home = local();
  assert.equal(own({ ...home, ...signedIn() }), 'administrator of home');
  assert.throws(() => own(home, { profile: 'far' }), /--profile selects an account/);
  for (const name of ['BATON_URL', 'BATON_TOKEN', 'BATON_PROFILE'])
    assert.throws(() => own({ ...home, [name]: 'x' }), new RegExp(`${name} selects an account`));
  assert.throws(() => own(home, { url: 'https://far.example' }), /is another machine/);
  const connection = join(folder, 'other', 'connection.json');
  assert.equal(own({ ...home, BATON_TOKEN: 'x' }, { connection }), 'administrator of other');
});

test('a job or pod uses the identity of its platform where BATON_TOKEN is not set, and is never the administrator', () => {
  const job = { BATON_IDENTITY_TOKEN: 'a.b.c', BATON_TENANT_ID: 't-1' };
  const all = { ...local(), ...signedIn(), BATON_URL: 'https://env.example/', ...job };
  const home = all['BATON_HOME'];
  const { token, credential, coordinationUrl, adminSecret, source } = findAccess(
    {},
    { home, environment: all },
  );
  assert.deepEqual([token, coordinationUrl, adminSecret], [undefined, 'https://env.example', undefined]);
  assert.ok('assertion' in credential && credential.tenantId === 't-1');
  assert.equal(source, 'BATON_URL, as a workload');
  const withToken = { ...all, BATON_TOKEN: 'pat' };
  assert.deepEqual(findAccess({}, { home, environment: withToken }).credential, { token: 'pat' });
  const noAddress = refused({ ...local(), ...signedIn(), ...job });
  assert.match(noAddress.message, /is set, but BATON_URL is not: set it/);
  assert.equal(noAddress.exitCode, 4);
  const byOption = findAccess(
    { url: 'https://option.example' },
    { home, environment: { ...local(), ...job } },
  );
  assert.equal(byOption.coordinationUrl, 'https://option.example');
});
