import type { RowOf } from '@baton/kernel/database/row';
import { part, sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';
import type { BrowserSessionRow, DecidingSessionRow, PresentedSessionRow } from './browser-session.ts';

type SessionColumns = RowOf<Tables['browser_sessions']>;

/** Why a session `s` is no longer valid; null if it is. */
const refusalOf = (idleSecondsMax: number) => part`
      case
        when s.ended_at is not null then 'session_ended'
        when s.expires_at <= now() or s.last_used_at <= now() - make_interval(secs => ${idleSecondsMax})
          then 'session_expired'
        when t.status <> 'active' then 'tenant_not_active'
        when m.status is distinct from 'active' then 'membership_not_active'
        when p.status <> 'active' then 'principal_not_active'
        when e.status <> 'active' then 'identity_disabled'
        when i.status <> 'active' then 'identity_provider_disabled'
      end`;

/** A session `s` with everything that its validity and the time of its sign-in depend on. */
const sessions = part`
    browser_sessions s
    join tenants t on t.id = s.tenant_id
    join principals p on p.id = s.principal_id
    join external_identities e on e.id = s.external_identity_id
    join authentication_contexts c on c.id = s.authentication_context_id
    left join identity_providers i on i.id = e.identity_provider_id
    left join memberships m on m.tenant_id = s.tenant_id and m.principal_id = s.principal_id`;

/** @param usedSeconds how old the stored last use may be */
export function findPresentedSession(
  publicPrefix: string,
  audience: string | null,
  idleSecondsMax: number,
  usedSeconds: number,
) {
  return sql<PresentedSessionRow>`
    select s.id, s.tenant_id, s.principal_id, s.secret_hash, s.client_id, s.public_prefix, s.acr, s.auth_time,
      p.kind as principal_kind, p.display_name,
      ${refusalOf(idleSecondsMax)} as refusal,
      a.allowed_scopes, a.signing_algorithm,
      s.last_used_at <= now() - make_interval(secs => ${usedSeconds}) as is_use_due,
      extract(epoch from now() - s.auth_time)::float8 as auth_age_seconds,
      s.passkey_id is not null or c.is_time_stated as is_time_proven,
      floor(extract(epoch from now()))::bigint as now_seconds
    from ${sessions}
    left join audiences a on a.tenant_id = s.tenant_id and a.key = ${audience} and a.status = 'active'
    where s.public_prefix = ${publicPrefix}`;
}

/**
 * A session in which a person decides, with its own sign-in. Until the transaction ends, the session can't be ended.
 * @param decidedAt when the person decided; null for now
 */
export function shareDecidingSession(
  browserSessionId: string,
  idleSecondsMax: number,
  decidedAt: string | null,
) {
  return sql<DecidingSessionRow>`
    select s.tenant_id, s.principal_id, ${refusalOf(idleSecondsMax)} as refusal,
      extract(epoch from coalesce(${decidedAt}::timestamptz, now()) - s.auth_time)::float8 as auth_age_seconds,
      s.passkey_id is not null or c.is_time_stated as is_time_proven,
      c.id as authentication_context_id, c.issuer as auth_issuer, c.acr, c.amr, s.auth_time
    from ${sessions}
    where s.id = ${browserSessionId}
    for share of s`;
}

/** Lets a session expire earlier, never later. */
export function updateSessionExpiry(browserSessionId: string, lifetimeSeconds: number) {
  return sql`
    update browser_sessions set expires_at = least(expires_at, now() + make_interval(secs => ${lifetimeSeconds}))
    where id = ${browserSessionId}`;
}

/** Returns no row for a session that has ended. Until the transaction ends, the session can't be ended. */
export function shareLiveSession(browserSessionId: string) {
  return sql<Pick<SessionColumns, 'id'>>`
    select id from browser_sessions where id = ${browserSessionId} and ended_at is null for share`;
}

/** A row that another transaction has locked is skipped: it is being used or ended. */
export function updateSessionUsed(browserSessionId: string) {
  return sql`
    update browser_sessions set last_used_at = now()
    where id = (select id from browser_sessions where id = ${browserSessionId} for no key update skip locked)`;
}

export function insertSession(made: {
  id: string;
  tenantId: string;
  principalId: string;
  externalIdentityId: string;
  authenticationContextId: string;
  passkeyId: string | null;
  clientId: string;
  publicPrefix: string;
  secretHash: string;
  acr: string | null;
  authTime: string;
  lifetimeSeconds: number;
  idleSecondsMax: number;
}) {
  return sql<BrowserSessionRow>`
    insert into browser_sessions (id, tenant_id, principal_id, external_identity_id, authentication_context_id,
      passkey_id, client_id, public_prefix, secret_hash, acr, auth_time, expires_at)
    values (${made.id}, ${made.tenantId}, ${made.principalId}, ${made.externalIdentityId},
      ${made.authenticationContextId}, ${made.passkeyId}, ${made.clientId}, ${made.publicPrefix}, ${made.secretHash},
      ${made.acr}, ${made.authTime}, now() + make_interval(secs => ${made.lifetimeSeconds}))
    returning id, tenant_id, principal_id, passkey_id, client_id, public_prefix, acr, auth_time, created_at, expires_at,
      last_used_at,
      (select amr from authentication_contexts where id = ${made.authenticationContextId}) as amr,
      least(expires_at, last_used_at + make_interval(secs => ${made.idleSecondsMax})) as idle_expires_at`;
}

/** The sessions that the person could still use, newest first. */
export function findSessions(tenantId: string, principalId: string, idleSecondsMax: number) {
  return sql<BrowserSessionRow>`
    select s.id, s.tenant_id, s.principal_id, s.passkey_id, s.client_id, s.public_prefix, s.acr, s.auth_time,
      s.created_at, s.expires_at, s.last_used_at, c.amr,
      least(s.expires_at, s.last_used_at + make_interval(secs => ${idleSecondsMax})) as idle_expires_at
    from browser_sessions s join authentication_contexts c on c.id = s.authentication_context_id
    where s.tenant_id = ${tenantId} and s.principal_id = ${principalId} and s.ended_at is null
      and s.expires_at > now() and s.last_used_at > now() - make_interval(secs => ${idleSecondsMax})
    order by s.created_at desc, s.id desc`;
}

export function findSession(tenantId: string, principalId: string, browserSessionId: string) {
  return sql<Pick<SessionColumns, 'id'>>`
    select id from browser_sessions
    where id = ${browserSessionId} and tenant_id = ${tenantId} and principal_id = ${principalId}`;
}

/** Deletes anybody's sessions that expired long ago, however they ended. */
export function deleteOldSessions(daysKept: number, rowsMax: number) {
  return sql<Pick<SessionColumns, 'id'>>`
    delete from browser_sessions where id = any (array(
      select id from browser_sessions where expires_at < now() - make_interval(days => ${daysKept})
      order by expires_at limit ${rowsMax} for update skip locked))
    returning id`;
}
