import type { JsonObject } from '@baton/values/wire';
import type { Context } from '../../context.ts';
import { sourceOf } from '../access/scim-access.ts';
import { metaOf, scimBase } from '../protocol/resource-meta.ts';
import { enterpriseUrn, userKind, userUrn } from '../protocol/schemas.ts';
import { isSelected, type Selection, selectAttributes } from '../protocol/selection.ts';
import { documentOf, type UserRow } from './user.ts';
import { findGroupsOfUsers } from './users.sql.ts';

/** Users in responses. The groups of all users are read at once, and only if the response shows them. */
export async function viewUsers(
  context: Context,
  rows: readonly UserRow[],
  selection: Selection,
): Promise<JsonObject[]> {
  const areGroupsShown = rows.length > 0 && isSelected(userKind, 'groups', selection);
  const groupsOf = areGroupsShown ? await groupsByPrincipal(context, rows) : new Map<string, JsonObject[]>();
  return rows.map((row) => {
    const hasExtension = row.document[enterpriseUrn] !== undefined;
    const user: JsonObject = {
      schemas: hasExtension ? [userUrn, enterpriseUrn] : [userUrn],
      id: row.id,
      ...documentOf(row),
      active: row.active,
      groups: groupsOf.get(row.principal_id) ?? [],
      meta: metaOf(context, userKind, row),
    };
    return selectAttributes(userKind, user, selection);
  });
}

export async function viewUser(context: Context, row: UserRow, selection: Selection): Promise<JsonObject> {
  const [view] = await viewUsers(context, [row], selection);
  return view as JsonObject;
}

async function groupsByPrincipal(
  context: Context,
  rows: readonly UserRow[],
): Promise<Map<string, JsonObject[]>> {
  const principalIds = rows.map(({ principal_id: id }) => id);
  const groups = await context.db.rows(findGroupsOfUsers(sourceOf(context).id, principalIds));
  const views = new Map<string, JsonObject[]>(principalIds.map((id) => [id, []]));
  for (const { principal_id: principalId, id, display_name: display } of groups)
    views
      .get(principalId)
      ?.push({ value: id, $ref: `${scimBase(context)}/Groups/${id}`, display, type: 'direct' });
  return views;
}
