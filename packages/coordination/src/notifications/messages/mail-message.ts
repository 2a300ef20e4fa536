import { createHash } from 'node:crypto';
import { notificationKinds } from '../kinds.ts';
import type { Notice } from '../notices/notice.ts';
import { type NoticeText, textOfNotice } from './notice-text.ts';
import { escapeHtml, oneLine } from './plain-text.ts';

export interface MailMessage {
  readonly to: { readonly name: string; readonly address: string };
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly messageId: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface MailTo {
  readonly name: string;
  readonly address: string;
  /**
   * The event that caused the message. The Message-ID is derived from this and the recipient, so a repeated message has
   * the same one.
   */
  readonly eventId: string;
  readonly recipientId: string;
}

/** Where a message leads, and what it is signed with. */
export interface MailPlaces {
  /** The console's address, without a trailing slash. */
  readonly publicUrl: string;
  /** The domain of the sender. */
  readonly domain: string;
}

interface Unsubscribing {
  readonly url: string;
  readonly about: string;
}

const nameCharactersMax = 100;

/** The e-mail about one notice. @param unsubscribeUrl ends e-mails of this kind */
export function noticeMail(
  notice: Notice,
  to: MailTo,
  places: MailPlaces,
  unsubscribeUrl: string,
): MailMessage {
  const text = textOfNotice(notice, places.publicUrl);
  const ending = { url: unsubscribeUrl, about: notificationKinds[notice.kind].about };
  return {
    ...headOf(to, notice.kind, places, ending),
    subject: text.subject,
    text: plainOf([plainPart(text)], ending),
    html: htmlOf(text.subject, [htmlPart(text)], ending),
  };
}

export interface Digest {
  /** At least one. */
  readonly notices: readonly Notice[];
  /** How many more notices wait. */
  readonly more: number;
  /** How many older notices were not stored. */
  readonly leftOut: number;
}

/** The e-mail about several notices. The link unsubscribes from the kind of the first notice. */
export function digestMail(
  { notices, more, leftOut }: Digest,
  to: MailTo,
  places: MailPlaces,
  unsubscribings: readonly Unsubscribing[],
): MailMessage {
  const texts = notices.map((notice) => textOfNotice(notice, places.publicUrl));
  const count = notices.length + more;
  const subject = count === 1 ? (texts[0] as NoticeText).subject : `${count} notifications wait for you`;
  const inbox = `${places.publicUrl}/inbox`;
  const older = leftOut === 1 ? 'notification is' : 'notifications are';
  const rests = [
    ...(more === 0 ? [] : [`And ${more} more`]),
    ...(leftOut === 0 ? [] : [`${leftOut} older ${older} not in this digest; your inbox shows what waits`]),
  ];
  const restsHtml = rests.map((rest) => `<p><a href="${escapeHtml(inbox)}">${rest}</a></p>`);
  return {
    ...headOf(to, 'digest', places, unsubscribings[0] as Unsubscribing),
    subject,
    text: plainOf([...texts.map(plainPart), ...rests.map((rest) => `${rest}: ${inbox}`)], ...unsubscribings),
    html: htmlOf(subject, [...texts.map(htmlPart), ...restsHtml], ...unsubscribings),
  };
}

function headOf(
  { name, address, eventId, recipientId }: MailTo,
  kind: string,
  { domain }: MailPlaces,
  { url }: Unsubscribing,
): Pick<MailMessage, 'to' | 'messageId' | 'headers'> {
  const digest = createHash('sha256').update(`${eventId}/${recipientId}/${kind}`).digest('hex').slice(0, 40);
  return {
    to: { name: oneLine(name, nameCharactersMax), address },
    messageId: `<${digest}@${domain}>`,
    headers: {
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
      'List-Unsubscribe': `<${url}>`,
      // RFC 8058: only over https.
      ...(url.startsWith('https:') && { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }),
    },
  };
}

function plainPart({ sentence, question, action, url }: NoticeText): string {
  const quoted = question.split('\n').map((line) => `> ${line}`.trimEnd());
  return [sentence, ...(question === '' ? [] : [quoted.join('\n')]), `${action}: ${url}`].join('\n\n');
}

function plainOf(parts: readonly string[], ...endings: readonly Unsubscribing[]): string {
  const ends = endings.map(({ about, url }) => `Stop e-mail about ${about}: ${url}`);
  return `${parts.join('\n\n')}\n\n-- \nSent by Baton. Opening a link decides nothing.\n${ends.join('\n')}\n`;
}

function htmlPart({ sentence, question, action, url }: NoticeText): string {
  const quote =
    question === '' ? '' : `<blockquote style="white-space:pre-wrap">${escapeHtml(question)}</blockquote>\n`;
  return `<p>${escapeHtml(sentence)}</p>\n${quote}<p><a href="${escapeHtml(url)}">${action}</a></p>`;
}

function htmlOf(title: string, parts: readonly string[], ...endings: readonly Unsubscribing[]): string {
  const ends = endings.map(
    ({ about, url }) => `<a href="${escapeHtml(url)}">Stop e-mail about ${escapeHtml(about)}</a>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(title)}</title></head>
<body style="font-family:sans-serif">
${parts.join('\n<hr>\n')}
<p style="font-size:small">Sent by Baton. Opening a link decides nothing.<br>${ends.join('<br>')}</p>
</body></html>
`;
}
