import { sql } from '@baton/kernel/database/sql';
import type { DeliveryOf } from './deliveries.sql.ts';

/** Pauses that double. */
export interface PauseLengths {
  readonly baseSeconds: number;
  readonly maxSeconds: number;
}

/**
 * Pauses a recipient after a failure. Failures of attempts that were in progress when a pause began don't lengthen it.
 * @param isRefused whether the address or webhook was refused for good
 * @returns the seconds until the recipient is tried again
 */
export function upsertPause(
  { tenantId, recipientId, channel }: DeliveryOf,
  target: string,
  isRefused: boolean,
  { baseSeconds, maxSeconds }: PauseLengths,
) {
  return sql<{ paused_seconds: number }>`
    with before as materialized (
      select case when paused_until > now() then failures else least(failures + 1, 1000) end as failures
      from notification_pauses
      where recipient_id = ${recipientId} and channel = ${channel} and tenant_id = ${tenantId} and target = ${target}
        and is_refused = ${isRefused}::boolean
    ), counted as (
      select coalesce((select failures from before), 1) as failures
    )
    insert into notification_pauses as p (recipient_id, channel, tenant_id, target, failures, is_refused, paused_until)
    select ${recipientId}, ${channel}, ${tenantId}, ${target}, failures, ${isRefused},
      now() + make_interval(secs => least(${maxSeconds}::float8, ${baseSeconds}::float8 * 2 ^ least(failures - 1, 30)))
    from counted
    on conflict (recipient_id, channel) do update
      set target = excluded.target, failures = excluded.failures, is_refused = excluded.is_refused,
        paused_until = excluded.paused_until
      where p.tenant_id = excluded.tenant_id
    returning extract(epoch from paused_until - now())::float8 as paused_seconds`;
}

export function deletePause({ tenantId, recipientId, channel }: DeliveryOf) {
  return sql`
    delete from notification_pauses
    where recipient_id = ${recipientId} and channel = ${channel} and tenant_id = ${tenantId}`;
}

/** Deletes pauses that ended long ago, after which nothing was sent to the recipient. */
export function deleteOldPauses(ageSeconds: number, rowsMax: number) {
  return sql`
    delete from notification_pauses where ctid = any (array(
      select ctid from notification_pauses
      where paused_until < now() - make_interval(secs => ${ageSeconds})
      order by paused_until limit ${rowsMax} for update skip locked))`;
}
