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
    reportConnectionStatus: { excluded: 'Needs an agent that has it: covered by reporting.test.ts.' },
    listOwnConnections: { excluded: 'Needs an agent of the registry: covered by reporting.test.ts.' },
    getOwnConnection: { excluded: 'Needs an agent of the registry: covered by reporting.test.ts.' },
    createConnection: async ({ get }) => ({ body: { type: (await get(connectionType)).key, settings: {} } }),
  },
});
