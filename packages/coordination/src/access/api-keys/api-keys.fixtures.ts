import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { principal } from '../principals/principals.fixtures.ts';

const apiKey = defineObject({
  path: '/api-keys/{id}',
  async make({ actor, get }) {
    const { id } = await get(principal);
    return done(actor.post(`/principals/${id}/api-keys`, { permissions: ['tasks.read'] }), 201);
  },
});

export default defineFixtures({ objects: [apiKey] });
