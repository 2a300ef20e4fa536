import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';

/** A user name of one source, and the request that has reserved it. */
export interface Reservation {
  readonly sourceId: string;
  readonly tenantId: string;
  readonly userName: string;
  readonly holder: string;
}

export type ReservationRow = Pick<RowOf<Tables['upstream_accounts']>, 'upstream_id' | 'is_tried'> & {
  /** The start of the first attempt with an unknown outcome, if `is_tried`: milliseconds since 1970. */
  first_tried_ms: number;
};

/** Returns no row while another request has reserved the name. */
export function insertReservation({ sourceId, tenantId, userName, holder }: Reservation, secondsMax: number) {
  return sql<ReservationRow>`
    insert into upstream_accounts as a (provisioning_source_id, tenant_id, name_hash, held_by, held_until)
    values (${sourceId}, ${tenantId}, encode(sha256(convert_to(lower(${userName}), 'UTF8')), 'hex'), ${holder},
      now() + make_interval(secs => ${secondsMax}))
    on conflict (provisioning_source_id, name_hash) do update
      set held_by = excluded.held_by, held_until = excluded.held_until, is_tried = a.upstream_id is null,
        tried_at = case when a.upstream_id is null then a.tried_at else now() end
      where a.held_until <= now()
    returning upstream_id, is_tried, extract(epoch from tried_at)::float8 * 1000 as first_tried_ms`;
}

/** Changes nothing when the reservation has ended. */
export function updateReservedAccount({ sourceId, userName, holder }: Reservation, upstreamId: string) {
  return sql`
    update upstream_accounts set upstream_id = ${upstreamId}
    where provisioning_source_id = ${sourceId} and held_by = ${holder}
      and name_hash = encode(sha256(convert_to(lower(${userName}), 'UTF8')), 'hex')`;
}

/**
 * Ends the reservation of a creation that is finished or has definitely created no account. Changes nothing when the
 * reservation has ended.
 */
export function deleteReservation({ sourceId, userName, holder }: Reservation) {
  return sql`
    delete from upstream_accounts
    where provisioning_source_id = ${sourceId} and held_by = ${holder}
      and name_hash = encode(sha256(convert_to(lower(${userName}), 'UTF8')), 'hex')`;
}

/** Releases the name. The account, if any, is stored for the next request with the name. */
export function endReservation({ sourceId, userName, holder }: Reservation, upstreamId: string | null) {
  return sql`
    update upstream_accounts set upstream_id = ${upstreamId}, held_until = now(), held_by = null
    where provisioning_source_id = ${sourceId} and held_by = ${holder}
      and name_hash = encode(sha256(convert_to(lower(${userName}), 'UTF8')), 'hex')`;
}

/** Stores the account of a deleted user, for a user that is created later with that name. */
export function insertLeftAccount({ sourceId, tenantId, userName }: Omit<Reservation, 'holder'>, id: string) {
  return sql`
    insert into upstream_accounts (provisioning_source_id, tenant_id, name_hash, upstream_id, held_until)
    values (${sourceId}, ${tenantId}, encode(sha256(convert_to(lower(${userName}), 'UTF8')), 'hex'), ${id}, now())
    on conflict (provisioning_source_id, name_hash) do update set upstream_id = excluded.upstream_id`;
}
