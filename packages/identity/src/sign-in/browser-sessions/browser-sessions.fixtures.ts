import { controlPlane } from '../../directory/audiences/audiences.fixtures.ts';
import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { made } from '../../testing/objects.ts';
import { person } from '../passkeys/passkeys.fixtures.ts';
import { signInWith } from '../passkeys/testing/people.ts';

export const browserSession = defineObject({
  path: '/tenants/{tenantId}/principals/{principalId}/browser-sessions/{browserSessionId}',
  make: async ({ get }) => ({ id: (await get(person)).session.id }),
});

export default defineFixtures({
  objects: [browserSession],
  operations: {
    async exchangeBrowserSession({ get }) {
      await get(controlPlane);
      return { body: { token: (await get(person)).token } };
    },
    endOwnBrowserSession: async ({ get }) => ({ body: { token: (await get(person)).token } }),
    listOwnBrowserSessions: async ({ get }) => ({ body: { token: (await get(person)).token } }),
    async revokeOwnBrowserSession({ get }) {
      const { token, session } = await get(person);
      return { body: { token, browserSessionId: session.id } };
    },
    async revokeOtherBrowserSessions({ identity, get }) {
      const { token, authenticator } = await get(person);
      await made(signInWith(identity, authenticator));
      return { body: { token } };
    },
    revokeBrowserSession: async ({ get }) => ({ params: { principalId: (await get(person)).principalId } }),
  },
});
