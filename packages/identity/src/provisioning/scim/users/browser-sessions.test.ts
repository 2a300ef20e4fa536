import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { VirtualAuthenticator } from '../../../sign-in/passkeys/testing/authenticator.ts';
import { acceptByPasskey, ask, invite, signInWith } from '../../../sign-in/passkeys/testing/people.ts';
import { startIdentity, type TestIdentity, testSigningKey } from '../../../testing/identity.ts';
import { made } from '../../../testing/objects.ts';
import { makeProvisioning, type Provisioning } from '../../../testing/provisioning.ts';
import { type ScimClient, scimClient } from '../../../testing/scim-client.ts';

let identity: TestIdentity;
let fixture: Provisioning;
let client: ScimClient;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
  fixture = await makeProvisioning(identity);
  client = scimClient(identity, fixture.token);
});
after(() => identity.close());

/** A user of the directory who has a passkey and is signed in. */
async function makeUser() {
  const content = { userName: randomUUID(), externalId: randomUUID() };
  const { id } = await made(client.post('/Users', content));
  const row = await identity.pool.row<{ principal_id: string }>(
    sql`select principal_id from scim_users where id = ${id}`,
  );
  const link = await invite(identity, fixture.tenantId, { principalId: row?.principal_id });
  const authenticator = new VirtualAuthenticator();
  const { token } = await made(acceptByPasskey(identity, link.token, authenticator));
  const open = await invite(identity, fixture.tenantId, { principalId: row?.principal_id });
  return { id, content, token, authenticator, link: open.token };
}

type User = Awaited<ReturnType<typeof makeUser>>;

for (const [name, end] of [
  [
    'a PATCH',
    ({ id }: User) => client.patch(`/Users/${id}`, [{ op: 'replace', path: 'active', value: false }]),
  ],
  ['a PUT', ({ id, content }: User) => client.put(`/Users/${id}`, { ...content, active: false })],
  ['a DELETE', ({ id }: User) => client.delete(`/Users/${id}`)],
  [
    'a POST of a user who is inactive',
    async ({ content }: User) => {
      // Simulates the state after a restore of the directory: the identity is known, but the user isn't.
      await identity.pool.run(sql`delete from scim_users where external_id = ${content.externalId}`);
      return client.post('/Users', { ...content, active: false });
    },
  ],
] as const)
  test(`${name} of the directory that disables a person ends their browser sessions and their open link`, async () => {
    const user = await makeUser();
    const list = () => ask(identity, '/passkeys:list', { token: user.token });
    const read = () => ask(identity, '/invitations:read', { token: user.link });
    assert.deepEqual([(await list()).status, (await read()).status], [200, 200]);
    const { status, body } = await end(user);
    assert.ok(status < 300, JSON.stringify(body));
    assert.equal((await list()).status, 401);
    assert.equal((await signInWith(identity, user.authenticator)).status, 401);
    const row = await identity.pool.row<{ end_reason: string }>(sql`
      select end_reason from browser_sessions where public_prefix = ${user.token.slice(8, 20)}`);
    assert.notEqual(row?.end_reason, '');
    await identity.pool.run(sql`
      update principals set status = 'active'
      where id in (select principal_id from browser_sessions where public_prefix = ${user.token.slice(8, 20)})`);
    assert.equal((await read()).status, 401, 'enabling the person does not revive the link');
  });
