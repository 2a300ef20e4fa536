import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { adminSecret, startIdentity, type TestIdentity } from '../testing/identity.ts';
import { auditOf } from '../testing/records.ts';
import { readAdminSecrets } from './admin-secrets.ts';

let identity: TestIdentity;
let folder: string;
before(async () => {
  identity = await startIdentity();
  folder = await mkdtemp(join(tmpdir(), 'baton-admins-'));
});
after(async () => {
  await identity.close();
  await rm(folder, { recursive: true });
});

async function fileOf(text: string): Promise<string> {
  const file = join(folder, 'secrets');
  await writeFile(file, text);
  return file;
}

const annaSecret = 'a-secret-with-a-colon:of-anna';
const deploySecret = 'the-secret-of-the-deployment';

describe('named admin secrets', () => {
  test('each enters as bootstrap:<name>, the shared one as bootstrap', async () => {
    const file = await fileOf(`# who may do what\n\nanna:${annaSecret}\r\ndeploy.prod:  ${deploySecret} \n`);
    const named = await identity.another({ IAM_BOOTSTRAP_TOKENS_FILE: file });
    for (const [secret, actor] of [
      [annaSecret, 'bootstrap:anna'],
      [deploySecret, 'bootstrap:deploy.prod'],
      [adminSecret, 'bootstrap'],
    ] as const) {
      const headers = { 'x-iam-bootstrap-token': secret };
      const body = { slug: `t-${actor.replace(/\W/g, '-')}`, name: 'A tenant' };
      const made = await named.request('POST', '/api/v1/tenants', { headers, body });
      assert.equal(made.status, 201);
      assert.equal((await auditOf(named, made.body.id)).at(-1)?.actor_ref, actor);
    }
    assert.ok(!named.logged.join('').includes(annaSecret));
  });

  test('a whole line, a name, a wrong secret and the secret as a Bearer token are refused', async () => {
    const file = await fileOf(`anna:${annaSecret}`);
    const named = await identity.another({ IAM_BOOTSTRAP_TOKENS_FILE: file });
    const attempts: Record<string, string>[] = [
      { 'x-iam-bootstrap-token': `anna:${annaSecret}` },
      { 'x-iam-bootstrap-token': 'anna' },
      { 'x-iam-bootstrap-token': `${annaSecret}x` },
      { 'x-iam-bootstrap-token': '' },
      { authorization: `Bearer ${annaSecret}` },
    ];
    for (const headers of attempts) {
      const { status, body } = await named.request('GET', '/api/v1/events', { headers });
      assert.deepEqual([status, body], [401, { detail: 'unauthorized' }]);
    }
  });

  test('without IAM_BOOTSTRAP_TOKEN every admin endpoint stays closed', async () => {
    const file = await fileOf(`anna:${annaSecret}`);
    const closed = await identity.another({ IAM_BOOTSTRAP_TOKENS_FILE: file, IAM_BOOTSTRAP_TOKEN: '' });
    const headers = { 'x-iam-bootstrap-token': annaSecret };
    assert.equal((await closed.request('GET', '/api/v1/events', { headers })).status, 401);
  });

  test('the shared secret is never split, whatever it holds', async () => {
    const shared = `anna:${annaSecret}\nbob:another-long-secret`;
    const one = await identity.another({ IAM_BOOTSTRAP_TOKEN: shared });
    const headers = { 'x-iam-bootstrap-token': annaSecret };
    assert.equal((await one.request('GET', '/api/v1/events', { headers })).status, 401);
  });

  test('a file that cannot be used ends the start with a sentence that repeats no secret', async () => {
    for (const [text, sentence] of [
      ['just-a-secret-without-a-name', /line 1 that is not `name:secret`/],
      [`an na:${annaSecret}`, /line 1 that is not/],
      ['# short\nanna:short', /line 2 that has a secret of less than 16 characters/],
      [`anna:${annaSecret}\nanna:${deploySecret}`, /line 2 that repeats a name/],
      [`anna:${annaSecret}\nbob:${annaSecret}`, /line 2 that repeats a secret/],
      [`anna:${adminSecret}`, /line 1 that repeats a secret/],
    ] as const) {
      const file = await fileOf(text);
      await assert.rejects(identity.another({ IAM_BOOTSTRAP_TOKENS_FILE: file }), (error: Error) => {
        assert.match(error.message, sentence);
        return ![annaSecret, deploySecret, adminSecret, text].some((one) => error.message.includes(one));
      });
    }
    const missing = { IAM_BOOTSTRAP_TOKENS_FILE: join(folder, 'missing'), IAM_BOOTSTRAP_TOKEN: '' };
    await assert.rejects(readAdminSecrets(missing), /refers to a file that cannot be read/);
  });
});
