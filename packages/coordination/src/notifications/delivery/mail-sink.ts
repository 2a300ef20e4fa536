import type { JournalEvent } from '../../ledger/journal/event.ts';
import type { Sink } from '../../ledger/sinks/sink.ts';
import { addDigestItems } from '../digests/digest-items.ts';
import { digestDue } from '../digests/digests.events.ts';
import { openDigest } from '../digests/open-digest.ts';
import { addressOf } from '../email-address.ts';
import { invitationMailRequested } from '../invitation-mails/invitation-mails.events.ts';
import { openInvitationMail } from '../invitation-mails/send-invitation.ts';
import { modesOf, type NotificationKind, notificationKinds } from '../kinds.ts';
import {
  digestMail,
  type MailMessage,
  type MailPlaces,
  type MailTo,
  noticeMail,
} from '../messages/mail-message.ts';
import { findRecipientsOf, findWaiting, noticeTypes } from '../notices/find-notice.ts';
import type { Notice, Recipient } from '../notices/notice.ts';
import type { UnsubscribeLinks } from '../unsubscribe/unsubscribe-links.ts';
import { deliverTargets, pausingWithoutDatabase, type Target } from './deliver-targets.ts';
import { findProgress, type ProgressRow } from './deliveries.sql.ts';
import { type ChannelTools, commonOf, publicUrlOf, warnOfMore } from './notification-sinks.ts';
import { SmtpClient } from './smtp-client.ts';
import type { SmtpSettings } from './smtp-settings.ts';

const channel = 'mail';
/** Patterns for `like`, in which an underscore matches any character. */
const ownTypes = ['notification.digest\\_due', 'notification.invitation\\_mail\\_requested'];

/**
 * Sends e-mails: each event is expanded to its recipients here, in the worker. Those who chose a digest get an item of
 * it instead. See docs/reference/notifications.md#delivery.
 */
export function openMailSink(tools: ChannelTools, smtp: SmtpSettings, links: UnsubscribeLinks): Sink {
  const client = new SmtpClient(smtp);
  const places: MailPlaces = { publicUrl: publicUrlOf(tools.settings), domain: smtp.from.domain };
  const mail = new Mail(tools, places, links, (message, signal) => client.send(message, signal));
  const { sink, times } = commonOf(tools.settings, channel, smtp.connectionsMax);
  return {
    ...sink,
    filter: { tenants: null, typePatterns: [...noticeTypes, ...ownTypes] },
    deliver: (event, signal) =>
      pausingWithoutDatabase(async () => {
        const targets = await mail.targetsOf(event);
        await deliverTargets({ ...tools, ...times, channel }, event, targets, signal);
      }),
    close: async () => client.close(),
  };
}

type SendMail = (message: MailMessage, signal: AbortSignal) => ReturnType<Target['send']>;

class Mail {
  readonly #tools: ChannelTools;
  readonly #places: MailPlaces;
  readonly #links: UnsubscribeLinks;
  readonly #send: SendMail;

  constructor(tools: ChannelTools, places: MailPlaces, links: UnsubscribeLinks, send: SendMail) {
    this.#tools = tools;
    this.#places = places;
    this.#links = links;
    this.#send = send;
  }

