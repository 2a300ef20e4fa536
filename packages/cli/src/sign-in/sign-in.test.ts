import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer, type RequestListener, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { CliConfig } from '../config.ts';
import { profilesFile, readProfiles, writeProfiles } from '../profiles.ts';
import { runProgram } from '../program.ts';
import { findAuthorizationServer } from './authorization-server.ts';
import { signInByBrowser } from './browser-sign-in.ts';
import { credentialOfGrant } from './profile-grant.ts';

let respond: RequestListener;
const server = createServer((req, res) => respond(req, res));
const folder = mkdtempSync(join(tmpdir(), 'baton-sign-in-'));
const config = { environment: { XDG_CONFIG_HOME: folder } } as unknown as CliConfig;
let url: string;
before(async () => {
  await new Promise<void>((done) => {
    server.listen(0, '127.0.0.1', done);
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const grant = (refreshToken: string, expiresAtMs = 0) => ({
  tokenEndpoint: `${url}/iam/oauth2/token`,
  refreshToken,
  accessToken: 'old',
  expiresAtMs,
});

describe('a sign-in by browser', () => {
  test('opens a page only: no file, no program', async () => {
    const metadata = (page: unknown) => {
      respond = (_req, res) =>
        res.end(
          JSON.stringify({
            issuer: url,
            device_authorization_endpoint: `${url}/device`,
            authorization_endpoint: page,
          }),
        );
      return findAuthorizationServer(url);
    };
    for (const page of ['file:///usr/bin/yes', 'smb://evil.example/x', '-a Calculator', '/bin/sh', undefined])
      await assert.rejects(metadata(page), /not an HTTP or HTTPS URL/);
    assert.equal((await metadata(`${url}/authorize`))?.authorizationEndpoint, `${url}/authorize`);
  });

  test('survives a lost response to a refresh, and repeats no refusal', async () => {
    const refreshed = () => {
      writeProfiles(config, { current: 'mine', profiles: { mine: { url, grant: grant('r1') } } });
      const credential = credentialOfGrant('mine', config);
      assert.ok('accessToken' in credential);
      return credential.accessToken();
    };
    const sent: string[] = [];
    const answerOnSecond = (first: (res: ServerResponse) => void): RequestListener => {
      sent.length = 0;
      return (req, res) => {
        req.on('data', (part: Buffer) =>
          sent.push(String(new URLSearchParams(String(part)).get('refresh_token'))),
        );
        req.on('end', () => {
          if (sent.length === 1) return first(res);
          res.end(JSON.stringify({ access_token: 'fresh', refresh_token: 'r2', expires_in: 300 }));
        });
      };
    };
    for (const first of [
      (res: ServerResponse) => res.destroy(),
      (res: ServerResponse) => res.writeHead(503).end(JSON.stringify({ error: 'temporarily_unavailable' })),
    ]) {
      respond = answerOnSecond(first);
      assert.equal((await refreshed()).accessToken, 'fresh');
      assert.deepEqual(sent, ['r1', 'r1']);
    }
    respond = answerOnSecond((res) => res.writeHead(400).end(JSON.stringify({ error: 'invalid_grant' })));
    await assert.rejects(refreshed(), /has ended/);
    assert.deepEqual(sent, ['r1']);
  });

  test('that is refreshed while another command signs out brings no profile back', async () => {
    const other = { url, token: 'other' };
    const [first, own] = [
      { url, grant: grant('r1') },
      { url, token: 'new' },
    ];
    const refreshed = (meanwhile: () => void) => {
      writeProfiles(config, { current: 'mine', profiles: { mine: first } });
      respond = (_req, res) => {
        meanwhile();
        res.end(JSON.stringify({ access_token: 'fresh', refresh_token: 'r2', expires_in: 300 }));
      };
      const credential = credentialOfGrant('mine', config);
      assert.ok('accessToken' in credential);
      return credential.accessToken();
    };
    await refreshed(() => writeProfiles(config, { current: undefined, profiles: { other } }));
    assert.deepEqual(readProfiles(config), { current: undefined, profiles: { other } });
    await refreshed(() => writeProfiles(config, { current: 'mine', profiles: { mine: own } }));
    assert.deepEqual(readProfiles(config).profiles, { mine: own });
    const { accessToken } = await refreshed(() =>
      writeProfiles(config, { current: 'other', profiles: { mine: first, other } }),
    );
    assert.equal(accessToken, 'fresh');
    const { current, profiles } = readProfiles(config);
    assert.deepEqual(
      [current, profiles['other'], profiles['mine']?.grant?.refreshToken],
      ['other', other, 'r2'],
    );
    assert.equal(statSync(profilesFile(config)).mode & 0o777, 0o600);
    assert.equal(statSync(dirname(profilesFile(config))).mode & 0o777, 0o700);
  });
});

/** Sends one request with exactly this path. @returns the status */
const statusOf = (port: string, path: string) =>
  new Promise<number | undefined>((done, failed) => {
    request({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      response.resume();
      done(response.statusCode);
    })
      .once('error', failed)
      .end();
  });

test('a request whose address is not valid does not end a sign-in that waits for the browser', async () => {
  respond = (_req, res) =>
    res.end(JSON.stringify({ access_token: 'a', refresh_token: 'r', expires_in: 300 }));
  const endpoints = { deviceEndpoint: `${url}/device`, revocationEndpoint: `${url}/revoke` };
  const authorization = { authorizationEndpoint: `${url}/authorize`, tokenEndpoint: `${url}/token` };
  const tokens = await signInByBrowser({ issuer: url, ...endpoints, ...authorization }, async (address) => {
    const asked = new URL(address).searchParams;
    const { port } = new URL(asked.get('redirect_uri') ?? '');
    for (const path of ['//', '//callback', 'http://[', '/callback'])
      assert.ok([400, 404].includes((await statusOf(port, path)) ?? 0), path);
    const query = new URLSearchParams({ state: asked.get('state') ?? '', iss: url, code: 'c' });
    assert.equal(await statusOf(port, `/callback?${query}`), 200);
  });
  assert.equal(tokens.refreshToken, 'r');
});

describe('a sign-in with a code', () => {
  /** Signs in; `mayUse` is whether Baton accepts the new token. @returns the refresh tokens that were revoked */
  async function logIn(refreshToken: string, mayUse = true) {
    const revoked: (string | null)[] = [];
    respond = (req, res) => {
      let body = '';
      req.on('data', (chunk) => {
        body += String(chunk);
      });
      req.on('end', () => {
        const path = (req.url ?? '').split('?')[0] ?? '';
        if (path.endsWith('/revoke')) revoked.push(new URLSearchParams(body).get('token'));
        const isRefused = path.includes('/harness/') && !mayUse;
        res.writeHead(isRefused ? 403 : 200, { 'content-type': 'application/json' });
        res.end(JSON.stringify(answerTo(path, isRefused, refreshToken)));
      });
    };
    const lines: string[] = [];
    const output = {
      line: (text: string) => void lines.push(text),
      progress: (text: string) => void lines.push(text),
      isTerminal: false,
      columns: 80,
    };
    const args = ['login', '--device', '--url', url, '--name', 'mine'];
    const code = await runProgram(args, { config: { ...config, home: folder }, output });
    process.exitCode = 0;
    return { code, revoked, text: lines.join('\n') };
  }
  function answerTo(path: string, isRefused: boolean, refreshToken: string): object {
    if (path.includes('/.well-known/'))
      return {
        issuer: url,
        device_authorization_endpoint: `${url}/iam/oauth2/device-authorization`,
        authorization_endpoint: `${url}/authorize`,
      };
    if (path.endsWith('/device-authorization'))
      return { user_code: 'ABCD', verification_uri: url, device_code: 'd', interval: 1, expires_in: 60 };
    if (path.endsWith('/token'))
      return { access_token: 'a.b.c', refresh_token: refreshToken, expires_in: 300 };
    if (isRefused) return { error: { code: 'permission_denied', message: 'No.' } };
    return { principal: { id: 'p', displayName: 'Ada' }, tenant: { id: 't', slug: 'acme' } };
  }
  const stored = () => readProfiles(config).profiles['mine']?.grant?.refreshToken;

  test('ends the sign-in that it replaces', async () => {
    writeProfiles(config, { current: undefined, profiles: {} });
    assert.deepEqual((await logIn('r1')).revoked, []);
    const second = await logIn('r2');
    assert.deepEqual([second.code, second.revoked, stored()], [0, ['r1'], 'r2']);
  });

  test('that Baton does not accept is ended, and keeps the former one', async () => {
    writeProfiles(config, { current: 'mine', profiles: { mine: { url, grant: grant('r1') } } });
    const { code, revoked, text } = await logIn('r2', false);
    assert.deepEqual([code, revoked, stored()], [1, ['r2'], 'r1'], text);
  });
});
