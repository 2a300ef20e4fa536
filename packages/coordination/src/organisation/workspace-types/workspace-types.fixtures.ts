import { newId } from '@baton/values/ids';
import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';

export const workspaceType = defineObject({
  path: '/workspace-types/{id}',
  make: ({ actor }) => done(actor.post('/workspace-types', { key: `t${newId()}`, displayName: 'Team' }), 201),
});

export default defineFixtures({
  objects: [workspaceType],
  operations: {
    createWorkspaceType: () => ({ body: { key: `t${newId()}` } }),
    restoreWorkspaceType: async ({ actor, get }) => {
      await done(actor.post(`/workspace-types/${(await get(workspaceType)).id}:archive`));
      return {};
    },
  },
});
