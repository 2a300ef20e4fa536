import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';

type GrantedRoleRow = Pick<RowOf<Tables['access_roles']>, 'key' | 'permissions'>;

/** Keeps a role unchanged until the commit. A key is too short to be an id. */
export function shareAccessRole(tenantId: string, ref: string) {
  return sql<GrantedRoleRow>`
    select key, permissions from access_roles where tenant_id = ${tenantId} and (key = ${ref} or id::text = ${ref})
    for share`;
}
