import { defineFixtures, defineObject } from '../../../testing/app/fixtures.ts';
import { putAgentSecret } from '../../../testing/registry/agents.ts';
import { agent } from '../agents.fixtures.ts';

export default defineFixtures({
  objects: [
    defineObject({
      path: '/agents/{key}/secrets/{name}',
      // A name is unique only within its agent, and no tenant owns the name itself: an unknown one is created.
      shared: true,
      async make({ actor, get }) {
        const { key } = await get(agent);
        return { name: await putAgentSecret(actor, key) };
      },
    }),
  ],
});
