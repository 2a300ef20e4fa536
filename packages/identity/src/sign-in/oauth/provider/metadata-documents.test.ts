import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { startIdentity, type TestIdentity, testSigningKey } from '../../../testing/identity.ts';
import { made, makeAudience, makeTenant, readScope, writeScope } from '../../../testing/objects.ts';
import { until } from '../../../testing/waiting.ts';
import { makePerson, type Person } from '../../passkeys/testing/people.ts';
import {
  authorize,
  begin,
  connect,
  makePkce,
  oauthSettings,
  read,
  refresh,
  requestOf,
} from '../testing/browser.ts';
import { newDevice } from '../testing/device.ts';
import { documentBounds } from './metadata-documents.ts';

// Needs its own process: it trusts another certificate authority.

const skip = spawnSync('openssl', ['version']).error === undefined ? false : 'openssl is not installed';

let identity: TestIdentity;
let tenantId: string;
let person: Person;
let server: Server;
let origin: string;
let folder: string;
let fetched: string[] = [];
const documents = new Map<
  string,
  (id: string) => { status?: number; headers?: Record<string, string>; isCut?: boolean; body: string }
>();

before(async () => {
  if (skip !== false) return console.warn(`SKIPPED: ${skip}`);
  folder = mkdtempSync(join(tmpdir(), 'baton-documents-'));
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-keyout', key];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const { status } = spawnSync('openssl', [
    'req',
    '-x509',
    '-nodes',
    '-days',
    '2',
    ...kind,
    '-out',
    certificate,
    ...names,
  ]);
  assert.equal(status, 0);
  const pem = readFileSync(certificate, 'utf8');
  setDefaultCACertificates([...getCACertificates('default'), pem]);
  server = createServer({ key: readFileSync(key), cert: pem }, (req, res) => {
    const path = req.url ?? '';
    fetched.push(path);
    const {
      status = 200,
      headers = {},
      isCut = false,
      body,
    } = documents.get(path)?.(`${origin}${path}`) ?? { status: 404, body: '' };
    if (isCut) return void req.socket.destroy();
    res.writeHead(status, { 'content-type': 'application/json', ...headers });
    res.end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `localhost:${(server.address() as AddressInfo).port}`;
  origin = `https://${host}`;
  identity = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_OUTBOUND_ALLOWED_HOSTS: JSON.stringify([host]),
    IAM_TRUSTED_PROXIES: '["127.0.0.1/32"]',
    ...oauthSettings,
  });
  tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId, 'control-plane', [readScope, writeScope]);
  person = await makePerson(identity, tenantId);
});
after(async () => {
  server?.closeAllConnections();
  server?.close();
  await identity?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true });
});

const callback = 'http://127.0.0.1:33418/';

