import { claim } from '../../execution/claims/claims.fixtures.ts';
import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { insertContextPack } from '../../testing/memory/contexts.ts';
import { task } from '../../work/tasks/tasks.fixtures.ts';

/** A pack for the live claim on the task of the request. */
export const contextPack = defineObject({
  path: '/context-packs/{id}',
  async make({ baton, actor, get }) {
    const [{ id: claimId }, { id: taskId }] = [await get(claim), await get(task)];
    return { id: await insertContextPack(baton, actor, { taskId, claimId }) };
  },
});

export default defineFixtures({ objects: [contextPack] });
