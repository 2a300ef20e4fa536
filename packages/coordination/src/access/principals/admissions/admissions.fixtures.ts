import assert from 'node:assert/strict';
import { newId } from '@baton/values/ids';
import { defineFixtures, defineObject, type FixtureTenant } from '../../../testing/app/fixtures.ts';

const identityProvider = 'corporate';

const allow = async (actor: FixtureTenant['actor']) => {
  const { status, body } = await actor.put(`/admission-rules/${identityProvider}`, { accessRole: 'member' });
  assert.ok(status === 200 || status === 201, JSON.stringify(body));
};

const admissionRule = defineObject({
  path: '/admission-rules/{identityProvider}',
  // Tenants choose the keys of their providers.
  shared: true,
  async make({ actor }) {
    await allow(actor);
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
      await allow(actor);
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
