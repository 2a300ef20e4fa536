import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { adminHeader, startIdentity, type TestIdentity, testSigningKey } from '../../../testing/identity.ts';
import { made, makeAudience, makeTenant, readScope, writeScope } from '../../../testing/objects.ts';
import { journalTypes } from '../../../testing/records.ts';
import { makePerson, type Person } from '../../passkeys/testing/people.ts';
import {
  authorize,
  begin,
  connect,
  makePkce,
  oauthSettings,
  read,
  refresh,
  requestOf,
} from '../testing/browser.ts';
import { newDevice } from '../testing/device.ts';

let identity: TestIdentity;
let tenantId: string;
let person: Person;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey(), ...oauthSettings });
  tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId, 'control-plane', [readScope, writeScope]);
  person = await makePerson(identity, tenantId);
});
after(() => identity.close());

const callback = 'https://bot.example/callback';
const register = (body: object = {}, tenant = tenantId) =>
  identity.post(`/tenants/${tenant}/oauth-clients`, {
    name: 'Release bot',
    redirectUris: [callback],
    ...body,
  });

describe('a registered client', () => {
  test('connects people of its tenant, at exactly its redirect addresses', async () => {
    const { id, clientId } = await made(register());
    assert.match(clientId, /^iam_oc_[\w-]{24}$/);
    const granted = await connect(identity, person, { client_id: clientId, redirect_uri: callback });
    assert.equal(granted.scope, `${readScope} ${writeScope}`);
    const { items } = await made(identity.get(`/tenants/${tenantId}/oauth-clients`));
    assert.deepEqual(items.find((one: { id: string }) => one.id === id)?.redirectUris, [callback]);
    for (const redirect_uri of [
      `${callback}/`,
      `${callback}?x=1`,
      'https://bot.example:444/callback',
      'http://bot.example/callback',
    ]) {
      const { status, location } = await authorize(
        identity,
        requestOf(makePkce(), { client_id: clientId, redirect_uri }),
      );
      assert.deepEqual([status, location], [400, undefined], redirect_uri);
    }
  });

  test('connects nobody of another tenant, by browser or by device', async () => {
    const other = await makeTenant(identity);
    await makeAudience(identity, other, 'control-plane', [readScope, writeScope]);
    const { clientId } = await made(register({}, other));
    const request = await begin(
      identity,
      requestOf(makePkce(), { client_id: clientId, redirect_uri: callback }),
    );
    const { status, body } = await read(identity, person, { request: request.request });
    assert.deepEqual([status, body.detail], [422, 'invalid_authorization_request']);
    const { user_code: userCode } = await newDevice(identity, { client_id: clientId });
    assert.equal((await read(identity, person, { userCode })).body.detail, 'invalid_user_code');
  });

  test('that is deleted begins and refreshes nothing', async () => {
    const { id, clientId } = await made(register());
    const own = { client_id: clientId, redirect_uri: callback };
    const granted = await connect(identity, person, own);
    const path = `/api/v1/tenants/${tenantId}/oauth-clients/${id}`;
    assert.equal((await identity.request('DELETE', path, { headers: adminHeader })).status, 204);
    assert.equal((await authorize(identity, requestOf(makePkce(), own))).status, 400);
    assert.equal(
      (await refresh(identity, granted.refresh_token, { client_id: clientId })).body.error,
      'invalid_client',
    );
    const again = await identity.request('DELETE', path, { headers: adminHeader });
    assert.deepEqual([again.status, again.body.detail], [404, 'oauth_client_not_found']);
    const types = await journalTypes(identity, tenantId);
    assert.ok(types.includes('oauth_client.registered') && types.includes('oauth_client.deleted'));
  });

  test('with the scheme of an application shows the scheme, not a host that it writes behind it', async () => {
    const uri = 'com.example.app://trusted.example/callback';
    const { clientId } = await made(register({ redirectUris: [uri] }));
    const given = requestOf(makePkce(), { client_id: clientId, redirect_uri: uri });
    const { request } = await begin(identity, given);
    assert.equal((await made(read(identity, person, { request }))).client.redirectHost, 'com.example.app:');
  });

  test('has redirect addresses that a browser opens safely, 1 to 10', async () => {
    for (const uri of [
      'http://bot.example/callback',
      'javascript:alert(1)',
      'data:text/html,x',
      'myapp:/callback',
      'https://bot.example/#x',
      'https://user:pass@bot.example/',
      'bot.example',
      '',
    ])
      assert.equal((await register({ redirectUris: [uri] })).status, 422, uri);
    assert.equal((await register({ redirectUris: [] })).status, 422);
    assert.equal((await register({ redirectUris: Array(11).fill(callback) })).status, 422);
    for (const uri of ['http://localhost/cb', 'http://[::1]:9/cb', 'com.example.app:/cb'])
      assert.equal((await register({ redirectUris: [uri] })).status, 201, uri);
  });

  test('is one of 100 at most', async () => {
    const full = await makeTenant(identity);
    for (let count = 0; count < 100; count += 1) assert.equal((await register({}, full)).status, 201);
    const { status, body } = await register({}, full);
    assert.deepEqual([status, body.detail], [409, 'too_many_oauth_clients']);
  });
});
