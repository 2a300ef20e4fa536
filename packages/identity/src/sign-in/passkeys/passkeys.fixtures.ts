import { tenant } from '../../directory/tenants/tenants.fixtures.ts';
import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { made } from '../../testing/objects.ts';
import { VirtualAuthenticator } from './testing/authenticator.ts';
import { addPasskey, ask, makePerson, passkeyIds } from './testing/people.ts';

/** A person with two passkeys, of which one can be removed, and a session. */
export const person = defineObject({
  async make({ identity, get }) {
    const made = await makePerson(identity, (await get(tenant)).id);
    await addPasskey(identity, made.token);
    const [passkeyId = ''] = await passkeyIds(identity, made);
    return { ...made, passkeyId };
  },
});

export const passkey = defineObject({
  path: '/tenants/{tenantId}/principals/{principalId}/passkeys/{passkeyId}',
  make: async ({ get }) => ({ id: (await get(person)).passkeyId }),
});

export default defineFixtures({
  objects: [passkey],
  operations: {
    async signInByPasskey({ identity, get }) {
      const { authenticator } = await get(person);
      const { publicKey, state } = await made(ask(identity, '/passkeys:sign-in-options'));
      return { body: { state, credential: authenticator.get(publicKey) } };
    },
    getPasskeyRegistrationOptions: async ({ get }) => ({ body: { token: (await get(person)).token } }),
    async registerPasskey({ identity, get }) {
      const { token } = await get(person);
      const { publicKey, state } = await made(ask(identity, '/passkeys:registration-options', { token }));
      return { body: { token, state, credential: new VirtualAuthenticator().create(publicKey) } };
    },
    listOwnPasskeys: async ({ get }) => ({ body: { token: (await get(person)).token } }),
    async renameOwnPasskey({ get }) {
      const { token, passkeyId } = await get(person);
      return { body: { token, passkeyId } };
    },
    async removeOwnPasskey({ get }) {
      const { token, passkeyId } = await get(person);
      return { body: { token, passkeyId } };
    },
    renamePasskey: async ({ get }) => ({ params: { principalId: (await get(person)).principalId } }),
    removePasskey: async ({ get }) => ({ params: { principalId: (await get(person)).principalId } }),
  },
});
