import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { blockOf, insertTestView } from '../../testing/packages/views.ts';

/** A view of tasks with a filter by status. */
const view = defineObject({
  path: '/views/{key}',
  make: async ({ baton, actor }) => {
    const filters = [{ field: 'status', op: 'in' }];
    return { key: await insertTestView(baton, actor, [blockOf({ filters })]) };
  },
});

export default defineFixtures({ objects: [view] });
