import { sql } from '@baton/kernel/sql';

export interface KeyNote {
  /** The key that had the name before. */
  former_thumbprint: string | null;
  /** How much longer it is published once it no longer signs. */
  needed_seconds: number;
}

/**
 * Notes which key has a name, and until when its tokens may be valid. The time of a signing key starts now. That of a
 * previous key stays as it is noted; one that was never noted may have signed just now.
 */
export function upsertKey(kid: string, thumbprint: string, neededSeconds: number, isSigning: boolean) {
  return sql<KeyNote>`
    with former as (
      select thumbprint from signing_keys where kid = ${kid}
    ), noted as (
      insert into signing_keys (kid, thumbprint, needed_until)
      values (${kid}, ${thumbprint}, now() + make_interval(secs => ${neededSeconds}))
      on conflict (kid) do update set thumbprint = excluded.thumbprint,
        first_seen_at =
          case when signing_keys.thumbprint = excluded.thumbprint then signing_keys.first_seen_at else now() end,
        needed_until = case when ${isSigning} or signing_keys.thumbprint <> excluded.thumbprint
          then greatest(signing_keys.needed_until, excluded.needed_until)
          else coalesce(signing_keys.needed_until, excluded.needed_until) end
      returning needed_until
    )
    select former.thumbprint as former_thumbprint,
      extract(epoch from noted.needed_until - now())::float8 as needed_seconds
    from noted left join former on true`;
}

/** Notes that a key still signs, and reads how much longer another one is needed: another process may still use it. */
export function updateKeyUse(kid: string, neededSeconds: number, previousKid: string | null) {
  return sql<Pick<KeyNote, 'needed_seconds'>>`
    with noted as (
      update signing_keys
      set needed_until = greatest(needed_until, now() + make_interval(secs => ${neededSeconds}))
      where kid = ${kid}
    )
    select extract(epoch from needed_until - now())::float8 as needed_seconds
    from signing_keys where kid = ${previousKid}`;
}
