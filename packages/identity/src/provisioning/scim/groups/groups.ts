import { randomUUID } from 'node:crypto';
import { type Db, violatedConstraint } from '@baton/kernel/database/db';
import type { Reply } from '@baton/kernel/http/service';
import type { JsonObject } from '@baton/values/wire';
import { removeGroup } from '../../../directory/groups/group-deletion.ts';
import { groupCreated, groupUpdated } from '../../../directory/groups/groups.events.ts';
import { audit } from '../../../records/audit.ts';
import type { AuditAction } from '../../../records/drafts.ts';
import { emit } from '../../../records/journal/journal.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { noteContact } from '../../provisioning-sources/provisioning-sources.ts';
import { limitLargeGroups, runWrite } from '../access/concurrency-limit.ts';
import { sourceOf } from '../access/scim-access.ts';
import { type ListOrder, listPage, type Shape } from '../filter/list-page.ts';
import { type PatchOperation, parseOperations } from '../patch/operations.ts';
import { patchDocument } from '../patch/patch.ts';
import { parseDocument } from '../protocol/documents.ts';
import {
  isUnchanged,
  locationOf,
  parseId,
  requireMatch,
  scimBase,
  versionTag,
} from '../protocol/resource-meta.ts';
import { groupKind } from '../protocol/schemas.ts';
import { scimReply } from '../protocol/scim-answer.ts';
import { isSelected, type Selection } from '../protocol/selection.ts';
import { contentOf, documentOf, type GroupContent, type GroupRow, keyOf, keysLike } from './group.ts';
import {
  changeMembers,
  lockAddedUsers,
  type MemberChange,
  memberChangeOf,
  memberIdsOf,
} from './group-members.ts';
import { viewGroup, viewGroups } from './group-view.ts';
import {
  deleteScimGroup,
  findFreeKeys,
  findScimGroup,
  groupBytes,
  groupColumns,
  hasMoreMembersThan,
  insertScimGroup,
  insertTenantGroup,
  lockScimGroup,
  updateScimGroup,
  updateTenantGroup,
} from './groups.sql.ts';

/**
 * If a group has more members than this, the response to a PATCH is empty: listing them would cost more than the
 * change.
 */
const shownMembersMax = 200;

/** Larger responses, with 300 bytes per member, are limited to a few at a time per source. */
const freelyShownMembersMax = 2000;

type Answer<Body = JsonObject> = Promise<Reply<Body>>;

/**
 * One page of the source's groups.
 * @throws Refusal `scim_invalid_filter`, `scim_invalid_value`, `scim_too_many`, `unavailable`
 */
export async function listGroups(context: Context, order: ListOrder): Answer {
  const where = { sourceId: sourceOf(context).id, base: scimBase(context), ...groupShape(order.selection) };
  return listPage<GroupRow>(context.db, groupKind, order, where, (rows) =>
    viewGroups(context, rows, order.selection),
  );
}

/** The columns of a group in a list, and how much of a page a group takes up. */
export function groupShape(selection: Selection): Shape {
  return {
    columns: groupColumns,
    bytes: isSelected(groupKind, 'members', selection) ? groupBytes : '1024',
  };
}

/** @throws Refusal `scim_not_found`; `scim_too_many` beyond 100,000 members; `unavailable` */
export async function getGroup(
  context: Context,
  id: string,
  selection: Selection,
): Answer<JsonObject | undefined> {
  const row =
    (await context.db.row(findScimGroup(sourceOf(context).id, parseId(id)))) ?? fail('scim_not_found');
  const headers = { etag: versionTag(row.version) };
  if (isUnchanged(context.headers, row.version))
    return scimReply<JsonObject | undefined>(304, undefined, headers);
  const areMembersShown = isSelected(groupKind, 'members', selection);
  const size = areMembersShown
    ? await context.db.row(hasMoreMembersThan(row.group_id, freelyShownMembersMax))
    : undefined;
  const view = () => viewGroup(context, row, selection);
  return scimReply(
    200,
    size?.is_more === true ? await limitLargeGroups(context, view) : await view(),
    headers,
  );
}

