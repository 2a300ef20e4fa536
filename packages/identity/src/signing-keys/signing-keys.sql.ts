import { sql } from '@baton/kernel/sql';

/** Notes which key is used under a name, and returns the one that was noted before. */
export function rememberKey(kid: string, thumbprint: string) {
  return sql<{ former_thumbprint: string }>`
    with former as (
      select thumbprint from signing_keys where kid = ${kid}
    ), noted as (
      insert into signing_keys (kid, thumbprint) values (${kid}, ${thumbprint})
      on conflict (kid) do update set thumbprint = excluded.thumbprint, first_seen_at = now()
        where signing_keys.thumbprint <> excluded.thumbprint
    )
    select thumbprint as former_thumbprint from former`;
}
