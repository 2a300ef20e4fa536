import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { done } from '../../testing/leases.ts';

/** The built-in type, which every tenant has; no endpoint creates one. */
const taskType = defineObject({
  path: '/task-types/{id}',
  make: async ({ actor }) => (await done(actor.get('/task-types'))).items[0],
});

export default defineFixtures({ objects: [taskType] });
