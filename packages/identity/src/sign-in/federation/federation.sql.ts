import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';

type AudienceColumns = RowOf<Tables['audiences']>;

/** The basis of a grant. */
export interface GrantBasisRow {
  /** Null if the requested audience isn't an active audience of the tenant. */
  allowed_scopes: AudienceColumns['allowed_scopes'] | null;
  /** Null likewise. */
  signing_algorithm: AudienceColumns['signing_algorithm'] | null;
  /** The subset of `groupKeys` to which the person belongs. */
  member_of: string[];
  now_seconds: number;
}

/** A privileged scope requires membership in an active `local` group; the source of the membership doesn't matter. */
export function findGrantBasis(wanted: {
  tenantId: string;
  principalId: string;
  audience: string;
  groupKeys: readonly string[];
}) {
  return sql<GrantBasisRow>`
    select a.allowed_scopes, a.signing_algorithm,
      array(
        select g.key from groups g join group_members m on m.group_id = g.id
        where g.tenant_id = ${wanted.tenantId} and m.principal_id = ${wanted.principalId}
          and g.key = any (${wanted.groupKeys}::text[]) and g.source = 'local' and g.status = 'active'
          and g.deleted_at is null) as member_of,
      floor(extract(epoch from now()))::bigint as now_seconds
    from (values (1)) as one (row)
    left join audiences a
      on a.tenant_id = ${wanted.tenantId} and a.key = ${wanted.audience} and a.status = 'active'`;
}

/**
 * A stated time that is further in the future than this proves nothing: a token with such a time would seem fresh for
 * as long as it is used.
 */
const clockLeewaySeconds = 60;

/** Records the sign-in, after which platform access tokens may be issued for a limited time. */
export function insertFederatedContext(context: {
  id: string;
  tenantId: string;
  principalId: string;
  externalIdentityId: string;
  issuer: string;
  acr: string | null;
  amr: readonly string[];
  /** The current time is stored if this is null or in the future. */
  authTime: string | null;
}) {
  return sql<{ id: string; auth_time: string }>`
    insert into authentication_contexts (id, tenant_id, principal_id, external_identity_id, issuer, acr, amr, auth_time,
      is_time_stated, source)
    values (${context.id}, ${context.tenantId}, ${context.principalId}, ${context.externalIdentityId},
      ${context.issuer}, ${context.acr}, ${context.amr}, least(${context.authTime}::timestamptz, now()),
      coalesce(${context.authTime}::timestamptz <= now() + make_interval(secs => ${clockLeewaySeconds}), false),
      'federation')
    returning id, auth_time`;
}
