import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { type Kept, tableMark } from '@baton/kernel/testing/leaks/leaks';
import { type Allowed, checkLeaks } from './leaks.ts';

const root = dirname(import.meta.dirname);

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-leaks-'));
});
after(() => rm(directory, { recursive: true }));

const random = (bytes = 32) => randomBytes(bytes).toString('base64url');
const pat = `iam_pat_${randomBytes(6).toString('hex')}_${random()}`;
const clientSecret = random();
const password = `pass "${random(9)}" & ${random(9)} ü`;
const jwt = ['eyJhbGciOiJSUzI1NiJ9', random(60), random(256)].join('.');
const userName = `${random(9)}@example.com`;
const kept: Kept[] = [
  { kind: 'platform access token', text: pat, isName: false },
  { kind: 'client secret', text: clientSecret, isName: false },
  { kind: 'password', text: password, isName: false },
  { kind: 'access token', text: jwt, isName: false },
  { kind: 'user name', text: userName, isName: true },
];
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');

/** Searches the records of one test that had these secrets and wrote these strings. */
async function search(texts: { log?: string; tables?: Record<string, string> }, allowed: Allowed[] = []) {
  const write = (end: string, text: string) =>
    writeFile(join(directory, `src!claims.test.ts~1.${end}`), text);
  await write('secrets', `${kept.map((one) => JSON.stringify(one)).join('\n')}\n`);
  await write('log', `{"msg":"started"}\n${texts.log ?? ''}\n`);
  const tables = Object.entries(texts.tables ?? {});
  await write('1.tables', tables.map(([name, text]) => `${tableMark}${name}\n(1)\n${text}\n`).join(''));
  return checkLeaks([directory], false, allowed);
}

const spellings: [kind: string, spelling: string, secret: string, written: string][] = [
  ['platform access token', 'as it is', pat, `(7,"token ${pat}x")`],
  ['client secret', 'as it is', clientSecret, `before${clientSecret}behind`],
  ['password', 'URL-encoded', password, `?password=${encodeURIComponent(password)}&x`],
  ['password', 'escaped as in JSON', password, JSON.stringify({ password })],
  ['client secret', 'in hexadecimal', clientSecret, Buffer.from(clientSecret).toString('hex')],
  ...['a:', 'ab:', 'abc:'].map((id): [string, string, string, string] => [
    'client secret',
    'in base64',
    clientSecret,
    `Basic ${Buffer.from(`${id}${clientSecret}`).toString('base64')}`,
  ]),
  ['password', 'in base64', password, Buffer.from(`ä:${password}`).toString('base64url')],
  ['access token', 'as it is', jwt, `Bearer ${jwt}`],
  ['access token', 'as it is', jwt, `claims ${jwt.split('.')[1]}`],
  ['access token', 'as it is', jwt, `signature ${jwt.split('.')[2]}`],
  ['access token', 'in base64', jwt, Buffer.from(`x:${jwt}`).toString('base64')],
];

for (const [kind, spelling, secret, written] of spellings)
  test(`a leaked ${kind} ${spelling} is found in the log and in every table (${written.slice(0, 9)})`, async () => {
    const { findings } = await search({
      log: `{"msg":"x"} ${written}`,
      tables: { events: written, audit_records: written, platform_access_tokens: written },
    });
    assert.equal(findings.length, 4, findings.join('\n'));
    for (const place of ['the log', 'table events', 'table audit_records', 'table platform_access_tokens']) {
      const line = findings.find((finding) => finding.startsWith(`src/claims.test.ts: ${place}, `));
      assert.ok(line?.endsWith(`holds a ${kind} (${spelling}) that starts ${secret.slice(0, 8)}`), line);
      for (const { text } of kept) assert.ok(!findings.join().includes(text.slice(0, 24)));
    }
  });

test('a hash may be in a table of credentials and nowhere else', async () => {
  const hash = `(prefix,sha256:${hashOf(clientSecret)})`;
  const { findings } = await search({
    log: hash,
    tables: { service_accounts: hash, events: hash, audit_records: hash, principals: hash },
  });
  assert.equal(findings.length, 4, findings.join('\n'));
  assert.ok(findings.every((line) => line.includes('holds a client secret (as its hash)')));
  assert.ok(!findings.join().includes('service_accounts'));
});

