import { controlPlane } from '../../../directory/audiences/audiences.fixtures.ts';
import { defineFixtures, defineObject } from '../../../testing/fixtures.ts';
import { made } from '../../../testing/objects.ts';
import { person } from '../../passkeys/passkeys.fixtures.ts';
import { decide } from '../testing/browser.ts';
import { newDevice } from '../testing/device.ts';

const ownGrant = defineObject({
  async make({ identity, get }) {
    await get(controlPlane);
    const owner = await get(person);
    await made(decide(identity, owner, { userCode: (await newDevice(identity)).user_code }));
    const { items } = await made(identity.post('/oauth-grants:list', { token: owner.token }));
    return { id: items[0].id as string };
  },
});

export default defineFixtures({
  operations: {
    listOwnOauthGrants: async ({ get }) => ({ body: { token: (await get(person)).token } }),
    revokeOwnOauthGrant: async ({ get }) => ({
      body: { token: (await get(person)).token, grantId: (await get(ownGrant)).id },
    }),
  },
});
