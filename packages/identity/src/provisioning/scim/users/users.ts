import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { violatedConstraint } from '@baton/kernel/database/db';
import type { Reply } from '@baton/kernel/http/service';
import type { JsonObject } from '@baton/values/wire';
import { groupMembershipRemoved } from '../../../directory/groups/groups.events.ts';
import type { LockedPerson } from '../../../directory/principals/principals.ts';
import { audit } from '../../../records/audit.ts';
import type { AuditAction } from '../../../records/drafts.ts';
import { emit } from '../../../records/journal/journal.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { noteContact } from '../../provisioning-sources/provisioning-sources.ts';
import { keepAccount } from '../../upstream-directory/name-reservations.ts';
import { sourceOf } from '../access/scim-access.ts';
import { type ListOrder, listPage, type Shape } from '../filter/list-page.ts';
import { parseOperations } from '../patch/operations.ts';
import { patchDocument } from '../patch/patch.ts';
import { parseDocument, refuseLargeDocument } from '../protocol/documents.ts';
import {
  isUnchanged,
  locationOf,
  parseId,
  requireMatch,
  scimBase,
  versionTag,
} from '../protocol/resource-meta.ts';
import { userKind } from '../protocol/schemas.ts';
import { scimReply } from '../protocol/scim-answer.ts';
import { isSelected, type Selection } from '../protocol/selection.ts';
import { createPerson, disablePerson, enablePerson, updatePerson } from './people.ts';
import { contentOf, documentOf, isWantedActive, type UserContent, type UserRow } from './user.ts';
import { viewUser, viewUsers } from './user-view.ts';
import { runUserChange, runUserCreation } from './user-writes.ts';
import { scimUserDeprovisioned, scimUserProvisioned, scimUserUpdated } from './users.events.ts';
import {
  deleteMembershipsOf,
  deleteScimUser,
  documentBytes,
  findScimUser,
  insertScimUser,
  updateScimUser,
  userBytes,
  userColumns,
} from './users.sql.ts';

/**
 * One page of the users of the source.
 * @throws Refusal `scim_invalid_filter`, `scim_invalid_value`, `scim_too_many`, `unavailable`
 */
export async function listUsers(context: Context, order: ListOrder): Promise<Reply<JsonObject>> {
  const where = { sourceId: sourceOf(context).id, base: scimBase(context), ...userShape(order.selection) };
  return listPage<UserRow>(context.db, userKind, order, where, (rows) =>
    viewUsers(context, rows, order.selection),
  );
}

/** The columns of a user in a list, and how much of a page a user takes up. */
export function userShape(selection: Selection): Shape {
  return {
    columns: userColumns,
    bytes: isSelected(userKind, 'groups', selection) ? userBytes : documentBytes,
  };
}

/** @throws Refusal `scim_not_found` */
export async function getUser(
  context: Context,
  id: string,
  selection: Selection,
): Promise<Reply<JsonObject | undefined>> {
  const row = await findUser(context, id);
  const headers = { etag: versionTag(row.version) };
  if (isUnchanged(context.headers, row.version))
    return scimReply<JsonObject | undefined>(304, undefined, headers);
  return scimReply(200, await viewUser(context, row, selection), headers);
}

/** @throws Refusal `scim_not_found` */
async function findUser({ caller, db }: Context, id: string): Promise<UserRow> {
  return (await db.row(findScimUser(sourceOf({ caller }).id, parseId(id)))) ?? fail('scim_not_found');
}

/**
 * Creates a user and its person. The person of a deleted user is restored if the external id is the same.
 * @throws Refusal `scim_invalid_value`, `scim_uniqueness`, `scim_upstream_refused`, `unavailable`
 */
export async function createUser(
  context: Context,
  body: JsonObject,
  selection: Selection,
): Promise<Reply<JsonObject>> {
  const content = contentOf({ active: true, ...parseDocument(userKind, body) });
  refuseLargeDocument(content.document);
  return runUserCreation(context, content, (inside, linkAccount) =>
    storeNewUser(inside, content, linkAccount, selection),
  );
}

/**
 * Replaces a user. Without `active` in the body, the user's status doesn't change: an omission never enables a user.
 * @throws Refusal as `updateUser`
 */
export async function replaceUser(
  context: Context,
  id: string,
  body: JsonObject,
  selection: Selection,
): Promise<Reply<JsonObject>> {
  const contentAfter = (row: UserRow) =>
    boundedContent(row, { active: isWantedActive(row), ...parseDocument(userKind, body) });
  return runUserChange(context, id, 'scim.users.replace', contentAfter, (inside, row, person) =>
    storeChange(inside, { row, person }, contentAfter(row), 'scim.users.replace', selection),
  );
}

/**
 * Applies the operations of a PATCH, all or none.
 * @throws Refusal `scim_not_found`, `scim_version_mismatch`, `scim_uniqueness`, `scim_upstream_refused`, `unavailable`,
 * and those of `parseOperations` and `patchDocument`
 */
