import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { consoleSignIn } from './console-sign-in.ts';
import { StartError } from './start-error.ts';
import { privateFolder } from './testing/private-folder.ts';

const folder = privateFolder();
after(() => folder.remove());

const file = join(folder.path, 'secrets');
const write = (...lines: string[]) => writeFileSync(file, lines.join('\n'), { mode: 0o600 });

/** The identity providers, with the secrets from a file with these lines. */
function providersOf(...lines: string[]) {
  write(...lines);
  const { providers, findSecret } = open();
  return Object.fromEntries([...providers].map((key) => [key, findSecret?.(key)]));
}

function open(said: string[] = []) {
  const signIn = consoleSignIn(
    {
      BATON_CONSOLE_PROVIDERS: ['corporate', 'public'],
      BATON_CONSOLE_SECRETS_FILE: file,
      IAM_OUTBOUND_ALLOWED_HOSTS: [],
    },
    {
      tenantId: '0190b2c4-0000-4000-8000-000000000001',
      adminSecret: 'admin',
      coordinationUrl: 'http://127.0.0.1:9',
      identityUrl: 'http://127.0.0.1:9',
      allowedHosts: [],
      publicUrl: 'https://baton.example',
      say: (line) => void said.push(line),
    },
  );
  return signIn ?? assert.fail('no sign-in');
}

const corporate = { text: 's3:cret', address: 'https://login.example.com' };

test('a line binds the secret to scheme, host and port of its address', () => {
  for (const line of [
    'corporate https://login.example.com s3:cret',
    'corporate\thttps://Login.Example.com:443/realms/a   s3:cret  ',
    'corporate https://login.example.com s3:cret\r',
  ])
    assert.deepEqual(providersOf('', line, ' ', 'other https://b.example t'), {
      corporate,
      public: undefined,
    });
  const { corporate: other } = providersOf('corporate http://127.0.0.1:9000/x s3:cret');
  assert.equal(other?.address, 'http://127.0.0.1:9000');
});

test('a line without an address leaves it to the first token endpoint', () => {
  const secret = { text: 's3:cret', address: undefined };
  assert.deepEqual(providersOf('corporate:s3:cret'), { corporate: secret, public: undefined });
});

test('an invalid line fails the start with its number, and without its content', () => {
  for (const line of [
    'corporate',
    'corporate s3:cret',
    'corporate: s3:cret',
    'corporate https://login.example.com',
    'corporate https:// s3:cret',
    'corporate https://[ s3:cret',
    'corporate ftp://login.example.com s3:cret',
    'corporate login.example.com s3:cret',
    'corporate https://login.example.com s3:cret and more',
    ' corporate https://login.example.com s3:cret',
    'corporate:s3:cret https://login.example.com',
  ])
    assert.throws(
      () => providersOf('other:t', '', line),
      (error) => {
        assert.ok(error instanceof StartError, line);
        assert.match(error.message, /^BATON_CONSOLE_SECRETS_FILE: line 3 must be "key address secret"/);
        assert.doesNotMatch(error.message, /s3:cret/);
        return true;
      },
      line,
    );
});

test('a secret that is added later needs no restart, and an unreadable file ends none', () => {
  write('corporate https://login.example.com s3:cret');
  const said: string[] = [];
  const { findSecret } = open(said);
  assert.equal(findSecret?.('late'), undefined);
  write('corporate https://login.example.com s3:cret', 'late https://late.example.com t');
  assert.deepEqual(findSecret?.('late'), { text: 't', address: 'https://late.example.com' });
  write('corporate s3:cret');
  assert.deepEqual(findSecret?.('corporate'), corporate);
  assert.equal(said.length, 1);
  assert.match(
    said[0] ?? '',
    /line 1 must be "key address secret".* The previous client secrets remain in use\.$/,
  );
  assert.doesNotMatch(said[0] ?? '', /s3:cret/);
  write('corporate https://login.example.com rotated');
  assert.equal(findSecret?.('corporate')?.text, 'rotated');
});
