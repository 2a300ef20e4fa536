import { newId } from '@baton/values/ids';
import { defineFixtures, defineObject, type FixtureTenant } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';

const identityProvider = 'corporate';

const admissionRule = defineObject({
  path: '/admission-rules/{identityProvider}',
  async make({ actor }) {
    await done(actor.put(`/admission-rules/${identityProvider}`, { accessRole: 'member' }));
    return { identityProvider };
  },
});

export default defineFixtures({
  objects: [admissionRule],
  operations: {
    admitPerson: ({ baton, actor }: FixtureTenant) => ({
      body: {
        issuer: baton.issuer.issuer,
        iamTenantId: actor.tenantId,
        iamPrincipalId: newId(),
        accessRole: 'viewer',
      },
    }),
    async admitSelf({ baton, actor }: FixtureTenant) {
      await done(actor.put(`/admission-rules/${identityProvider}`, { accessRole: 'member' }));
      const claims = {
        sub: newId(),
        tenant_id: actor.tenantId,
        identity_provider: identityProvider,
        access_role: 'member',
        name: 'Petra Novak',
      };
      return { body: { statement: await baton.issuer.sign(claims, { type: 'admission+jwt' }) } };
    },
  },
});
