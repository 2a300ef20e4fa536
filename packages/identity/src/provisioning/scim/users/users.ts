import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { violatedConstraint } from '@baton/kernel/db';
import type { Reply } from '@baton/kernel/service';
import type { JsonObject } from '@baton/kernel/wire';
import { audit } from '../../../records/audit.ts';
import type { AuditAction } from '../../../records/drafts.ts';
import type { Context } from '../../context.ts';
import { groupMembershipRemoved } from '../../../directory/groups/groups.events.ts';
import { emit } from '../../../records/journal/journal.ts';
import { noteContact } from '../../provisioning-sources/provisioning-sources.ts';
import { fail } from '../../errors.ts';
import { leaveAccount } from '../../upstream-directory/accounts.ts';
import { readDocument, type Selection } from '../protocol/documents.ts';
import { createPerson, followPerson, restorePerson, suspendPerson } from './persons.ts';
import { patchDocument, readOperations } from '../protocol/patch.ts';
import { scimUserDeprovisioned, scimUserProvisioned, scimUserUpdated } from '../protocol/scim.events.ts';
import { sourceOf } from '../protocol/scim-access.ts';
import { isUnchanged, readId, scimReply, versionTag } from '../protocol/scim-answer.ts';
import { userKind } from '../protocol/schemas.ts';
import { contentOf, documentOf, locationOf, showUsers } from './user-view.ts';
import { changing, creating } from './user-writes.ts';
import {
  deleteMembershipsOf,
  deleteUser,
  findUser,
  insertUser,
  updateUser,
  type UserContent,
  type UserRow,
} from './users.sql.ts';

/** Creates a user and its person, or takes one up again that was deleted. @throws Refusal `scim_uniqueness` and others */
export async function createUser(
  context: Context,
  body: JsonObject,
  selection: Selection,
): Promise<Reply<JsonObject>> {
  const content = contentOf({ active: true, ...readDocument(userKind, body) });
  return creating(context, content, (inside, link) => addUser(inside, content, link, selection));
}

async function addUser(
  context: Context,
  content: UserContent,
  link: (userId: string) => Promise<void>,
  selection: Selection,
): Promise<Reply<JsonObject>> {
  const source = sourceOf(context);
  const id = randomUUID();
  const { tenantId } = source;
  const made = await refuseDuplicates(async () => {
    const { principalId, identityId } = await createPerson(context, source, id, content);
    const user = { id, sourceId: source.id, tenantId, principalId, identityId };
    const row = (await context.db.row(insertUser(user, content))) as UserRow;
    await link(id);
    return row;
  });
  emit(context, scimUserProvisioned, { tenantId, aggregateId: id }, payloadOf(context, made));
  await recordWrite(context, 'scim.users.create', made);
  const shown = await showOne(context, made, selection);
  return scimReply(201, shown, {
    etag: versionTag(made.version),
    location: locationOf(context, userKind, id),
  });
}

export async function readUser(
  context: Context,
  id: string,
  selection: Selection,
): Promise<Reply<JsonObject | undefined>> {
  const row = (await context.db.row(findUser(sourceOf(context).id, readId(id)))) ?? fail('scim_not_found');
  const headers = { etag: versionTag(row.version) };
  if (isUnchanged(context.headers, row.version))
    return scimReply<JsonObject | undefined>(304, undefined, headers);
  return scimReply(200, await showOne(context, row, selection), headers);
}

/** Replaces a user. Without `active` it stays as it is: nobody comes back by an omission. */
export async function replaceUser(
  context: Context,
  id: string,
  body: JsonObject,
  selection: Selection,
): Promise<Reply<JsonObject>> {
  const contentAfter = (row: UserRow) => contentOf({ active: row.active, ...readDocument(userKind, body) });
  return changing(context, id, 'scim.users.replace', contentAfter, (inside, row) =>
    changeUser(inside, row, contentAfter(row), 'scim.users.replace', selection),
  );
}

/** Applies the operations of a PATCH, all or none. */
export async function patchUser(
  context: Context,
  id: string,
  body: JsonObject,
  selection: Selection,
): Promise<Reply<JsonObject>> {
  const contentAfter = (row: UserRow) => {
    const patched = patchDocument(documentOf(row), readOperations(userKind, body));
    // To take `active` away is to switch it off.
    return contentOf({ active: false, ...patched });
  };
  return changing(context, id, 'scim.users.patch', contentAfter, (inside, row) =>
    changeUser(inside, row, contentAfter(row), 'scim.users.patch', selection),
  );
}

/** Ends a user: its person loses everything that came from this source, and stays. */
export async function endUser(context: Context, id: string): Promise<Reply<undefined>> {
  return changing(context, id, 'scim.users.delete', undefined, removeUser);
}

async function removeUser(context: Context, row: UserRow): Promise<Reply<undefined>> {
  const { db } = context;
  const source = sourceOf(context);
  await suspendPerson(context, source, row);
  const { tenantId } = source;
  const removed = await db.rows(deleteMembershipsOf(source.id, row.principal_id));
  for (const { group_id: groupId } of removed)
    emit(
      context,
      groupMembershipRemoved,
      { tenantId, aggregateId: groupId },
      { groupId, principalId: row.principal_id, provisioningSource: source.key },
    );
  const { upstream_id: account } = (await db.row(deleteUser(row.id))) ?? { upstream_id: null };
  const name = { sourceId: source.id, tenantId, userName: row.user_name };
  if (account !== null) await leaveAccount(db, name, account);
  const { active: _, ...about } = payloadOf(context, row);
  emit(
    context,
    scimUserDeprovisioned,
    { tenantId, aggregateId: row.id },
    { ...about, removedMemberships: removed.length },
  );
  await recordWrite(context, 'scim.users.delete', row);
  return scimReply(204, undefined);
}

async function changeUser(
  context: Context,
  row: UserRow,
  content: UserContent,
  action: AuditAction,
  selection: Selection,
): Promise<Reply<JsonObject>> {
  const source = sourceOf(context);
  let current = row;
  if (!isDeepStrictEqual(contentOf(documentOf(row)), content)) {
    current = await refuseDuplicates(async () => {
      await followPerson(context, source, row, content);
      return (await context.db.row(updateUser(row.id, content))) as UserRow;
    });
    if (row.active && !content.active) await suspendPerson(context, source, row);
    if (!row.active && content.active) await restorePerson(context, source, row);
    const about = { tenantId: source.tenantId, aggregateId: row.id };
    emit(context, scimUserUpdated, about, payloadOf(context, current));
  }
  await recordWrite(context, action, current);
  return scimReply(200, await showOne(context, current, selection), { etag: versionTag(current.version) });
}

async function recordWrite(context: Context, action: AuditAction, row: UserRow): Promise<void> {
  const source = sourceOf(context);
  audit(context, {
    tenantId: source.tenantId,
    action,
    resource: ['scim_user', row.id],
    reason: `principal:${row.principal_id}`,
  });
  // Last, because every write of the source comes by this row.
  await noteContact(context, source.id);
}

async function showOne(context: Context, row: UserRow, selection: Selection): Promise<JsonObject> {
  const [shown] = await showUsers(context, [row], selection);
  return shown as JsonObject;
}

function payloadOf(context: Context, row: UserRow) {
  return {
    provisioningSource: sourceOf(context).key,
    scimUserId: row.id,
    principalId: row.principal_id,
    active: row.active,
  };
}

/** What the unique indexes refuse, also in a race. @throws Refusal `scim_uniqueness` */
async function refuseDuplicates<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (violatedConstraint(error) === undefined) throw error;
    return fail('scim_uniqueness', {}, { cause: error });
  }
}
