import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { startIdentity, type TestIdentity } from '../../../testing/identity.ts';
import { made } from '../../../testing/objects.ts';
import { makeProvisioning } from '../../../testing/provisioning.ts';
import { type ScimClient, scimClient } from '../../../testing/scim-client.ts';

let identity: TestIdentity;
let client: ScimClient;
before(async () => {
  identity = await startIdentity();
  client = scimClient(identity, (await makeProvisioning(identity)).token);
});
after(() => identity.close());

const unknown = 'api-version=2&%00=x&__proto__=y&tenant=%00&tenant=b';

test('unknown query parameters are ignored on every SCIM route', async () => {
  const userName = randomUUID();
  const { id } = await made(client.post(`/Users?${unknown}`, { userName }));
  const group = await made(client.post(`/Groups?${unknown}`, { displayName: 'Some' }));
  for (const [kind, one, body] of [
    ['Users', id, { userName }],
    ['Groups', group.id, { displayName: 'Some' }],
  ] as const) {
    assert.equal((await client.get(`/${kind}?${unknown}`)).status, 200);
    assert.equal((await client.post(`/${kind}/.search?${unknown}`, {})).status, 200);
    assert.equal((await client.get(`/${kind}/${one}?${unknown}`)).status, 200);
    assert.equal((await client.put(`/${kind}/${one}?${unknown}`, body)).status, 200);
    const patch = [{ op: 'replace', path: 'displayName', value: 'Other' }];
    assert.equal((await client.patch(`/${kind}/${one}?${unknown}`, patch)).status, 200);
    assert.equal((await client.delete(`/${kind}/${one}?${unknown}`)).status, 204);
  }
});

test('names of query parameters can be in any case, and occur once', async () => {
  const userName = randomUUID();
  await made(client.post('/Users', { userName, title: 'T' }));
  const query = `?FILTER=${encodeURIComponent(`userName eq "${userName}"`)}&STARTindex=1&Count=5&Attributes=TITLE`;
  const { status, body } = await client.get(`/Users${query}`);
  assert.deepEqual([status, body.totalResults], [200, 1]);
  assert.deepEqual(Object.keys(body.Resources[0]).sort(), ['id', 'schemas', 'title']);
  const none = await client.get('/Users?COUNT=0');
  assert.deepEqual(none.body.Resources, []);
  for (const twice of ['count=1&Count=2', 'count=1&count=2', 'Filter=%00'])
    assert.equal((await client.get(`/Users?${twice}`)).body.scimType, 'invalidValue', twice);
});

test('discovery ignores every parameter but a filter on its lists, which is 403', async () => {
  const ignored = `?${unknown}&count=x&startIndex=-1&sortBy=nothing&attributes=id&excludedAttributes=id`;
  for (const path of [
    '/ServiceProviderConfig',
    '/ResourceTypes',
    '/ResourceTypes/User',
    '/Schemas',
    '/Schemas/urn:ietf:params:scim:schemas:core:2.0:User',
  ]) {
    const plain = await client.get(path);
    const { status, body } = await client.get(`${path}${ignored}`);
    assert.deepEqual([status, body], [200, plain.body], path);
  }
  for (const path of ['/ResourceTypes', '/Schemas'])
    for (const filter of ['filter=id+pr', 'FILTER=id+pr', 'filter='])
      assert.equal((await client.get(`${path}?${filter}`)).status, 403, filter);
  assert.equal((await client.get('/ServiceProviderConfig?filter=id+pr')).status, 200);
});
