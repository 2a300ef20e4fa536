import { defineFixtures, defineObject } from '../../../testing/app/fixtures.ts';
import { putAgentSecret } from '../../../testing/registry/agents.ts';
import { agent } from '../agents.fixtures.ts';

export default defineFixtures({
  objects: [
    defineObject({
      path: '/agents/{key}/secrets/{name}',
      // Names are unique per agent; a secret with a new name is created.
      shared: true,
      async make({ actor, get }) {
        const { key } = await get(agent);
        return { name: await putAgentSecret(actor, key) };
      },
    }),
  ],
});
