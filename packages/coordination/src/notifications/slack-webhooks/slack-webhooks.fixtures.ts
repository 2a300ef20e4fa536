import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { webhookAddress } from '../../testing/notifications/notifications.ts';

const channel = defineObject({
  make: ({ actor }) => done(actor.put('/notifications/slack-channel', { url: webhookAddress() })),
});

export default defineFixtures({
  operations: {
    putSlackWebhook: () => ({ body: { url: webhookAddress() } }),
    putSlackChannel: () => ({ body: { url: webhookAddress() } }),
    getSlackChannel: async ({ get }) => {
      await get(channel);
      return {};
    },
  },
});
