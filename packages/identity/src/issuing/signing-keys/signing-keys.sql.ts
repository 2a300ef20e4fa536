import { sql } from '@baton/kernel/sql';

export interface KeyNote {
  /** The key that was noted under the name before. */
  former_thumbprint: string | null;
  /** How much longer it is to be published once it signs no more. */
  needed_seconds: number;
}

/**
 * Notes which key has a name, and until when tokens of it may be live. A key that signs is needed from now on; of one that
 * signs no more, what is known stands, and one that is seen for the first time may just have signed.
 */
export function noteKey(kid: string, thumbprint: string, neededSeconds: number, isSigning: boolean) {
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

/** Notes that a key still signs, and reads how much longer another one is needed: a process beside may still use it. */
export function noteKeyUse(kid: string, neededSeconds: number, previousKid: string | null) {
  return sql<Pick<KeyNote, 'needed_seconds'>>`
    with noted as (
      update signing_keys
      set needed_until = greatest(needed_until, now() + make_interval(secs => ${neededSeconds}))
      where kid = ${kid}
    )
    select extract(epoch from needed_until - now())::float8 as needed_seconds
    from signing_keys where kid = ${previousKid}`;
}
