import { sql } from '@baton/kernel/database/sql';
import type { AdministrationTokenRow, PresentedTokenRow, SignInRow } from './administration-token.ts';

/**
 * The sign-in with a browser session, or else the latest one through a provider. Only a time that the passkey's
 * response or the provider stated proves that a sign-in is fresh.
 */
export function findSignIn(wanted: {
  tenantId: string;
  principalId: string;
  credentialId: string;
  idleSecondsMax: number;
  ageSecondsMax: number;
}) {
  return sql<SignInRow>`
    with signed_in as (
      select s.external_identity_id, s.id as browser_session_id, s.auth_time,
        s.passkey_id is not null or c.is_time_stated as is_proven,
        s.ended_at is null and s.expires_at > now()
          and s.last_used_at > now() - make_interval(secs => ${wanted.idleSecondsMax}) as is_live
      from browser_sessions s join authentication_contexts c on c.id = s.authentication_context_id
      where s.id = ${wanted.credentialId} and s.tenant_id = ${wanted.tenantId}
        and s.principal_id = ${wanted.principalId}
      union all
      (select c.external_identity_id, null, c.auth_time, true, true
      from authentication_contexts c
      where c.tenant_id = ${wanted.tenantId} and c.principal_id = ${wanted.principalId}
        and c.recorded_at > now() - make_interval(secs => ${wanted.ageSecondsMax})
        and c.external_identity_id = ${wanted.credentialId} and c.source = 'federation' and c.is_time_stated
      order by c.auth_time desc limit 1)
    )
    select f.external_identity_id, f.browser_session_id, f.auth_time,
      case
        when t.status <> 'active' then 'tenant_not_active'
        when m.status is distinct from 'active' then 'membership_not_active'
        when p.status <> 'active' then 'principal_not_active'
        when p.kind <> 'human' then 'not_a_person'
        when not f.is_live then 'session_ended'
        when e.status <> 'active' then 'identity_disabled'
        when i.status <> 'active' then 'identity_provider_disabled'
        when not f.is_proven then 'time_of_sign_in_unknown'
        when f.auth_time <= now() - make_interval(secs => ${wanted.ageSecondsMax}) then 'sign_in_too_old'
      end as refusal
    from signed_in f
    join tenants t on t.id = ${wanted.tenantId}
    join principals p on p.id = ${wanted.principalId}
    join external_identities e on e.id = f.external_identity_id
    left join identity_providers i on i.id = e.identity_provider_id
    left join memberships m on m.tenant_id = t.id and m.principal_id = p.id`;
}

export function insertToken(made: {
  id: string;
  tenantId: string;
  principalId: string;
  externalIdentityId: string;
  browserSessionId: string | null;
  publicPrefix: string;
  secretHash: string;
  authTime: string;
  ageSecondsMax: number;
}) {
  return sql<AdministrationTokenRow>`
    insert into administration_tokens (id, tenant_id, principal_id, external_identity_id, browser_session_id,
      public_prefix, secret_hash, auth_time, expires_at)
    values (${made.id}, ${made.tenantId}, ${made.principalId}, ${made.externalIdentityId}, ${made.browserSessionId},
      ${made.publicPrefix}, ${made.secretHash}, ${made.authTime},
      ${made.authTime}::timestamptz + make_interval(secs => ${made.ageSecondsMax}))
    returning id, tenant_id, principal_id, auth_time, expires_at`;
}

/** Deletes anybody's expired tokens, and the person's tokens beyond the newest ones. */
export function deleteOldTokens(tenantId: string, principalId: string, keptMax: number, rowsMax: number) {
  return sql`
    delete from administration_tokens where id = any (array(
      select id from administration_tokens where expires_at < now() limit ${rowsMax} for update skip locked
    ) || array(
      select id from administration_tokens where principal_id = ${principalId} and tenant_id = ${tenantId}
      order by created_at desc, id desc offset ${keptMax} limit ${rowsMax} for update skip locked))`;
}

/**
 * Each use reads everything that the token depends on, so the token ends at once with its person, session or tenant.
 */
export function findPresentedToken(publicPrefix: string, idleSecondsMax: number) {
  return sql<PresentedTokenRow>`
    select a.id, a.tenant_id, a.principal_id, a.secret_hash, a.browser_session_id,
      case
        when a.revoked_at is not null then 'revoked'
        when a.expires_at <= now() then 'expired'
        when t.status <> 'active' then 'tenant_not_active'
        when m.status is distinct from 'active' then 'membership_not_active'
        when p.status <> 'active' then 'principal_not_active'
        when a.browser_session_id is not null and (s.id is null or s.ended_at is not null or s.expires_at <= now()
          or s.last_used_at <= now() - make_interval(secs => ${idleSecondsMax})) then 'session_ended'
        when e.status <> 'active' then 'identity_disabled'
        when i.status <> 'active' then 'identity_provider_disabled'
      end as refusal
    from administration_tokens a
    join tenants t on t.id = a.tenant_id
    join principals p on p.id = a.principal_id
    join external_identities e on e.id = a.external_identity_id
    left join identity_providers i on i.id = e.identity_provider_id
    left join browser_sessions s on s.id = a.browser_session_id
    left join memberships m on m.tenant_id = a.tenant_id and m.principal_id = a.principal_id
    where a.public_prefix = ${publicPrefix}`;
}

/** Returns no row if the token has already been revoked. */
export function revokeToken(tenantId: string, tokenId: string) {
  return sql<Pick<AdministrationTokenRow, 'id'>>`
    update administration_tokens set revoked_at = now()
    where id = ${tokenId} and tenant_id = ${tenantId} and revoked_at is null
    returning id`;
}

export function findToken(tenantId: string, tokenId: string) {
  return sql<Pick<AdministrationTokenRow, 'id'>>`
    select id from administration_tokens where id = ${tokenId} and tenant_id = ${tenantId}`;
}
