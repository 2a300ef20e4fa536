import { sql } from '@baton/kernel/sql';
import type { RevocationEvent } from './revocation-list.ts';

/**
 * The newest events of the window. The types are literals, as in the index `events_of_revocations`; materialized, because
 * PostgreSQL would otherwise read the whole journal backwards for the order.
 */
export function findRevocationEvents(windowSeconds: number, rowsMax: number) {
  return sql<RevocationEvent>`
    with recent as materialized (
      select sequence, type, aggregate_id, payload, occurred_at from events
      where type in ('principal.disabled', 'principal.enabled', 'credential.revoked', 'tenant.updated')
        and occurred_at > now() - make_interval(secs => ${windowSeconds})
    )
    select type, aggregate_id, payload ->> 'status' as status,
      floor(extract(epoch from occurred_at))::bigint as at_seconds,
      floor(extract(epoch from (payload ->> 'sessionsNotBefore')::timestamptz))::bigint as sessions_not_before
    from recent order by sequence desc limit ${rowsMax}`;
}
