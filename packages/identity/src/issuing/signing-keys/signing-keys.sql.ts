import { sql } from '@baton/kernel/database/sql';
import type { SigningAlgorithm } from '../../directory/audiences/audience.ts';
import type { PublishedKey } from './signing-key.ts';

export interface KeyNote {
  kid: string;
  /** The key that had this name before. */
  former_thumbprint: string | null;
  /** How long the key is still published after it has stopped signing; null if its use was never recorded. */
  needed_seconds: number | null;
}

/** Whether audiences use an algorithm. */
export interface AlgorithmUse {
  algorithm: SigningAlgorithm;
  is_carried: boolean;
  /**
   * How long tokens signed with the algorithm may remain valid after the last audience stopped using it; null if no
   * audience ever did.
   */
  needed_seconds: number | null;
}

/**
 * Records the key of each name, and the time until which its tokens may be valid. For a signing key, that time counts
 * from now. For a previous key, the recorded time is kept; if it has no record, it may have signed just now.
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
    select ${kid}::text as kid, former.thumbprint as former_thumbprint,
      extract(epoch from noted.needed_until - now())::float8 as needed_seconds
    from noted left join former on true`;
}

/** Reads the recorded uses of keys. */
export function findKeyNotes(kids: readonly string[]) {
  return sql<KeyNote>`
    select kid, thumbprint as former_thumbprint, extract(epoch from needed_until - now())::float8 as needed_seconds
    from signing_keys where kid = any (${kids}::text[])`;
}

/**
 * Records that keys still sign. For each of `kids`, reads how much longer it is needed, because other processes may use
 * it.
 */
export function noteKeyUses(
  signing: readonly PublishedKey[],
  neededSeconds: number,
  kids: readonly string[],
) {
  return sql<Pick<KeyNote, 'kid' | 'needed_seconds'>>`
    with noted as (
      insert into signing_keys (kid, thumbprint, needed_until)
      select kid, thumbprint, now() + make_interval(secs => ${neededSeconds})
      from unnest(${signing.map(({ kid }) => kid)}::text[],
        ${signing.map(({ thumbprint }) => thumbprint)}::text[]) as key (kid, thumbprint)
      order by kid
      on conflict (kid) do update set needed_until = greatest(signing_keys.needed_until, excluded.needed_until)
    )
    select kid, extract(epoch from needed_until - now())::float8 as needed_seconds
    from signing_keys where kid = any (${kids}::text[])`;
}

/** Whether any audience, of any status, has an algorithm other than RS256. */
export function findAlgorithmUses(neededSeconds: number) {
  return sql<AlgorithmUse>`
    select asked.algorithm,
      exists (select from audiences a
        where a.signing_algorithm <> 'RS256' and a.signing_algorithm = asked.algorithm) as is_carried,
      extract(epoch from u.left_at - now())::float8 + ${neededSeconds}::float8 as needed_seconds
    from (values ('ES256'), ('EdDSA')) as asked (algorithm)
    left join signing_algorithm_uses u on u.algorithm = asked.algorithm`;
}
