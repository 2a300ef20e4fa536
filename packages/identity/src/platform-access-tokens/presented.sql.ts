import { sql } from '@baton/kernel/sql';
import type { PrincipalKind } from '../principals/principals.events.ts';
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
  principal_kind: PrincipalKind;
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
    from unnest(${questions.map(({ publicPrefix }) => publicPrefix)}::text[],
      ${questions.map(({ kind }) => kind)}::text[], ${questions.map(({ audience }) => audience)}::text[])
      with ordinality as asked (public_prefix, kind, audience, place)
    join platform_access_tokens c on c.public_prefix = asked.public_prefix and c.kind = asked.kind
    join tenants t on t.id = c.tenant_id
    join principals p on p.id = c.principal_id
    left join memberships m on m.tenant_id = c.tenant_id and m.principal_id = c.principal_id
    left join audiences a on a.tenant_id = c.tenant_id and a.key = asked.audience and a.status = 'active'`;
}
