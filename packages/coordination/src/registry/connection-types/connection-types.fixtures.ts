import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { makeType } from '../../testing/registry/connections.ts';

export const connectionType = defineObject({
  path: '/connection-types/{key}',
  make: async ({ actor }) => {
    const oauth2 = {
      authorizeUrl: 'https://provider.example/authorize',
      tokenUrlTemplate: 'https://provider.example/token',
    };
    const key = await makeType(actor, { displayName: 'Tracker', auth: ['oauth2', 'token'], oauth2 });
    await actor.put(`/connection-types/${key}/oauth-app`, { clientId: 'baton', clientSecret: 'secret' });
    return { key };
  },
});

export default defineFixtures({
  objects: [connectionType],
  operations: {
    updateConnectionType: async ({ get }) => ({ params: { key: `${(await get(connectionType)).key}@1` } }),
  },
});
