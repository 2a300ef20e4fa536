import { sql } from '@baton/kernel/sql';

/** Whose name it is: a user name of one source. */
export interface NameHold {
  readonly sourceId: string;
  readonly tenantId: string;
  readonly userName: string;
  /** The request that holds it. */
  readonly holder: string;
}

export interface HeldNameRow {
  /** An account that is left from before. */
  upstream_id: string | null;
  /** Somebody tried before, and nobody knows what came of it. */
  is_tried: boolean;
  first_tried_ms: number;
}

/** No row while another request holds the name. */
export function holdName({ sourceId, tenantId, userName, holder }: NameHold, secondsMax: number) {
  return sql<HeldNameRow>`
    insert into upstream_accounts as a (provisioning_source_id, tenant_id, name_hash, held_by, held_until)
    values (${sourceId}, ${tenantId}, encode(sha256(convert_to(lower(${userName}), 'UTF8')), 'hex'), ${holder},
      now() + make_interval(secs => ${secondsMax}))
    on conflict (provisioning_source_id, name_hash) do update
      set held_by = excluded.held_by, held_until = excluded.held_until, is_tried = a.upstream_id is null,
        tried_at = case when a.upstream_id is null then a.tried_at else now() end
      where a.held_until <= now()
    returning upstream_id, is_tried, extract(epoch from tried_at)::float8 * 1000 as first_tried_ms`;
}

/** No row when the hold has ended. */
export function noteAccount({ sourceId, userName, holder }: NameHold, upstreamId: string) {
  return sql`
    update upstream_accounts set upstream_id = ${upstreamId}
    where provisioning_source_id = ${sourceId} and held_by = ${holder}
      and name_hash = encode(sha256(convert_to(lower(${userName}), 'UTF8')), 'hex')`;
}

/** Of a creation that came to its end, or surely to nothing; no row when the hold was lost meanwhile. */
export function dropName({ sourceId, userName, holder }: NameHold) {
  return sql`
    delete from upstream_accounts
    where provisioning_source_id = ${sourceId} and held_by = ${holder}
      and name_hash = encode(sha256(convert_to(lower(${userName}), 'UTF8')), 'hex')`;
}

/** Lets go of a name and keeps what is known of its account. */
export function keepName({ sourceId, userName, holder }: NameHold, upstreamId: string | null) {
  return sql`
    update upstream_accounts set upstream_id = ${upstreamId}, held_until = now(), held_by = null
    where provisioning_source_id = ${sourceId} and held_by = ${holder}
      and name_hash = encode(sha256(convert_to(lower(${userName}), 'UTF8')), 'hex')`;
}

/** The account of a user who is deleted here: whoever comes back under the name gets it again. */
export function insertLeftAccount({ sourceId, tenantId, userName }: Omit<NameHold, 'holder'>, id: string) {
  return sql`
    insert into upstream_accounts (provisioning_source_id, tenant_id, name_hash, upstream_id, held_until)
    values (${sourceId}, ${tenantId}, encode(sha256(convert_to(lower(${userName}), 'UTF8')), 'hex'), ${id}, now())
    on conflict (provisioning_source_id, name_hash) do update set upstream_id = excluded.upstream_id`;
}
