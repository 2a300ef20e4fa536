import type { Surroundings } from '@baton/kernel/http/service';
import { type Context, endpoint } from '../context.ts';
import { requirePersonWhoWrites } from '../preferences/preferences.ts';
import { SlackChannel, SlackChannelRequest, SlackWebhook, SlackWebhookRequest } from './slack-webhook.ts';
import { slackWebhookRemoved, slackWebhookSet } from './slack-webhooks.events.ts';
import {
  getChannel,
  putChannel,
  putChannelAround,
  putOwnWebhook,
  putOwnWebhookAround,
  removeWebhook,
  type StoredAddress,
} from './slack-webhooks.ts';

const example = { url: 'https://hooks.slack.com/services/T00000000/B00000000/an-incoming-webhook' };
type Around = Surroundings<StoredAddress, Context>;

export const slackWebhooksApi = [
  endpoint({
    id: 'putSlackWebhook',
    method: 'PUT',
    path: '/notifications/slack-webhook',
    summary: 'Set the incoming webhook of Slack through which you are notified.',
    description:
      'It replaces the previous one. The address is stored in the secret store and never returned.',
    body: SlackWebhookRequest,
    unprinted: ['url'],
    returns: { 200: SlackWebhook },
    errors: [
      'not_a_person',
      'permission_denied',
      'slack_not_enabled',
      'slack_webhook_not_allowed',
      'secret_store_unavailable',
    ],
    emits: [slackWebhookSet],
    example,
    around: ({ body }, surroundings: Around) => putOwnWebhookAround(body.url, surroundings),
    handle: ({ prepared }, context) => putOwnWebhook(context, prepared),
  }),
  endpoint({
    id: 'removeSlackWebhook',
    method: 'DELETE',
    path: '/notifications/slack-webhook',
    summary: 'Remove the webhook through which you are notified.',
    description: 'If there is none, nothing changes.',
    returns: { 204: null },
    errors: ['not_a_person', 'permission_denied'],
    emits: [slackWebhookRemoved],
    handle: (_, context) => {
      requirePersonWhoWrites(context);
      return removeWebhook(context, context.caller.principalId);
    },
  }),
  endpoint({
    id: 'getSlackChannel',
    method: 'GET',
    path: '/notifications/slack-channel',
    summary: "Read which notifications the tenant's Slack channel gets.",
    permission: 'connections.read',
    returns: { 200: SlackChannel },
    errors: ['not_found'],
    handle: (_, context) => getChannel(context),
  }),
  endpoint({
    id: 'putSlackChannel',
    method: 'PUT',
    path: '/notifications/slack-channel',
    summary: "Set the incoming webhook of the tenant's Slack channel.",
    description:
      'The channel gets the titles of all tasks and decisions of these kinds, including those that its readers cannot see here.',
    permission: 'connections.manage',
    body: SlackChannelRequest,
    unprinted: ['url'],
    returns: { 200: SlackChannel },
    errors: [
      'unknown_notification_kind',
      'slack_not_enabled',
      'slack_webhook_not_allowed',
      'secret_store_unavailable',
    ],
    emits: [slackWebhookSet],
    example: { ...example, kinds: ['decision.requested'] },
    around: ({ body }, surroundings: Around) => putChannelAround(body, surroundings),
    handle: ({ prepared, body }, context) => putChannel(context, prepared, body.kinds),
  }),
  endpoint({
    id: 'removeSlackChannel',
    method: 'DELETE',
    path: '/notifications/slack-channel',
    summary: "Remove the webhook of the tenant's Slack channel.",
    description: 'If there is none, nothing changes.',
    permission: 'connections.manage',
    returns: { 204: null },
    emits: [slackWebhookRemoved],
    handle: (_, context) => removeWebhook(context, null),
  }),
];
