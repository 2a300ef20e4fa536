import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp } from '@baton/values/wire';
import type { SecretName } from '../../access/secret-store/secret-store.ts';
import type { Tables } from '../../service/schema.ts';
import { kindNames } from '../kinds.ts';

const kindsMax = 100;
const kind = z.string().min(1).max(100);
const url = z.string().min(1).max(2000).meta({ description: 'A secret: it is stored in the secret store.' });

/** The webhook of a person. */
export const SlackWebhook = z
  .strictObject({ host: z.string(), updatedAt: Timestamp })
  .meta({ id: 'SlackWebhook' });
export type SlackWebhook = z.infer<typeof SlackWebhook>;

export const SlackWebhookRequest = z.strictObject({ url }).meta({ id: 'SlackWebhookRequest' });
export type SlackWebhookRequest = z.output<typeof SlackWebhookRequest>;

/** The webhook of the tenant's channel. Everybody who reads that channel reads its notifications. */
export const SlackChannel = z
  .strictObject({ host: z.string(), kinds: z.array(z.string()), updatedAt: Timestamp })
  .meta({ id: 'SlackChannel' });
export type SlackChannel = z.infer<typeof SlackChannel>;

export const SlackChannelRequest = z
  .strictObject({
    url,
    kinds: z
      .array(kind)
      .max(kindsMax)
      .default(() => [kindNames[0] as string])
      .meta({ description: 'What the channel gets; by default decisions only.' }),
  })
  .meta({ id: 'SlackChannelRequest' });
export type SlackChannelRequest = z.output<typeof SlackChannelRequest>;

export type WebhookRow = RowOf<Tables['notification_webhooks']>;

export const slackWebhookOf = wireMapper<WebhookRow>()(SlackWebhook, {});
export const slackChannelOf = wireMapper<WebhookRow>()(SlackChannel, {});

export const secretKind = { folder: 'notifications', kind: 'webhook' };

export function secretOf({
  tenant_id,
  secret_name,
}: Pick<WebhookRow, 'tenant_id' | 'secret_name'>): SecretName {
  return { tenantId: tenant_id, folder: secretKind.folder, name: secret_name };
}
