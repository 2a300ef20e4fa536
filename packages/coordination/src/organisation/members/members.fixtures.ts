import { principal } from '../../access/principals/principals.fixtures.ts';
import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { workspace } from '../workspaces/workspaces.fixtures.ts';

const member = defineObject({
  path: '/workspaces/{id}/members/{principalId}',
  make: async ({ actor, get }) => {
    const principalId = (await get(principal)).id;
    return done(actor.post(`/workspaces/${(await get(workspace)).id}/members`, { principalId }), 201);
  },
});

export default defineFixtures({
  objects: [member],
  operations: {
    addWorkspaceMember: async ({ get }) => ({ body: { principalId: (await get(principal)).id } }),
  },
});