/**
 * Creates a SCIM group and the group of the tenant that it represents.
 * @throws Refusal `scim_invalid_value`; `scim_uniqueness`, also when the key belongs to a privileged scope, or when a
 * thousand groups of the tenant have it
 */
export async function createGroup(context: Context, body: JsonObject, selection: Selection): Answer {
  const document = parseDocument(groupKind, body);
  const content = contentOf(document);
  const members = memberIdsOf(document['members']);
  const wanted = keyOf(content.displayName);
  const reserved = new Set(context.settings.privilegedScopes.values());
  if (reserved.has(wanted)) fail('scim_uniqueness');
  const keys = keysLike(wanted).filter((one) => !reserved.has(one));
  return runWrite(context, (inside) => storeNewGroup(inside, content, members, keys, selection));
}

async function storeNewGroup(
  context: Context,
  content: GroupContent,
  members: readonly string[],
  keys: readonly string[],
  selection: Selection,
): Answer {
  const { db } = context;
  const source = sourceOf(context);
  const { tenantId } = source;
  const [id, groupId] = [randomUUID(), randomUUID()];
  const key = await insertUnderFreeKey(db, { id: groupId, tenantId, name: content.displayName }, keys);
  const scimGroup = { id, sourceId: source.id, tenantId, groupId };
  const created = await refuseDuplicates(db.row(insertScimGroup(scimGroup, content)));
  const payload = { groupId, key, source: 'scim' as const, provisioningSource: source.key };
  emit(context, groupCreated, { tenantId, aggregateId: groupId }, payload);
  await changeMembers(context, groupId, [{ kind: 'add', userIds: members }]);
  await recordWrite(context, 'scim.groups.create', created);
  return scimReply(201, await viewGroup(context, created, selection), {
    etag: versionTag(created.version),
    location: locationOf(context, groupKind, id),
  });
}

/**
 * Stores the group of the tenant under the first of the keys that no other group has.
 * @returns the key
 * @throws Refusal `scim_uniqueness` when all keys are taken
 */
async function insertUnderFreeKey(
  db: Db,
  group: { id: string; tenantId: string; name: string },
  keys: readonly string[],
): Promise<string> {
  const free = await db.row(findFreeKeys(group.tenantId, keys));
  for (const key of free?.keys ?? [])
    if ((await db.row(insertTenantGroup({ ...group, key }))) !== undefined) return key;
  return fail('scim_uniqueness');
}

/**
 * Replaces name, external id and members.
 * @throws Refusal `scim_not_found`, `scim_version_mismatch`, `scim_invalid_value`, `scim_uniqueness`
 */
export async function replaceGroup(
  context: Context,
  id: string,
  body: JsonObject,
  selection: Selection,
): Answer {
  await findCurrent(context, id);
  const document = parseDocument(groupKind, body);
  const content = contentOf(document);
  const members: MemberChange = { kind: 'replace', userIds: memberIdsOf(document['members']) };
  return runWrite(context, async (inside) => {
    const row = await lockForChange(inside, id, [members]);
    const changed = await storeChange(inside, row, content, [members]);
    await recordWrite(inside, 'scim.groups.replace', changed);
    const headers = { etag: versionTag(changed.version) };
    return scimReply(200, await viewGroup(inside, changed, selection), headers);
  });
}

/**
 * Applies the operations of a PATCH, all or none. Members are added and removed without reading the others.
 * @throws Refusal `scim_not_found`, `scim_version_mismatch`, `scim_uniqueness`, and those of `parseOperations`,
 * `patchDocument` and `memberChangeOf`
 */
