import { sql } from '@baton/kernel/database/sql';
import type { AuthenticationContextRow } from './authentication-context.ts';

export interface NewContext {
  id: string;
  tenantId: string;
  principalId: string;
  externalIdentityId: string | null;
  issuer: string;
  acr: string | null;
  amr: readonly string[];
  /** In RFC 3339 format. Null, or a time in the future, means now. */
  authTime: string | null;
}

export function insertContext(context: NewContext) {
  return sql<AuthenticationContextRow>`
    insert into authentication_contexts (id, tenant_id, principal_id, external_identity_id, issuer, acr, amr, auth_time,
      source)
    values (${context.id}, ${context.tenantId}, ${context.principalId}, ${context.externalIdentityId},
      ${context.issuer}, ${context.acr}, ${context.amr}, least(${context.authTime}::timestamptz, now()), 'bootstrap')
    returning id, principal_id, issuer, acr, amr, auth_time, recorded_at`;
}

/** `is_expired`: older than the given age; an equal age passes. */
export function findNewestContext(person: { tenantId: string; principalId: string }, ageSecondsMax: number) {
  return sql<AuthenticationContextRow & { is_expired: boolean }>`
    select id, principal_id, issuer, acr, amr, auth_time, recorded_at,
      recorded_at < now() - make_interval(secs => ${ageSecondsMax}) as is_expired
    from authentication_contexts
    where tenant_id = ${person.tenantId} and principal_id = ${person.principalId}
    order by recorded_at desc
    limit 1`;
}
