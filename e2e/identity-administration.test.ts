import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { VirtualAuthenticator } from '@baton/identity/sign-in/passkeys/testing/authenticator';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { BatonError, createClient } from '@baton/sdk';
import { type RunningBaton, startRunningBaton } from '@baton/testing/running-baton';

// An administrator uses identity's administration with a passkey, in the default run and without its admin secret.

let baton: RunningBaton;
before(async () => {
  baton = await startRunningBaton();
});
after(() => baton?.stop());

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the test checks the forms of the responses
  readonly body: any;
}

async function send(method: string, path: string, bearer?: string, body?: object): Promise<Answer> {
  const response = await fetch(`${baton.url}${path}`, {
    method,
    headers: {
      'content-type': 'application/json',
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}
const identity = (path: string, body: object = {}) => send('POST', `/iam/api/v1${path}`, undefined, body);
const origin = () => `http://localhost:${new URL(baton.url).port}`;

/** A person who has accepted an invitation with a passkey, with this role in coordination. */
async function invite(accessRole: string) {
  const { tenantId, issuer } = baton.connection;
  assert.ok(tenantId !== undefined && issuer !== undefined);
  const { admin } = baton;
  const link = await admin.identity.invitations.create(tenantId, { displayName: 'Maria Lopez' });
  const { principalId: iamPrincipalId } = link.invitation;
  const { id } = await admin.principals.create({ kind: 'human', displayName: 'Maria Lopez' });
  await admin.principals.createIamBinding(id, { issuer, iamTenantId: tenantId, iamPrincipalId, accessRole });
  const authenticator = new VirtualAuthenticator({ origin: origin() });
  const { publicKey, state } = (await identity('/invitations:registration-options', { token: link.token }))
    .body;
  const passkey = { state, credential: authenticator.create(publicKey), name: 'Laptop' };
  const accepted = await identity('/invitations:accept', { token: link.token, passkey });
  assert.equal(accepted.status, 200, JSON.stringify(accepted.body));
  keepSecret('browser session', accepted.body.token);
  const session: string = accepted.body.token;
  const exchange = { token: session, audience: 'control-plane' };
  const { accessToken } = (await identity('/browser-sessions:exchange', exchange)).body;
  return { id, iamPrincipalId, tenantId, session, accessToken: accessToken as string };
}

const request = (accessToken: string) => send('POST', '/api/v1/identity-administration-tokens', accessToken);
const statusAt = async (tenantId: string, token: string) =>
  (await send('GET', `/iam/api/v1/tenants/${tenantId}/principals?limit=1`, token)).status;

async function untilRefused(tenantId: string, token: string): Promise<void> {
  for (let attempt = 0; (await statusAt(tenantId, token)) !== 401; attempt++) {
    assert.ok(attempt < 600, 'the token is still accepted');
    await new Promise((done) => setTimeout(done, 50));
  }
}

test('an administrator with a passkey administers identity under their own name, until they sign out', async () => {
  const person = await invite('administrator');
  const { status, body } = await request(person.accessToken);
  assert.equal(status, 201, JSON.stringify(body));
  const { token, tenantId } = body;
  keepSecret('administration token', token);
  assert.equal(tenantId, baton.connection.tenantId);
  const own = createClient({
    url: baton.url,
    administrationToken: () => Promise.resolve({ accessToken: token, expiresIn: 60 }),
  });
  const made = await own.identity.principals.create(tenantId, { kind: 'agent', displayName: 'Desk' });
  const { items } = await own.identity.audit.listTenantRecords(tenantId, { order: 'desc', limit: 1 });
  assert.deepEqual(
    [items[0]?.action, items[0]?.actor_ref, items[0]?.resource_id],
    ['principals.create', person.iamPrincipalId, made.id],
  );
  await assert.rejects(
    own.identity.tenants.list(),
    (error: unknown) => error instanceof BatonError && error.code === 'outside_administration',
  );
  await identity('/browser-sessions:revoke-self', { token: person.session });
  assert.equal(await statusAt(tenantId, token), 401);
});

test('who loses the role loses the token', async () => {
  const person = await invite('administrator');
  const { token, tenantId } = (await request(person.accessToken)).body;
  keepSecret('administration token', token);
  assert.equal(await statusAt(tenantId, token), 200);
  const { version } = await baton.admin.principals.getAccess(person.id);
  await baton.admin.principals.setAccess(
    person.id,
    { accessRole: 'member' },
    { ifMatch: `"principal_access-${version}"` },
  );
  await untilRefused(tenantId, token);
});

test('a member, and the token of the first administrator, get none', async () => {
  const member = await request((await invite('member')).accessToken);
  assert.deepEqual([member.status, member.body.error.code], [403, 'permission_denied']);
  const exchange = { token: baton.connection.adminToken, audience: 'control-plane' };
  const { accessToken } = (await identity('/platform-access-tokens:exchange', exchange)).body;
  const first = await request(accessToken);
  assert.deepEqual([first.status, first.body.error.code], [403, 'fresh_sign_in_required']);
});

test('the credential is in the folder of the secrets, for its owner only', async () => {
  const file = join(baton.home, 'secrets', 'delegation-credential');
  const credential = readFileSync(file, 'utf8').trim();
  keepSecret('service credential', credential);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.match(credential, /^[\w-]{43}$/);
});
