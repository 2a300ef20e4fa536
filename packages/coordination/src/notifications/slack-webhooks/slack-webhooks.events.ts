import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

const whose = { principalId: Uuid.nullable() };

/** The event doesn't contain the address. `principalId` is null for the channel of the tenant. */
export const slackWebhookSet = defineEvent(
  'notification.slack_webhook_set',
  'notification_webhook',
  z.strictObject({ ...whose, host: z.string(), kinds: z.array(z.string()) }),
);

export const slackWebhookRemoved = defineEvent(
  'notification.slack_webhook_removed',
  'notification_webhook',
  z.strictObject(whose),
);
