import {
  groupCreated,
  groupDeleted,
  groupMembershipAdded,
  groupMembershipRemoved,
  groupUpdated,
} from '../../../directory/groups/groups.events.ts';
import { endpoint } from '../../context.ts';
import { parseListOrder, parseSearch } from '../filter/list-page.ts';
import { groupUrn } from '../protocol/schemas.ts';
import { scimForm } from '../protocol/scim-answer.ts';
import { patchErrors, patchUrn } from '../protocol/scim-endpoint.ts';
import { parseSelection } from '../protocol/selection.ts';
import {
  createResource,
  deleteResource,
  listResources,
  patchResource,
  readResource,
  replaceResource,
  searchResources,
} from '../resource-endpoints.ts';
import { createGroup, deleteGroup, getGroup, listGroups, replaceGroup, updateGroup } from './groups.ts';

const example = { schemas: [groupUrn], displayName: 'Engineering' };
const ScimGroup = scimForm('ScimGroup', example);
const changeEvents = [groupMembershipAdded, groupMembershipRemoved, groupUpdated];

export const list = endpoint({
  id: 'listScimGroups',
  ...listResources,
  path: '/scim/v2/Groups',
  summary: 'List or find groups. `excludedAttributes=members` avoids reading the members.',
  handle: ({ query }, context) => listGroups(context, parseListOrder(query, context.settings)),
});

export const search = endpoint({
  id: 'searchScimGroups',
  ...searchResources,
  path: '/scim/v2/Groups/.search',
  summary: 'Find groups, with the query in the body.',
  handle: ({ body }, context) => listGroups(context, parseSearch(body, context.settings)),
});

export const create = endpoint({
  id: 'createScimGroup',
  ...createResource(ScimGroup, example),
  path: '/scim/v2/Groups',
  summary: 'Create a group of users of this source.',
  errors: ['scim_invalid_value', 'scim_uniqueness'],
  emits: [groupCreated, groupMembershipAdded],
  handle: ({ query, body }, context) => createGroup(context, body, parseSelection(query)),
});

export const get = endpoint({
  id: 'getScimGroup',
  ...readResource(ScimGroup),
  path: '/scim/v2/Groups/{id}',
  summary: 'Read a group.',
  errors: ['scim_not_found', 'scim_too_many'],
  handle: ({ params, query }, context) => getGroup(context, params.id, parseSelection(query)),
});

export const replace = endpoint({
  id: 'replaceScimGroup',
  ...replaceResource(ScimGroup, example),
  path: '/scim/v2/Groups/{id}',
  summary: 'Replace the name, the external id and the members of a group.',
  errors: ['scim_not_found', 'scim_version_mismatch', 'scim_invalid_value', 'scim_uniqueness'],
  emits: changeEvents,
  handle: ({ params, query, body }, context) => replaceGroup(context, params.id, body, parseSelection(query)),
});

export const update = endpoint({
  id: 'updateScimGroup',
  ...patchResource,
  path: '/scim/v2/Groups/{id}',
  summary: 'Change a group. If it has more than 200 members, the response is 204.',
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
  ...deleteResource,
  path: '/scim/v2/Groups/{id}',
  summary: 'Delete a group.',
  errors: ['scim_not_found', 'scim_version_mismatch'],
  emits: [groupMembershipRemoved, groupDeleted],
  handle: ({ params }, context) => deleteGroup(context, params.id),
});

export const groupsApi = [list, search, create, get, replace, update, remove];
