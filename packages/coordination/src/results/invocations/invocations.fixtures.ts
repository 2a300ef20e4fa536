import { skill } from '../../organisation/skills/skills.fixtures.ts';
import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { claimCall, invoke, reachOf } from '../../testing/results/invocations.ts';

/** A pending call. */
export const pendingCall = defineObject({
  make: async ({ actor, get }) => done(invoke(actor, await get(skill)), 201),
});

/** A call that the caller itself executes. */
export const runningCall = defineObject({
  path: '/skill-invocations/{id}',
  async make({ actor, get }) {
    await get(pendingCall);
    return (await done(claimCall(actor, await get(skill)))).invocation;
  },
});

export default defineFixtures({
  objects: [pendingCall, runningCall],
  operations: {
    invokeSkill: () => ({ body: { inputs: {}, idempotencyKey: crypto.randomUUID() } }),
    async claimSkillInvocation({ get }) {
      const { id } = await get(pendingCall);
      return { body: { ...reachOf(await get(skill)), httpOrigins: null, invocationId: id } };
    },
  },
});
