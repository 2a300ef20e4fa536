import { principal } from '../../access/principals/principals.fixtures.ts';
import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { capability } from '../capabilities/capabilities.fixtures.ts';
import { role } from '../roles/roles.fixtures.ts';
import { skill } from '../skills/skills.fixtures.ts';

/** The assignments of the request's principal. */
const roleOfPrincipal = defineObject({
  path: '/principals/{id}/roles/{roleId}',
  async make({ actor, get }) {
    const roleId = (await get(role)).id;
    await done(actor.post(`/principals/${(await get(principal)).id}/roles`, { roleId }), 201);
    return { roleId };
  },
});

const capabilityOfPrincipal = defineObject({
  path: '/principals/{id}/capabilities/{capabilityId}',
  async make({ actor, get }) {
    const capabilityId = (await get(capability)).id;
    await done(actor.post(`/principals/${(await get(principal)).id}/capabilities`, { capabilityId }), 201);
    return { capabilityId };
  },
});

const skillOfPrincipal = defineObject({
  path: '/principals/{id}/skills/{skillId}',
  async make({ actor, get }) {
    const skillId = (await get(skill)).id;
    await done(actor.post(`/principals/${(await get(principal)).id}/skills`, { skillId }), 201);
    return { skillId };
  },
});

export default defineFixtures({
  objects: [roleOfPrincipal, capabilityOfPrincipal, skillOfPrincipal],
  operations: {
    assignRole: async ({ get }) => ({ body: { roleId: (await get(role)).id } }),
    assignCapability: async ({ get }) => ({ body: { capabilityId: (await get(capability)).id } }),
    assignSkill: async ({ get }) => ({ body: { skillId: (await get(skill)).id } }),
  },
});