export async function updateUser(
  context: Context,
  id: string,
  body: JsonObject,
  selection: Selection,
): Promise<Reply<JsonObject>> {
  const read = await findUser(context, id);
  requireMatch(context.headers, read.version);
  const operations = parseOperations(userKind, body);
  // If an operation removes `active`, the user is disabled.
  const patched = (row: UserRow) =>
    boundedContent(row, { active: false, ...patchDocument(documentOf(row), operations) });
  // Computed before the user is locked, and again only if the user has changed since.
  const content = patched(read);
  const contentAfter = (row: UserRow) => (row.version === read.version ? content : patched(row));
  return runUserChange(context, id, 'scim.users.patch', contentAfter, (inside, row, person) =>
    storeChange(inside, { row, person }, contentAfter(row), 'scim.users.patch', selection),
  );
}

function boundedContent(row: UserRow, document: JsonObject): UserContent {
  const content = contentOf(document);
  refuseLargeDocument(content.document, row.document);
  return content;
}

/**
 * Deletes a user. Its person stays, disabled and without the group memberships of this source.
 * @throws Refusal `scim_not_found`, `scim_version_mismatch`, `scim_upstream_refused`, `unavailable`
 */
export async function deleteUser(context: Context, id: string): Promise<Reply<undefined>> {
  return runUserChange(context, id, 'scim.users.delete', undefined, storeDeletion);
}

async function storeNewUser(
  context: Context,
  content: UserContent,
  linkAccount: (userId: string) => Promise<void>,
  selection: Selection,
): Promise<Reply<JsonObject>> {
  const source = sourceOf(context);
  const id = randomUUID();
  const { tenantId } = source;
  const created = await refuseDuplicates(async () => {
    const { principalId, identityId, isBlocked } = await createPerson(context, source, id, content);
    const user = { id, sourceId: source.id, tenantId, principalId, identityId };
    const row = (await context.db.row(insertScimUser(user, content, isBlocked))) as UserRow;
    await linkAccount(id);
    return row;
  });
  emit(context, scimUserProvisioned, { tenantId, aggregateId: id }, payloadOf(context, created));
  await recordWrite(context, 'scim.users.create', created);
  return scimReply(201, await viewUser(context, created, selection), {
    etag: versionTag(created.version),
    location: locationOf(context, userKind, id),
  });
}

async function storeChange(
  context: Context,
  { row, person }: { row: UserRow; person: LockedPerson },
  content: UserContent,
  action: AuditAction,
  selection: Selection,
): Promise<Reply<JsonObject>> {
  const source = sourceOf(context);
  let current = row;
  if (!isDeepStrictEqual(contentOf(documentOf(row)), content)) {
    const wasWanted = isWantedActive(row);
    current = await refuseDuplicates(async () => {
      await updatePerson(context, source, row, content);
      return (await context.db.row(updateScimUser(row.id, content, person.disabled_by_admin))) as UserRow;
    });
    if (wasWanted && !content.active) await disablePerson(context, source, row, person);
    if (!wasWanted && content.active) await enablePerson(context, source, row, person);
    const about = { tenantId: source.tenantId, aggregateId: row.id };
    emit(context, scimUserUpdated, about, payloadOf(context, current));
  }
  await recordWrite(context, action, current);
  const headers = { etag: versionTag(current.version) };
  return scimReply(200, await viewUser(context, current, selection), headers);
}

async function storeDeletion(
  context: Context,
  row: UserRow,
  person: LockedPerson,
): Promise<Reply<undefined>> {
  const { db } = context;
  const source = sourceOf(context);
  const { tenantId } = source;
  await disablePerson(context, source, row, person);
  const removed = await db.rows(deleteMembershipsOf(source.id, row.principal_id));
  for (const { group_id: groupId } of removed) {
    const payload = { groupId, principalId: row.principal_id, provisioningSource: source.key };
    emit(context, groupMembershipRemoved, { tenantId, aggregateId: groupId }, payload);
  }
  const { upstream_id: account } = (await db.row(deleteScimUser(row.id))) ?? { upstream_id: null };
  const name = { sourceId: source.id, tenantId, userName: row.user_name };
  if (account !== null) await keepAccount(db, name, account);
  const { active: _, ...about } = payloadOf(context, row);
  const payload = { ...about, removedMemberships: removed.length };
  emit(context, scimUserDeprovisioned, { tenantId, aggregateId: row.id }, payload);
  await recordWrite(context, 'scim.users.delete', row);
  return scimReply(204, undefined);
}

async function recordWrite(context: Context, action: AuditAction, row: UserRow): Promise<void> {
  const source = sourceOf(context);
  audit(context, {
    tenantId: source.tenantId,
    action,
    resource: ['scim_user', row.id],
    reason: `principal:${row.principal_id}${row.suspended ? ' warning:disabled_by_administrator' : ''}`,
  });
  // Last, because it locks the row of the source, which every write of the source needs.
  await noteContact(context, source.id);
}

function payloadOf(context: Context, row: UserRow) {
  return {
    provisioningSource: sourceOf(context).key,
    scimUserId: row.id,
    principalId: row.principal_id,
    active: row.active,
  };
}

/** Relies on the unique indexes, which also resolve races. @throws Refusal `scim_uniqueness` */
async function refuseDuplicates<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (violatedConstraint(error) === undefined) throw error;
    return fail('scim_uniqueness', {}, { cause: error });
  }
}
