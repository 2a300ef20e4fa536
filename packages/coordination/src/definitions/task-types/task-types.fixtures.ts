import { newId } from '@baton/values/ids';
import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';

export const taskType = defineObject({
  path: '/task-types/{id}',
  make: ({ actor }) => done(actor.post('/task-types', { key: `t${newId()}`, displayName: 'Release' }), 201),
});

export default defineFixtures({ objects: [taskType] });
