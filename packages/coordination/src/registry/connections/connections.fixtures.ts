import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { makeConnection } from '../../testing/registry/connections.ts';
import { connectionType } from '../connection-types/connection-types.fixtures.ts';

const connection = defineObject({
  path: '/connections/{key}',
  make: async ({ actor, get }) => makeConnection(actor, (await get(connectionType)).key),
});

const ownConnection = defineObject({
  path: '/agents/me/connections/{key}',
  make: ({ get }) => get(connection),
});

export default defineFixtures({
  objects: [connection, ownConnection],
  operations: {
    reportConnectionStatus: {
      excluded: 'Needs an agent with the connection: covered by report-status.test.ts.',
    },
    listOwnConnections: { excluded: 'Needs an agent of the registry: covered by report-status.test.ts.' },
    getOwnConnection: { excluded: 'Needs an agent of the registry: covered by report-status.test.ts.' },
    createConnection: async ({ get }) => ({ body: { type: (await get(connectionType)).key, settings: {} } }),
  },
});
