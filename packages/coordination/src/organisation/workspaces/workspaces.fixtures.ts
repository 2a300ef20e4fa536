import { newId } from '@baton/values/ids';
import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';

export const workspace = defineObject({
  path: '/workspaces/{id}',
  make: ({ actor }) => done(actor.post('/workspaces', { slug: `w${newId()}`, name: 'Platform' }), 201),
});

export default defineFixtures({
  objects: [workspace],
  operations: {
    createWorkspace: () => ({ body: { slug: `w${newId()}` } }),
  },
});
