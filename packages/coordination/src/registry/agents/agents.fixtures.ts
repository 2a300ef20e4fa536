import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { publishAgent } from '../../testing/registry/agents.ts';

/** An agent without a linked identity. */
export const agent = defineObject({ path: '/agents/{key}', make: ({ actor }) => publishAgent(actor) });

export default defineFixtures({
  objects: [agent],
  operations: {
    getOwnAgent: { excluded: 'Needs an agent of the registry: covered by agent-identity.test.ts.' },
  },
});
