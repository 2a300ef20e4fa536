import { randomBytes, randomUUID } from 'node:crypto';
import { violatedConstraint } from '@baton/kernel/db';
import type { Reply } from '@baton/kernel/service';
import type { JsonObject } from '@baton/kernel/wire';
import { audit } from '../../../records/audit.ts';
import type { AuditAction } from '../../../records/drafts.ts';
import type { Context } from '../../context.ts';
import { groupCreated, groupDeleted, groupUpdated } from '../../../directory/groups/groups.events.ts';
import { emit } from '../../../records/journal/journal.ts';
import { noteContact } from '../../provisioning-sources/provisioning-sources.ts';
import { fail } from '../../errors.ts';
import { isSelected, readDocument, type Selection, selectAttributes } from '../protocol/documents.ts';
import { changeMembers, holdComing, memberChange, type MemberChange, memberIds } from './group-members.ts';
import {
  closeGroup,
  deleteGroup,
  findGroup,
  findMembers,
  type GroupRow,
  hasMoreMembersThan,
  insertGroup,
  insertProjectedGroup,
  lockGroup,
  renameProjectedGroup,
  updateGroup,
} from './groups.sql.ts';
import { patchDocument, readOperations } from '../protocol/patch.ts';
import { sourceOf } from '../protocol/scim-access.ts';
import { isUnchanged, readId, requireMatch, scimReply, versionTag } from '../protocol/scim-answer.ts';
import { groupKind, groupUrn } from '../protocol/schemas.ts';
import { locationOf, metaOf, optional, required, scimBase } from '../users/user-view.ts';

/** Beyond so many members the answer to a PATCH is empty: to tell them all would cost more than the change. */
const shownMembersMax = 200;
const keyCharactersMax = 120;

interface Content {
  displayName: string;
  externalId: string | null;
}

type Answer<Body = JsonObject> = Promise<Reply<Body>>;

/** @throws Refusal `scim_uniqueness` also for a key that any group of the tenant has, or a privileged one */
export async function createGroup(context: Context, body: JsonObject, selection: Selection): Answer {
  const { db, settings } = context;
  const source = sourceOf(context);
  const { tenantId } = source;
  const document = readDocument(groupKind, body);
  const content = contentOf(document);
  const members = memberIds(document['members']);
  const key = keyOf(content.displayName);
  if ([...settings.privilegedScopes.values()].includes(key)) fail('scim_uniqueness');
  const [id, groupId] = [randomUUID(), randomUUID()];
  const projected = await db.row(
    insertProjectedGroup({ id: groupId, tenantId, key, name: content.displayName }),
  );
  if (projected === undefined) fail('scim_uniqueness');
  const made = await refuseDuplicates(
    db.row(insertGroup({ id, sourceId: source.id, tenantId, groupId }, content)),
  );
  const created = { groupId, key, source: 'scim' as const, provisioningSource: source.key };
  emit(context, groupCreated, { tenantId, aggregateId: groupId }, created);
  await changeMembers(context, groupId, [{ kind: 'add', userIds: members }]);
  await recordWrite(context, 'scim.groups.create', made);
  const shown = await showOne(context, made, selection);
  return scimReply(201, shown, {
    etag: versionTag(made.version),
    location: locationOf(context, groupKind, id),
  });
}

export async function readGroup(
  context: Context,
  id: string,
  selection: Selection,
): Answer<JsonObject | undefined> {
  const row = (await context.db.row(findGroup(sourceOf(context).id, readId(id)))) ?? fail('scim_not_found');
  const headers = { etag: versionTag(row.version) };
  if (isUnchanged(context.headers, row.version))
    return scimReply<JsonObject | undefined>(304, undefined, headers);
  const shown = await showOne(context, row, selection);
  return scimReply(200, shown, headers);
}

/** Replaces name, external id and members. */
export async function replaceGroup(
  context: Context,
  id: string,
  body: JsonObject,
  selection: Selection,
): Answer {
  await expectVersion(context, id);
  const document = readDocument(groupKind, body);
  const content = contentOf(document);
  const members: MemberChange = { kind: 'keep only', userIds: memberIds(document['members']) };
  const row = await lockForChange(context, id, [members]);
  const changed = await changeGroup(context, row, content, [members]);
  await recordWrite(context, 'scim.groups.replace', changed);
  const shown = await showOne(context, changed, selection);
  return scimReply(200, shown, { etag: versionTag(changed.version) });
}

