import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { made } from '../../testing/objects.ts';
import { principal } from '../principals/principals.fixtures.ts';
import { tenant } from '../tenants/tenants.fixtures.ts';

const group = defineObject({
  path: '/tenants/{tenantId}/groups/{groupId}',
  make: async ({ identity, get }) =>
    made(identity.post(`/tenants/${(await get(tenant)).id}/groups`, { key: 'people', name: 'People' })),
});

const member = defineObject({
  path: '/tenants/{tenantId}/groups/{groupId}/members/{principalId}',
  async make({ identity, get }) {
    const [{ id: tenantId }, { id: groupId }] = [await get(tenant), await get(group)];
    const { id: principalId } = await get(principal);
    await made(identity.post(`/tenants/${tenantId}/groups/${groupId}/members`, { principalId }));
    return { principalId };
  },
});

export default defineFixtures({
  objects: [group, member],
  operations: {
    addGroupMember: async ({ get }) => ({ body: { principalId: (await get(principal)).id } }),
  },
});
