import { randomUUID } from 'node:crypto';
import { defineFixtures } from '../../testing/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { principal } from '../principals/principals.fixtures.ts';

export default defineFixtures({
  operations: {
    async setPrincipalAccess({ baton, actor, get }) {
      const { id } = await get(principal);
      await done(
        actor.post(`/principals/${id}/iam-bindings`, {
          issuer: baton.issuer.issuer,
          iamTenantId: randomUUID(),
          iamPrincipalId: randomUUID(),
          accessRole: 'viewer',
        }),
        201,
      );
      return {};
    },
  },
});
