import { newId } from '@baton/values/ids';
import { workspace } from '../../organisation/workspaces/workspaces.fixtures.ts';
import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';

const pack = defineObject({
  path: '/knowledge/packs/{ref}',
  async make({ actor }) {
    const name = `p${newId()}`;
    const document = { name, version: '1', scope: 'tenant', kinds: {} };
    await done(actor.post('/knowledge/packs', document), 201);
    return { ref: `${name}@1` };
  },
});

export default defineFixtures({
  objects: [pack],
  operations: {
    reconcileSnapshot: async ({ get }) => ({
      body: { workspaceId: (await get(workspace)).id, snapshotId: newId() },
    }),
    previewSnapshot: async ({ get }) => ({ body: { workspaceId: (await get(workspace)).id } }),
    storeDocument: async ({ get }) => ({ body: { workspaceId: (await get(workspace)).id } }),
    queryEntities: async ({ get }) => ({ body: { workspaceId: (await get(workspace)).id } }),
    registerKnowledgePack: () => ({ body: { name: `p${newId()}` } }),
  },
});
