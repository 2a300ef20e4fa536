import { sql } from '@baton/kernel/sql';
import type { PrincipalRow } from '../../directory/principals/principal.ts';
import type { PresentedQuestion } from './presented-lookup.ts';

export interface PresentedRow {
  place: number;
  id: string;
  tenant_id: string;
  principal_id: string;
  name: string;
  public_prefix: string;
  secret_hash: string;
  audiences: string[];
  scope_ceiling: string[];
  acr: string | null;
  auth_time: string | null;
  created_at: string;
  expires_at: string;
  principal_kind: PrincipalRow['kind'];
  display_name: string;
  /** The first thing that stands in its way; null when nothing does. */
  refusal: string | null;
  /** What the audience allows; null when it isn't an active one of the tenant. */
  allowed_scopes: string[] | null;
  is_use_due: boolean;
  now_seconds: number;
}

/**
 * Everything that exchanges look at, in one read for all that happen at the same time; `place` is that of its question, from 1.
 * Secrets are compared by the program, in constant time.
 *
 * PostgreSQL must not see how many are asked, or it plans anew each time, which takes longer than the read: hence the
 * subselects around the arrays. `limit 1` holds every table to its index, however few rows the plan was made for.
 */
export function findPresented(questions: readonly PresentedQuestion[], useIntervalSeconds: number) {
  return sql<PresentedRow>`
    select asked.place, c.id, c.tenant_id, c.principal_id, c.name, c.public_prefix, c.secret_hash, c.audiences,
      c.scope_ceiling, c.acr, c.auth_time, c.created_at, c.expires_at, p.kind as principal_kind, p.display_name,
      case
        when c.revoked_at is not null then 'credential_revoked'
        when c.expires_at <= now() then 'credential_expired'
        when t.status <> 'active' then 'tenant_not_active'
        when m.status is distinct from 'active' then 'membership_not_active'
        when p.status <> 'active' then 'principal_not_active'
      end as refusal,
      a.allowed_scopes,
      c.last_used_at is null or c.last_used_at <= now() - make_interval(secs => ${useIntervalSeconds}) as is_use_due,
      floor(extract(epoch from now()))::bigint as now_seconds
    from unnest((select ${questions.map(({ publicPrefix }) => publicPrefix)}::text[]),
      (select ${questions.map(({ kind }) => kind)}::text[]),
      (select ${questions.map(({ audience }) => audience)}::text[]))
      with ordinality as asked (public_prefix, kind, audience, place)
    cross join lateral (
      select * from platform_access_tokens where public_prefix = asked.public_prefix and kind = asked.kind limit 1) c
    cross join lateral (select status from tenants where id = c.tenant_id limit 1) t
    cross join lateral (select kind, display_name, status from principals where id = c.principal_id limit 1) p
    left join lateral (
      select status from memberships where tenant_id = c.tenant_id and principal_id = c.principal_id limit 1) m on true
    left join lateral (
      select allowed_scopes from audiences
      where tenant_id = c.tenant_id and key = asked.audience and status = 'active' limit 1) a on true`;
}
