import { sql } from '@baton/kernel/sql';
import type { ClientQuestion } from './client-lookup.ts';

export interface ClientRow {
  place: number;
  id: string;
  tenant_id: string;
  principal_id: string;
  secret_hash: string;
  audiences: string[];
  scope_ceiling: string[];
  /** The first thing that stands in its way; null when nothing does. */
  refusal: string | null;
  /** What the audience allows; null when it isn't an active one of the tenant. */
  allowed_scopes: string[] | null;
  is_use_due: boolean;
  now_seconds: number;
}

/**
 * Everything that exchanges look at, in one read for all that happen at the same time; `place` is that of its question,
 * from 1. Secrets are compared by the program, in constant time. The subselects and limits are those of `findPresented`.
 */
export function findClients(questions: readonly ClientQuestion[], useIntervalSeconds: number) {
  return sql<ClientRow>`
    select asked.place, s.id, s.tenant_id, s.principal_id, s.secret_hash, s.audiences, s.scope_ceiling,
      case
        when s.revoked_at is not null then 'service_account_revoked'
        when t.status <> 'active' then 'tenant_not_active'
        when m.status is distinct from 'active' then 'membership_not_active'
        when p.status <> 'active' then 'principal_not_active'
      end as refusal,
      a.allowed_scopes,
      s.last_used_at is null or s.last_used_at <= now() - make_interval(secs => ${useIntervalSeconds}) as is_use_due,
      floor(extract(epoch from now()))::bigint as now_seconds
    from unnest((select ${questions.map(({ clientId }) => clientId)}::text[]),
      (select ${questions.map(({ audience }) => audience)}::text[])) with ordinality as asked (client_id, audience, place)
    cross join lateral (select * from service_accounts where client_id = asked.client_id limit 1) s
    cross join lateral (select status from tenants where id = s.tenant_id limit 1) t
    cross join lateral (select status from principals where id = s.principal_id limit 1) p
    left join lateral (
      select status from memberships where tenant_id = s.tenant_id and principal_id = s.principal_id limit 1) m on true
    left join lateral (
      select allowed_scopes from audiences
      where tenant_id = s.tenant_id and key = asked.audience and status = 'active' limit 1) a on true`;
}
