import { randomUUID } from 'node:crypto';
import { controlPlane } from '../../directory/audiences/audiences.fixtures.ts';
import { principal } from '../../directory/principals/principals.fixtures.ts';
import { tenant } from '../../directory/tenants/tenants.fixtures.ts';
import { defineFixtures, defineObject, type FixtureTenant } from '../../testing/fixtures.ts';
import { made } from '../../testing/objects.ts';
import { identityProvider } from '../identity-providers/identity-providers.fixtures.ts';

/** The provider of the request, whose tokens are accepted only by rules. */
async function workloadProvider(
  { identity }: FixtureTenant,
  tenantId: string,
  { key }: { key: string },
): Promise<string> {
  const path = `/tenants/${tenantId}/identity-providers/${key}`;
  await made(identity.patch(path, { principalKind: 'none' }));
  return path;
}

const workloadRule = defineObject({
  path: '/tenants/{tenantId}/identity-providers/{key}/workload-rules/{ruleKey}',
  async make({ get, ...fixtures }) {
    await get(controlPlane);
    const { id } = await get(tenant);
    const path = await workloadProvider(fixtures, id, await get(identityProvider));
    const { id: principalId } = await get(principal);
    const claims = { sub: { equals: 'job' } };
    const rule = { key: `rule-${randomUUID()}`, principalId, claims, audiences: ['control-plane'] };
    await made(fixtures.identity.post(`${path}/workload-rules`, rule));
    return { ruleKey: rule.key };
  },
});

export default defineFixtures({
  objects: [workloadRule],
  operations: {
    async createWorkloadRule({ get, ...fixtures }) {
      await get(controlPlane);
      await workloadProvider(fixtures, (await get(tenant)).id, await get(identityProvider));
      return { body: { principalId: (await get(principal)).id } };
    },
  },
});
