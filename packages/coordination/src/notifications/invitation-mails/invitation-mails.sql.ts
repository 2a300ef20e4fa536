import { sql } from '@baton/kernel/database/sql';

export interface NewInvitationMail {
  readonly id: string;
  readonly tenantId: string;
  readonly principalId: string;
  readonly invitedBy: string;
  readonly keyId: string;
  readonly sealed: Buffer;
}

/** Requests of a tenant wait for each other, so that the maximum is exact. */
export function lockInvitationMails(tenantId: string) {
  return sql`select pg_advisory_xact_lock(hashtextextended(${`invitation mails of ${tenantId}`}, 0))`;
}

export function countOtherInvitationMails(tenantId: string, principalId: string) {
  return sql<{ count: number }>`
    select count(*)::int as count from invitation_mails
    where tenant_id = ${tenantId} and principal_id <> ${principalId}`;
}

/**
 * The e-mails with links that were sent in the last day: to this person, and in the tenant, each counted up to its
 * maximum.
 */
export function countSentInvitationMails(
  { tenantId, principalId }: { tenantId: string; principalId: string },
  { personMax, tenantMax }: { personMax: number; tenantMax: number },
) {
  return sql<{ person: number; tenant: number }>`
    select
      (select count(*)::int from (
        select from notification_deliveries
        where recipient_id = ${principalId} and channel = 'mail' and tenant_id = ${tenantId} and kind = 'invitation'
          and sent_at > now() - interval '1 day' limit ${personMax}) own) as person,
      (select count(*)::int from (
        select from notification_deliveries
        where tenant_id = ${tenantId} and kind = 'invitation' and sent_at is not null
          and created_at > now() - interval '1 day' limit ${tenantMax}) sent) as tenant`;
}

/** Replaces the pending link of the same person. */
export function upsertInvitationMail(mail: NewInvitationMail, lifetimeSeconds: number) {
  return sql<{ id: string; expires_at: string }>`
    insert into invitation_mails (id, tenant_id, principal_id, invited_by, key_id, sealed, expires_at)
    values (${mail.id}, ${mail.tenantId}, ${mail.principalId}, ${mail.invitedBy}, ${mail.keyId}, ${mail.sealed},
      now() + make_interval(secs => ${lifetimeSeconds}))
    on conflict (tenant_id, principal_id) do update
    set id = excluded.id, invited_by = excluded.invited_by, key_id = excluded.key_id, sealed = excluded.sealed,
      created_at = now(), expires_at = excluded.expires_at
    returning id, expires_at`;
}

export interface WaitingMail {
  id: string;
  principal_id: string;
  invited_by: string;
  key_id: string;
  sealed: Buffer;
  display_name: string;
  email: string | null;
  tenant_name: string;
}

/** The link, if it may still be sent, with the person, who must be active. */
export function findInvitationMail(tenantId: string, id: string) {
  return sql<WaitingMail>`
    select m.id, m.principal_id, m.invited_by, m.key_id, m.sealed, p.display_name, p.profile ->> 'email' as email,
      t.name as tenant_name
    from invitation_mails m
    join principals p on p.id = m.principal_id and p.tenant_id = m.tenant_id
    join tenants t on t.id = m.tenant_id
    where m.id = ${id} and m.tenant_id = ${tenantId} and m.expires_at > now() and p.status = 'active'`;
}

export function deleteInvitationMail(tenantId: string, id: string) {
  return sql`delete from invitation_mails where id = ${id} and tenant_id = ${tenantId}`;
}

export function deleteExpiredInvitationMails(rowsMax: number) {
  return sql`
    delete from invitation_mails where id in (
      select id from invitation_mails where expires_at <= now() limit ${rowsMax} for update skip locked)`;
}
