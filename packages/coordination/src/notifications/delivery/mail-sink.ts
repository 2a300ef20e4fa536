import { createHash } from 'node:crypto';
import type { JournalEvent } from '../../ledger/journal/event.ts';
import type { Sink } from '../../ledger/sinks/sink.ts';
import { digestDue } from '../digests/digests.events.ts';
import { type CloseDigest, type OpenDigest, openDigest } from '../digests/open-digest.ts';
import { addressOf } from '../email-address.ts';
import { invitationMailRequested } from '../invitation-mails/invitation-mails.events.ts';
import { mailsPerPersonMax } from '../invitation-mails/invitation-mails.ts';
import { dropInvitationMail, openInvitationMail } from '../invitation-mails/send-invitation.ts';
import { modesOf, type NotificationKind, notificationKinds } from '../kinds.ts';
import {
  digestMail,
  type MailMessage,
  type MailPlaces,
  type MailTo,
  noticeMail,
} from '../messages/mail-message.ts';
import { findPerson, findRecipientsOf, findWaiting, noticeTypes } from '../notices/find-notice.ts';
import type { Notice, Recipient } from '../notices/notice.ts';
import type { UnsubscribeLinks } from '../unsubscribe/unsubscribe-links.ts';
import type { Target } from './attempt-target.ts';
import { deliverTargets, pausingWithoutDatabase } from './deliver-targets.ts';
import type { Bound } from './deliveries.sql.ts';
import { moveToDigests } from './leave-out.ts';
import { type ChannelTools, commonOf, hourlyBoundOf, publicUrlOf, warnOfMore } from './notification-sinks.ts';
import type { Send } from './send-outcome.ts';
import { SmtpClient } from './smtp-client.ts';
import type { SmtpSettings } from './smtp-settings.ts';

const channel = 'mail';
/** Patterns for `like`, in which an underscore matches any character. */
const ownTypes = ['notification.digest\\_due', 'notification.invitation\\_mail\\_requested'];
/** The shortest interval, 15 minutes, produces four. */
const digestBound: Bound = { messagesMax: 10, seconds: 3600, kind: 'digest' };
const invitationBound: Bound = { messagesMax: mailsPerPersonMax, seconds: 86_400, kind: 'invitation' };

/**
 * Sends e-mails: each event is expanded to its recipients here, in the worker. Those who chose a digest get an item of
 * it instead. See docs/reference/notifications.md#delivery.
 */
export function openMailSink(tools: ChannelTools, smtp: SmtpSettings, links: UnsubscribeLinks): Sink {
  const client = new SmtpClient(smtp);
  const places: MailPlaces = { publicUrl: publicUrlOf(tools.settings), domain: smtp.from.domain };
  const mail = new Mail(tools, places, links, (message, signal) => client.send(message, signal));
  const { sink, bounds } = commonOf(tools.settings, channel, smtp.connectionsMax);
  return {
    ...sink,
    filter: { tenants: null, typePatterns: [...noticeTypes, ...ownTypes] },
    deliver: (event, signal) =>
      pausingWithoutDatabase(async () => {
        const targets = await mail.targetsOf(event);
        await deliverTargets({ ...tools, ...bounds, isOneServer: true }, event, targets, signal);
      }),
    close: async () => client.close(),
  };
}

type SendMail = (message: MailMessage, signal: AbortSignal) => ReturnType<Send>;

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
    const { notice } = waiting;
    const byMode = Map.groupBy(recipients, (one) => this.#modeOf(one, notice));
    await moveToDigests(pool, event, notice, byMode.get('digest') ?? []);
    return (byMode.get('immediate') ?? []).map((one) => this.#targetOf(event, notice, one));
  }

  #modeOf(recipient: Recipient, { kind }: Notice) {
    return this.#addressOf(recipient) === null ? 'off' : modesOf(recipient.modes, kind).mail;
  }

  #targetOf(event: JournalEvent, notice: Notice, recipient: Recipient): Target {
    const { pool, settings } = this.#tools;
    return {
      recipientId: recipient.id,
      kind: notice.kind,
      ...ofAddress(this.#addressOf(recipient) ?? ''),
      bound: hourlyBoundOf(settings),
      prepare: () => this.#prepare(event, recipient.id),
      leaveOut: () => moveToDigests(pool, event, notice, [recipient]),
    };
  }

  /** Undefined if nothing is pending for the person any more, or the e-mail may not be sent or was turned off. */
  async #prepare(event: JournalEvent, personId: string): Promise<Send | undefined> {
    const { pool, settings } = this.#tools;
    const waiting = await findWaiting(pool, event, personId);
    if (waiting === undefined) return undefined;
    const [recipient] = (await findRecipientsOf(pool, event.tenantId, waiting, settings)).recipients;
    if (recipient === undefined || this.#modeOf(recipient, waiting.notice) === 'off') return undefined;
    const url = this.#unsubscribeUrl(event.tenantId, recipient, waiting.notice.kind);
    const message = noticeMail(waiting.notice, this.#mailTo(event, recipient), this.#places, url);
    return (signal) => this.#send(message, signal);
  }

  async #invitationOf(event: JournalEvent): Promise<Target[]> {
    const { pool, settings } = this.#tools;
    const open = () => openInvitationMail({ pool, settings, places: this.#places }, event);
    const mail = await open();
    if (mail === undefined) return [];
    return [
      {
        recipientId: mail.recipientId,
        kind: 'invitation',
        ...ofAddress(mail.message.to.address),
        bound: invitationBound,
        // Somebody waits for it, and has just entered the address.
        isUrgent: true,
        prepare: async () => {
          const message = (await open())?.message;
          return message === undefined ? undefined : (signal) => this.#send(message, signal);
        },
        sent: (db) => dropInvitationMail(db, event),
      },
    ];
  }

  async #digestOf(event: JournalEvent): Promise<Target[]> {
    const { pool, settings } = this.#tools;
    const recipient = await findPerson(pool, event.tenantId, event.entityId);
    const address = recipient === undefined ? null : this.#addressOf(recipient);
    if (recipient === undefined || address === null) {
      const { close } = await openDigest(pool, settings, event);
      await pool.transaction(close);
      return [];
    }
    let close: CloseDigest | undefined;
    return [
      {
        recipientId: recipient.id,
        kind: 'digest',
        ...ofAddress(address),
        bound: digestBound,
        prepare: async () => {
          const opened = await openDigest(pool, settings, event);
          close = opened.close;
          if (opened.digest !== undefined) return this.#sendDigest(event, opened.digest);
          await pool.transaction(opened.close);
          return undefined;
        },
        sent: async (db) => close?.(db),
      },
    ];
  }

  #sendDigest(event: JournalEvent, digest: OpenDigest): Send {
    const { recipient, kinds } = digest;
    const unsubscribings = kinds.map((kind) => ({
      url: this.#unsubscribeUrl(event.tenantId, recipient, kind),
      about: notificationKinds[kind].about,
    }));
    const message = digestMail(digest, this.#mailTo(event, recipient), this.#places, unsubscribings);
    return (signal) => this.#send(message, signal);
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

/**
 * Identifies an address in the records of failures and of what was sent, which don't contain it. The maximum is that of
 * the address, because nobody verifies whose it is.
 */
function ofAddress(address: string): Pick<Target, 'target' | 'countedAs'> {
  const digest = createHash('sha256').update(address.toLowerCase()).digest('hex');
  return { target: digest, countedAs: digest };
}
