import { sql } from '@baton/kernel/sql';
import type { LedgerEntry } from './exchange-ledger.ts';

/**
 * Audit rows and last uses in one statement. A row that somebody else holds is skipped: it is being used, rotated or
 * revoked at this moment, and waiting for it would hold up every other exchange (two processes could even wait for each
 * other). The subselects hide from PostgreSQL how many ids there are, or it would plan anew each time.
 */
export function recordExchanges(entries: readonly LedgerEntry[]) {
  const idsUsed = (kind: string) => [
    ...new Set(entries.flatMap(({ used }) => (used?.[0] === kind ? [used[1]] : []))),
  ];
  const drafts = JSON.stringify(entries.map(({ audit }, n) => ({ ...audit, n })));
  return sql`
    with token as materialized (
      select id from platform_access_tokens where id = any ((select ${idsUsed('platform_access_token')}::uuid[])::uuid[])
      for no key update skip locked
    ), used_tokens as (
      update platform_access_tokens p set last_used_at = now() from token where p.id = token.id
    ), account as materialized (
      select id from service_accounts where id = any ((select ${idsUsed('service_account')}::uuid[])::uuid[])
      for no key update skip locked
    ), used_accounts as (
      update service_accounts s set last_used_at = now() from account where s.id = account.id
    )
    insert into audit_records (tenant_id, action, actor_ref, resource_type, resource_id, outcome, reason, request_id)
    select tenant_id, action, actor_ref, resource_type, resource_id, outcome, reason, request_id
    from jsonb_to_recordset(${drafts}::jsonb) as d (
      n integer, tenant_id uuid, action text, actor_ref text, resource_type text, resource_id uuid, outcome text,
      reason text, request_id text)
    order by n`;
}
