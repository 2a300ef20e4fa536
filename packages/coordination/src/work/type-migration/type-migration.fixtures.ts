import { taskType } from '../../definitions/task-types/task-types.fixtures.ts';
import { defineFixtures } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';

export default defineFixtures({
  objects: [],
  operations: {
    // A second version, to which tasks of the first can be migrated.
    async migrateTasksOfType({ actor, get }) {
      const { key } = await get(taskType);
      await done(actor.post('/task-types', { key, displayName: 'Release' }), 201);
      return {};
    },
  },
});
