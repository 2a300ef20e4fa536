import { sql } from '@baton/kernel/sql';

export interface GroupRow {
  id: string;
  tenant_id: string;
  key: string;
  name: string;
  status: 'active' | 'disabled';
}

export interface MemberRow {
  id: string;
  tenant_id: string;
  group_id: string;
  principal_id: string;
}

/** No row when the key is taken; a rival that takes it at this moment is waited for. */
export function insertGroup(group: { id: string; tenantId: string; key: string; name: string }) {
  return sql<GroupRow>`
    insert into groups (id, tenant_id, key, name, source)
    values (${group.id}, ${group.tenantId}, ${group.key}, ${group.name}, 'local')
    on conflict (tenant_id, key) do nothing
    returning id, tenant_id, key, name, status`;
}

export function findGroup(tenantId: string, groupId: string) {
  return sql<{ id: string; source: 'local' | 'federated' | 'scim' }>`
    select id, source from groups where id = ${groupId} and tenant_id = ${tenantId}`;
}

/** No row when the principal is a member from any source. */
export function insertMember(member: { id: string; tenantId: string; groupId: string; principalId: string }) {
  return sql<MemberRow>`
    insert into group_members (id, tenant_id, group_id, principal_id, source)
    values (${member.id}, ${member.tenantId}, ${member.groupId}, ${member.principalId}, 'local')
    on conflict (group_id, principal_id) do nothing
    returning id, tenant_id, group_id, principal_id`;
}
