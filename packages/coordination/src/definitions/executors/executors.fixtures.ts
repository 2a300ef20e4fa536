import { workspace } from '../../organisation/workspaces/workspaces.fixtures.ts';
import { defineFixtures } from '../../testing/app/fixtures.ts';

export default defineFixtures({
  objects: [],
  operations: {
    listTaskTypeExecutors: async ({ get }) => ({ query: `?workspaceId=${(await get(workspace)).id}` }),
  },
});
