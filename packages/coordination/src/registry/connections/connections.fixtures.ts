import { makeConnection } from '../../testing/connections.ts';
import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
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
    reportConnectionStatus: { excluded: 'By an agent that has it only: reporting.test.ts has that.' },
    listOwnConnections: { excluded: 'An agent of the registry has them: reporting.test.ts has that.' },
    getOwnConnection: { excluded: 'An agent of the registry has them: reporting.test.ts has that.' },
    createConnection: async ({ get }) => ({ body: { type: (await get(connectionType)).key, settings: {} } }),
  },
});
