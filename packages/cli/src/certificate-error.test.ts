import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { program } from '@baton/testing/baton-process';
import { certificateProblem } from './certificate-error.ts';

// A Baton behind a certificate of the company's own authority.

const skip = spawnSync('openssl', ['version']).error === undefined ? false : 'openssl is not installed';
let folder: string;
let server: Server;
let url: string;
let authority: string;

before(async () => {
  if (skip !== false) return console.warn(`SKIPPED: ${skip}`);
  folder = mkdtempSync(join(tmpdir(), 'baton-certificate-'));
  authority = join(folder, 'certificate.pem');
  const key = join(folder, 'key.pem');
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-keyout', key];
  const names = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const made = spawnSync('openssl', [
    'req',
    '-x509',
    '-nodes',
    '-days',
    '2',
    ...kind,
    '-out',
    authority,
    ...names,
  ]);
  assert.equal(made.status, 0, String(made.stderr));
  server = createServer({ key: readFileSync(key), cert: readFileSync(authority) }, (_req, res) => {
    res.writeHead(401, { 'content-type': 'application/json' });
    res.end('{"detail":"invalid_token"}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => {
  server?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true });
});

async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const settings = { HOME: folder, BATON_URL: url, BATON_TOKEN: 'iam_pat_mine', ...env };
  const running = program('packages/cli/src/main.ts', args, settings, { cwd: folder });
  await running.ended;
  return running.output();
}

test('every command reports a private certificate as the reason, with the setting that trusts it', {
  skip,
}, async () => {
  const reason =
    /signed by an authority that this machine does not trust \(DEPTH_ZERO_SELF_SIGNED_CERT\).*NODE_EXTRA_CA_CERTS/;
  for (const args of [['whoami'], ['status'], ['doctor'], ['console', '--no-browser']])
    assert.match(await run(args), reason, args.join(' '));
});

test('with NODE_EXTRA_CA_CERTS the request is sent', { skip }, async () => {
  const output = await run(['whoami'], { NODE_EXTRA_CA_CERTS: authority });
  assert.match(output, /invalid_token/);
  assert.doesNotMatch(output, /certificate/);
});

test('a certificate of another host and one that has expired have their own reasons', () => {
  const failed = (code: string) =>
    certificateProblem(new TypeError('fetch failed', { cause: Object.assign(new Error('tls'), { code }) }));
  assert.match(failed('ERR_TLS_CERT_ALTNAME_INVALID') ?? '', /is for another host name/);
  assert.match(failed('CERT_HAS_EXPIRED') ?? '', /has expired/);
  assert.equal(failed('ECONNREFUSED'), undefined);
});
