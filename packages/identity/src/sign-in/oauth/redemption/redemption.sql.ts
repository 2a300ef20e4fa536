import { sql } from '@baton/kernel/database/sql';
import type { HandleKind } from '../oauth-handles.sql.ts';

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
