import type { JsonObject } from '@baton/kernel/wire';
import { z } from 'zod';
import type { Context } from '../../context.ts';
import { credentialRevoked } from '../../../directory/revocation/credentials.events.ts';
import { externalIdentityLinked } from '../../../directory/external-identities/external-identities.events.ts';
import {
  groupCreated,
  groupDeleted,
  groupMembershipAdded,
  groupMembershipRemoved,
  groupUpdated,
} from '../../../directory/groups/groups.events.ts';
import {
  principalCreated,
  principalDisabled,
  principalEnabled,
} from '../../../directory/principals/principals.events.ts';
import { endpoint } from '../../context.ts';
import { createGroup, endGroup, patchGroup, readGroup, replaceGroup, showGroups } from '../groups/groups.ts';
import { groupColumns, type GroupRow } from '../groups/groups.sql.ts';
import {
  findPage,
  type ListOrder,
  listQuery,
  listResponse,
  readListOrder,
  readSearch,
  readSelection,
  selectionQuery,
} from './listing.ts';
import { scimUserDeprovisioned, scimUserProvisioned, scimUserUpdated } from './scim.events.ts';
import { sourceOf } from './scim-access.ts';
import { ScimDocument, scimReply } from './scim-answer.ts';
import { groupKind, groupUrn, userKind, userUrn } from './schemas.ts';
import { writeInTurn } from './turns.ts';
import { scimBase, showUsers } from '../users/user-view.ts';
import { createUser, endUser, patchUser, readUser, replaceUser } from '../users/users.ts';
import { userColumns, type UserRow } from '../users/users.sql.ts';

const scim = { root: true, auth: 'provisioning' } as const;
/** A write opens its transaction itself: when its turn comes, and the directory of its source was asked. */
const ownTransaction = { transaction: 'none' } as const;
const idParam = { id: z.string() };
const found = { 200: ScimDocument, 304: null };
const patchUrn = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
const searchUrn = 'urn:ietf:params:scim:api:messages:2.0:SearchRequest';
const listErrors = ['scim_invalid_value', 'scim_invalid_filter', 'scim_too_many'] as const;
const patchErrors = [
  'scim_not_found',
  'scim_version_mismatch',
  'scim_invalid_syntax',
  'scim_invalid_value',
  'scim_invalid_path',
  'scim_mutability',
  'scim_no_target',
  'scim_uniqueness',
] as const;
const userExample = {
  schemas: [userUrn],
  userName: 'ada@example.com',
  externalId: '00u1',
  displayName: 'Ada Lovelace',
  emails: [{ value: 'ada@example.com', type: 'work', primary: true }],
};
const groupExample = { schemas: [groupUrn], displayName: 'Engineering' };
const searchExample = { schemas: [searchUrn], filter: 'displayName sw "A"', count: 10 };

export const listUsers = endpoint({
  id: 'listScimUsers',
  ...scim,
  method: 'GET',
  path: '/scim/v2/Users',
  summary: 'List or find users.',
  query: listQuery,
  returns: { 200: ScimDocument },
  errors: listErrors,
  handle: ({ query }, context) => pageOfUsers(context, readListOrder(query, context.settings)),
});

export const searchUsers = endpoint({
  id: 'searchScimUsers',
  ...scim,
  method: 'POST',
  path: '/scim/v2/Users/.search',
  summary: 'Find users, with the query in the body.',
  body: ScimDocument,
  returns: { 200: ScimDocument },
  errors: listErrors,
  transaction: 'none',
  example: searchExample,
  handle: ({ body }, context) => pageOfUsers(context, readSearch(body, context.settings)),
});

