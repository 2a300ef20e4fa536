import { sql } from '@baton/kernel/database/sql';
import type { HandleKind } from './provider/provider-state.ts';

export interface HandleRow {
  payload: Record<string, unknown>;
  consumed_seconds: number | null;
  credential_id: string | null;
  /** Of the credential of the grant. */
  grant_secret_hash: string | null;
}

export function findHandle(kind: HandleKind, handleHash: string) {
  return sql<HandleRow>`
    select h.payload, floor(extract(epoch from h.consumed_at))::float8 as consumed_seconds, h.credential_id,
      c.secret_hash as grant_secret_hash
    from oauth_handles h left join platform_access_tokens c on c.id = h.credential_id
    where h.kind = ${kind} and h.handle_hash = ${handleHash}`;
}

export function insertHandle(made: {
  kind: HandleKind;
  handleHash: string;
  credentialId: string;
  payload: object;
  lifetimeSeconds: number;
}) {
  return sql`
    insert into oauth_handles (kind, handle_hash, credential_id, payload, expires_at)
    values (${made.kind}, ${made.handleHash}, ${made.credentialId}, ${JSON.stringify(made.payload)}::jsonb,
      now() + make_interval(secs => ${made.lifetimeSeconds}))`;
}

/**
 * Uses up a code or a refresh token, and stores the refresh token that replaces it: both or neither. A code needs the
 * session in which the person decided, whose end waits for this statement. Of the used refresh tokens of a grant only
 * the last one keeps a row.
 * @param made.issued absent for a client without refresh tokens
 * @returns no row if the handle was used before, or the session has ended
 */
export function updateRedeemed(made: {
  kind: HandleKind;
  handleHash: string;
  credentialId: string;
  issued: { handleHash: string; payload: object; lifetimeSeconds: number } | undefined;
}) {
  const { kind, handleHash, credentialId, issued } = made;
  return sql<{ redeemed: boolean }>`
    with session as materialized (
      select s.id from oauth_grants g join browser_sessions s on s.id = g.browser_session_id
      where g.credential_id = ${credentialId} and s.ended_at is null
      for share of s
    ), used as (
      update oauth_handles set consumed_at = now()
      where kind = ${kind} and handle_hash = ${handleHash} and consumed_at is null
        and (kind = 'RefreshToken' or exists (select from session))
      returning credential_id
    ), issued as (
      insert into oauth_handles (kind, handle_hash, credential_id, payload, expires_at)
      select 'RefreshToken', ${issued?.handleHash ?? null}, credential_id,
        ${issued === undefined ? null : JSON.stringify(issued.payload)}::jsonb,
        now() + make_interval(secs => ${issued?.lifetimeSeconds ?? 0})
      from used where ${issued !== undefined}
      on conflict do nothing
    ), forgotten as (
      delete from oauth_handles
      where kind = 'RefreshToken' and credential_id = ${credentialId} and consumed_at is not null
        and handle_hash <> ${handleHash} and exists (select from used)
    )
    select true as redeemed from used`;
}

/**
 * The unused refresh token that replaced a used one.
 * @param repeatSeconds how long ago the former one may have been used
 */
export function findSuccessor(handleHash: string, successorHashes: readonly string[], repeatSeconds: number) {
  return sql<{ handle_hash: string }>`
    select next.handle_hash
    from oauth_handles former
    join oauth_handles next on next.kind = 'RefreshToken' and next.credential_id = former.credential_id
    where former.kind = 'RefreshToken' and former.handle_hash = ${handleHash}
      and former.consumed_at > now() - make_interval(secs => ${repeatSeconds})
      and next.handle_hash = any (${successorHashes}) and next.consumed_at is null`;
}

/** Device codes are stored one at a time, so that the number of pending ones is exact. */
export function lockDeviceCodes() {
  return sql`select pg_advisory_xact_lock(19027::bigint << 48)`;
}