export async function updateGroup(
  context: Context,
  id: string,
  body: JsonObject,
  selection: Selection,
): Answer<JsonObject | undefined> {
  const read = await findCurrent(context, id);
  const operations = parseOperations(groupKind, body);
  const isOfMembers = ({ target }: PatchOperation) => target.attribute.name === 'members';
  const others = operations.filter((operation) => !isOfMembers(operation));
  const members = operations.filter(isOfMembers).map(memberChangeOf);
  const patched = (row: GroupRow) => contentOf(patchDocument(documentOf(row), others));
  // Computed before the group is locked, and again only if the group has changed since.
  const content = patched(read);
  return runWrite(context, async (inside) => {
    const row = await lockForChange(inside, id, members);
    const after = row.version === read.version ? content : patched(row);
    const changed = await storeChange(inside, row, after, members);
    await recordWrite(inside, 'scim.groups.patch', changed);
    const headers = { etag: versionTag(changed.version) };
    const isLarge = await inside.db.row(hasMoreMembersThan(row.group_id, shownMembersMax));
    if (isLarge?.is_more === true) return scimReply<JsonObject | undefined>(204, undefined, headers);
    return scimReply(200, await viewGroup(inside, changed, selection), headers);
  });
}

/**
 * Deletes a group with its memberships, and the group of the tenant.
 * @throws Refusal `scim_not_found`, `scim_version_mismatch`
 */
export function deleteGroup(context: Context, id: string): Answer<undefined> {
  return runWrite(context, (inside) => storeDeletion(inside, id));
}

async function storeDeletion(context: Context, id: string): Answer<undefined> {
  const { tenantId, key: provisioningSource } = sourceOf(context);
  const row = await lockForChange(context, id);
  await context.db.run(deleteScimGroup(row.id));
  await removeGroup(context, { tenantId, groupId: row.group_id, provisioningSource });
  await recordWrite(context, 'scim.groups.delete', row);
  return scimReply(204, undefined);
}

/** Call it before the body is parsed. @throws Refusal `scim_not_found`, `scim_version_mismatch` */
async function findCurrent(context: Context, id: string): Promise<GroupRow> {
  const row =
    (await context.db.row(findScimGroup(sourceOf(context).id, parseId(id)))) ?? fail('scim_not_found');
  requireMatch(context.headers, row.version);
  return row;
}

/**
 * Locks a group before its members are changed, and after the users that are added. The deletion of a user, which also
 * removes the user from its groups, locks in the same order; any other order could deadlock.
 */
async function lockForChange(
  context: Context,
  id: string,
  members: readonly MemberChange[] = [],
): Promise<GroupRow> {
  await lockAddedUsers(context, members);
  const row =
    (await context.db.row(lockScimGroup(sourceOf(context).id, parseId(id)))) ?? fail('scim_not_found');
  requireMatch(context.headers, row.version);
  return row;
}

async function storeChange(
  context: Context,
  row: GroupRow,
  content: GroupContent,
  members: readonly MemberChange[],
): Promise<GroupRow> {
  const { tenantId, key: provisioningSource } = sourceOf(context);
  const groupId = row.group_id;
  const isRenamed = content.displayName !== row.display_name;
  const haveMembersChanged = await changeMembers(context, groupId, members);
  if (!isRenamed && content.externalId === row.external_id && !haveMembersChanged) return row;
  const changed = await refuseDuplicates(context.db.row(updateScimGroup(row.id, content)));
  if (isRenamed) {
    const renamed = await context.db.row(updateTenantGroup(groupId, content.displayName));
    const { key } = renamed as { key: string };
    emit(context, groupUpdated, { tenantId, aggregateId: groupId }, { groupId, key, provisioningSource });
  }
  return changed;
}

async function recordWrite(context: Context, action: AuditAction, row: GroupRow): Promise<void> {
  const source = sourceOf(context);
  audit(context, {
    tenantId: source.tenantId,
    action,
    resource: ['scim_group', row.id],
    reason: `group:${row.group_id}`,
  });
  // Last, because it locks the row of the source, which every write of the source needs.
  await noteContact(context, source.id);
}

/**
 * Converts the violation of the unique index, which also decides races, to a refusal. @throws Refusal `scim_uniqueness`
 */
async function refuseDuplicates(change: Promise<GroupRow | undefined>): Promise<GroupRow> {
  try {
    return (await change) as GroupRow;
  } catch (error) {
    if (violatedConstraint(error) === undefined) throw error;
    return fail('scim_uniqueness', {}, { cause: error });
  }
}
