import { serviceAccount } from '../../directory/service-accounts/service-accounts.fixtures.ts';
import { tenant } from '../../directory/tenants/tenants.fixtures.ts';
import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { made } from '../../testing/objects.ts';
import { makeProvider, makeSource } from '../../testing/provisioning.ts';

/** An LDAP source, because only the service of such a source sends heartbeats. */
const ldapSource = defineObject({
  path: '/tenants/{tenantId}/provisioning-sources/{sourceId}',
  async make({ identity, get }) {
    const { id: tenantId } = await get(tenant);
    await makeProvider(identity, tenantId, 'ldap', 'read_only');
    const source = { key: 'ldap', kind: 'ldap', identityProvider: 'ldap' };
    return made(identity.post(`/tenants/${tenantId}/provisioning-sources`, source));
  },
});

/** A SCIM source with a token, because only SCIM sources have tokens. */
const scimSource = defineObject({
  async make({ identity, get }) {
    const { id: tenantId } = await get(tenant);
    await makeProvider(identity, tenantId);
    return makeSource(identity, tenantId, 'entra');
  },
});

const provisioningToken = defineObject({
  path: '/tenants/{tenantId}/provisioning-sources/{sourceId}/tokens/{tokenId}',
  make: async ({ get }) => ({ id: (await get(scimSource)).tokenId }),
});

export default defineFixtures({
  objects: [ldapSource, provisioningToken],
  operations: {
    async createProvisioningSource({ identity, get }) {
      await makeProvider(identity, (await get(tenant)).id);
      return { body: { servicePrincipalId: (await get(serviceAccount)).principalId } };
    },
    createProvisioningToken: async ({ get }) => ({ params: { sourceId: (await get(scimSource)).sourceId } }),
    listProvisioningTokens: async ({ get }) => ({ params: { sourceId: (await get(scimSource)).sourceId } }),
    revokeProvisioningToken: async ({ get }) => ({ params: { sourceId: (await get(scimSource)).sourceId } }),
  },
});
