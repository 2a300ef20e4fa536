import { newId } from '@baton/values/ids';
import { getPrincipal } from '../../access/principals/principals.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { statusOfMail } from '../channels.ts';
import type { Context } from '../context.ts';
import { faultOfAddress } from '../email-address.ts';
import { fail } from '../errors.ts';
import type { InvitationMail, InvitationMailRequest } from './invitation-mail.ts';
import { invitationMailRequested } from './invitation-mails.events.ts';
import {
  countOtherInvitationMails,
  countSentInvitationMails,
  lockInvitationMails,
  upsertInvitationMail,
} from './invitation-mails.sql.ts';
import { mailSealOf, placeOf } from './mail-seal.ts';

/** The maximum number of e-mails to one person in a day; the delivery checks it again. */
export const mailsPerPersonMax = 5;
/**
 * The maximum numbers of e-mails in a day. A tenant can have as many open invitations by default; without a limit, it
 * could send e-mail to anybody.
 */
const bounds = { tenantMax: 500, personMax: mailsPerPersonMax };
const lifetimeSeconds = 86_400;

/**
 * Has the worker send the link of an invitation to the invited person. Until then the link is stored sealed.
 * @throws Refusal `mail_not_enabled`, `not_found`, `principal_not_active`, `invalid_email_address`,
 * `too_many_invitation_mails`
 */
export async function requestInvitationMail(
  context: Context,
  { principalId, token }: InvitationMailRequest,
): Promise<InvitationMail> {
  const { db, tenantId, caller, settings } = context;
  const seal = mailSealOf(settings);
  if (!statusOfMail(settings).available || seal === undefined) return fail('mail_not_enabled');
  const { kind, status, profile } = await getPrincipal(context, principalId);
  if (kind !== 'human' || status !== 'active') fail('principal_not_active', { principalId }, { status: 422 });
  const email = profile.email ?? '';
  const fault = faultOfAddress(email, settings.CP_MAIL_ALLOWED_DOMAINS);
  if (fault !== undefined) fail('invalid_email_address', { field: 'profile.email', reason: fault });
  await db.run(lockInvitationMails(tenantId));
  await refuseTooMany(context, principalId);
  const { displayName: invitedBy } = await getPrincipal(context, caller.principalId);
  const { keyId, sealed } = seal.seal(token, placeOf(tenantId, principalId));
  const mail = { id: newId(), tenantId, principalId, invitedBy, keyId, sealed };
  const row = await db.row(upsertInvitationMail(mail, lifetimeSeconds));
  emit(context, invitationMailRequested, { entityId: mail.id }, { principalId });
  return { id: mail.id, principalId, email, expiresAt: row?.expires_at ?? '' };
}

async function refuseTooMany({ db, tenantId }: Context, principalId: string): Promise<void> {
  const { tenantMax, personMax } = bounds;
  const waiting = (await db.row(countOtherInvitationMails(tenantId, principalId)))?.count ?? 0;
  const sent = await db.row(countSentInvitationMails({ tenantId, principalId }, bounds));
  if (waiting + (sent?.tenant ?? 0) >= tenantMax) fail('too_many_invitation_mails', { max: tenantMax });
  if ((sent?.person ?? 0) >= personMax) fail('too_many_invitation_mails', { max: personMax, principalId });
}
