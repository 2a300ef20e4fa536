import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { makeWebhookSecret } from '../../testing/ledger/sinks.ts';
import { readSinkFile } from './sink-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'baton-sinks-'));
after(() => rmSync(folder, { recursive: true }));
const path = join(folder, 'sinks.json');
const secret = makeWebhookSecret();
writeFileSync(join(folder, 'secret'), `${secret}\n`);
const env = { HOOK_SECRET: secret, SHORT: 'whsec_c2hvcnQ=', BLANK: ' ' };

const read = (document: unknown) => {
  writeFileSync(path, typeof document === 'string' ? document : JSON.stringify(document));
  return readSinkFile(path, env);
};
const one = (entry: object) => read({ sinks: [entry] });
const webhook = {
  name: 'hook',
  type: 'webhook',
  url: 'https://example.com/hook',
  secrets: [{ env: 'HOOK_SECRET' }],
};
const nats = { name: 'bus', type: 'nats', servers: ['nats://127.0.0.1:4222'] };

test('secrets come from the environment and from files next to the sinks file, and filters become patterns', async () => {
  const tenant = '00000000-0000-4000-8000-000000000001';
  const [hook, bus, log] = await read({
    sinks: [
      { ...webhook, secrets: [{ env: 'HOOK_SECRET' }, { file: 'secret' }], types: ['task.', 'run.started'] },
      { ...nats, token: { file: join(folder, 'secret') }, tenants: [tenant] },
      { name: 'lines', type: 'log' },
    ],
  });
  const bytes = Buffer.from(secret.slice('whsec_'.length), 'base64');
  assert.ok(hook?.type === 'webhook' && bus?.type === 'nats' && log?.type === 'log');
  assert.deepEqual(hook.secrets, [bytes, bytes]);
  assert.deepEqual(hook.filter, { tenants: null, typePatterns: ['task.%', 'run.started%'] });
  assert.deepEqual([bus.token, bus.subjectPrefix, bus.filter.tenants], [secret, 'baton.events', [tenant]]);
});

for (const [what, document, sentence] of [
  ['text that is not JSON', `{"sinks": [${secret}`, `CP_SINKS_FILE ${path} is not JSON.`],
  [
    'an unknown field',
    { sinks: [], routes: [] },
    `CP_SINKS_FILE ${path}: the file: Unrecognized key: "routes".`,
  ],
  ['an unknown type', { sinks: [{ name: 'a', type: 'kafka' }] }, /sinks\[0\]\.type: Invalid/],
  [
    'a secret in the file itself',
    { sinks: [{ ...webhook, secrets: [secret] }] },
    /sinks\[0\]\.secrets\[0\]: Invalid input\.$/,
  ],
  [
    'an invalid name',
    { sinks: [{ name: 'A b', type: 'log' }] },
    /sinks\[0\]\.name: must consist of lower-case letters/,
  ],
  [
    'a duplicate name',
    { sinks: [webhook, { ...nats, name: 'hook' }] },
    `CP_SINKS_FILE ${path}: two sinks are named hook.`,
  ],
  [
    'an address of another protocol',
    { sinks: [{ ...webhook, url: 'ftp://example.com' }] },
    /sinks\[0\]\.url: must be an address that begins with https: or http:\.$/,
  ],
  [
    'an address with a password',
    { sinks: [{ ...webhook, url: 'https://a:b@example.com' }] },
    /sinks\[0\]\.url: must not contain a user or a password\.$/,
  ],
  [
    'a type filter with a wildcard',
    { sinks: [{ ...webhook, types: ['task.*'] }] },
    `CP_SINKS_FILE ${path}: types of the sink hook must be prefixes such as "task." or "run.started".`,
  ],
  [
    'a secret that is not set',
    { sinks: [{ ...webhook, secrets: [{ env: 'NOT_SET' }] }] },
    `CP_SINKS_FILE ${path}: the environment variable NOT_SET, a secret of the sink hook, is not set or too long.`,
  ],
  [
    'a blank secret',
    { sinks: [{ ...webhook, secrets: [{ env: 'BLANK' }] }] },
    /BLANK, a secret of the sink hook, is not set/,
  ],
  [
    'a secret that is too short',
    { sinks: [{ ...webhook, secrets: [{ env: 'SHORT' }] }] },
    `CP_SINKS_FILE ${path}: a secret of the sink hook must be whsec_ and 24 to 64 bytes in base64.`,
  ],
  [
    'a secret whose file is missing',
    { sinks: [{ ...nats, credentials: { file: 'away.creds' } }] },
    /the secret of the sink bus cannot be read from .*away\.creds: ENOENT\.$/,
  ],
  [
    'a user without a password',
    { sinks: [{ ...nats, user: 'baton' }] },
    `CP_SINKS_FILE ${path}: the sink bus needs both a user and a password, or neither.`,
  ],
  [
    'too many concurrent deliveries',
    { sinks: [{ ...webhook, concurrency: 1001 }] },
    /sinks\[0\]\.concurrency: Too big/,
  ],
] as const)
  test(`${what} is refused with one sentence that contains no secret`, async () => {
    await assert.rejects(read(document), (error: Error) => {
      if (typeof sentence === 'string') assert.equal(error.message, sentence);
      else assert.match(error.message, sentence);
      assert.ok(!error.message.includes(secret.slice(6)));
      return true;
    });
  });

test('an unreadable file is named in the error', async () => {
  await assert.rejects(readSinkFile(join(folder, 'none.json'), {}), {
    message: `CP_SINKS_FILE cannot be read from ${join(folder, 'none.json')}: ENOENT.`,
  });
  await assert.rejects(one({ ...webhook, url: undefined }), /sinks\[0\]\.url/);
});
