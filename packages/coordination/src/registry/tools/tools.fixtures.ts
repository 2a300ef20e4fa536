import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { makeCallable } from '../../testing/results/invocations.ts';

/** A skill of the request's caller. */
const tool = defineObject({
  path: '/tools/{ref}',
  async make({ actor }) {
    const skill = await makeCallable(actor);
    await done(actor.post(`/principals/${actor.principalId}/skills`, { skillId: skill.id }), 201);
    return skill;
  },
});

export default defineFixtures({ objects: [tool] });