export const postUser = endpoint({
  id: 'createScimUser',
  ...scim,
  ...ownTransaction,
  method: 'POST',
  path: '/scim/v2/Users',
  summary: 'Create a user and its person; one that was deleted comes back as the same person.',
  query: selectionQuery,
  body: ScimDocument,
  returns: { 201: ScimDocument },
  errors: ['scim_invalid_value', 'scim_uniqueness', 'scim_upstream_refused'],
  emits: [
    principalCreated,
    externalIdentityLinked,
    principalEnabled,
    credentialRevoked,
    principalDisabled,
    scimUserProvisioned,
  ],
  example: userExample,
  handle: ({ query, body }, context) => createUser(context, body, readSelection(query)),
});

export const getUser = endpoint({
  id: 'getScimUser',
  ...scim,
  method: 'GET',
  path: '/scim/v2/Users/{id}',
  summary: 'Read a user.',
  params: idParam,
  query: selectionQuery,
  returns: found,
  errors: ['scim_not_found'],
  handle: ({ params, query }, context) => readUser(context, params.id, readSelection(query)),
});

const userEvents = [scimUserUpdated, credentialRevoked, principalDisabled, principalEnabled];

export const putUser = endpoint({
  id: 'replaceScimUser',
  ...scim,
  ...ownTransaction,
  method: 'PUT',
  path: '/scim/v2/Users/{id}',
  summary: 'Replace a user. Without `active` it stays as active as it is.',
  params: idParam,
  query: selectionQuery,
  body: ScimDocument,
  returns: { 200: ScimDocument },
  errors: [
    'scim_not_found',
    'scim_version_mismatch',
    'scim_invalid_value',
    'scim_uniqueness',
    'scim_upstream_refused',
  ],
  emits: userEvents,
  example: userExample,
  handle: ({ params, query, body }, context) => replaceUser(context, params.id, body, readSelection(query)),
});

export const changeUser = endpoint({
  id: 'updateScimUser',
  ...scim,
  ...ownTransaction,
  method: 'PATCH',
  path: '/scim/v2/Users/{id}',
  summary: 'Change a user. Switching `active` off disables the person and revokes its tokens.',
  params: idParam,
  query: selectionQuery,
  body: ScimDocument,
  returns: { 200: ScimDocument },
  errors: [...patchErrors, 'scim_upstream_refused'],
  emits: userEvents,
  example: { schemas: [patchUrn], Operations: [{ op: 'replace', path: 'active', value: false }] },
  handle: ({ params, query, body }, context) => patchUser(context, params.id, body, readSelection(query)),
});

export const deleteUser = endpoint({
  id: 'deleteScimUser',
  ...scim,
  ...ownTransaction,
  method: 'DELETE',
  path: '/scim/v2/Users/{id}',
  summary: 'End a user: its person is disabled and leaves the groups of this source.',
  params: idParam,
  returns: { 204: null },
  errors: ['scim_not_found', 'scim_version_mismatch', 'scim_upstream_refused'],
  emits: [credentialRevoked, principalDisabled, groupMembershipRemoved, scimUserDeprovisioned],
  handle: ({ params }, context) => endUser(context, params.id),
});

export const listGroups = endpoint({
  id: 'listScimGroups',
  ...scim,
  method: 'GET',
  path: '/scim/v2/Groups',
  summary: 'List or find groups. `excludedAttributes=members` spares reading the members.',
  query: listQuery,
  returns: { 200: ScimDocument },
  errors: listErrors,
  handle: ({ query }, context) => pageOfGroups(context, readListOrder(query, context.settings)),
});

export const searchGroups = endpoint({
  id: 'searchScimGroups',
  ...scim,
  method: 'POST',
  path: '/scim/v2/Groups/.search',
  summary: 'Find groups, with the query in the body.',
  body: ScimDocument,
  returns: { 200: ScimDocument },
  errors: listErrors,
  transaction: 'none',
  example: searchExample,
  handle: ({ body }, context) => pageOfGroups(context, readSearch(body, context.settings)),
});

