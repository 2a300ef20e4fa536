import type { Reply } from '@baton/kernel/http/service';
import type { JsonObject } from '@baton/values/wire';
import type { Context } from '../../context.ts';
import { sourceOf } from '../access/scim-access.ts';
import type { ListOrder } from '../filter/list-page.ts';
import { listMergedPage } from '../filter/merged-list.ts';
import type { GroupRow } from '../groups/group.ts';
import { viewGroups } from '../groups/group-view.ts';
import { groupShape } from '../groups/groups.ts';
import { scimBase } from '../protocol/resource-meta.ts';
import { groupKind, userKind } from '../protocol/schemas.ts';
import type { UserRow } from '../users/user.ts';
import { viewUsers } from '../users/user-view.ts';
import { userShape } from '../users/users.ts';

/**
 * One page of the users and groups of the source together (RFC 7644, section 3.4.3).
 * @throws Refusal as `listPage`
 */
export async function searchRoot(context: Context, order: ListOrder): Promise<Reply<JsonObject>> {
  const { selection } = order;
  const source = { sourceId: sourceOf(context).id, base: scimBase(context) };
  return listMergedPage<UserRow, GroupRow>(context.db, order, source, [
    {
      kind: userKind,
      shape: userShape(selection),
      view: (rows) => viewUsers(context, rows, selection),
    },
    {
      kind: groupKind,
      shape: groupShape(selection),
      view: (rows) => viewGroups(context, rows, selection),
    },
  ]);
}
