import type { Json, JsonObject } from '@baton/values/wire';
import { groupMembershipAdded, groupMembershipRemoved } from '../../../directory/groups/groups.events.ts';
import { emit } from '../../../records/journal/journal.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { sourceOf } from '../access/scim-access.ts';
import type { Filter } from '../filter/filter-grammar.ts';
import type { PatchOperation } from '../patch/operations.ts';
import { attributeNamed, sameName } from '../protocol/attributes.ts';
import { parseAttribute, refuseValue } from '../protocol/documents.ts';
import { isId } from '../protocol/resource-meta.ts';
import { groupKind } from '../protocol/schemas.ts';
import { deleteMembers, deleteMembersExcept, insertMembers, lockUsers } from './groups.sql.ts';

/** A change to a group's members, never the whole list, so that changing one member touches only one row. */
export interface MemberChange {
  readonly kind: 'add' | 'remove' | 'replace';
  readonly userIds: readonly string[];
}

const membersAttribute = attributeNamed(groupKind.core.attributes, 'members');

/**
 * The users in a list of members. @throws Refusal `scim_invalid_value` for a string that can't be the id of a user
 */
export function memberIdsOf(value: Json | undefined): string[] {
  if (membersAttribute === undefined) return [];
  const elements = (parseAttribute(membersAttribute, value ?? null) ?? []) as JsonObject[];
  return [
    ...new Set(
      elements.map(({ value: id, type }) => {
        // A group is never a member of a group.
        if (typeof type === 'string' && !sameName(type, 'User')) return refuseValue('members');
        return typeof id === 'string' && isId(id) ? id.toLowerCase() : refuseValue('members');
      }),
    ),
  ];
}

/** What an operation does to `members`. @throws Refusal `scim_invalid_path`, `scim_invalid_value` */
export function memberChangeOf({ verb, target, value }: PatchOperation): MemberChange {
  if (target.sub !== undefined) return fail('scim_invalid_path');
  if (target.filter !== undefined) {
    const userIds = idsOf(target.filter) ?? fail('scim_invalid_path');
    if (verb !== 'remove') return fail('scim_invalid_path');
    return { kind: 'remove', userIds };
  }
  if (verb !== 'remove') return { kind: verb, userIds: memberIdsOf(value) };
  const isAll = value === undefined || value === null;
  return isAll ? { kind: 'replace', userIds: [] } : { kind: 'remove', userIds: memberIdsOf(value) };
}

/** The ids in `value eq "…"`, or in several such comparisons joined by `or`; undefined for any other filter. */
function idsOf(filter: Filter): string[] | undefined {
  if (filter.kind === 'or') {
    const parts = filter.of.map(idsOf);
    return parts.includes(undefined) ? undefined : (parts as string[][]).flat();
  }
  if (filter.kind !== 'compare' || filter.operator !== 'eq' || !sameName(filter.path.name, 'value'))
    return undefined;
  if (typeof filter.value !== 'string') return undefined;
  // A string that isn't an id matches no member.
  return isId(filter.value) ? [filter.value.toLowerCase()] : [];
}

/** Locks the added users, so that none of them can be deleted before this transaction ends. */
export async function lockAddedUsers(context: Context, changes: readonly MemberChange[]): Promise<void> {
  const added = new Set(changes.flatMap(({ kind, userIds }) => (kind === 'remove' ? [] : userIds)));
  if (added.size > 0) await context.db.rows(lockUsers(sourceOf(context).id, [...added]));
}

/**
 * Applies changes in order, and emits an event for each member that is added or removed.
 * @returns whether any member was added or removed
 * @throws Refusal `scim_invalid_value` for a user that the source does not have
 */
export async function changeMembers(
  context: Context,
  groupId: string,
  changes: readonly MemberChange[],
): Promise<boolean> {
  const { tenantId, key: provisioningSource } = sourceOf(context);
  const about = { tenantId, aggregateId: groupId };
  let isChanged = false;
  for (const change of changes) {
    const removed = await removeMembers(context, groupId, change);
    for (const { principal_id: principalId } of removed)
      emit(context, groupMembershipRemoved, about, { groupId, principalId, provisioningSource });
    const added = await addMembers(context, groupId, change);
    for (const { principal_id: principalId } of added)
      emit(context, groupMembershipAdded, about, { groupId, principalId, provisioningSource });
    isChanged ||= removed.length > 0 || added.length > 0;
  }
  return isChanged;
}

async function removeMembers(context: Context, groupId: string, { kind, userIds }: MemberChange) {
  if (kind === 'add') return [];
  const { id: sourceId } = sourceOf(context);
  const statement = kind === 'remove' ? deleteMembers : deleteMembersExcept;
  return context.db.rows(statement(groupId, sourceId, userIds));
}

async function addMembers(context: Context, groupId: string, { kind, userIds }: MemberChange) {
  if (kind === 'remove' || userIds.length === 0) return [];
  const { id: sourceId, tenantId } = sourceOf(context);
  const locked = await context.db.rows(lockUsers(sourceId, userIds));
  if (locked.length < userIds.length) refuseValue('members');
  return context.db.rows(insertMembers({ groupId, tenantId, sourceId }, userIds));
}