/** Returns no row if the requester, or all requesters together, have too many pending codes. */
export function insertDeviceCode(made: {
  handleHash: string;
  userCodeHash: string;
  requestedBy: string;
  payload: object;
  lifetimeSeconds: number;
  pendingOfOneMax: number;
  pendingMax: number;
}) {
  return sql<{ inserted: boolean }>`
    insert into oauth_handles (kind, handle_hash, user_code_hash, requested_by, payload, expires_at)
    select 'DeviceCode', ${made.handleHash}, ${made.userCodeHash}, ${made.requestedBy}, ${JSON.stringify(made.payload)}::jsonb,
      now() + make_interval(secs => ${made.lifetimeSeconds})
    where (select count(*) from (
        select 1 from oauth_handles
        where kind = 'DeviceCode' and requested_by = ${made.requestedBy} and expires_at > now()
        limit ${made.pendingOfOneMax}) as own) < ${made.pendingOfOneMax}
      and (select count(*) from (
        select 1 from oauth_handles
        where kind = 'DeviceCode' and requested_by is not null and expires_at > now()
        limit ${made.pendingMax}) as every_one) < ${made.pendingMax}
    on conflict do nothing
    returning true as inserted`;
}

export function deleteHandle(kind: HandleKind, handleHash: string) {
  return sql`delete from oauth_handles where kind = ${kind} and handle_hash = ${handleHash}`;
}

export function deleteHandlesOf(kind: HandleKind, credentialId: string) {
  return sql`delete from oauth_handles where credential_id = ${credentialId} and kind = ${kind}`;
}

export interface DeviceCodeRow {
  payload: Record<string, unknown>;
  created_at: string;
  expires_at: string;
}

/** A code that has been neither approved nor denied yet. */
export function findPendingDeviceCode(userCodeHash: string) {
  return sql<DeviceCodeRow>`
    select payload, created_at, expires_at from oauth_handles
    where kind = 'DeviceCode' and user_code_hash = ${userCodeHash} and requested_by is not null
      and payload ->> 'error' is null and expires_at > now()`;
}

/**
 * A refused code counts as pending until its device has polled, because nothing else limits refusals: an approved code
 * creates a grant. Returns no row if the code has already been approved or denied. */
export function updateDecidedDeviceCode(userCodeHash: string, credentialId: string | null, decided: object) {
  return sql<{ decided: boolean }>`
    update oauth_handles
    set payload = payload || ${JSON.stringify(decided)}::jsonb, credential_id = ${credentialId},
      requested_by = case when ${credentialId}::uuid is null then requested_by end
    where kind = 'DeviceCode' and user_code_hash = ${userCodeHash} and requested_by is not null
      and payload ->> 'error' is null and expires_at > now()
    returning true as decided`;
}

/** Records a poll. @returns whether the previous poll was too recent */
export function updatePolled(handleHash: string, intervalSeconds: number) {
  return sql<{ is_early: boolean }>`
    with former as materialized (
      select handle_hash, polled_at from oauth_handles
      where kind = 'DeviceCode' and handle_hash = ${handleHash} for no key update
    )
    update oauth_handles h set polled_at = now() from former
    where h.kind = 'DeviceCode' and h.handle_hash = former.handle_hash
    returning coalesce(former.polled_at > now() - make_interval(secs => ${intervalSeconds}), false) as is_early`;
}

/** The grant of a refresh token that its holder revokes. */
export function findGrantOfRefreshToken(handleHash: string) {
  return sql<{ credential_id: string; tenant_id: string; principal_id: string }>`
    select c.id as credential_id, c.tenant_id, c.principal_id
    from oauth_handles h join platform_access_tokens c on c.id = h.credential_id
    where h.kind = 'RefreshToken' and h.handle_hash = ${handleHash}`;
}

/** Grants whose code expired before its client redeemed it. Locked ones are left for the next run. */
export function findUnredeemedGrants(rowsMax: number) {
  return sql<{ credential_id: string; tenant_id: string }>`
    select c.id as credential_id, c.tenant_id
    from oauth_handles h
    join platform_access_tokens c on c.id = h.credential_id
    join principals p on p.id = c.principal_id
    where h.kind in ('AuthorizationCode', 'DeviceCode') and h.consumed_at is null and h.expires_at < now()
      and c.revoked_at is null and c.generation = p.token_generation
    order by h.expires_at limit ${rowsMax}
    for no key update of c skip locked`;
}

export function deleteExpiredHandles(keptSeconds: number, rowsMax: number) {
  return sql<{ kind: string }>`
    delete from oauth_handles where (kind, handle_hash) in (
      select kind, handle_hash from oauth_handles
      where expires_at < now() - make_interval(secs => ${keptSeconds}) order by expires_at limit ${rowsMax})
    returning kind`;
}
