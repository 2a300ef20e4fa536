import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BatonError, createClient, findWorkloadCredential } from './index.ts';
import { findAccess } from './node/access.ts';

const token = (name: string) => `${name}.eyJ9.c2ln`;
const at = 'https://baton.example';

/** Replaces GitHub's server of job tokens. */
let answer: { status: number; body: string; location?: string };
let asked: IncomingMessage[];
let requestUrl: string;
let folder: string;
const server = createServer((request, response) => {
  asked.push(request);
  response.writeHead(answer.status, answer.location ? { location: answer.location } : {}).end(answer.body);
});
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'baton-workload-'));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  requestUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token?api-version=2.0`;
});
after(() => {
  server.close();
  server.closeAllConnections();
  rmSync(folder, { recursive: true });
});

const actions = () => ({
  ACTIONS_ID_TOKEN_REQUEST_URL: requestUrl,
  ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'of-the-job',
});
const assertionIn = async (environment: Record<string, string>) =>
  findWorkloadCredential(environment, at)?.assertion();
const fails =
  (message: RegExp, retryable = false) =>
  (error: unknown) => {
    assert.ok(error instanceof BatonError);
    assert.equal(error.code, 'no_identity_token');
    assert.equal(error.retryable, retryable);
    assert.match(error.message, message);
    assert.doesNotMatch(String(error.stack), /of-the-job|secret/);
    return true;
  };

test('the token itself precedes a file, and a file precedes GitHub; without any there is none', async () => {
  const file = join(folder, 'order');
  writeFileSync(file, token('file'));
  asked = [];
  answer = { status: 200, body: JSON.stringify({ value: token('github') }) };
  const all = { BATON_IDENTITY_TOKEN: token('text'), BATON_IDENTITY_TOKEN_FILE: file, ...actions() };
  assert.equal(await assertionIn(all), token('text'));
  assert.equal(await assertionIn({ ...all, BATON_IDENTITY_TOKEN: '' }), token('file'));
  assert.equal(asked.length, 0);
  assert.equal(await assertionIn(actions()), token('github'));
  for (const none of [{}, { ...actions(), ACTIONS_ID_TOKEN_REQUEST_TOKEN: '' }, { BATON_IDENTITY_TOKEN: '' }])
    assert.equal(findWorkloadCredential(none, at), undefined);
});

test('a file is read again for each exchange, because the platform replaces it', async () => {
  const file = join(folder, 'rotated');
  const found = findWorkloadCredential({ BATON_IDENTITY_TOKEN_FILE: file, BATON_TENANT_ID: 't-1' }, at);
  await assert.rejects(async () => found?.assertion(), fails(/can't be read/));
  for (const name of ['one', 'two']) {
    writeFileSync(file, `${token(name)}\n`);
    assert.equal(await found?.assertion(), token(name));
  }
  assert.equal(found?.tenantId, 't-1');
});

test('a job of GitHub Actions requests a new token each time, for the address of Baton or BATON_IDENTITY_AUDIENCE', async () => {
  asked = [];
  answer = { status: 200, body: JSON.stringify({ value: token('github'), count: 1 }) };
  const found = findWorkloadCredential(actions(), at);
  for (let count = 0; count < 2; count += 1) assert.equal(await found?.assertion(), token('github'));
  await findWorkloadCredential(actions(), `${at}/`)?.assertion();
  await assertionIn({ ...actions(), BATON_IDENTITY_AUDIENCE: 'a b&c' });
  const seen = asked.map(({ url = '', headers }) => [
    new URL(url, at).searchParams.get('audience'),
    headers.authorization,
  ]);
  assert.deepEqual(seen, [
    [at, 'Bearer of-the-job'],
    [at, 'Bearer of-the-job'],
    [at, 'Bearer of-the-job'],
    ['a b&c', 'Bearer of-the-job'],
  ]);
  assert.equal(new URL(asked[0]?.url ?? '', at).searchParams.get('api-version'), '2.0');
});

test('the secret of the job goes to its https address or loopback only, and no redirect is followed', async () => {
  asked = [];
  for (const address of [
    'http://github.example/token',
    'http://127.0.0.1.example/',
    'file:///etc',
    'nonsense',
  ])
    await assert.rejects(
      () => assertionIn({ ...actions(), ACTIONS_ID_TOKEN_REQUEST_URL: address }),
      fails(/must be an https address/),
    );
  answer = { status: 302, body: '', location: `${requestUrl}&again` };
  await assert.rejects(() => assertionIn(actions()), fails(/refused a token for this job \(status 302\)/));
  assert.equal(asked.length, 1);
});

test('whatever is no signed JWT is refused without repeating it; a failure of the server can be retried', async () => {
  const file = join(folder, 'wrong');
  for (const text of [
    '',
    'secret',
    'secret.b',
    'secret.b.c.d',
    'secret b.c.d',
    `secret.${'x'.repeat(16_000)}.c`,
  ]) {
    writeFileSync(file, text);
    await assert.rejects(() => assertionIn({ BATON_IDENTITY_TOKEN_FILE: file }), fails(/no signed JWT/));
    if (text !== '')
      await assert.rejects(() => assertionIn({ BATON_IDENTITY_TOKEN: text }), fails(/no signed JWT/));
    answer = { status: 200, body: JSON.stringify({ value: text }) };
    await assert.rejects(() => assertionIn(actions()), fails(/no signed JWT/));
  }
  for (const body of ['<html>', '{}', '{"value":1}', 'null']) {
    answer = { status: 200, body };
    await assert.rejects(() => assertionIn(actions()), fails(/no signed JWT/));
  }
  answer = { status: 503, body: '' };
  await assert.rejects(() => assertionIn(actions()), fails(/status 503/, true));
});

test('a client exchanges a fresh token each time, and names its tenant', async () => {
  const forms: Record<string, string>[] = [];
  const names = ['one', 'two'];
  const client = createClient({
    url: at,
    credential: { assertion: () => token(names.shift() ?? ''), tenantId: 't-1' },
    async transport({ url, body }) {
      if (!url.endsWith('/iam/oauth2/token'))
        return Response.json({ error: { code: 'unauthenticated', message: 'x' } }, { status: 401 });
      forms.push(Object.fromEntries(new URLSearchParams(String(body))));
      return Response.json({
        access_token: `a-${forms.length}`,
        token_type: 'Bearer',
        expires_in: 300,
        scope: '',
      });
    },
  });
  // The first token is rejected, so another one is exchanged.
  await assert.rejects(() => client.tasks.list());
  const usual = {
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    audience: 'control-plane',
    tenant_id: 't-1',
  };
  assert.deepEqual(forms, [
    { ...usual, assertion: token('one') },
    { ...usual, assertion: token('two') },
  ]);
});

test('without a credential a client uses the identity of its program; a refusal has the code of identity', async () => {
  process.env['BATON_IDENTITY_TOKEN'] = token('env');
  const sent: string[] = [];
  const client = createClient({
    url: at,
    async transport({ url, body }) {
      sent.push(`${url} ${new URLSearchParams(String(body)).get('assertion')}`);
      return new Response('{"error":"invalid_grant"}', { status: 400 });
    },
  });
  delete process.env['BATON_IDENTITY_TOKEN'];
  await assert.rejects(
    () => client.tasks.list(),
    (error: BatonError) => error.code === 'invalid_assertion' && error.status === 400,
  );
  assert.deepEqual(sent, [`${at}/iam/oauth2/token ${token('env')}`]);
});

test('programs find it with BATON_URL, unless BATON_TOKEN is set; with a token of a job but no address nobody is the administrator', async () => {
  const identity = { BATON_IDENTITY_TOKEN: token('job') };
  const { credential, token: none } = findAccess({ BATON_URL: `${at}/`, ...identity }, []);
  assert.ok('assertion' in credential && none === undefined);
  assert.equal(await credential.assertion(), token('job'));
  assert.deepEqual(findAccess({ BATON_URL: at, BATON_TOKEN: 'pat', ...identity }, []).credential, {
    token: 'pat',
  });
  assert.throws(() => findAccess(identity, [folder]), /BATON_URL is not: set it/);
  assert.throws(
    () => findAccess({ BATON_URL: at }, []),
    /BATON_TOKEN is not: set both, or in a pipeline BATON_IDENTITY_TOKEN_FILE/,
  );
});
