import { publishAgent } from '../../testing/agents.ts';
import { defineFixtures, defineObject } from '../../testing/fixtures.ts';

/** An agent that no identity is linked to. */
export const agent = defineObject({ path: '/agents/{key}', make: ({ actor }) => publishAgent(actor) });

export default defineFixtures({
  objects: [agent],
  operations: {
    getOwnAgent: { excluded: 'Only an agent of the registry has one: agent-identity.test.ts has that.' },
  },
});
