import {
  groupCreated,
  groupDeleted,
  groupMembershipAdded,
  groupMembershipRemoved,
  groupUpdated,
} from '../../../directory/groups/groups.events.ts';
import { endpoint } from '../../context.ts';
import { listQuery, parseListOrder, parseSearch } from '../filter/list-page.ts';
import { groupUrn } from '../protocol/schemas.ts';
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
import { createGroup, deleteGroup, getGroup, listGroups, replaceGroup, updateGroup } from './groups.ts';

const example = { schemas: [groupUrn], displayName: 'Engineering' };
const ScimGroup = scimForm('ScimGroup', example);
const changeEvents = [groupMembershipAdded, groupMembershipRemoved, groupUpdated];

export const list = endpoint({
  id: 'listScimGroups',
  ...scim,
  method: 'GET',
  path: '/scim/v2/Groups',
  summary: 'List or find groups. `excludedAttributes=members` spares reading the members.',
  query: listQuery,
  returns: { 200: ScimListResponse },
  errors: listErrors,
  handle: ({ query }, context) => listGroups(context, parseListOrder(query, context.settings)),
});

export const search = endpoint({
  id: 'searchScimGroups',
  ...scim,
  method: 'POST',
  path: '/scim/v2/Groups/.search',
  summary: 'Find groups, with the query in the body.',
  body: ScimSearch,
  returns: { 200: ScimListResponse },
  errors: listErrors,
  transaction: 'none',
  example: searchExample,
  handle: ({ body }, context) => listGroups(context, parseSearch(body, context.settings)),
});

export const create = endpoint({
  id: 'createScimGroup',
  ...scimWrite,
  method: 'POST',
  path: '/scim/v2/Groups',
  summary: 'Create a group of users of this source.',
  query: selectionQuery,
  body: ScimGroup,
  returns: { 201: ScimGroup },
  errors: ['scim_invalid_value', 'scim_uniqueness'],
  emits: [groupCreated, groupMembershipAdded],
  example,
  handle: ({ query, body }, context) => createGroup(context, body, parseSelection(query)),
});

export const get = endpoint({
  id: 'getScimGroup',
  ...scim,
  method: 'GET',
  path: '/scim/v2/Groups/{id}',
  summary: 'Read a group.',
  params: idParam,
  query: selectionQuery,
  returns: { 200: ScimGroup, 304: null },
  errors: ['scim_not_found', 'scim_too_many'],
  handle: ({ params, query }, context) => getGroup(context, params.id, parseSelection(query)),
});

export const replace = endpoint({
  id: 'replaceScimGroup',
  ...scimWrite,
  method: 'PUT',
  path: '/scim/v2/Groups/{id}',
  summary: 'Replace the name, the external id and the members of a group.',
  params: idParam,
  query: selectionQuery,
  body: ScimGroup,
  returns: { 200: ScimGroup },
  errors: ['scim_not_found', 'scim_version_mismatch', 'scim_invalid_value', 'scim_uniqueness'],
  emits: changeEvents,
  example,
  handle: ({ params, query, body }, context) => replaceGroup(context, params.id, body, parseSelection(query)),
});

export const update = endpoint({
  id: 'updateScimGroup',
  ...scimWrite,
  method: 'PATCH',
  path: '/scim/v2/Groups/{id}',
  summary: 'Change a group. Beyond 200 members the answer is 204.',
  params: idParam,
  query: selectionQuery,
  body: ScimPatch,
  returns: { 200: ScimGroup, 204: null },
  errors: patchErrors,
  emits: changeEvents,
  example: {
    schemas: [patchUrn],
    Operations: [{ op: 'replace', path: 'displayName', value: 'Engineers' }],
  },
  handle: ({ params, query, body }, context) => updateGroup(context, params.id, body, parseSelection(query)),
});

export const remove = endpoint({
  id: 'deleteScimGroup',
  ...scimWrite,
  method: 'DELETE',
  path: '/scim/v2/Groups/{id}',
  summary: 'End a group.',
  params: idParam,
  returns: { 204: null },
  errors: ['scim_not_found', 'scim_version_mismatch'],
  emits: [groupMembershipRemoved, groupDeleted],
  handle: ({ params }, context) => deleteGroup(context, params.id),
});

export const groupsApi = [list, search, create, get, replace, update, remove];
