import type { JsonObject } from '@baton/values/wire';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { sourceOf } from '../access/scim-access.ts';
import { metaOf, scimBase } from '../protocol/resource-meta.ts';
import { groupKind, groupUrn } from '../protocol/schemas.ts';
import { isSelected, type Selection, selectAttributes } from '../protocol/selection.ts';
import { documentOf, type GroupRow } from './group.ts';
import { findMembers } from './groups.sql.ts';

/** The limit for all groups in a response together: 30 MB. */
const membersMax = 100_000;

/**
 * Groups in responses. The members of all groups are read at once, and only if the response shows them.
 * @throws Refusal `scim_too_many` beyond 100,000 members: `excludedAttributes=members` shows the group without them
 */
export async function viewGroups(
  context: Context,
  rows: readonly GroupRow[],
  selection: Selection,
): Promise<JsonObject[]> {
  const areMembersShown = rows.length > 0 && isSelected(groupKind, 'members', selection);
  const groupIds = rows.map(({ group_id: id }) => id);
  const members = areMembersShown
    ? await context.db.rows(findMembers(sourceOf(context).id, groupIds, membersMax + 1))
    : [];
  if (members.length > membersMax) fail('scim_too_many');
  const membersOf = Map.groupBy(members, ({ group_id: id }) => id);
  return rows.map((row) => {
    const group: JsonObject = {
      schemas: [groupUrn],
      id: row.id,
      ...documentOf(row),
      members: (membersOf.get(row.group_id) ?? []).map(({ id, user_name: display }) => ({
        value: id,
        $ref: `${scimBase(context)}/Users/${id}`,
        display,
        type: 'User',
      })),
      meta: metaOf(context, groupKind, row),
    };
    return selectAttributes(groupKind, group, selection);
  });
}

export async function viewGroup(context: Context, row: GroupRow, selection: Selection): Promise<JsonObject> {
  const [view] = await viewGroups(context, [row], selection);
  return view as JsonObject;
}
