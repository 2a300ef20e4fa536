import { principal } from '../../../directory/principals/principals.fixtures.ts';
import { tenant } from '../../../directory/tenants/tenants.fixtures.ts';
import { defineFixtures, defineObject } from '../../../testing/fixtures.ts';
import { makeHuman } from '../../passkeys/testing/people.ts';

const agentConnector = defineObject({
  path: '/tenants/{tenantId}/principals/{principalId}/connectors/{personId}',
  async make({ identity, get }) {
    const tenantId = (await get(tenant)).id;
    const agentId = (await get(principal)).id;
    const id = await makeHuman(identity, tenantId);
    await identity.request('PUT', `/api/v1/tenants/${tenantId}/principals/${agentId}/connectors/${id}`, {
      headers: { 'x-iam-bootstrap-token': identity.env['IAM_BOOTSTRAP_TOKEN'] ?? '' },
    });
    return { id };
  },
});

export default defineFixtures({ objects: [agentConnector] });
