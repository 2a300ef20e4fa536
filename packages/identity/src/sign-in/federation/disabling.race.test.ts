import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { longTest } from '@baton/testing/depth';
import type { TestIdentity } from '../../testing/identity.ts';
import { makeSource } from '../../testing/provisioning.ts';
import { scimClient } from '../../testing/scim-client.ts';
import { actAmid, countAllowed } from '../../testing/traffic.ts';
import { makeRealm, newSubject, signInBy, startFederation } from './testing/sign-in.ts';
import type { Upstream } from './testing/upstream.ts';

let identity: TestIdentity;
let upstream: Upstream;
before(async () => {
  ({ identity, upstream } = await startFederation());
});
after(async () => {
  await identity.close();
  await upstream.close();
});

for (const [parallel, register] of [
  [12, test],
  [200, longTest],
] as const)
  register(
    `a disable wins against ${parallel} parallel exchanges of one ID token, and none commits after it`,
    async () => {
      const realm = await makeRealm(identity, upstream);
      const token = await upstream.sign({ sub: newSubject() });
      const { principalId } = (await signInBy(identity, realm, token)).body;
      const exchanges = () => countAllowed(identity, realm.tenantId, 'federation.exchange');
      let committed = 0;
      await actAmid(identity, {
        parallel,
        request: () => signInBy(identity, realm, token, 'exchange'),
        async act() {
          const disabled = await identity.post(
            `/tenants/${realm.tenantId}/principals/${principalId}:disable`,
          );
          committed = await exchanges();
          return disabled;
        },
      });
      assert.equal(await exchanges(), committed);
    },
  );

for (const [act, parallel, register] of [
  ['active: false', 12, test],
  ['delete', 12, test],
  ['active: false', 200, longTest],
  ['delete', 200, longTest],
] as const)
  register(`a directory's "${act}" wins against ${parallel} parallel exchanges of one ID token`, async () => {
    const realm = await makeRealm(identity, upstream, { lifecycleProfile: 'managed' });
    const { token } = await makeSource(identity, realm.tenantId, realm.key);
    const directory = scimClient(identity, token);
    const sub = newSubject();
    const { body: user } = await directory.post('/Users', { userName: sub, externalId: sub });
    const idToken = await upstream.sign({ sub });
    const path = `/Users/${user.id}`;
    await actAmid(identity, {
      parallel,
      request: () => signInBy(identity, realm, idToken, 'exchange'),
      act: () =>
        act === 'delete'
          ? directory.delete(path)
          : directory.patch(path, [{ op: 'replace', path: 'active', value: false }]),
    });
  });
