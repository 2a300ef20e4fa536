import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shortSecretWarning } from './admin-secret.ts';

const warningOf = (secret: string, host: string) => shortSecretWarning('IAM_BOOTSTRAP_TOKEN', secret, host);
const [short, long] = ['x'.repeat(15), 'x'.repeat(16)];

test('a short admin secret is warned of where others than this machine can connect', () => {
  for (const host of ['0.0.0.0', '::', '', '192.168.1.5', '2001:db8::1', 'baton.example.com', '128.0.0.1'])
    assert.match(
      warningOf(short, host) ?? '',
      /^IAM_BOOTSTRAP_TOKEN has fewer than 16 characters.*\.$/,
      host,
    );
  for (const host of ['127.0.0.1', '127.1.2.3', '::1', 'localhost', '::ffff:127.0.0.1'])
    assert.equal(warningOf(short, host), undefined, host);
  assert.equal(warningOf(long, '0.0.0.0'), undefined);
  assert.equal(warningOf('', '0.0.0.0'), undefined, 'none closes the endpoints');
  assert.ok(!warningOf('hunter2', '::')?.includes('hunter2'), 'it never contains the secret');
});
