import { sql } from '@baton/kernel/database/sql';
import type { RevocationEvent } from './revocation-list.ts';

/**
 * The newest event of each principal, credential, tenant and identity provider within the window; for each tenant, at
 * most one more than its share of the list. The types are literals, as in the index `events_of_revocations`. The
 * subquery is materialized, because PostgreSQL would otherwise read the whole journal backwards for the order.
 */
export function findRevocationEvents(windowSeconds: number, rowsOfTenantMax: number, rowsMax: number) {
  return sql<RevocationEvent>`
    with recent as materialized (
      select sequence, tenant_id, type, aggregate_id, payload, occurred_at from events
      where type in ('principal.disabled', 'principal.enabled', 'credential.revoked', 'tenant.updated',
          'identity_provider.disabled', 'identity_provider.enabled', 'browser_session.revoked',
          'workload_rule.disabled', 'workload_rule.enabled', 'workload_rule.deleted')
        and occurred_at > now() - make_interval(secs => ${windowSeconds})
    ), newest as (
      select distinct on (aggregate_id) * from recent order by aggregate_id, sequence desc
    ), ranked as (
      select *, row_number() over (partition by tenant_id order by sequence desc) as place from newest
    )
    select tenant_id, type, aggregate_id, payload ->> 'status' as status, payload ->> 'key' as key,
      floor(extract(epoch from occurred_at))::bigint as at_seconds,
      floor(extract(epoch from (payload ->> 'sessionsNotBefore')::timestamptz))::bigint as sessions_not_before
    from ranked where place <= ${rowsOfTenantMax} order by sequence desc limit ${rowsMax}`;
}
