import { newId } from '@baton/values/ids';
import { defineFixtures, defineObject } from '../../../testing/app/fixtures.ts';
import { done } from '../../../testing/leases.ts';
import { task } from '../../tasks/tasks.fixtures.ts';

const name = () => ({ externalSystem: 'tracker', externalType: 'issue', externalId: newId() });

const reference = defineObject({
  path: '/external-references/{id}',
  make: async ({ actor, get }) => {
    const entity = { entityType: 'task', entityId: (await get(task)).id };
    return done(actor.post('/external-references', { ...entity, ...name() }), 201);
  },
});

export default defineFixtures({
  objects: [reference],
  operations: {
    putExternalReference: async ({ get }) => ({ body: { entityId: (await get(task)).id, ...name() } }),
    listExternalReferences: async ({ get }) => ({
      query: `?entityType=task&entityId=${(await get(task)).id}`,
    }),
  },
});
