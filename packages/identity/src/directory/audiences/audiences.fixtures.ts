import { randomUUID } from 'node:crypto';
import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { makeAudience } from '../../testing/objects.ts';
import { tenant } from '../tenants/tenants.fixtures.ts';

/** The audience that the example bodies refer to. */
export const controlPlane = defineObject({
  async make({ identity, get }) {
    await makeAudience(identity, (await get(tenant)).id);
    return { key: 'control-plane' };
  },
});

/** An audience whose key no other tenant has. */
const audience = defineObject({
  path: '/tenants/{tenantId}/audiences/{key}',
  async make({ identity, get }) {
    const key = `a-${randomUUID()}`;
    await makeAudience(identity, (await get(tenant)).id, key);
    return { key };
  },
});

export default defineFixtures({ objects: [audience] });
