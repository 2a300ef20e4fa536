import type { RowOf } from '@baton/kernel/database/row';
import { part, sql } from '@baton/kernel/database/sql';
import type { CreatedPage } from '../../service/pages.ts';
import type { Tables } from '../../service/schema.ts';
import type { InvitationQuery, InvitationRow } from './invitation.ts';

type InvitationColumns = RowOf<Tables['invitations']>;

const columns = part`i.id, i.tenant_id, i.principal_id, i.kind, i.email, i.role, i.invited_by, i.message, i.replaces,
      i.public_prefix, i.created_at, i.expires_at, i.accepted_at, i.accepted_by, i.revoked_at, i.revoke_reason,
      p.display_name,
      case
        when i.accepted_at is not null then 'accepted'
        when i.revoked_at is not null then 'revoked'
        when i.expires_at <= now() then 'expired'
        else 'open'
      end as status`;

/** Links of a tenant are created one at a time, so that their number is exact. */
export function lockTenantForInvitations(tenantId: string) {
  return sql<{ status: string }>`select status from tenants where id = ${tenantId} for no key update`;
}

export function countOpenInvitations(tenantId: string) {
  return sql<{ count: number }>`
    select count(*) as count from invitations
    where tenant_id = ${tenantId} and accepted_at is null and revoked_at is null and expires_at > now()`;
}

/** Whether a paused principal was created by an invitation that nobody has accepted yet. */
export function findUnacceptedPerson(tenantId: string, principalId: string) {
  return sql<{ is_unaccepted: boolean }>`
    select coalesce(bool_or(activates) and not bool_or(accepted_at is not null), false) as is_unaccepted
    from invitations where tenant_id = ${tenantId} and principal_id = ${principalId}`;
}

export function insertInvitation(made: {
  id: string;
  tenantId: string;
  principalId: string;
  kind: InvitationColumns['kind'];
  email: string | null;
  role: string | null;
  invitedBy: string;
  message: string;
  activates: boolean;
  replaces: boolean;
  publicPrefix: string;
  secretHash: string;
  expiresInSeconds: number;
}) {
  return sql<InvitationRow>`
    with i as (
      insert into invitations (id, tenant_id, principal_id, kind, email, role, invited_by, message, activates, replaces,
        public_prefix, secret_hash, expires_at)
      values (${made.id}, ${made.tenantId}, ${made.principalId}, ${made.kind}, ${made.email}, ${made.role},
        ${made.invitedBy}, ${made.message}, ${made.activates}, ${made.replaces}, ${made.publicPrefix},
        ${made.secretHash}, now() + make_interval(secs => ${made.expiresInSeconds}))
      returning *
    )
    select ${columns} from i join principals p on p.id = i.principal_id`;
}

export interface InvitationFilter extends CreatedPage {
  tenantId: string;
  principalId: InvitationQuery['principalId'];
  status: InvitationQuery['status'];
}

export function findInvitations({ tenantId, principalId, status, after, limit }: InvitationFilter) {
  return sql<InvitationRow>`
    select * from (
      select ${columns} from invitations i join principals p on p.id = i.principal_id
      where i.tenant_id = ${tenantId} and (i.created_at, i.id) > (${after[0]}::timestamptz, ${after[1]}::uuid)
        and (${principalId ?? null}::uuid is null or i.principal_id = ${principalId ?? null}::uuid)
    ) as found
    where (${status ?? null}::text is null or status = ${status ?? null}::text)
    order by created_at, id
    limit ${limit + 1}`;
}

export function findInvitation(tenantId: string, invitationId: string) {
  return sql<InvitationRow>`
    select ${columns} from invitations i join principals p on p.id = i.principal_id
    where i.id = ${invitationId} and i.tenant_id = ${tenantId}`;
}

/** A presented link, and the reason why it can't be used; null if it can. */
export interface PresentedInvitationRow
  extends Pick<
    InvitationColumns,
    | 'id'
    | 'tenant_id'
    | 'principal_id'
    | 'kind'
    | 'secret_hash'
    | 'public_prefix'
    | 'email'
    | 'role'
    | 'invited_by'
    | 'message'
    | 'activates'
    | 'replaces'
    | 'expires_at'
  > {
  tenant_name: string;
  display_name: string;
  identity_providers: string[];
  refusal: string | null;
}

export function findPresentedInvitation(publicPrefix: string, providersMax: number) {
  return sql<PresentedInvitationRow>`
    select i.id, i.tenant_id, i.principal_id, i.kind, i.secret_hash, i.public_prefix, i.email, i.role, i.invited_by,
      i.message, i.activates, i.replaces, i.expires_at, t.name as tenant_name, p.display_name,
      array(
        select key from identity_providers
        where tenant_id = i.tenant_id and status = 'active' and principal_kind = 'human'
        order by key collate "C" limit ${providersMax}
      ) as identity_providers,
      case
        when i.accepted_at is not null then 'invitation_accepted'
        when i.revoked_at is not null then 'invitation_revoked'
        when i.expires_at <= now() then 'invitation_expired'
        when t.status <> 'active' then 'tenant_not_active'
        when m.status is distinct from 'active' then 'membership_not_active'
        when p.status = 'disabled' or (p.status = 'paused' and not i.activates) then 'principal_not_active'
      end as refusal
    from invitations i
    join tenants t on t.id = i.tenant_id
    join principals p on p.id = i.principal_id
    left join memberships m on m.tenant_id = i.tenant_id and m.principal_id = i.principal_id
    where i.public_prefix = ${publicPrefix}`;
}

/**
 * Uses up a link. Returns no row if it was used or revoked, or has expired. Expiry is checked by the clock after any
 * wait for a concurrent transaction; the transaction may have started before the expiry.
 */
export function updateAccepted(invitationId: string, by: NonNullable<InvitationColumns['accepted_by']>) {
  return sql<{ id: string }>`
    update invitations set accepted_at = clock_timestamp(), accepted_by = ${by}
    where id = ${invitationId} and accepted_at is null and revoked_at is null and expires_at > clock_timestamp()
    returning id`;
}

/**
 * Deletes links that expired long ago, except for two kinds: a link by which a person can still be invited again,
 * because they are paused and never accepted; and an accepted link while the person has other links that were not
 * accepted, because without it the person would seem never to have accepted.
 */
export function deleteOldInvitations(daysKept: number, rowsMax: number) {
  return sql<Pick<InvitationColumns, 'id'>>`
    delete from invitations where id = any (array(
      select i.id from invitations i join principals p on p.id = i.principal_id
      where i.expires_at < now() - make_interval(days => ${daysKept}) and not (i.activates and p.status = 'paused')
        and (i.accepted_at is null or not exists (
          select from invitations o where o.principal_id = i.principal_id and o.accepted_at is null))
      order by i.expires_at limit ${rowsMax} for update of i skip locked))
    returning id`;
}
