import { randomUUID } from 'node:crypto';
import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { principal } from '../principals/principals.fixtures.ts';

const iamBinding = defineObject({
  path: '/iam-bindings/{id}',
  async make({ baton, actor, get }) {
    const { id } = await get(principal);
    const binding = {
      issuer: baton.issuer.issuer,
      iamTenantId: randomUUID(),
      iamPrincipalId: randomUUID(),
      permissions: ['tasks.read'],
    };
    return done(actor.post(`/principals/${id}/iam-bindings`, binding), 201);
  },
});

export default defineFixtures({
  objects: [iamBinding],
  operations: {
    createIamBinding: ({ baton, actor }) => ({
      body: {
        issuer: baton.issuer.issuer,
        iamTenantId: actor.tenantId,
        iamPrincipalId: randomUUID(),
      },
    }),
    async setPrincipalAccess({ get }) {
      await get(iamBinding);
      return {};
    },
  },
});
