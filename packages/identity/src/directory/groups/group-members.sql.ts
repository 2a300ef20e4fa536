import { sql } from '@baton/kernel/database/sql';
import type { CreatedPage } from '../../service/pages.ts';
import type { MemberRow, MembershipRow } from './group-member.ts';

/** Returns no row if the principal is a member already, from any source. */
export function insertMember(member: { id: string; tenantId: string; groupId: string; principalId: string }) {
  return sql<MembershipRow>`
    insert into group_members (id, tenant_id, group_id, principal_id, source)
    values (${member.id}, ${member.tenantId}, ${member.groupId}, ${member.principalId}, 'local')
    on conflict (group_id, principal_id) do nothing
    returning id, tenant_id, group_id, principal_id`;
}

/** Reads one row more than the page size. Only the principals on the page are read, however large the group is. */
export function findMembers(tenantId: string, groupId: string, page: CreatedPage) {
  return sql<MemberRow>`
    select m.principal_id as id, p.kind, p.display_name, p.status, m.source, m.created_at
    from (
      select principal_id, source, created_at from group_members
      where group_id = ${groupId} and tenant_id = ${tenantId}
        and (created_at, principal_id) > (${page.after[0]}::timestamptz, ${page.after[1]}::uuid)
      order by created_at, principal_id
      limit ${page.limit + 1}
    ) m
    join principals p on p.id = m.principal_id
    order by m.created_at, m.principal_id`;
}

export function deleteMember(tenantId: string, groupId: string, principalId: string) {
  return sql<Pick<MembershipRow, 'principal_id'>>`
    delete from group_members
    where tenant_id = ${tenantId} and group_id = ${groupId} and principal_id = ${principalId}
    returning principal_id`;
}

export function countMembers(groupId: string) {
  return sql<{ count: number }>`select count(*) as count from group_members where group_id = ${groupId}`;
}

/** Deletes the oldest memberships; skips rows that other transactions have locked. */
export function deleteMembers(groupId: string, rowsMax: number) {
  return sql<Pick<MembershipRow, 'principal_id'>>`
    with due as materialized (
      select id from group_members where group_id = ${groupId}
      order by created_at, principal_id limit ${rowsMax}
      for update skip locked
    )
    delete from group_members m using due where m.id = due.id
    returning principal_id`;
}

export function hasMembers(groupId: string) {
  return sql<{ has_more: boolean }>`
    select exists (select 1 from group_members where group_id = ${groupId}) as has_more`;
}
