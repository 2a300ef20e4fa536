import { controlPlane } from '../../directory/audiences/audiences.fixtures.ts';
import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { person } from '../passkeys/passkeys.fixtures.ts';
import { makePkce, requestOf } from './testing/browser.ts';
import { newDevice } from './testing/device.ts';

/** A device that waits for its person. */
const device = defineObject({
  async make({ identity, get }) {
    await get(controlPlane);
    return { userCode: (await newDevice(identity)).user_code };
  },
});

export default defineFixtures({
  operations: {
    explainAuthorization: async () => ({ query: `?${new URLSearchParams(requestOf(makePkce()))}` }),
    resumeOauthAuthorization: { excluded: 'It succeeds once per decision: see authorization-code.test.ts.' },
    readOauthRequest: async ({ get }) => ({
      body: { token: (await get(person)).token, userCode: (await get(device)).userCode },
    }),
    decideOauthRequest: async ({ get }) => ({
      body: { token: (await get(person)).token, userCode: (await get(device)).userCode },
    }),
  },
});