test('the name of a person may be in a table, but not in journal, audit log or log', async () => {
  const { findings } = await search({
    log: `{"reason":"${userName}"}`,
    tables: { scim_users: userName, events: `{"userName":"${userName}"}`, audit_records: userName },
  });
  assert.equal(findings.length, 3, findings.join('\n'));
});

test('a text in the form of a secret is found, even if no test reported it', async () => {
  const unknown = [
    `iam_pat_0123456789ab_${random()}`,
    `iam_scim_0123456789ab_${random()}`,
    `cp_0123456789ab_${random()}`,
    `cp_bg0123456789_${random()}`,
    `eyJ${random(12)}.eyJ${random(30)}.${random(64)}`,
    '-----BEGIN PRIVATE KEY-----',
  ];
  for (const secret of unknown) {
    const { findings } = await search({ tables: { tasks: `(1,"${secret}")` } });
    assert.equal(findings.length, 1, secret);
    assert.match(findings[0] as string, /table tasks, .* \(by its form\)/);
  }
});

test('a secret with half of a surrogate pair is found', async () => {
  const odd: Kept = { kind: 'credential in a header', text: `${random()}\ud800`, isName: false };
  kept.push(odd);
  const { findings } = await search({ log: JSON.stringify({ token: odd.text }) });
  kept.pop();
  assert.equal(findings.length, 1);
});

test('texts that only resemble a secret are not found, and the report states the searched amount', async () => {
  const halves = `${clientSecret.slice(0, 40)} ${clientSecret.slice(3)} ${hashOf('another')} iam_pat_0123456789ab`;
  const { findings, secrets, bytes } = await search({ log: halves, tables: { events: halves } });
  assert.deepEqual(findings, []);
  assert.equal(secrets, kept.length);
  assert.ok(bytes > 2 * halves.length);
});

test('an exception covers one place of one test, and a whole run reports one that is not needed', async () => {
  const texts = { log: pat, tables: { events: pat } };
  const exception = { test: 'src/claims.test.ts', place: 'table events', why: 'it searches it' };
  const { findings } = await search(texts, [exception]);
  assert.deepEqual(
    findings.map((line) => line.split(',')[0]),
    ['src/claims.test.ts: the log'],
  );
  await search({});
  const whole = checkLeaks([directory], true, [exception]).findings;
  assert.ok(whole.includes('src/claims.test.ts: table events: not needed any more, delete this exception'));
  assert.ok(whole.includes('no private key was seen in the whole run: its search proves nothing'));
});

test('leaks of a service under test into its tables, its journal and its log are found', async () => {
  const run = await mkdtemp(join(tmpdir(), 'baton-leaks-'));
  const program = `
    import { observer } from '@baton/kernel/process/observer';
    import { startIdentity, testSigningKey } from '${root}/packages/identity/src/testing/identity.ts';
    import { makeBearer, makeServiceAccount } from '${root}/packages/identity/src/testing/objects.ts';
    const identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
    const { token, tenantId } = await makeBearer(identity);
    const { clientSecret } = await makeServiceAccount(identity, tenantId);
    const request = { body: { token, audience: 'control-plane' } };
    const { body } = await identity.request('POST', '/api/v1/platform-access-tokens:exchange', request);
    const put = (text, ...values) => identity.pool.run({ text, values });
    await put('alter table events disable trigger all');
    await put("update events set payload = jsonb_build_object('x', $1::text)", clientSecret);
    await put('update tenants set name = $1', token);
    observer().logged(JSON.stringify({ msg: body.accessToken }));
    await identity.close();`;
  try {
    await promisify(execFile)(process.execPath, ['--input-type=module-typescript', '--eval', program], {
      cwd: root,
      env: { ...process.env, BATON_LEAK_DIR: run, BATON_LEAK_TABLES: '' },
    });
    const { findings } = checkLeaks([run], false, []);
    const found = findings.map((line) =>
      line.replace(/^[^:]*: ([^,]*),.* holds an? (.*) that .*$/, '$1: $2'),
    );
    assert.deepEqual(found.sort(), [
      'table events: client secret (as it is)',
      'table tenants: platform access token (as it is)',
      'the log: access token (as it is)',
    ]);
  } finally {
    await rm(run, { recursive: true });
  }
});

test('a text that was too long for a full search is reported with the test that created it', async () => {
  await writeFile(join(directory, 'src!claims.test.ts~1.notes'), 'the first 20000 rows of a table claims\n');
  const { notes } = await search({});
  assert.deepEqual(notes, ['the first 20000 rows of a table claims (src/claims.test.ts)']);
});
