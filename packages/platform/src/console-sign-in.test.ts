import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { consoleSignIn } from './console-sign-in.ts';
import { StartError } from './start-error.ts';

/** Identity, as far as it is asked about one provider. */
let issuer = 'https://login.example.com/realms/a';
const identity = createServer((_req, res) => {
  res.writeHead(200, { 'content-type': 'application/json' });
  res.end(JSON.stringify({ key: 'corporate', issuer, audience: 'console', status: 'active' }));
});
let folder: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'baton-console-secrets-'));
  await new Promise<void>((done) => identity.listen(0, '127.0.0.1', done));
});
after(() => {
  identity.close();
  identity.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
});

function signInWith(line: string) {
  const file = join(folder, 'secrets');
  writeFileSync(file, `${line}\n`);
  const url = `http://127.0.0.1:${(identity.address() as AddressInfo).port}`;
  const signIn = consoleSignIn(
    {
      BATON_CONSOLE_PROVIDERS: ['corporate'],
      BATON_CONSOLE_SECRETS_FILE: file,
      IAM_OUTBOUND_ALLOWED_HOSTS: [],
    },
    {
      tenantId: '0190b2c4-0000-4000-8000-000000000001',
      adminSecret: 'admin',
      coordinationUrl: url,
      identityUrl: url,
      allowedHosts: [],
      publicUrl: 'http://localhost:8080',
    },
  );
  assert.ok(signIn !== undefined);
  assert.equal(signIn.providers.get('corporate'), 's3cret');
  return signIn;
}

test('a secret of the console goes to no other address than that of its line, whatever the provider becomes', async () => {
  for (const line of ['corporate https://login.example.com s3cret', 'corporate:s3cret']) {
    issuer = 'https://login.example.com/realms/a';
    const signIn = signInWith(line);
    assert.equal((await signIn.read('corporate')).issuer, issuer);
    issuer = 'https://login.example.com/realms/b';
    await signIn.read('corporate');
    for (const moved of [
      'https://login.example.org/realms/a',
      'https://login.example.com:8443',
      'http://login.example.com',
    ]) {
      issuer = moved;
      await assert.rejects(
        signIn.read('corporate'),
        /The secret of corporate .* is for https:\/\/login\.example\.com,/,
      );
    }
  }
  issuer = 'https://login.example.org';
  await assert.rejects(signInWith('corporate https://login.example.com s3cret').read('corporate'));
});

test('a line of another form ends the start', () => {
  for (const line of [
    'corporate',
    'corporate s3cret',
    'corporate https:// s3cret',
    'corporate https://a b c',
  ])
    assert.throws(() => signInWith(line), StartError, line);
});
