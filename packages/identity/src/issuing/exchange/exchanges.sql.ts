import { sql } from '@baton/kernel/database/sql';
import type { AuditKey } from '../../records/audit-chain/audit-key.ts';
import { encodeRecords } from '../../records/audit-chain/record-mac.ts';
import type { AuditDraft } from '../../records/drafts.ts';
import type { ClientQuery, ClientRow, TokenQuery, TokenRow } from './credential.ts';

/**
 * Reads all data that exchanges of platform access tokens check, in one statement for all concurrent exchanges. Secrets
 * are compared by the program, in constant time.
 *
 * The subselects around the arrays hide the number of tokens from PostgreSQL, which would otherwise plan the statement
 * again each time; that takes longer than the read. `limit 1` keeps the plan on each table's index, however few rows
 * the table had when the plan was made.
 */
export function findTokens(queries: readonly TokenQuery[], useIntervalSeconds: number) {
  return sql<TokenRow>`
    select asked.place, c.id, c.tenant_id, c.principal_id, c.name, c.public_prefix, c.public_prefix as client_id, c.secret_hash, c.audiences,
      c.scope_ceiling, c.acr, c.auth_time, c.created_at, c.expires_at, p.kind as principal_kind, p.display_name,
      case
        when c.revoked_at is not null or c.generation < p.token_generation then 'credential_revoked'
        when c.expires_at <= now() then 'credential_expired'
        when t.status <> 'active' then 'tenant_not_active'
        when m.status is distinct from 'active' then 'membership_not_active'
        when p.status <> 'active' then 'principal_not_active'
      end as refusal,
      a.allowed_scopes, a.signing_algorithm,
      c.last_used_at is null or c.last_used_at <= now() - make_interval(secs => ${useIntervalSeconds}) as is_use_due,
      floor(extract(epoch from now()))::bigint as now_seconds
    from unnest((select ${queries.map(({ publicPrefix }) => publicPrefix)}::text[]),
      (select ${queries.map(({ kind }) => kind)}::text[]),
      (select ${queries.map(({ audience }) => audience)}::text[]))
      with ordinality as asked (public_prefix, kind, audience, place)
    cross join lateral (
      select * from platform_access_tokens where public_prefix = asked.public_prefix and kind = asked.kind limit 1) c
    cross join lateral (select status from tenants where id = c.tenant_id limit 1) t
    cross join lateral (
      select kind, display_name, status, token_generation from principals where id = c.principal_id limit 1) p
    left join lateral (
      select status from memberships where tenant_id = c.tenant_id and principal_id = c.principal_id limit 1) m on true
    left join lateral (
      select allowed_scopes, signing_algorithm from audiences
      where tenant_id = c.tenant_id and key = asked.audience and status = 'active' limit 1) a on true`;
}

/** Like `findTokens`, for exchanges of client credentials. */
export function findClients(queries: readonly ClientQuery[], useIntervalSeconds: number) {
  return sql<ClientRow>`
    select asked.place, s.id, s.tenant_id, s.principal_id, s.client_id, s.secret_hash, s.audiences,
      s.scope_ceiling,
      case
        when s.revoked_at is not null then 'service_account_revoked'
        when t.status <> 'active' then 'tenant_not_active'
        when m.status is distinct from 'active' then 'membership_not_active'
        when p.status <> 'active' then 'principal_not_active'
      end as refusal,
      a.allowed_scopes, a.signing_algorithm,
      s.last_used_at is null or s.last_used_at <= now() - make_interval(secs => ${useIntervalSeconds}) as is_use_due,
      floor(extract(epoch from now()))::bigint as now_seconds
    from unnest((select ${queries.map(({ clientId }) => clientId)}::text[]),
      (select ${queries.map(({ audience }) => audience)}::text[])) with ordinality as asked (client_id, audience, place)
    cross join lateral (select * from service_accounts where client_id = asked.client_id limit 1) s
    cross join lateral (select status from tenants where id = s.tenant_id limit 1) t
    cross join lateral (select status from principals where id = s.principal_id limit 1) p
    left join lateral (
      select status from memberships where tenant_id = s.tenant_id and principal_id = s.principal_id limit 1) m on true
    left join lateral (
      select allowed_scopes, signing_algorithm from audiences
      where tenant_id = s.tenant_id and key = asked.audience and status = 'active' limit 1) a on true`;
}

/** One audit row, and the credential whose last use is updated, if any. */
export interface LedgerEntry {
  readonly audit: AuditDraft;
  readonly used?:
    | readonly ['platform_access_token' | 'service_account' | 'workload_rule', string]
    | undefined;
}

/**
 * Writes audit rows and last uses in one statement. A credential that another transaction has locked is skipped: it is
 * being used, rotated or revoked, and waiting for it would delay every other exchange (two processes could even
 * deadlock). The rows belong to different exchanges, so their order doesn't matter. The subselects hide the number of
 * ids from PostgreSQL, which would otherwise plan the statement again each time.
 */
export function insertLedgerEntries(entries: readonly LedgerEntry[], key: AuditKey | undefined) {
  const idsUsed = (kind: string) => [
    ...new Set(entries.flatMap(({ used }) => (used?.[0] === kind ? [used[1]] : []))),
  ];
  const records = encodeRecords(
    entries.map(({ audit }) => audit),
    key,
  );
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
    ), rule as materialized (
      select id from workload_rules where id = any ((select ${idsUsed('workload_rule')}::uuid[])::uuid[])
      for no key update skip locked
    ), used_rules as (
      update workload_rules r set last_used_at = now() from rule where r.id = rule.id
    )
    insert into audit_records (
      id, tenant_id, action, actor_ref, resource_type, resource_id, outcome, reason, request_id, written_at, mac)
    select id, tenant_id, action, actor_ref, resource_type, resource_id, outcome, reason, request_id, written_at,
      decode(mac, 'hex')
    from json_to_recordset(${records}::json) as d (
      id uuid, tenant_id uuid, action text, actor_ref text, resource_type text, resource_id uuid, outcome text,
      reason text, request_id text, written_at timestamptz, mac text)`;
}
