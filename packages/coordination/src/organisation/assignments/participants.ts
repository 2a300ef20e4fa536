import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { getWorkspaceRow } from '../workspaces/workspaces.ts';
import type { Participant } from './participant.ts';
import { findParticipants, findPartsOf, type Place } from './participants.sql.ts';

/** Maximum number of roles returned per participant; any beyond that are omitted. */
const rolesShownMax = 100;

/**
 * A role counts if it belongs to the workspace or is assigned in it. A tenant-wide assignment of a tenant's role does
 * not make its holder a participant of every workspace. See docs/reference/workspaces.md#participants.
 * @throws Refusal `not_found`, `invalid_cursor`
 */
export async function listParticipants(
  context: Context,
  workspaceId: string,
  page: Page,
): Promise<ItemPage<Participant>> {
  const { db, tenantId } = context;
  const { path } = await getWorkspaceRow(context, workspaceId);
  const place = { tenantId, workspaceId, path };
  const found = await listPage(db, findParticipants(place, page), (row) => row);
  const ids = found.items.map(({ id }) => id);
  const parts = await findPartsIn(context, place, ids);
  const items = found.items.map(({ id, kind, display_name: displayName, status }) => {
    const { is_member: member = false, roles = [] } = parts.get(id) ?? {};
    return { principalId: id, kind, displayName, status, member, roles };
  });
  return { items, nextCursor: found.nextCursor };
}

/** Membership and the visible roles of each principal in a workspace. */
export async function findPartsIn(
  context: Context,
  place: Place,
  principalIds: readonly string[],
): Promise<ReadonlyMap<string, { is_member: boolean; roles: Participant['roles'] }>> {
  const viewerId = await viewerOf(context);
  const rows = await context.db.rows(findPartsOf(place, principalIds, rolesShownMax, viewerId));
  return new Map(rows.map((row) => [row.principal_id, row]));
}
