import { randomUUID } from 'node:crypto';
import { defineFixtures, defineObject } from '../../../testing/fixtures.ts';
import { made } from '../../../testing/objects.ts';
import { scimClient } from '../../../testing/scim-client.ts';

const scimGroup = defineObject({
  path: '/scim/v2/Groups/{id}',
  make: ({ identity, source }) =>
    made(scimClient(identity, source.token).post('/Groups', { displayName: randomUUID() })),
});

export default defineFixtures({
  objects: [scimGroup],
  operations: {
    createScimGroup: () => ({ body: { displayName: randomUUID() } }),
    replaceScimGroup: () => ({ body: { displayName: randomUUID() } }),
  },
});
