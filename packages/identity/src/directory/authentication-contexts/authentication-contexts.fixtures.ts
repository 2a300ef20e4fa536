import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { makePrincipal, signIn } from '../../testing/objects.ts';
import { tenant } from '../tenants/tenants.fixtures.ts';

/** A person, because only people sign in. */
const signedInHuman = defineObject({
  async make({ identity, get }) {
    const { id: tenantId } = await get(tenant);
    const id = await makePrincipal(identity, tenantId, 'human');
    await signIn(identity, tenantId, id);
    return { id };
  },
});

export default defineFixtures({
  operations: {
    recordAuthenticationContext: async ({ get }) => ({
      params: { principalId: (await get(signedInHuman)).id },
    }),
  },
});
