import { externalIdentityLinked } from '../../../directory/external-identities/external-identities.events.ts';
import { groupMembershipRemoved } from '../../../directory/groups/groups.events.ts';
import {
  principalCreated,
  principalDisabled,
  principalEnabled,
} from '../../../directory/principals/principals.events.ts';
import { browserSessionRevoked } from '../../../directory/revocation/browser-sessions.events.ts';
import { credentialRevoked } from '../../../directory/revocation/credentials.events.ts';
import { invitationRevoked } from '../../../directory/revocation/invitations.events.ts';
import { endpoint } from '../../context.ts';
import { parseListOrder, parseSearch } from '../filter/list-page.ts';
import { userUrn } from '../protocol/schemas.ts';
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

const changeEvents = [
  scimUserUpdated,
  credentialRevoked,
  browserSessionRevoked,
  invitationRevoked,
  principalDisabled,
  principalEnabled,
];

export const list = endpoint({
  id: 'listScimUsers',
  ...listResources,
  path: '/scim/v2/Users',
  summary: 'List or find users.',
  handle: ({ query }, context) => listUsers(context, parseListOrder(query, context.settings)),
});

export const search = endpoint({
  id: 'searchScimUsers',
  ...searchResources,
  path: '/scim/v2/Users/.search',
  summary: 'Find users, with the query in the body.',
  handle: ({ body }, context) => listUsers(context, parseSearch(body, context.settings)),
});

export const create = endpoint({
  id: 'createScimUser',
  ...createResource(ScimUser, example),
  path: '/scim/v2/Users',
  summary: 'Create a user and its person; a deleted user is restored as the same person.',
  errors: ['scim_invalid_value', 'scim_uniqueness', 'scim_upstream_refused'],
  emits: [
    principalCreated,
    externalIdentityLinked,
    principalEnabled,
    credentialRevoked,
    browserSessionRevoked,
    invitationRevoked,
    principalDisabled,
    scimUserProvisioned,
  ],
  handle: ({ query, body }, context) => createUser(context, body, parseSelection(query)),
});

export const get = endpoint({
  id: 'getScimUser',
  ...readResource(ScimUser),
  path: '/scim/v2/Users/{id}',
  summary: 'Read a user.',
  errors: ['scim_not_found'],
  handle: ({ params, query }, context) => getUser(context, params.id, parseSelection(query)),
});

export const replace = endpoint({
  id: 'replaceScimUser',
  ...replaceResource(ScimUser, example),
  path: '/scim/v2/Users/{id}',
  summary: 'Replace a user. Without `active` its status is unchanged.',
  errors: [
    'scim_not_found',
    'scim_version_mismatch',
    'scim_invalid_value',
    'scim_uniqueness',
    'scim_upstream_refused',
  ],
  emits: changeEvents,
  handle: ({ params, query, body }, context) => replaceUser(context, params.id, body, parseSelection(query)),
});

export const update = endpoint({
  id: 'updateScimUser',
  ...patchResource,
  path: '/scim/v2/Users/{id}',
  summary: 'Change a user. Setting `active` to false disables the person and revokes their tokens.',
  returns: { 200: ScimUser },
  errors: [...patchErrors, 'scim_upstream_refused'],
  emits: changeEvents,
  example: { schemas: [patchUrn], Operations: [{ op: 'replace', path: 'active', value: false }] },
  handle: ({ params, query, body }, context) => updateUser(context, params.id, body, parseSelection(query)),
});

export const remove = endpoint({
  id: 'deleteScimUser',
  ...deleteResource,
  path: '/scim/v2/Users/{id}',
  summary: 'Delete a user: its person is disabled and removed from the groups of this source.',
  errors: ['scim_not_found', 'scim_version_mismatch', 'scim_upstream_refused'],
  emits: [
    credentialRevoked,
    browserSessionRevoked,
    invitationRevoked,
    principalDisabled,
    groupMembershipRemoved,
    scimUserDeprovisioned,
  ],
  handle: ({ params }, context) => deleteUser(context, params.id),
});

export const usersApi = [list, search, create, get, replace, update, remove];
