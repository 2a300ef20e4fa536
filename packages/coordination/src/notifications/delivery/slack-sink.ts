import type { JournalEvent } from '../../ledger/journal/event.ts';
import type { Sink } from '../../ledger/sinks/sink.ts';
import { modesOf } from '../kinds.ts';
import { slackMessage } from '../messages/slack-message.ts';
import { findRecipientsOf, findWaiting, noticeTypes } from '../notices/find-notice.ts';
import type { Waiting } from '../notices/notice.ts';
import { findChannelWebhook } from '../slack-webhooks/slack-webhooks.ts';
import type { Target } from './attempt-target.ts';
import { deliverTargets, pausingWithoutDatabase } from './deliver-targets.ts';
import type { Bound } from './deliveries.sql.ts';
import { leaveOut } from './leave-out.ts';
import { type ChannelTools, commonOf, hourlyBoundOf, publicUrlOf, warnOfMore } from './notification-sinks.ts';
import type { Send } from './send-outcome.ts';
import { SlackClient, type WebhookPlace } from './slack-client.ts';

const channel = 'slack';
const concurrency = 8;

/** Posts to the webhooks of people, and to that of the tenant's channel. */
export function openSlackSink(tools: ChannelTools): Sink {
  const slack = new Slack(tools, new SlackClient(tools.settings, tools.secrets, tools.pool));
  const { sink, bounds } = commonOf(tools.settings, channel, concurrency);
  return {
    ...sink,
    filter: { tenants: null, typePatterns: noticeTypes },
    deliver: (event, signal) =>
      pausingWithoutDatabase(async () => {
        const targets = await slack.targetsOf(event);
        await deliverTargets({ ...tools, ...bounds, isOneServer: false }, event, targets, signal);
      }),
    close: () => Promise.resolve(),
  };
}

/** Where a message is posted, and whether it still may be. */
type FindPlace = (waiting: Waiting) => Promise<WebhookPlace | undefined>;

class Slack {
  readonly #tools: ChannelTools;
  readonly #client: SlackClient;

  constructor(tools: ChannelTools, client: SlackClient) {
    this.#tools = tools;
    this.#client = client;
  }

  async targetsOf(event: JournalEvent): Promise<Target[]> {
    const waiting = await findWaiting(this.#tools.pool, event);
    if (waiting === undefined) return [];
    return [...(await this.#ofChannel(event, waiting)), ...(await this.#ofPeople(event, waiting))];
  }

  async #ofChannel(event: JournalEvent, waiting: Waiting): Promise<Target[]> {
    const { pool, settings } = this.#tools;
    const { tenantId } = event;
    const find = async ({ notice: { kind } }: Waiting) => {
      const webhook = await findChannelWebhook(pool, tenantId);
      return webhook?.kinds.includes(kind) === true ? webhook : undefined;
    };
    const webhook = await find(waiting);
    if (webhook === undefined) return [];
    const bound = { messagesMax: settings.CP_SLACK_CHANNEL_HOURLY_MAX, seconds: 3600, kind: null };
    const findPlace: FindPlace = async (now) => {
      const current = await find(now);
      return current && { tenantId, host: current.host, secretName: current.secret_name };
    };
    const of = { recipientId: webhook.id, secretName: webhook.secret_name, bound, onlyId: null };
    return [this.#targetOf(event, waiting, of, findPlace)];
  }

  /** The recipients who have a webhook of their own and want this kind. */
  async #ofPeople(event: JournalEvent, waiting: Waiting): Promise<Target[]> {
    const { pool, settings } = this.#tools;
    const { tenantId } = event;
    const find = async (now: Waiting) => {
      const { recipients, hasMore } = await findRecipientsOf(pool, tenantId, now, settings);
      const reached = recipients.flatMap(({ id, modes, webhook_host: host, webhook_secret: secretName }) =>
        host === null || secretName === null || modesOf(modes, now.notice.kind).slack !== 'immediate'
          ? []
          : [{ id, host, secretName }],
      );
      return { reached, hasMore };
    };
    const { reached, hasMore } = await find(waiting);
    if (hasMore) warnOfMore(this.#tools, event);
    return reached.map(({ id, secretName }) => {
      const findPlace: FindPlace = async (now) => {
        const [place] = (await find(now)).reached;
        return place === undefined ? undefined : { tenantId, host: place.host, secretName: place.secretName };
      };
      const of = { recipientId: id, secretName, bound: hourlyBoundOf(settings), onlyId: id };
      return this.#targetOf(event, waiting, of, findPlace);
    });
  }

  #targetOf(
    event: JournalEvent,
    { notice: { kind } }: Waiting,
    of: { recipientId: string; secretName: string; bound: Bound; onlyId: string | null },
    findPlace: FindPlace,
  ): Target {
    const { pool } = this.#tools;
    const { recipientId, secretName: target, bound, onlyId } = of;
    return {
      recipientId,
      kind,
      target,
      countedAs: recipientId,
      bound,
      prepare: () => this.#prepare(event, onlyId, findPlace),
      leaveOut: () => leaveOut(pool, event, { channel, kind, recipientId }),
    };
  }

  /** Undefined if nothing is pending any more, or there is no webhook to which it may be posted. */
  async #prepare(
    event: JournalEvent,
    onlyId: string | null,
    findPlace: FindPlace,
  ): Promise<Send | undefined> {
    const { pool, settings } = this.#tools;
    const waiting = await findWaiting(pool, event, onlyId);
    const place = waiting === undefined ? undefined : await findPlace(waiting);
    if (waiting === undefined || place === undefined) return undefined;
    const message = slackMessage(waiting.notice, publicUrlOf(settings));
    return (signal) => this.#client.send(place, message, signal);
  }
}
