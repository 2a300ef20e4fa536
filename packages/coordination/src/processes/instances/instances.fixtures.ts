import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import {
  humanStep,
  makeProcessAgent,
  publishProcess,
  setStep,
  specOf,
} from '../../testing/processes/process-instances.ts';

/** A definition whose agent can act. */
const process = defineObject({
  async make({ baton, actor }) {
    const agent = await makeProcessAgent(baton, { maker: actor });
    return { key: await publishProcess(actor, specOf(agent.key, [humanStep('review')])) };
  },
});

const begin = (key: string) => ({ process: key, key: crypto.randomUUID(), data: {} });

/** A definition that waits for a person. */
export const processInstance = defineObject({
  path: '/process-instances/{id}',
  make: async ({ actor, get }) =>
    done(actor.post('/process-instances', begin((await get(process)).key)), 201),
});

export default defineFixtures({
  objects: [process, processInstance],
  operations: {
    createProcessInstance: async ({ get }) => ({ body: begin((await get(process)).key) }),
    async replayProcessDefinition({ actor, get }) {
      const { definitionKey: key } = await get(processInstance);
      const { spec } = await done(actor.get(`/process-definitions/${key}`));
      return { params: { key }, body: { spec } };
    },
    async resumeProcessInstance({ actor, get }) {
      const { id } = await get(processInstance);
      await done(actor.post(`/process-instances/${id}:suspend`, { reason: 'for the test' }));
      return { body: { reason: 'for the test' } };
    },
    async skipProcessElement({ baton, actor }) {
      const agent = await makeProcessAgent(baton, { maker: actor });
      const key = await publishProcess(actor, specOf(agent.key, [setStep('broken', { n: 'data.text + 1' })]));
      const started = { ...begin(key), data: { text: 'x' } };
      const { id } = await done(actor.post('/process-instances', started), 201);
      return { params: { id }, body: { element: 'broken', reason: 'for the test' } };
    },
  },
});