/** Publishes a document. @returns the id of its client */
function publish(
  path: string,
  more: object = {},
  answer: { status?: number; headers?: Record<string, string> } = {},
): string {
  documents.set(path, (id) => ({
    ...answer,
    body: JSON.stringify({
      client_id: id,
      client_name: 'Editor <b>',
      redirect_uris: [callback, 'https://editor.example/redirect'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      ...more,
    }),
  }));
  return `${origin}${path}`;
}

const attempt = (client_id: string, more: object = {}) =>
  authorize(identity, { ...requestOf(makePkce()), client_id, redirect_uri: callback, ...more });

describe('a client with a metadata document', { skip }, () => {
  test('connects like any other, on any port of the loopback address, and its document is fetched once', async () => {
    const clientId = publish('/editor.json');
    fetched = [];
    const { request } = await begin(
      identity,
      requestOf(makePkce(), { client_id: clientId, redirect_uri: callback }),
    );
    const { client } = await made(read(identity, person, { request }));
    assert.deepEqual(client, {
      id: clientId,
      name: 'Editor <b>',
      kind: 'document',
      host: new URL(origin).host,
      redirectHost: '127.0.0.1:33418',
    });
    const granted = await connect(identity, person, {
      client_id: clientId,
      redirect_uri: 'http://127.0.0.1:4000/',
    });
    assert.equal((await refresh(identity, granted.refresh_token, { client_id: clientId })).status, 200);
    assert.deepEqual(fetched, ['/editor.json']);
    const [grant] = await made(
      identity.get(`/tenants/${tenantId}/platform-access-tokens?principalId=${person.principalId}`),
    );
    assert.equal(grant.name, 'Editor <b>');
  });

  for (const [name, path, more, answer] of [
    ['of another id', '/other.json', { client_id: 'https://localhost/x' }, {}],
    ['with a secret', '/secret.json', { client_secret: 'x' }, {}],
    [
      'with a shared secret as its method',
      '/method.json',
      { token_endpoint_auth_method: 'client_secret_post' },
      {},
    ],
    ['with a key', '/key.json', { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [] } }, {}],
    [
      'of another redirect address',
      '/redirect.json',
      { redirect_uris: ['https://editor.example/redirect'] },
      {},
    ],
    ['that is missing', '/missing.json', {}, { status: 404 }],
    ['behind a redirect', '/moved.json', {}, { status: 302, headers: { location: '/editor.json' } }],
    ['that is too long', '/long.json', { client_uri: `https://x/${'x'.repeat(9000)}` }, {}],
  ] as const)
    test(`is refused ${name}`, async () => {
      const { status, location } = await attempt(publish(path, more, answer));
      assert.deepEqual([status, location], [400, undefined]);
    });

  for (const [name, redirect_uri, application_type] of [
    ['an unencrypted address', 'http://evil.example/callback', 'web'],
    ['a script', 'javascript:alert(1)', 'native'],
    ['a scheme of the system', 'smb://evil.example/share', 'native'],
    ['credentials in the address', 'https://user:pass@evil.example/callback', 'web'],
  ] as const)
    test(`is sent nowhere by ${name}, and still to its other addresses`, async () => {
      const more = { application_type, redirect_uris: [callback, redirect_uri] };
      const clientId = publish(`/${name.replaceAll(' ', '-')}.json`, more);
      // Another process, because the number of fetches per address and minute is limited.
      const other = await identity.another();
      const given = { ...requestOf(makePkce()), client_id: clientId };
      const { status, location } = await authorize(other, { ...given, redirect_uri });
      assert.deepEqual([status, location], [400, undefined]);
      assert.equal((await authorize(other, { ...given, redirect_uri: callback })).status, 303);
      await other.close();
    });

  test('that has not been allowed anything is sent nowhere, except on the same machine', async () => {
    const clientId = publish('/opener.json', { redirect_uris: [callback, 'https://evil.example/landing'] });
    for (const more of [
      { prompt: 'none' },
      { response_type: 'token' },
      { resource: 'https://elsewhere.example' },
      { code_challenge: undefined },
    ]) {
      const given = { ...requestOf(makePkce()), client_id: clientId, ...more };
      const { status, location, body } = await authorize(identity, {
        ...given,
        redirect_uri: 'https://evil.example/landing',
      });
      assert.deepEqual([status, location], [400, undefined], JSON.stringify(more));
      assert.match(body, /login_required|unsupported_response_type|invalid_target|invalid_request/);
      const onMachine = await authorize(identity, { ...given, redirect_uri: callback });
      assert.deepEqual([onMachine.status, onMachine.location?.hostname], [303, '127.0.0.1']);
    }
  });

  test('is shown without what could hide or reorder the text of the page', async () => {
    const name = `Ba\u0000t\u202eon\u2066 \ud800\u200b${'x'.repeat(1000)}`;
    const clientId = publish('/named.json', {
      client_name: name,
      grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
    });
    const given = { client_id: clientId, redirect_uri: callback };
    const { request } = await begin(identity, requestOf(makePkce(), given));
    const { client } = await made(read(identity, person, { request }));
    assert.equal(client.name, `Ba ton \ufffd${'x'.repeat(192)}`);
    assert.equal(client.name.length, 200);
    const { user_code: userCode } = await newDevice(identity, { client_id: clientId });
    assert.deepEqual((await made(read(identity, person, { userCode }))).client.name, client.name);
  });

  test('is refused without https, and inside the network', async () => {
    for (const id of [
      'http://localhost/client.json',
      `https://127.0.0.1:${new URL(origin).port}/editor.json`,
      'https://10.0.0.1/client.json',
      'https://[::1]/client.json',
      'https://169.254.169.254/latest/meta-data',
    ]) {
      fetched = [];
      const { status, location, body } = await attempt(id);
      assert.deepEqual([status, location], [400, undefined], id);
      assert.deepEqual(fetched, []);
      assert.ok(!/not_public|unreachable|refused/i.test(body), body);
    }
  });

  test('has documents fetched for one address a limited number of times; others are not affected', async () => {
    const from = (address: string, path: string) => {
      const given = new URLSearchParams({
        ...requestOf(makePkce()),
        client_id: publish(path),
        redirect_uri: callback,
      });
      return fetch(`${identity.url}/oauth2/authorize?${given}`, {
        redirect: 'manual',
        headers: { 'x-forwarded-for': address },
      });
    };
    for (let count = 0; count < documentBounds.ofAddressMax; count += 1)
      assert.equal((await from('198.51.100.1', `/many-${count}.json`)).status, 303);
    assert.equal((await from('198.51.100.1', '/one-more.json')).status, 400);
    assert.equal((await from('198.51.100.1', '/many-0.json')).status, 303);
    assert.equal((await from('198.51.100.2', '/one-more.json')).status, 303);
  });

  test('keeps its refresh token while its document can not be fetched, and loses it with the document', async () => {
    const clientId = publish('/down.json');
    const first = await identity.another();
    const { refresh_token: token } = await connect(first, person, {
      client_id: clientId,
      redirect_uri: callback,
    });
    // Another process has not cached the document.
    const other = await identity.another();
    const published = documents.get('/down.json');
    documents.set('/down.json', () => ({ isCut: true, body: '' }));
    const { status, body, headers } = await refresh(other, token, { client_id: clientId });
    assert.deepEqual([status, body.error], [503, 'temporarily_unavailable']);
    assert.equal(headers.get('retry-after'), '10');
    documents.delete('/down.json');
    const gone = await refresh(other, token, { client_id: clientId });
    assert.deepEqual([gone.status, gone.body.error], [401, 'invalid_client']);
    documents.set('/down.json', published as NonNullable<typeof published>);
    assert.equal((await refresh(other, token, { client_id: clientId })).status, 200);
    await other.close();
    await first.close();
  });

  test('keeps every refresh token that is used while one fetch of its document fails', async () => {
    const clientId = publish('/shared.json');
    const first = await identity.another();
    const given = { client_id: clientId, redirect_uri: callback };
    const grants = [await connect(first, person, given), await connect(first, person, given)];
    const other = await identity.another();
    const held: (() => void)[] = [];
    const listeners = server.listeners('request') as ((...given: unknown[]) => void)[];
    server.removeAllListeners('request');
    let isDown = false;
    server.on('request', (req) => {
      if (isDown) req.socket.destroy();
      else held.push(() => req.socket.destroy());
    });
    const refreshing = grants.map(async ({ refresh_token: token }, at) => {
      // The others join the fetch of the first.
      if (at > 0) await until(() => held.length > 0, 'the document is requested');
      return refresh(other, token, { client_id: clientId });
    });
    await until(() => held.length > 0, 'the document is requested');
    await sleep(200);
    isDown = true;
    for (const end of held) end();
    for (const { status, body } of await Promise.all(refreshing))
      assert.deepEqual([status, body.error], [503, 'temporarily_unavailable']);
    server.removeAllListeners('request');
    for (const listener of listeners) server.on('request', listener);
    for (const { refresh_token: token } of grants)
      assert.equal((await refresh(other, token, { client_id: clientId })).status, 200);
    await other.close();
    await first.close();
  });

  test('that is sent slowly occupies few of the places, which are free again afterwards', async () => {
    const slow: (() => void)[] = [];
    const listeners = server.listeners('request') as ((...given: unknown[]) => void)[];
    server.removeAllListeners('request');
    server.on('request', (req, res) => {
      if (req.url?.startsWith('/slow-')) slow.push(() => res.end('{}'));
      else for (const listener of listeners) listener(req, res);
    });
    const from = (address: string, clientId: string) => {
      const given = { ...requestOf(makePkce()), client_id: clientId, redirect_uri: callback };
      return fetch(`${identity.url}/oauth2/authorize?${new URLSearchParams(given)}`, {
        redirect: 'manual',
        headers: { 'x-forwarded-for': address },
      });
    };
    const attack = Array.from({ length: 6 }, (_, at) => from('198.51.100.3', `${origin}/slow-${at}.json`));
    await until(() => slow.length >= documentBounds.runningOfAddressMax, 'the documents are requested');
    assert.equal((await from('198.51.100.3', publish('/beside.json'))).status, 400);
    assert.equal((await from('198.51.100.4', publish('/beside.json'))).status, 303);
    assert.equal(slow.length, documentBounds.runningOfAddressMax);
    for (const end of slow) end();
    await Promise.all(attack);
    const { status } = await from('198.51.100.3', publish('/after.json'));
    assert.equal(status, 303);
  });
});
