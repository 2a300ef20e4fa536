import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';
import type { PasskeyRow } from './passkey.ts';

type PasskeyColumns = RowOf<Tables['passkeys']>;

export function findPasskeys(tenantId: string, principalId: string) {
  return sql<PasskeyRow & Pick<PasskeyColumns, 'credential_id'>>`
    select id, principal_id, name, is_synced, is_backed_up, created_at, last_used_at, credential_id
    from passkeys where tenant_id = ${tenantId} and principal_id = ${principalId}
    order by created_at, id`;
}

export function lockPasskey(tenantId: string, principalId: string, passkeyId: string) {
  return sql<PasskeyRow>`
    select id, principal_id, name, is_synced, is_backed_up, created_at, last_used_at
    from passkeys where id = ${passkeyId} and tenant_id = ${tenantId} and principal_id = ${principalId}
    for no key update`;
}

export function updatePasskeyName(passkeyId: string, name: string) {
  return sql`update passkeys set name = ${name} where id = ${passkeyId}`;
}

export function deletePasskey(passkeyId: string) {
  return sql`delete from passkeys where id = ${passkeyId}`;
}

/** Deletes all passkeys of a person in a tenant. */
export function deletePasskeysOf(tenantId: string, principalId: string) {
  return sql<{ id: string }>`
    delete from passkeys where tenant_id = ${tenantId} and principal_id = ${principalId} returning id`;
}

/** Whether the person can sign in without the passkey: with another one, or through an active provider. */
export function findOtherWay(tenantId: string, principalId: string, passkeyId: string) {
  return sql<{ exists: boolean }>`
    select exists (
        select from passkeys
        where tenant_id = ${tenantId} and principal_id = ${principalId} and id <> ${passkeyId}
      ) or exists (
        select from external_identities e join identity_providers p on p.id = e.identity_provider_id
        where e.principal_id = ${principalId} and e.tenant_id = ${tenantId} and e.status = 'active'
          and p.status = 'active'
      ) as exists`;
}

/** A presented passkey, and the reason why it can't be used; null if it can. */
export interface PresentedPasskeyRow
  extends Pick<
    PasskeyColumns,
    | 'id'
    | 'tenant_id'
    | 'principal_id'
    | 'external_identity_id'
    | 'credential_id'
    | 'public_key'
    | 'sign_count'
  > {
  /** The user handle. */
  subject: string;
  refusal: string | null;
}

export function findPresentedPasskey(credentialId: string) {
  return sql<PresentedPasskeyRow>`
    select k.id, k.tenant_id, k.principal_id, k.external_identity_id, k.credential_id, k.public_key, k.sign_count,
      e.subject,
      case
        when t.status <> 'active' then 'tenant_not_active'
        when m.status is distinct from 'active' then 'membership_not_active'
        when p.status <> 'active' then 'principal_not_active'
        when e.status <> 'active' then 'identity_disabled'
      end as refusal
    from passkeys k
    join external_identities e on e.id = k.external_identity_id
    join tenants t on t.id = k.tenant_id
    join principals p on p.id = k.principal_id
    left join memberships m on m.tenant_id = k.tenant_id and m.principal_id = k.principal_id
    where k.credential_id = ${credentialId}`;
}

/**
 * Stores a use. Returns no row if the passkey was removed, or if another response with this or a later count was stored
 * first, in which case the authenticator may have been copied.
 */
export function updateUsed(use: {
  passkeyId: string;
  signCount: number;
  isSynced: boolean;
  isBackedUp: boolean;
}) {
  return sql<{ id: string }>`
    update passkeys
    set sign_count = ${use.signCount}, is_synced = ${use.isSynced}, is_backed_up = ${use.isBackedUp},
      last_used_at = now()
    where id = ${use.passkeyId} and (sign_count < ${use.signCount} or (sign_count = 0 and ${use.signCount} = 0))
    returning id`;
}

/** Returns no row when the credential is already registered; waits for a transaction that registers it. */
export function insertPasskey(made: {
  id: string;
  tenantId: string;
  principalId: string;
  externalIdentityId: string;
  name: string;
  credentialId: string;
  publicKey: string;
  signCount: number;
  transports: readonly string[];
  isSynced: boolean;
  isBackedUp: boolean;
}) {
  return sql<PasskeyRow>`
    insert into passkeys (id, tenant_id, principal_id, external_identity_id, name, credential_id, public_key, sign_count,
      transports, is_synced, is_backed_up)
    values (${made.id}, ${made.tenantId}, ${made.principalId}, ${made.externalIdentityId}, ${made.name},
      ${made.credentialId}, ${made.publicKey}, ${made.signCount}, ${made.transports}, ${made.isSynced},
      ${made.isBackedUp})
    on conflict do nothing
    returning id, principal_id, name, is_synced, is_backed_up, created_at, last_used_at`;
}

type IdentityRow = Pick<RowOf<Tables['external_identities']>, 'id' | 'subject' | 'status'>;

/** The external identity of a person's passkeys in a tenant. */
export function findPasskeyIdentity(tenantId: string, principalId: string) {
  return sql<IdentityRow>`
    select id, subject, status from external_identities
    where tenant_id = ${tenantId} and principal_id = ${principalId} and source = 'passkey'`;
}

/** Returns no row when the person already has one, or the handle is taken. */
export function insertPasskeyIdentity(made: {
  id: string;
  tenantId: string;
  principalId: string;
  issuer: string;
  userHandle: string;
}) {
  return sql<IdentityRow>`
    insert into external_identities (id, tenant_id, principal_id, issuer, subject, source)
    values (${made.id}, ${made.tenantId}, ${made.principalId}, ${made.issuer}, ${made.userHandle}, 'passkey')
    on conflict do nothing
    returning id, subject, status`;
}

export function updateIdentityUsed(externalIdentityId: string, acr: string) {
  return sql`
    update external_identities set last_sign_in_at = now(), last_acr = ${acr} where id = ${externalIdentityId}`;
}

export interface SignInRow {
  id: string;
  auth_time: string;
}

/** Records a sign-in with a passkey, after which platform access tokens may be issued for a while. */
export function insertPasskeyContext(context: {
  id: string;
  tenantId: string;
  principalId: string;
  externalIdentityId: string;
  issuer: string;
  acr: string;
  amr: readonly string[];
}) {
  return sql<SignInRow>`
    insert into authentication_contexts (id, tenant_id, principal_id, external_identity_id, issuer, acr, amr, auth_time,
      source)
    values (${context.id}, ${context.tenantId}, ${context.principalId}, ${context.externalIdentityId},
      ${context.issuer}, ${context.acr}, ${context.amr}, now(), 'passkey')
    returning id, auth_time`;
}
