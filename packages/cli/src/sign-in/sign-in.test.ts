import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { CliConfig } from '../config.ts';
import { profilesFile, readProfiles, writeProfiles } from '../profiles.ts';
import { findAuthorizationServer } from './authorization-server.ts';
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
