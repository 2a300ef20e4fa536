import { defineFixtures, defineObject } from '../../../testing/fixtures.ts';

const resourceType = defineObject({
  path: '/scim/v2/ResourceTypes/{name}',
  shared: true,
  make: () => ({ name: 'User' }),
});

const schema = defineObject({
  path: '/scim/v2/Schemas/{urn}',
  shared: true,
  make: () => ({ urn: 'urn:ietf:params:scim:schemas:core:2.0:Group' }),
});

export default defineFixtures({ objects: [resourceType, schema] });
