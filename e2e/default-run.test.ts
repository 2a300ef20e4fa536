import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { get } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { keepLog, keepSecret } from '@baton/kernel/testing/leaks';
import { type BatonProcess, baton } from '@baton/testing/baton-process';

let folder: string;
let secretsFile: string;
let running: BatonProcess;
let connection: Record<string, string>;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-run-'));
  secretsFile = join(folder, 'admin-secrets');
  writeFileSync(secretsFile, '');
  const home = join(folder, 'home');
  running = baton(['start'], {
    BATON_HOME: home,
    PORT: '0',
    IAM_BOOTSTRAP_TOKENS_FILE: secretsFile,
    BATON_ALLOWED_HOSTS: '["baton.internal"]',
  });
  await running.prints(/Baton is ready at http:\S+/);
  connection = JSON.parse(readFileSync(join(home, 'connection.json'), 'utf8')) as Record<string, string>;
});

after(async () => {
  running.child.kill('SIGTERM');
  await running.ended;
  keepLog(running.output());
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
});

/** Whether identity takes the secret as an administrator's. */
async function isAdmitted(secret: string): Promise<boolean> {
  const { identityUrl, tenantId } = connection;
  const headers = { 'x-iam-bootstrap-token': secret };
  const response = await fetch(`${identityUrl}/api/v1/tenants/${tenantId}`, { headers });
  await response.arrayBuffer();
  return response.status === 200;
}

test('SIGHUP reads the admin secrets again each time, and Baton keeps running', async () => {
  // The second signal follows within a second of the first, as when a file is put right at once.
  for (const name of ['first', 'second']) {
    const secret = `${name}-${randomBytes(16).toString('hex')}`;
    keepSecret(`${name} admin secret`, secret);
    writeFileSync(secretsFile, `${name}:${secret}\n`);
    running.child.kill('SIGHUP');
    const deadline = performance.now() + 5000;
    while (!(await isAdmitted(secret)) && performance.now() < deadline) await sleep(20);
    assert.ok(await isAdmitted(secret), `the ${name} secret is in use:\n${running.output()}`);
  }
});

test('a name that a stranger lets point to this machine is not answered', async () => {
  const { port, hostname } = new URL(connection['publicUrl'] as string);
  const ask = (host: string) =>
    new Promise<number | undefined>((done, failed) => {
      const headers = { host: `${host}:${port}` };
      get({ host: hostname, port, path: '/health/live', headers }, (answer) => {
        answer.resume();
        done(answer.statusCode);
      }).on('error', failed);
    });
  assert.deepEqual([await ask('evil.example'), await ask('baton.internal')], [421, 200]);
});

test('no request line ends the process, however odd its path is', async () => {
  const { port, hostname } = new URL(connection['publicUrl'] as string);
  const paths = [
    '//',
    '//[',
    '/\\',
    '*',
    'http://',
    'http://[',
    '/%',
    '/iam//',
    '/iam/%',
    '/mcp//',
    '/api/v1//',
    '/?%',
  ];
  for (const path of paths)
    for (const more of ['', 'Upgrade: websocket\r\nConnection: upgrade\r\n']) {
      const socket = connect(Number(port), hostname);
      socket.end(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n${more || 'Connection: close\r\n'}\r\n`);
      let answer = '';
      for await (const chunk of socket) answer += chunk;
      assert.match(answer, /^HTTP\/1\.1 [2345]\d\d /, `${path} ${more}`);
    }
  assert.equal((await fetch(`${connection['publicUrl']}/health/live`)).status, 200);
});

test('the small company of the demo says of a running Baton without a memory service that nothing is known', async () => {
  const demo = baton(['demo', '--organisation'], { BATON_HOME: join(folder, 'home') });
  await demo.ended;
  keepLog(demo.output());
  assert.match(demo.output(), /Knowledge: none is attached, since this Baton has no memory service/);
});