  /** Returns the e-mails of an event, and adds items to the digests of those who chose one. */
  async targetsOf(event: JournalEvent): Promise<Target[]> {
    if (event.type === digestDue.type) return this.#digestOf(event);
    const { pool, settings } = this.#tools;
    if (event.type === invitationMailRequested.type) return this.#invitationOf(event);
    const waiting = await findWaiting(pool, event);
    if (waiting === undefined) return [];
    const { recipients, hasMore } = await findRecipientsOf(pool, event.tenantId, waiting, settings);
    if (hasMore) warnOfMore(this.#tools, event);
    const { kind } = waiting.notice;
    const reachable = recipients.filter(
      (one) => this.#addressOf(one) !== null && modesOf(one.modes, kind).mail !== 'off',
    );
    const progress = await this.#progressOf(event, reachable);
    const unsent = reachable.filter(({ id }) => progress.get(id)?.is_sent !== true);
    const isNow = (one: Recipient) =>
      progress.get(one.id)?.is_begun === true ||
      (modesOf(one.modes, kind).mail === 'immediate' && !this.#isBusy(progress.get(one.id)));
    await addDigestItems(
      pool,
      event,
      waiting.notice,
      unsent.filter((one) => !isNow(one)),
    );
    return unsent.filter(isNow).map((one) => this.#targetOf(event, waiting.notice, one));
  }

  #isBusy(progress: ProgressRow | undefined): boolean {
    return (progress?.sent_last_hour ?? 0) >= this.#tools.settings.CP_NOTIFICATIONS_HOURLY_MAX;
  }

  async #progressOf(
    { id: eventId, tenantId }: JournalEvent,
    recipients: readonly Recipient[],
  ): Promise<ReadonlyMap<string, ProgressRow>> {
    if (recipients.length === 0) return new Map();
    const { pool, settings } = this.#tools;
    const ids = recipients.map(({ id }) => id);
    const of = { tenantId, eventId, channel };
    const rows = await pool.rows(findProgress(of, ids, settings.CP_NOTIFICATIONS_HOURLY_MAX));
    return new Map(rows.map((row) => [row.id, row]));
  }

  #targetOf(event: JournalEvent, notice: Notice, recipient: Recipient): Target {
    const url = this.#unsubscribeUrl(event.tenantId, recipient, notice.kind);
    const message = noticeMail(notice, this.#mailTo(event, recipient), this.#places, url);
    return {
      recipientId: recipient.id,
      kind: notice.kind,
      send: (signal) => this.#send(message, signal),
    };
  }

  async #invitationOf(event: JournalEvent): Promise<Target[]> {
    const { pool, settings } = this.#tools;
    const mail = await openInvitationMail({ pool, settings, places: this.#places }, event);
    if (mail === undefined) return [];
    const { recipientId, message } = mail;
    return [
      {
        recipientId,
        kind: 'invitation',
        send: (signal) => this.#send(message, signal),
        sent: (db) => mail.close(db),
      },
    ];
  }

  async #digestOf(event: JournalEvent): Promise<Target[]> {
    const { pool, settings } = this.#tools;
    const digest = await openDigest(pool, settings, event);
    if (digest === undefined) return [];
    const { recipient } = digest;
    if (digest.notices.length + digest.more === 0 || this.#addressOf(recipient) === null) {
      await digest.close(pool);
      return [];
    }
    const kinds = digest.notices.length === 0 ? digest.kinds : digest.notices.map(({ kind }) => kind);
    const unsubscribings = [...new Set(kinds)].map((kind) => ({
      url: this.#unsubscribeUrl(event.tenantId, recipient, kind),
      about: notificationKinds[kind].about,
    }));
    const message = digestMail(digest, this.#mailTo(event, recipient), this.#places, unsubscribings);
    return [
      {
        recipientId: recipient.id,
        kind: 'digest',
        send: (signal) => this.#send(message, signal),
        sent: (db) => digest.close(db),
      },
    ];
  }

  #addressOf(recipient: Recipient): string | null {
    return addressOf(recipient, this.#tools.settings.CP_MAIL_ALLOWED_DOMAINS).address;
  }

  #mailTo({ id: eventId }: JournalEvent, recipient: Recipient): MailTo {
    const address = this.#addressOf(recipient) ?? '';
    return { name: recipient.display_name, address, eventId, recipientId: recipient.id };
  }

  #unsubscribeUrl(tenantId: string, { id: principalId }: Recipient, kind: NotificationKind): string {
    const token = this.#links.sign({ tenantId, principalId, kind });
    return `${this.#places.publicUrl}/api/v1/notifications/unsubscribe?token=${token}`;
  }
}
