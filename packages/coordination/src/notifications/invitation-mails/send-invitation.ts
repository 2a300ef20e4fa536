import { createHash } from 'node:crypto';
import type { Db, Pool } from '@baton/kernel/database/db';
import { CannotOpen } from '../../access/secret-store/sealing-keys.ts';
import type { JournalEvent } from '../../ledger/journal/event.ts';
import { faultOfAddress } from '../email-address.ts';
import type { MailMessage, MailPlaces } from '../messages/mail-message.ts';
import { escapeHtml, oneLine } from '../messages/plain-text.ts';
import type { Settings } from '../settings.ts';
import {
  deleteExpiredInvitationMails,
  deleteInvitationMail,
  findInvitationMail,
  type WaitingMail,
} from './invitation-mails.sql.ts';
import { mailSealOf, placeOf } from './mail-seal.ts';

interface Tools {
  readonly pool: Pool;
  readonly settings: Settings;
  readonly places: MailPlaces;
}

/** The e-mail of an invitation. */
export interface OpenInvitationMail {
  readonly recipientId: string;
  readonly message: MailMessage;
}

const nameCharactersMax = 80;

/** Undefined if the link expired or was replaced, or nobody can open it any more. */
export async function openInvitationMail(
  { pool, settings, places }: Tools,
  { tenantId, entityId }: JournalEvent,
): Promise<OpenInvitationMail | undefined> {
  const mail = await pool.row(findInvitationMail(tenantId, entityId));
  const address = mail?.email ?? '';
  if (mail === undefined || faultOfAddress(address, settings.CP_MAIL_ALLOWED_DOMAINS) !== undefined)
    return undefined;
  const token = openToken(settings, tenantId, mail);
  if (token === undefined) return undefined;
  return {
    recipientId: mail.principal_id,
    message: invitationMessage(mail, address, `${places.publicUrl}/invite#${token}`, places.domain),
  };
}

/** Deletes a link. @param db the transaction that records that it was sent */
export function dropInvitationMail(db: Db, { tenantId, entityId }: JournalEvent): Promise<unknown> {
  return db.run(deleteInvitationMail(tenantId, entityId));
}

/** Deletes links that were not sent in time. @returns how many, at most `rowsMax` */
export function deleteExpiredMails(pool: Pool, rowsMax: number): Promise<number> {
  return pool.run(deleteExpiredInvitationMails(rowsMax));
}

/** Undefined if its key was removed from the file. */
function openToken(settings: Settings, tenantId: string, mail: WaitingMail): string | undefined {
  try {
    const value = { keyId: mail.key_id, sealed: mail.sealed };
    return mailSealOf(settings)?.open(value, placeOf(tenantId, mail.principal_id));
  } catch (error) {
    if (error instanceof CannotOpen) return undefined;
    throw error;
  }
}

function invitationMessage(mail: WaitingMail, address: string, url: string, domain: string): MailMessage {
  const inviter = oneLine(mail.invited_by, nameCharactersMax);
  const tenant = oneLine(mail.tenant_name, nameCharactersMax);
  const subject = `${inviter} invites you to ${tenant}`;
  const sentence = `${inviter} invites you to work with ${tenant} in Baton.`;
  const note = 'The link works once. If you do not expect this invitation, ignore this e-mail.';
  const digest = createHash('sha256').update(`invitation/${mail.id}`).digest('hex').slice(0, 40);
  return {
    to: { name: oneLine(mail.display_name, nameCharactersMax), address },
    subject,
    messageId: `<${digest}@${domain}>`,
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    text: `${sentence}\n\nAccept the invitation: ${url}\n\n${note}\n\n-- \nSent by Baton.\n`,
    html: `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(subject)}</title></head>
<body style="font-family:sans-serif">
<p>${escapeHtml(sentence)}</p>
<p><a href="${escapeHtml(url)}">Accept the invitation</a></p>
<p style="font-size:small">${note}<br>Sent by Baton.</p>
</body></html>
`,
  };
}
