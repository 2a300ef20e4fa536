import { defineFixtures } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { agentSpec, newIdentity, publishAgent } from '../../testing/registry/agents.ts';

export default defineFixtures({
  objects: [],
  operations: {
    linkAgentIdentity: async ({ baton }) => ({ body: newIdentity(baton) }),
    async replaceAgentIdentity({ baton, actor }) {
      const { key } = await publishAgent(actor, agentSpec({ identity: { kind: 'service' } }));
      await done(actor.put(`/agents/${key}/identity`, newIdentity(baton)));
      return { params: { key }, body: { ...newIdentity(baton), reason: 'recreated' } };
    },
  },
});
