import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { otherTask, task } from '../tasks/tasks.fixtures.ts';

const relation = defineObject({
  path: '/tasks/{ref}/relations/{id}',
  async make({ actor, get }) {
    const wanted = { toTask: (await get(otherTask)).id, type: 'related_to' };
    return done(actor.post(`/tasks/${(await get(task)).id}/relations`, wanted), 201);
  },
});

export default defineFixtures({
  objects: [relation],
  operations: {
    createTaskRelation: async ({ get }) => ({ body: { toTask: (await get(otherTask)).id } }),
  },
});
