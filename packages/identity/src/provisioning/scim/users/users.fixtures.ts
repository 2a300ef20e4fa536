import { randomUUID } from 'node:crypto';
import { defineFixtures, defineObject } from '../../../testing/fixtures.ts';
import { made } from '../../../testing/objects.ts';
import { scimClient } from '../../../testing/scim-client.ts';

const scimUser = defineObject({
  path: '/scim/v2/Users/{id}',
  make: ({ identity, source }) =>
    made(scimClient(identity, source.token).post('/Users', { userName: `${randomUUID()}@example.com` })),
});

export default defineFixtures({
  objects: [scimUser],
  operations: {
    createScimUser: () => ({ body: { userName: randomUUID(), externalId: randomUUID() } }),
    replaceScimUser: () => ({ body: { userName: randomUUID(), externalId: randomUUID() } }),
  },
});
