import { randomBytes } from 'node:crypto';
import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';

export const newRoleKey = () => `role-${randomBytes(6).toString('hex')}`;

const accessRole = defineObject({
  path: '/access-roles/{id}',
  make: ({ actor }) =>
    done(actor.post('/access-roles', { key: newRoleKey(), name: 'Role', permissions: ['tasks.read'] }), 201),
});

export default defineFixtures({
  objects: [accessRole],
  operations: {
    createAccessRole: () => ({ body: { key: newRoleKey() } }),
  },
});
