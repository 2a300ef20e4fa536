import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { task } from '../tasks/tasks.fixtures.ts';

const comment = defineObject({
  path: '/tasks/{ref}/comments/{id}',
  make: async ({ actor, get }) =>
    done(actor.post(`/tasks/${(await get(task)).id}/comments`, { body: 'seen' }), 201),
});

export default defineFixtures({ objects: [comment] });
