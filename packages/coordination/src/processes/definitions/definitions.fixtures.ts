import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { newProcessKey, processSpec } from '../../testing/processes/processes.ts';
import { agentSpec, publishAgent } from '../../testing/registry/agents.ts';

export const processDefinition = defineObject({
  path: '/process-definitions/{key}',
  async make({ actor }) {
    const agent = await publishAgent(actor, agentSpec());
    const spec = processSpec({ identity: { agent: agent.key } });
    return done(actor.post('/process-definitions', { key: newProcessKey(), spec }), 201);
  },
});

export default defineFixtures({
  objects: [processDefinition],
  operations: {
    async publishProcessDefinition({ actor }) {
      const agent = await publishAgent(actor, agentSpec());
      return { body: { key: newProcessKey(), spec: processSpec({ identity: { agent: agent.key } }) } };
    },
  },
});
