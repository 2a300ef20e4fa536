import { taskType } from '../../definitions/task-types/task-types.fixtures.ts';
import { defineFixtures } from '../../testing/fixtures.ts';
import { done } from '../../testing/leases.ts';

export default defineFixtures({
  objects: [],
  operations: {
    // A second version, to which the tasks of the first one go.
    async migrateTasksOfType({ actor, get }) {
      const { key } = await get(taskType);
      await done(actor.post('/task-types', { key, displayName: 'Release' }), 201);
      return {};
    },
  },
});
