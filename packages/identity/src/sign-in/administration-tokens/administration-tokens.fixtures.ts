import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { person } from '../passkeys/passkeys.fixtures.ts';
import { bodyOf, issueToken } from './testing/administration.ts';

export const administrationToken = defineObject({
  path: '/tenants/{tenantId}/administration-tokens/{administrationTokenId}',
  make: async ({ identity, get }) => issueToken(identity, await get(person)),
});

export default defineFixtures({
  objects: [administrationToken],
  operations: {
    createAdministrationToken: async ({ get }) => ({ body: bodyOf(await get(person)) }),
  },
});