/** Applies the operations of a PATCH, all or none; the members are changed without being read. */
export async function patchGroup(
  context: Context,
  id: string,
  body: JsonObject,
  selection: Selection,
): Answer<JsonObject | undefined> {
  await expectVersion(context, id);
  const operations = readOperations(groupKind, body);
  const others = operations.filter(({ target }) => target.attribute.name !== 'members');
  const members = operations.filter((operation) => !others.includes(operation)).map(memberChange);
  const row = await lockForChange(context, id, members);
  const document: JsonObject = {
    displayName: row.display_name,
    ...(row.external_id === null ? {} : { externalId: row.external_id }),
  };
  const content = contentOf(patchDocument(document, others));
  const changed = await changeGroup(context, row, content, members);
  await recordWrite(context, 'scim.groups.patch', changed);
  const headers = { etag: versionTag(changed.version) };
  const isLarge = await context.db.row(hasMoreMembersThan(row.group_id, shownMembersMax));
  if (isLarge?.is_more === true) return scimReply<JsonObject | undefined>(204, undefined, headers);
  const shown = await showOne(context, changed, selection);
  return scimReply(200, shown, headers);
}

export async function endGroup(context: Context, id: string): Answer<undefined> {
  const { tenantId, key: provisioningSource } = sourceOf(context);
  const row = await lockForChange(context, id);
  const groupId = row.group_id;
  await context.db.run(closeGroup(groupId));
  await changeMembers(context, groupId, [{ kind: 'keep only', userIds: [] }]);
  await context.db.run(deleteGroup(row.id, groupId));
  emit(context, groupDeleted, { tenantId, aggregateId: groupId }, { groupId, provisioningSource });
  await recordWrite(context, 'scim.groups.delete', row);
  return scimReply(204, undefined);
}

/** Groups as answers show them. The members of all of them in one read, and none where they are not shown. */
export async function showGroups(
  context: Context,
  rows: readonly GroupRow[],
  selection: Selection,
): Promise<JsonObject[]> {
  const areMembersShown = rows.length > 0 && isSelected(groupKind, 'members', selection);
  const groupIds = rows.map(({ group_id: id }) => id);
  const members = areMembersShown ? await context.db.rows(findMembers(sourceOf(context).id, groupIds)) : [];
  const membersOf = Map.groupBy(members, ({ group_id: id }) => id);
  return rows.map((row) => {
    const whole: JsonObject = {
      schemas: [groupUrn],
      id: row.id,
      displayName: row.display_name,
      ...(row.external_id === null ? {} : { externalId: row.external_id }),
      members: (membersOf.get(row.group_id) ?? []).map(({ id, user_name: display }) => ({
        value: id,
        $ref: `${scimBase(context)}/Users/${id}`,
        display,
        type: 'User',
      })),
      meta: metaOf(context, groupKind, row),
    };
    return selectAttributes(groupKind, whole, selection);
  });
}

async function showOne(context: Context, row: GroupRow, selection: Selection): Promise<JsonObject> {
  return (await showGroups(context, [row], selection))[0] as JsonObject;
}

/** @throws Refusal `scim_not_found`, `scim_version_mismatch`, before anything in the body is looked at */
async function expectVersion(context: Context, id: string): Promise<void> {
  const row = (await context.db.row(findGroup(sourceOf(context).id, readId(id)))) ?? fail('scim_not_found');
  requireMatch(context.headers, row.version);
}

/**
 * Locks a group for a change of its members. The users before it, as at the end of a user, who leaves its groups: two
 * that lock in another order wait for each other.
 */
async function lockForChange(
  context: Context,
  id: string,
  members: readonly MemberChange[] = [],
): Promise<GroupRow> {
  await holdComing(context, members);
  const row = (await context.db.row(lockGroup(sourceOf(context).id, readId(id)))) ?? fail('scim_not_found');
  requireMatch(context.headers, row.version);
  return row;
}

async function changeGroup(
  context: Context,
  row: GroupRow,
  content: Content,
  members: readonly MemberChange[],
): Promise<GroupRow> {
  const { tenantId, key: provisioningSource } = sourceOf(context);
  const groupId = row.group_id;
  const isRenamed = content.displayName !== row.display_name;
  const haveMembersChanged = await changeMembers(context, groupId, members);
  if (!isRenamed && content.externalId === row.external_id && !haveMembersChanged) return row;
  const changed = await refuseDuplicates(context.db.row(updateGroup(row.id, content)));
  if (isRenamed) {
    const { key } = (await context.db.row(renameProjectedGroup(groupId, content.displayName))) as {
      key: string;
    };
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
  // Last, because every write of the source comes by this row.
  await noteContact(context, source.id);
}

function contentOf(document: JsonObject): Content {
  return {
    displayName: required(document['displayName'], 200),
    externalId: optional(document['externalId'], 500),
  };
}

/** `Sales & Support` is `sales-support`; a name without letters or digits gets one of its own. */
function keyOf(displayName: string): string {
  const key = displayName
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, keyCharactersMax);
  return key === '' ? `scim-${randomBytes(6).toString('hex')}` : key;
}

/** @throws Refusal `scim_uniqueness` */
async function refuseDuplicates(change: Promise<GroupRow | undefined>): Promise<GroupRow> {
  try {
    return (await change) as GroupRow;
  } catch (error) {
    if (violatedConstraint(error) === undefined) throw error;
    return fail('scim_uniqueness', {}, { cause: error });
  }
}
