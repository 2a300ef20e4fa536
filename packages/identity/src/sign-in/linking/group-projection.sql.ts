import { sql } from '@baton/kernel/database/sql';

/** Inserts the groups that are missing, in the order of their keys, and returns them. Waits for concurrent inserts. */
export function insertFederatedGroups(
  tenantId: string,
  groups: readonly { readonly id: string; readonly key: string }[],
) {
  return sql<{ id: string; key: string }>`
    insert into groups (id, tenant_id, key, name, source)
    select made.id, ${tenantId}, made.key, made.key, 'federated'
    from unnest(${groups.map(({ id }) => id)}::uuid[], ${groups.map(({ key }) => key)}::text[]) as made (id, key)
    order by made.key
    on conflict (tenant_id, key) where deleted_at is null do nothing
    returning id, key`;
}

/** The lock prevents the deletion of the groups until the person is added. A deleted group is left out. */
export function lockGroupsByKey(tenantId: string, keys: readonly string[]) {
  return sql<{ id: string; key: string }>`
    select id, key from groups
    where tenant_id = ${tenantId} and key = any (${keys}::text[]) and deleted_at is null
    order by key collate "C"
    for key share`;
}

export interface Projection {
  tenantId: string;
  principalId: string;
  providerId: string;
  groupIds: readonly string[];
}

/** Deletes only memberships that come from this provider. */
export function deleteOtherMemberships({ tenantId, principalId, providerId, groupIds }: Projection) {
  return sql<{ group_id: string }>`
    delete from group_members
    where tenant_id = ${tenantId} and principal_id = ${principalId} and source = 'federated'
      and identity_provider_id = ${providerId} and group_id <> all (${groupIds}::uuid[])
    returning group_id`;
}

/** An existing membership from another source stays unchanged. */
export function insertMemberships({ tenantId, principalId, providerId, groupIds }: Projection) {
  return sql<{ group_id: string }>`
    insert into group_members (id, tenant_id, group_id, principal_id, source, identity_provider_id)
    select gen_random_uuid(), ${tenantId}, wanted.id, ${principalId}, 'federated', ${providerId}
    from unnest(${groupIds}::uuid[]) as wanted (id)
    on conflict (group_id, principal_id) do nothing
    returning group_id`;
}

export function findProjectedGroups(person: Omit<Projection, 'groupIds'>) {
  return sql<{ key: string }>`
    select g.key from group_members m join groups g on g.id = m.group_id
    where m.tenant_id = ${person.tenantId} and m.principal_id = ${person.principalId} and m.source = 'federated'
      and m.identity_provider_id = ${person.providerId} and g.deleted_at is null
    order by g.key collate "C"`;
}
