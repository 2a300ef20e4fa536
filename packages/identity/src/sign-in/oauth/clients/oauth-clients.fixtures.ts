import { tenant } from '../../../directory/tenants/tenants.fixtures.ts';
import { defineFixtures, defineObject } from '../../../testing/fixtures.ts';
import { made } from '../../../testing/objects.ts';

const oauthClient = defineObject({
  path: '/tenants/{tenantId}/oauth-clients/{oauthClientId}',
  async make({ identity, get }) {
    const body = { name: 'Release bot', redirectUris: ['https://bot.example/callback'] };
    const { id } = await made(identity.post(`/tenants/${(await get(tenant)).id}/oauth-clients`, body));
    return { id };
  },
});

export default defineFixtures({ objects: [oauthClient] });
