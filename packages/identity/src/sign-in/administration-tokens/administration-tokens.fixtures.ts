import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { person } from '../passkeys/passkeys.fixtures.ts';
import { issueToken, signInOf } from './testing/administration.ts';

export const administrationToken = defineObject({
  path: '/administration-tokens/{administrationTokenId}',
  make: async ({ identity, get }) => issueToken(identity, await get(person)),
});

export default defineFixtures({
  objects: [administrationToken],
  operations: {
    createAdministrationToken: async ({ get }) => ({ body: signInOf(await get(person)) }),
  },
});
