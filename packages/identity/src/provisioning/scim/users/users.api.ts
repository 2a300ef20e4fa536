import { externalIdentityLinked } from '../../../directory/external-identities/external-identities.events.ts';
import { groupMembershipRemoved } from '../../../directory/groups/groups.events.ts';
import {
  principalCreated,
  principalDisabled,
  principalEnabled,
} from '../../../directory/principals/principals.events.ts';
import { credentialRevoked } from '../../../directory/revocation/credentials.events.ts';
import { endpoint } from '../../context.ts';
import { listQuery, parseListOrder, parseSearch } from '../filter/list-page.ts';
import { userUrn } from '../protocol/schemas.ts';
import { ScimListResponse, scimForm } from '../protocol/scim-answer.ts';
import {
  idParam,
  listErrors,
  patchErrors,
  patchUrn,
  ScimPatch,
  ScimSearch,
  scim,
  scimWrite,
  searchExample,
} from '../protocol/scim-endpoint.ts';
import { parseSelection, selectionQuery } from '../protocol/selection.ts';
import { scimUserDeprovisioned, scimUserProvisioned, scimUserUpdated } from './users.events.ts';
import { createUser, deleteUser, getUser, listUsers, replaceUser, updateUser } from './users.ts';

const example = {
  schemas: [userUrn],
  userName: 'ada@example.com',
  externalId: '00u1',
  displayName: 'Ada Lovelace',
  emails: [{ value: 'ada@example.com', type: 'work', primary: true }],
};
const ScimUser = scimForm('ScimUser', example);

const changeEvents = [scimUserUpdated, credentialRevoked, principalDisabled, principalEnabled];

export const list = endpoint({
  id: 'listScimUsers',
  ...scim,
  method: 'GET',
  path: '/scim/v2/Users',
  summary: 'List or find users.',
  query: listQuery,
  returns: { 200: ScimListResponse },
  errors: listErrors,
  handle: ({ query }, context) => listUsers(context, parseListOrder(query, context.settings)),
});

export const search = endpoint({
  id: 'searchScimUsers',
  ...scim,
  method: 'POST',
  path: '/scim/v2/Users/.search',
  summary: 'Find users, with the query in the body.',
  body: ScimSearch,
  returns: { 200: ScimListResponse },
  errors: listErrors,
  transaction: 'none',
  example: searchExample,
  handle: ({ body }, context) => listUsers(context, parseSearch(body, context.settings)),
});

export const create = endpoint({
  id: 'createScimUser',
  ...scimWrite,
  method: 'POST',
  path: '/scim/v2/Users',
  summary: 'Create a user and its person; one that was deleted comes back as the same person.',
  query: selectionQuery,
  body: ScimUser,
  returns: { 201: ScimUser },
  errors: ['scim_invalid_value', 'scim_uniqueness', 'scim_upstream_refused'],
  emits: [
    principalCreated,
    externalIdentityLinked,
    principalEnabled,
    credentialRevoked,
    principalDisabled,
    scimUserProvisioned,
  ],
  example,
  handle: ({ query, body }, context) => createUser(context, body, parseSelection(query)),
});

export const get = endpoint({
  id: 'getScimUser',
  ...scim,
  method: 'GET',
  path: '/scim/v2/Users/{id}',
  summary: 'Read a user.',
  params: idParam,
  query: selectionQuery,
  returns: { 200: ScimUser, 304: null },
  errors: ['scim_not_found'],
  handle: ({ params, query }, context) => getUser(context, params.id, parseSelection(query)),
});

export const replace = endpoint({
  id: 'replaceScimUser',
  ...scimWrite,
  method: 'PUT',
  path: '/scim/v2/Users/{id}',
  summary: 'Replace a user. Without `active` it stays as active as it is.',
  params: idParam,
  query: selectionQuery,
  body: ScimUser,
  returns: { 200: ScimUser },
  errors: [
    'scim_not_found',
    'scim_version_mismatch',
    'scim_invalid_value',
    'scim_uniqueness',
    'scim_upstream_refused',
  ],
  emits: changeEvents,
  example,
  handle: ({ params, query, body }, context) => replaceUser(context, params.id, body, parseSelection(query)),
});

export const update = endpoint({
  id: 'updateScimUser',
  ...scimWrite,
  method: 'PATCH',
  path: '/scim/v2/Users/{id}',
  summary: 'Change a user. Switching `active` off disables the person and revokes its tokens.',
  params: idParam,
  query: selectionQuery,
  body: ScimPatch,
  returns: { 200: ScimUser },
  errors: [...patchErrors, 'scim_upstream_refused'],
  emits: changeEvents,
  example: { schemas: [patchUrn], Operations: [{ op: 'replace', path: 'active', value: false }] },
  handle: ({ params, query, body }, context) => updateUser(context, params.id, body, parseSelection(query)),
});

export const remove = endpoint({
  id: 'deleteScimUser',
  ...scimWrite,
  method: 'DELETE',
  path: '/scim/v2/Users/{id}',
  summary: 'End a user: its person is disabled and leaves the groups of this source.',
  params: idParam,
  returns: { 204: null },
  errors: ['scim_not_found', 'scim_version_mismatch', 'scim_upstream_refused'],
  emits: [credentialRevoked, principalDisabled, groupMembershipRemoved, scimUserDeprovisioned],
  handle: ({ params }, context) => deleteUser(context, params.id),
});

export const usersApi = [list, search, create, get, replace, update, remove];
