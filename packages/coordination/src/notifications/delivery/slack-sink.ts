import type { JournalEvent } from '../../ledger/journal/event.ts';
import type { Sink } from '../../ledger/sinks/sink.ts';
import { modesOf } from '../kinds.ts';
import { slackMessage } from '../messages/slack-message.ts';
import { findRecipientsOf, findWaiting, noticeTypes } from '../notices/find-notice.ts';
import type { Notice, Recipient, Waiting } from '../notices/notice.ts';
import { findChannelWebhook } from '../slack-webhooks/slack-webhooks.ts';
import { deliverTargets, pausingWithoutDatabase, type Target } from './deliver-targets.ts';
import { findProgress } from './deliveries.sql.ts';
import { type ChannelTools, commonOf, publicUrlOf, warnOfMore } from './notification-sinks.ts';
import { SlackClient, type WebhookPlace } from './slack-client.ts';

const channel = 'slack';
const concurrency = 8;

/** Posts to the webhooks of people, and to that of the tenant's channel. */
export function openSlackSink(tools: ChannelTools): Sink {
  const client = new SlackClient(tools.settings, tools.secrets, tools.pool);
  const { sink, times } = commonOf(tools.settings, channel, concurrency);
  return {
    ...sink,
    filter: { tenants: null, typePatterns: noticeTypes },
    deliver: (event, signal) =>
      pausingWithoutDatabase(async () => {
        const targets = await targetsOf(tools, client, event);
        await deliverTargets({ ...tools, ...times, channel }, event, targets, signal);
      }),
    close: () => Promise.resolve(),
  };
}

async function targetsOf(tools: ChannelTools, client: SlackClient, event: JournalEvent): Promise<Target[]> {
  const { pool, settings } = tools;
  const waiting = await findWaiting(pool, event);
  if (waiting === undefined) return [];
  const message = slackMessage(waiting.notice, publicUrlOf(settings));
  const targetOf = (recipientId: string, place: WebhookPlace): Target => ({
    recipientId,
    kind: waiting.notice.kind,
    send: (signal) => client.send(place, message, signal),
  });
  const people = await peopleOf(tools, event, waiting);
  return [
    ...(await channelTargets(tools, event.tenantId, waiting.notice, targetOf)),
    ...people.map((one) => targetOf(one.id, placeOf(event.tenantId, one))),
  ];
}

async function channelTargets(
  { pool }: ChannelTools,
  tenantId: string,
  { kind }: Notice,
  targetOf: (id: string, place: WebhookPlace) => Target,
): Promise<Target[]> {
  const webhook = await findChannelWebhook(pool, tenantId);
  if (webhook === undefined || !webhook.kinds.includes(kind)) return [];
  return [targetOf(webhook.id, { tenantId, host: webhook.host, secretName: webhook.secret_name })];
}

/**
 * The recipients who have a webhook of their own, want this kind, and didn't get too many messages in the last hour.
 */
async function peopleOf(
  tools: ChannelTools,
  event: JournalEvent,
  waiting: Waiting,
): Promise<readonly Recipient[]> {
  const { pool, settings } = tools;
  const { recipients, hasMore } = await findRecipientsOf(pool, event.tenantId, waiting, settings);
  if (hasMore) warnOfMore(tools, event);
  const reachable = recipients.filter(
    ({ webhook_id, modes }) =>
      webhook_id !== null && modesOf(modes, waiting.notice.kind).slack === 'immediate',
  );
  if (reachable.length === 0) return [];
  const { CP_NOTIFICATIONS_HOURLY_MAX: hourlyMax } = settings;
  const of = { tenantId: event.tenantId, eventId: event.id, channel };
  const ids = reachable.map(({ id }) => id);
  const rows = await pool.rows(findProgress(of, ids, hourlyMax));
  const due = new Set(
    rows.filter((row) => row.is_begun || row.sent_last_hour < hourlyMax).map(({ id }) => id),
  );
  return reachable.filter(({ id }) => due.has(id));
}

function placeOf(tenantId: string, { webhook_host, webhook_secret }: Recipient): WebhookPlace {
  return { tenantId, host: webhook_host ?? '', secretName: webhook_secret ?? '' };
}
