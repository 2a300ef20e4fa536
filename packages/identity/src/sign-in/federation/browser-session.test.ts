import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { decodeJwt } from 'jose';
import { sql } from '@baton/kernel/database/sql';
import type { TestIdentity } from '../../testing/identity.ts';
import { made } from '../../testing/objects.ts';
import { auditOf, journalOf } from '../../testing/records.ts';
import {
  begin,
  connect,
  decide,
  makePkce,
  oauthSettings,
  read,
  requestOf,
} from '../oauth/testing/browser.ts';
import { ask } from '../passkeys/testing/people.ts';
import { makeRealm, newSubject, type Realm, signInBy, startFederation } from './testing/sign-in.ts';
import { nowSeconds, type Upstream } from './testing/upstream.ts';

let identity: TestIdentity;
let upstream: Upstream;
before(async () => {
  ({ identity, upstream } = await startFederation(oauthSettings));
});
after(async () => {
  await identity.close();
  await upstream.close();
});

async function startSession(realm: Realm, claims: object) {
  return signInBy(identity, realm, await upstream.sign({ sub: newSubject(), ...claims }), 'start-session');
}

const exchange = (token: string) =>
  ask(identity, '/browser-sessions:exchange', { token, audience: 'control-plane' });

describe('federation:start-session', () => {
  test('begins a browser session like that of a passkey, which names the provider', async () => {
    const realm = await makeRealm(identity, upstream);
    const authTime = nowSeconds() - 30;
    const { status, body, headers } = await startSession(realm, { acr: 'gold', auth_time: authTime });
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(headers.get('cache-control'), 'no-store');
    const { session, token } = body;
    const time = new Date(authTime * 1000).toISOString();
    assert.deepEqual(
      [session.passkeyId, session.clientId, session.acr, session.authTime],
      [null, `idp:${realm.key}`, 'gold', time],
    );
    const claims = decodeJwt((await made(exchange(token))).accessToken);
    assert.deepEqual(
      [claims.sub, claims['credential_id'], claims['auth_time']],
      [session.principalId, session.id, time],
    );
    const { items } = await made(ask(identity, '/browser-sessions:list', { token }));
    assert.deepEqual(
      items.map(({ id }: { id: string }) => id),
      [session.id],
    );
    const audited = await auditOf(identity, realm.tenantId);
    const actions = audited.map(({ action }) => action);
    for (const action of ['federation.sign_in', 'browser_sessions.issue'])
      assert.ok(actions.includes(action));
  });

  test('replaces the oldest session when a person begins their 21st', async () => {
    const realm = await makeRealm(identity, upstream);
    const sub = newSubject();
    const first = await made(startSession(realm, { sub }));
    for (let session = 1; session < 20; session += 1) await made(startSession(realm, { sub }));
    assert.equal((await exchange(first.token)).status, 200);
    await made(startSession(realm, { sub }));
    assert.equal((await exchange(first.token)).status, 401);
    const [event] = (await journalOf(identity, realm.tenantId)).filter(
      ({ type }) => type === 'browser_session.revoked',
    );
    assert.deepEqual([event.aggregate_id, event.payload.reason], [first.session.id, 'replaced']);
  });

  test('the session ends with its provider and with its identity', async () => {
    const realm = await makeRealm(identity, upstream);
    const [one, two] = [await made(startSession(realm, {})), await made(startSession(realm, {}))];
    await identity.pool.run(
      sql`update external_identities set status = 'disabled' where principal_id = ${one.session.principalId}`,
    );
    assert.equal((await exchange(one.token)).status, 401);
    assert.equal((await exchange(two.token)).status, 200);
    await identity.pool.run(
      sql`update identity_providers set status = 'disabled' where id = ${realm.providerId}`,
    );
    assert.equal((await exchange(two.token)).status, 401);
  });
});

describe('a person who signs in through a provider', () => {
  test('decides about an OAuth client if the provider states that they have just authenticated', async () => {
    const realm = await makeRealm(identity, upstream);
    const person = await made(startSession(realm, { auth_time: nowSeconds() - 5 }));
    const { request } = await begin(identity, requestOf(makePkce()));
    assert.equal((await made(read(identity, person, { request }))).isRecent, true);
    const { access_token: token } = await connect(identity, person);
    assert.equal(decodeJwt(token).sub, person.session.principalId);
  });

  for (const [what, claims] of [
    ['states an earlier time', { auth_time: nowSeconds() - 3600 }],
    ['states no time', {}],
  ] as const)
    test(`must authenticate again if the provider ${what}`, async () => {
      const person = await made(startSession(await makeRealm(identity, upstream), claims));
      const { request } = await begin(identity, requestOf(makePkce()));
      assert.equal((await made(read(identity, person, { request }))).isRecent, false);
      const { status, body } = await decide(identity, person, { request });
      assert.deepEqual([status, body], [403, { detail: 'authentication_context_expired' }]);
    });
});