export const postGroup = endpoint({
  id: 'createScimGroup',
  ...scim,
  ...ownTransaction,
  method: 'POST',
  path: '/scim/v2/Groups',
  summary: 'Create a group of users of this source.',
  query: selectionQuery,
  body: ScimDocument,
  returns: { 201: ScimDocument },
  errors: ['scim_invalid_value', 'scim_uniqueness'],
  emits: [groupCreated, groupMembershipAdded],
  example: groupExample,
  handle: ({ query, body }, context) =>
    writeInTurn(context, (inside) => createGroup(inside, body, readSelection(query))),
});

export const getGroup = endpoint({
  id: 'getScimGroup',
  ...scim,
  method: 'GET',
  path: '/scim/v2/Groups/{id}',
  summary: 'Read a group.',
  params: idParam,
  query: selectionQuery,
  returns: found,
  errors: ['scim_not_found'],
  handle: ({ params, query }, context) => readGroup(context, params.id, readSelection(query)),
});

const groupEvents = [groupMembershipAdded, groupMembershipRemoved, groupUpdated];

export const putGroup = endpoint({
  id: 'replaceScimGroup',
  ...scim,
  ...ownTransaction,
  method: 'PUT',
  path: '/scim/v2/Groups/{id}',
  summary: 'Replace the name, the external id and the members of a group.',
  params: idParam,
  query: selectionQuery,
  body: ScimDocument,
  returns: { 200: ScimDocument },
  errors: ['scim_not_found', 'scim_version_mismatch', 'scim_invalid_value', 'scim_uniqueness'],
  emits: groupEvents,
  example: groupExample,
  handle: ({ params, query, body }, context) =>
    writeInTurn(context, (inside) => replaceGroup(inside, params.id, body, readSelection(query))),
});

export const changeGroup = endpoint({
  id: 'updateScimGroup',
  ...scim,
  ...ownTransaction,
  method: 'PATCH',
  path: '/scim/v2/Groups/{id}',
  summary: 'Change a group. Beyond 200 members the answer is 204.',
  params: idParam,
  query: selectionQuery,
  body: ScimDocument,
  returns: { 200: ScimDocument, 204: null },
  errors: patchErrors,
  emits: groupEvents,
  example: {
    schemas: [patchUrn],
    Operations: [{ op: 'replace', path: 'displayName', value: 'Engineers' }],
  },
  handle: ({ params, query, body }, context) =>
    writeInTurn(context, (inside) => patchGroup(inside, params.id, body, readSelection(query))),
});

export const deleteGroup = endpoint({
  id: 'deleteScimGroup',
  ...scim,
  ...ownTransaction,
  method: 'DELETE',
  path: '/scim/v2/Groups/{id}',
  summary: 'End a group.',
  params: idParam,
  returns: { 204: null },
  errors: ['scim_not_found', 'scim_version_mismatch'],
  emits: [groupMembershipRemoved, groupDeleted],
  handle: ({ params }, context) => writeInTurn(context, (inside) => endGroup(inside, params.id)),
});

async function pageOfUsers(context: Context, order: ListOrder) {
  const where = { sourceId: sourceOf(context).id, base: scimBase(context), columns: userColumns };
  const { total, rows } = await findPage<UserRow>(context.db, userKind, order, where);
  return listAnswer(total, order, await showUsers(context, rows, order.selection));
}

async function pageOfGroups(context: Context, order: ListOrder) {
  const where = { sourceId: sourceOf(context).id, base: scimBase(context), columns: groupColumns };
  const { total, rows } = await findPage<GroupRow>(context.db, groupKind, order, where);
  return listAnswer(total, order, await showGroups(context, rows, order.selection));
}

function listAnswer(total: number, order: ListOrder, resources: JsonObject[]) {
  return scimReply(200, listResponse(total, order.startIndex, resources));
}

export const scimApi = [
  listUsers,
  searchUsers,
  postUser,
  getUser,
  putUser,
  changeUser,
  deleteUser,
  listGroups,
  searchGroups,
  postGroup,
  getGroup,
  putGroup,
  changeGroup,
  deleteGroup,
];
