import { after, before, test } from 'node:test';
import { startIdentity, type TestIdentity } from '../../../testing/identity.ts';
import { makeProvisioning } from '../../../testing/provisioning.ts';
import { scimClient } from '../../../testing/scim-client.ts';
import { actAmid } from '../../../testing/traffic.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity();
});
after(() => identity.close());

test('a disable wins against 200 parallel changes to the user by its directory', async () => {
  const { tenantId, token } = await makeProvisioning(identity);
  const directory = scimClient(identity, token);
  await directory.post('/Users', { userName: 'ada', externalId: 'ada' });
  const { items } = (await identity.get(`/tenants/${tenantId}/principals?kind=human`)).body;
  const [{ id: principalId }] = items;
  const { Resources } = (await directory.get('/Users')).body;
  let n = 0;
  await actAmid(identity, {
    request() {
      n += 1;
      const change = { op: 'replace', path: 'displayName', value: `Ada ${n}` };
      return directory.patch(`/Users/${Resources[0].id}`, [change]);
    },
    act: () => identity.post(`/tenants/${tenantId}/principals/${principalId}:disable`),
    isShut: false,
  });
});
