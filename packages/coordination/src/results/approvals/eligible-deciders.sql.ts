import { sql } from '@baton/kernel/database/sql';
import type { EligibleDeciders } from './eligible-decider.ts';

/** Maximum number of bindings, and of keys, that are read per tenant. */
const grantsMax = 1_000;

export interface DecidersOf {
  tenantId: string;
  taskId: string;
  /** The caller, if their visibility is limited; null for a caller who sees everything. */
  viewerId: string | null;
  limit: number;
}

/**
 * The people whose binding or key permits decisions and who may see the task, its owner first, and the roles that one
 * of them holds where the request would be decided: in the tenant, in the task's workspace or in an ancestor. Only the
 * newest grants and the owner's are read. The permissions are literals, as in the indexes `iam_bindings_of_deciders`
 * and `api_keys_of_deciders`; `admin` covers every permission.
 */
export function findEligibleDeciders({ tenantId, taskId, viewerId, limit }: DecidersOf) {
  return sql<EligibleDeciders>`
    with place as materialized (
      select t.owner_id, t.workspace_id, coalesce(w.path, '{}') as path
      from tasks t left join workspaces w on w.id = t.workspace_id
      where t.id = ${taskId} and t.tenant_id = ${tenantId}
    ), by_binding as materialized (
      select principal_id from iam_bindings
      where tenant_id = ${tenantId} and status = 'active' and permissions && '{approvals.decide,admin}'
      order by created_at desc, id desc limit ${grantsMax}
    ), by_key as materialized (
      select principal_id from api_keys
      where tenant_id = ${tenantId} and revoked_at is null and permissions && '{approvals.decide,admin}'
      order by created_at desc, id desc limit ${grantsMax}
    ), candidate as materialized (
      select principal_id as id from by_binding union select principal_id from by_key union select owner_id from place
    ), person as materialized (
      select p.id, p.display_name, p.id is not distinct from place.owner_id as is_owner
      from place cross join candidate
      join principals p on p.id = candidate.id and p.tenant_id = ${tenantId} and p.kind = 'human' and p.status = 'active'
      where (exists (
          select from iam_bindings b
          where b.principal_id = p.id and b.status = 'active' and b.permissions && '{approvals.decide,admin}')
        or exists (
          select from api_keys k
          where k.principal_id = p.id and k.revoked_at is null and (k.expires_at is null or k.expires_at > clock_timestamp())
            and k.permissions && '{approvals.decide,admin}'))
        and (not exists (
            select from iam_bindings b
            where b.principal_id = p.id and b.status = 'active' and b.visibility = 'members')
          or sees_workspace(p.id, place.workspace_id))
    ), role as materialized (
      select distinct r.id, r.slug, r.name
      from place, person
      join role_assignments a on a.principal_id = person.id
      join roles r on r.id = a.role_id
      where (a.workspace_id is null or a.workspace_id = any (place.path)) and sees_workspace(${viewerId}, r.workspace_id)
    )
    select
      (select coalesce(jsonb_agg(jsonb_build_object('id', id, 'displayName', display_name)
          order by is_owner desc, display_name, id), '[]')
        from (select * from person order by is_owner desc, display_name, id limit ${limit}) as shown) as people,
      (select coalesce(jsonb_agg(jsonb_build_object('id', id, 'slug', slug, 'name', name) order by slug, id), '[]')
        from (select * from role order by slug, id limit ${limit}) as shown) as roles,
      (select count(*) > ${limit} from person) or (select count(*) > ${limit} from role)
        or (select count(*) = ${grantsMax} from by_binding) or (select count(*) = ${grantsMax} from by_key) as "hasMore"
    from place`;
}
