import { after, before, test } from 'node:test';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import {
  makeAudience,
  makeBearer,
  makeServiceAccount,
  makeTenant,
  readScope,
} from '../../testing/objects.ts';
import { actAmid } from '../../testing/traffic.ts';

let identity: TestIdentity;
before(async () => {
  // Every exchange records the use of its credential, so it locks the credential's row.
  identity = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_PAT_LAST_USED_INTERVAL_SECONDS: '0',
  });
});
after(() => identity.close());

for (const act of ['principal disabled', 'token revoked'] as const)
  test(`${act} amid 200 parallel exchanges of the token: in time, and no later exchange succeeds`, async () => {
    const { tenantId, principalId, token, credential } = await makeBearer(identity);
    const body = { token, audience: 'control-plane' };
    const path = `/tenants/${tenantId}/${
      act === 'token revoked'
        ? `platform-access-tokens/${credential.id}:revoke`
        : `principals/${principalId}:disable`
    }`;
    await actAmid(identity, {
      request: () => identity.request('POST', '/api/v1/platform-access-tokens:exchange', { body }),
      act: () => identity.post(path),
    });
  });

for (const act of ['principal disabled', 'account revoked'] as const)
  test(`${act} amid 200 parallel exchanges of client credentials: in time, and no later one succeeds`, async () => {
    const tenantId = await makeTenant(identity);
    await makeAudience(identity, tenantId);
    const { principalId, clientId, clientSecret } = await makeServiceAccount(identity, tenantId);
    const body = { clientId, clientSecret, audience: 'control-plane', scopes: [readScope] };
    const path = `/tenants/${tenantId}/${
      act === 'account revoked' ? `service-accounts/${clientId}:revoke` : `principals/${principalId}:disable`
    }`;
    await actAmid(identity, {
      request: () => identity.request('POST', '/api/v1/tokens/exchange', { body }),
      act: () => identity.post(path),
    });
  });
