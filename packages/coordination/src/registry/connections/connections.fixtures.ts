import { makeConnection } from '../../testing/connections.ts';
import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { connectionType } from '../connection-types/connection-types.fixtures.ts';

const connection = defineObject({
  path: '/connections/{key}',
  make: async ({ actor, get }) => makeConnection(actor, (await get(connectionType)).key),
});

export default defineFixtures({
  objects: [connection],
  operations: {
    createConnection: async ({ get }) => ({ body: { type: (await get(connectionType)).key, settings: {} } }),
  },
});
