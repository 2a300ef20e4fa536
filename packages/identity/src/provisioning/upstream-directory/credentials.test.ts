import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startIdentity } from '../../testing/identity.ts';
import { readUpstreamCredentials } from './credentials.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-credentials-'));
});
after(() => rm(folder, { recursive: true }));

const [one, other] = ['0190b2c4-0000-4000-8000-000000000001', '0190b2c4-0000-4000-8000-000000000002'];
const base = 'https://login.example.com';

async function read(text: string) {
  const file = join(folder, 'credentials');
  await writeFile(file, text);
  return readUpstreamCredentials({ IAM_UPSTREAM_CREDENTIALS_FILE: file });
}

test('a line holds a source, its base address, and a client or a token', async () => {
  const found = await read(
    `# directories\n\n${one.toUpperCase()} ${base}/auth/ baton:a:b/c+d\r\n  ${other}  ${base}  bearer a.b.c \n`,
  );
  assert.deepEqual(
    [...found],
    [
      [one, { baseUrl: `${base}/auth`, clientId: 'baton', clientSecret: 'a:b/c+d' }],
      [other, { baseUrl: base, token: 'a.b.c' }],
    ],
  );
  assert.equal((await readUpstreamCredentials({ IAM_UPSTREAM_CREDENTIALS_FILE: undefined })).size, 0);
});

test('an invalid file is refused at the start by a message without its content', async () => {
  const secret = 'never-to-be-shown';
  const refusals: [string, RegExp][] = [
    [`source ${base} baton:${secret}`, /has a line 1 with an invalid format/],
    [`${one} ${base} ${secret}`, /has a line 1 with an invalid format/],
    [`${one} baton:${secret}`, /has a line 1 with an invalid format/],
    [`${one} ${base}?x=1 baton:${secret}`, /has a line 1 with an invalid format/],
    [`${one} ftp://login.example.com baton:${secret}`, /has a line 1 with an invalid format/],
    [`${one} ${base} baton:${secret} more`, /has a line 1 with an invalid format/],
    [`\n${one} ${base} a:${secret}\n${one.toUpperCase()} ${base} b:${secret}`, /has a line 3 that repeats/],
  ];
  for (const [text, message] of refusals)
    await assert.rejects(read(text), (error: Error) => {
      assert.match(error.message, message);
      return !error.message.includes(secret);
    });
});

test('a failed reload leaves the previous credentials in use', async () => {
  const file = join(folder, 'credentials');
  await writeFile(file, '');
  const identity = await startIdentity({ IAM_UPSTREAM_CREDENTIALS_FILE: file });
  try {
    await writeFile(file, 'broken: never-to-be-shown');
    await identity.service.reload();
    const said = identity.logged.join('');
    assert.match(said, /upstream credentials could not be reloaded/);
    assert.ok(!said.includes('never-to-be-shown'));
    const missing = { IAM_UPSTREAM_CREDENTIALS_FILE: join(folder, 'not-there') };
    await assert.rejects(identity.another(missing), /cannot be read/);
  } finally {
    await identity.close();
  }
});
