import type { Json, JsonObject } from '@baton/kernel/wire';
import type { Context } from '../../context.ts';
import { groupMembershipAdded, groupMembershipRemoved } from '../../../directory/groups/groups.events.ts';
import { emit } from '../../../records/journal/journal.ts';
import { fail } from '../../errors.ts';
import { readAttribute } from '../protocol/documents.ts';
import type { Filter } from '../filter/filter-grammar.ts';
import { addMembers, holdUsers, removeMembers, removeMembersExcept } from './groups.sql.ts';
import type { PatchOperation } from '../protocol/patch.ts';
import { sourceOf } from '../protocol/scim-access.ts';
import { isId } from '../protocol/scim-answer.ts';
import { groupKind, named, sameName } from '../protocol/schemas.ts';

/** Changes of the members of a group: never the whole list, so a change of one touches one row. */
export interface MemberChange {
  readonly kind: 'add' | 'remove' | 'keep only';
  readonly userIds: readonly string[];
}

const membersAttribute = named(groupKind.core.attributes, 'members');

/** The users that a list of members names. @throws Refusal `scim_invalid_value` for one that can be no user */
export function memberIds(value: Json | undefined): string[] {
  if (membersAttribute === undefined) return [];
  const elements = (readAttribute(membersAttribute, value ?? null) ?? []) as JsonObject[];
  return [
    ...new Set(
      elements.map(({ value: id, type }) => {
        // No group is a member of a group.
        if (typeof type === 'string' && !sameName(type, 'User')) return fail('scim_invalid_value');
        return typeof id === 'string' && isId(id) ? id.toLowerCase() : fail('scim_invalid_value');
      }),
    ),
  ];
}

/** What an operation on `members` does. @throws Refusal `scim_invalid_path`, `scim_invalid_value` */
export function memberChange({ verb, target, value }: PatchOperation): MemberChange {
  if (target.sub !== undefined) return fail('scim_invalid_path');
  if (target.filter !== undefined) {
    const userIds = idsOf(target.filter) ?? fail('scim_invalid_path');
    if (verb !== 'remove') return fail('scim_invalid_path');
    return { kind: 'remove', userIds };
  }
  if (verb === 'add') return { kind: 'add', userIds: memberIds(value) };
  if (verb === 'replace') return { kind: 'keep only', userIds: memberIds(value) };
  const isAll = value === undefined || value === null;
  return isAll ? { kind: 'keep only', userIds: [] } : { kind: 'remove', userIds: memberIds(value) };
}

/** `value eq "…"`, or several joined by `or`. */
function idsOf(filter: Filter): string[] | undefined {
  if (filter.kind === 'or') {
    const parts = filter.of.map(idsOf);
    return parts.includes(undefined) ? undefined : (parts as string[][]).flat();
  }
  if (filter.kind !== 'compare' || filter.operator !== 'eq' || !sameName(filter.path.name, 'value'))
    return undefined;
  if (typeof filter.value !== 'string') return undefined;
  // Who can be no member is none.
  return isId(filter.value) ? [filter.value.toLowerCase()] : [];
}

/** Holds the users who come: none of them can end before this transaction does. */
export async function holdComing(context: Context, changes: readonly MemberChange[]): Promise<void> {
  const coming = new Set(changes.flatMap(({ kind, userIds }) => (kind === 'remove' ? [] : userIds)));
  if (coming.size > 0) await context.db.rows(holdUsers(sourceOf(context).id, [...coming]));
}

/**
 * Carries out changes in their order.
 * @returns whether anybody came or went
 * @throws Refusal `scim_invalid_value` for a user that the source has not
 */
export async function changeMembers(
  context: Context,
  groupId: string,
  changes: readonly MemberChange[],
): Promise<boolean> {
  const { db } = context;
  const { id: sourceId, tenantId, key: provisioningSource } = sourceOf(context);
  let isChanged = false;
  for (const { kind, userIds } of changes) {
    const about = { tenantId, aggregateId: groupId };
    const gone =
      kind === 'add'
        ? []
        : await db.rows(
            kind === 'remove'
              ? removeMembers(groupId, sourceId, userIds)
              : removeMembersExcept(groupId, sourceId, userIds),
          );
    for (const { principal_id: principalId } of gone)
      emit(context, groupMembershipRemoved, about, { groupId, principalId, provisioningSource });
    let come: { principal_id: string }[] = [];
    if (kind !== 'remove' && userIds.length > 0) {
      const held = await db.rows(holdUsers(sourceId, userIds));
      if (held.length < userIds.length) fail('scim_invalid_value');
      come = await db.rows(addMembers({ groupId, tenantId, sourceId }, userIds));
    }
    for (const { principal_id: principalId } of come)
      emit(context, groupMembershipAdded, about, { groupId, principalId, provisioningSource });
    isChanged ||= gone.length > 0 || come.length > 0;
  }
  return isChanged;
}
