import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { makeProvisioning } from '../../testing/provisioning.ts';
import { patchUrn } from '../../testing/scim-client.ts';
import { enterpriseUrn, groupUrn, userUrn } from './protocol/schemas.ts';
import type { Resource } from './testing/filters.ts';

/**
 * Sends requests in the order and format in which commercial directories send them, according to their public
 * documentation. Baton must accept these requests even if they deviate from RFC 7644.
 */

interface Step {
  readonly what: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /**
   * `{user}`, `{other}` and `{group}` are the ids of objects that were created before.
   */
  readonly path: string;
  readonly body?: unknown;
  readonly status: number;
  /** The name under which the id of the created object is stored. */
  readonly makes?: string;
  /** The expected values in the response, by path: `emails.0.value`. */
  readonly shows?: Resource;
}

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity();
});
after(() => identity.close());

const patch = (path: string, ...operations: unknown[]) =>
  ({ method: 'PATCH', path, body: { schemas: [patchUrn], Operations: operations } }) as const;
const get = (path: string) => ({ method: 'GET', path }) as const;

const entraUser = {
  schemas: [userUrn, enterpriseUrn],
  externalId: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef',
  userName: 'Test_User_ab6490ee-1e48-479e-a20b-2d77186b5dd1',
  active: true,
  displayName: 'Ada Lovelace',
  title: '',
  emails: [{ primary: true, type: 'work', value: 'ada@test.com' }],
  phoneNumbers: [
    { type: 'work', value: '+44 1' },
    { type: 'mobile', value: '+44 2' },
  ],
  addresses: [{ type: 'work', primary: false, country: 'GB', locality: 'London', postalCode: 'W1' }],
  roles: [],
  meta: { resourceType: 'User' },
  name: { formatted: 'Ada Lovelace', familyName: 'Lovelace', givenName: 'Ada' },
  [enterpriseUrn]: { employeeNumber: '1', department: 'Engines', manager: { value: null } },
};

const entra: Step[] = [
  {
    what: 'tests the connection with a name that nobody has, blanks as plus signs',
    ...get(`/Users?filter=userName+eq+%22${randomUUID()}%22`),
    status: 200,
    shows: { totalResults: 0, Resources: [], startIndex: 1, itemsPerPage: 0 },
  },
  {
    what: 'creates a user',
    method: 'POST',
    path: '/Users',
    body: entraUser,
    status: 201,
    makes: 'user',
    shows: {
      'emails.0.value': 'ada@test.com',
      'phoneNumbers.1.type': 'mobile',
      [`${enterpriseUrn}.department`]: 'Engines',
      active: true,
    },
  },
  {
    what: 'creates it again',
    method: 'POST',
    path: '/Users',
    body: entraUser,
    status: 409,
    shows: { scimType: 'uniqueness' },
  },
  {
    what: 'creates a manager',
    method: 'POST',
    path: '/Users',
    body: { schemas: [userUrn], userName: 'manager@test.com', externalId: randomUUID(), active: 'True' },
    status: 201,
    makes: 'other',
    shows: { active: true },
  },
  {
    what: 'finds the user by its external id',
    ...get(`/Users?filter=externalId eq "${entraUser.externalId}"`),
    status: 200,
    shows: { totalResults: 1, 'Resources.0.userName': entraUser.userName },
  },
  {
    what: 'finds the user by its name in another case',
    ...get(`/Users?filter=userName eq "${entraUser.userName.toUpperCase()}"&attributes=id,userName`),
    status: 200,
    shows: { totalResults: 1, 'Resources.0.id': '{user}', 'Resources.0.displayName': undefined },
  },
  {
    what: 'changes parts of lists, of which one is not there yet',
    ...patch(
      '/Users/{user}',
      { op: 'Replace', path: 'emails[type eq "work"].value', value: 'new@test.com' },
      { op: 'Add', path: 'emails[type eq "other"].value', value: 'other@test.com' },
      { op: 'Replace', path: 'addresses[type eq "work"].country', value: 'FR' },
      { op: 'Add', path: 'phoneNumbers[type eq "fax"].value', value: '+44 3' },
      { op: 'Add', path: 'roles[primary eq "True"].value', value: 'admin' },
      { op: 'Replace', path: 'name.familyName', value: 'King' },
      { op: 'Add', path: `${enterpriseUrn}:costCenter`, value: 'c1' },
    ),
    status: 200,
    shows: {
      'emails.0': { primary: true, type: 'work', value: 'new@test.com' },
      'emails.1': { type: 'other', value: 'other@test.com' },
      'addresses.0.country': 'FR',
      'addresses.0.locality': 'London',
      'phoneNumbers.2.value': '+44 3',
      'roles.0': { primary: true, value: 'admin' },
      'name.familyName': 'King',
      [`${enterpriseUrn}.costCenter`]: 'c1',
    },
  },
  {
    what: 'changes many things without a path',
    ...patch('/Users/{user}', {
      op: 'replace',
      value: {
        displayName: 'Ada King',
        'emails[type eq "work"].value': 'third@test.com',
        'name.givenName': 'A.',
        [`${enterpriseUrn}:department`]: 'Analysis',
        unknownThing: { x: 1 },
      },
    }),
    status: 200,
    shows: {
      displayName: 'Ada King',
      'emails.0.value': 'third@test.com',
      'name.givenName': 'A.',
      [`${enterpriseUrn}.department`]: 'Analysis',
    },
  },
  {
    what: 'sets the manager by a path with the schema',
    ...patch('/Users/{user}', { op: 'Add', path: `${enterpriseUrn}:manager`, value: '{other}' }),
    status: 200,
    shows: { [`${enterpriseUrn}.manager.value`]: '{other}' },
  },
  {
    what: 'checks whether that is the manager',
    ...get(`/Users?filter=id eq "{user}" and ${enterpriseUrn}:manager eq "{other}"&attributes=id`),
    status: 200,
    shows: { totalResults: 1, 'Resources.0.id': '{user}' },
  },
  {
    what: 'takes the manager away',
    ...patch('/Users/{user}', { op: 'Remove', path: `${enterpriseUrn}:manager` }),
    status: 200,
    shows: { [`${enterpriseUrn}.manager`]: undefined, [`${enterpriseUrn}.costCenter`]: 'c1' },
  },
  {
    what: 'sets the manager by its bare name, as a list of one',
    ...patch('/Users/{user}', {
      op: 'Add',
      path: 'manager',
      value: [{ $ref: 'http://example.com/scim/Users/{other}', value: '{other}' }],
    }),
    status: 200,
    shows: { [`${enterpriseUrn}.manager.value`]: '{other}' },
  },
  {
    what: 'requests the manager by its bare name',
    ...get('/Users?filter=id eq "{user}" and manager eq "{other}"&attributes=id'),
    status: 200,
    shows: { totalResults: 1 },
  },
  {
    what: 'switches the user off with a word',
    ...patch('/Users/{user}', { op: 'Replace', path: 'active', value: 'False' }),
    status: 200,
    shows: { active: false },
  },
  {
    what: 'still sees it',
    ...get('/Users/{user}'),
    status: 200,
    shows: { active: false, 'name.familyName': 'King' },
  },
  {
    what: 'switches it on again',
    ...patch('/Users/{user}', { op: 'Add', path: 'active', value: 'True' }),
    status: 200,
    shows: { active: true },
  },
  {
    what: 'searches for a group that does not exist',
    ...get(`/Groups?excludedAttributes=members&filter=displayName eq "${randomUUID()}"`),
    status: 200,
    shows: { totalResults: 0 },
  },
  {
    what: 'creates a group with a schema of its own',
    method: 'POST',
    path: '/Groups',
    body: {
      schemas: [groupUrn, 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group'],
      externalId: '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159',
      displayName: 'Engineers of Entra',
      meta: { resourceType: 'Group' },
    },
    status: 201,
    makes: 'group',
    shows: { members: [] },
  },
  {
    what: 'finds the group by its external id',
    ...get('/Groups?excludedAttributes=members&filter=externalId eq "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159"'),
    status: 200,
    shows: { totalResults: 1, 'Resources.0.id': '{group}', 'Resources.0.members': undefined },
  },
  {
    what: 'adds members with empty references',
    ...patch('/Groups/{group}', {
      op: 'Add',
      path: 'members',
      value: [
        { $ref: null, value: '{user}' },
        { $ref: null, value: '{other}' },
      ],
    }),
    status: 200,
  },
  {
    what: 'checks whether one is a member',
    ...get('/Groups?filter=id eq "{group}" and members eq "{user}"&attributes=id'),
    status: 200,
    shows: { totalResults: 1 },
  },
  {
    what: 'removes a member by a list of values',
    ...patch('/Groups/{group}', { op: 'Remove', path: 'members', value: [{ $ref: null, value: '{other}' }] }),
    status: 200,
    shows: { 'members.0.value': '{user}', 'members.1': undefined },
  },
  {
    what: 'renames the group',
    ...patch('/Groups/{group}', { op: 'Replace', path: 'displayName', value: 'Analysts of Entra' }),
    status: 200,
    shows: { displayName: 'Analysts of Entra', 'members.0.value': '{user}' },
  },
  {
    what: 'reads it without members',
    ...get('/Groups/{group}?excludedAttributes=members'),
    status: 200,
    shows: { members: undefined },
  },
  { what: 'deletes the group', method: 'DELETE', path: '/Groups/{group}', status: 204 },
  { what: 'deletes the user', method: 'DELETE', path: '/Users/{user}', status: 204 },
  {
    what: 'no longer finds it',
    ...get('/Users/{user}'),
    status: 404,
    shows: { status: '404', scimType: undefined },
  },
  { what: 'deletes it again', method: 'DELETE', path: '/Users/{user}', status: 404 },
  {
    what: 'hires it again',
    method: 'POST',
    path: '/Users',
    body: entraUser,
    status: 201,
    shows: { externalId: entraUser.externalId, active: true },
  },
];

const oktaUser = {
  schemas: [userUrn],
  userName: 'test.user@okta.local',
  name: { givenName: 'Test', familyName: 'User' },
  emails: [{ primary: true, value: 'test.user@okta.local', type: 'work' }],
  displayName: 'Test User',
  locale: 'en-US',
  externalId: '00ujl29u0le5T6Aj10h7',
  groups: [],
  password: '1mz050nq',
  active: true,
};

const okta: Step[] = [
  {
    what: 'reads the first users',
    ...get('/Users?startIndex=1&count=2'),
    status: 200,
    shows: { totalResults: 0, startIndex: 1, itemsPerPage: 0 },
  },
  { what: 'reads one with an id of no form', ...get('/Users/010101001010101011001010101011'), status: 404 },
  {
    what: 'searches for the name',
    ...get('/Users?filter=userName eq "test.user@okta.local"&startIndex=1&count=100'),
    status: 200,
    shows: { totalResults: 0 },
  },
  {
    what: 'creates the user',
    method: 'POST',
    path: '/Users',
    body: oktaUser,
    status: 201,
    makes: 'user',
    shows: { password: undefined, groups: [], locale: 'en-US', 'meta.version': 'W/"1"' },
  },
  {
    what: 'creates it again',
    method: 'POST',
    path: '/Users',
    body: oktaUser,
    status: 409,
    shows: { scimType: 'uniqueness' },
  },
  {
    what: 'creates another, inactive',
    method: 'POST',
    path: '/Users',
    body: { ...oktaUser, userName: 'other@okta.local', externalId: '00u2', active: false },
    status: 201,
    makes: 'other',
    shows: { active: false },
  },
  {
    what: 'updates the profile by PUT, with all that it was given',
    method: 'PUT',
    path: '/Users/{user}',
    body: {
      ...oktaUser,
      id: '{user}',
      name: { givenName: 'Another', middleName: 'Excited', familyName: 'User' },
      emails: [{ primary: true, value: 'another@okta.local', type: 'work', display: 'another@okta.local' }],
      meta: { resourceType: 'User' },
    },
    status: 200,
    shows: { 'name.middleName': 'Excited', 'emails.0.value': 'another@okta.local', id: '{user}' },
  },
  {
    what: 'deactivates by PATCH with a value object',
    ...patch('/Users/{user}', { op: 'replace', value: { active: false } }),
    status: 200,
    shows: { active: false },
  },
  {
    what: 'activates by PUT',
    method: 'PUT',
    path: '/Users/{user}',
    body: { ...oktaUser, id: '{user}' },
    status: 200,
    shows: { active: true, 'name.givenName': 'Test', 'name.middleName': undefined },
  },
  {
    what: 'imports what was changed lately',
    ...get('/Users?filter=meta.lastModified gt "2020-01-01T00:00:00.000Z"&startIndex=1&count=100'),
    status: 200,
    shows: { totalResults: 2, 'Resources.1.id': '{other}' },
  },
  {
    what: 'reads the groups',
    ...get('/Groups?startIndex=1&count=100'),
    status: 200,
    shows: { totalResults: 0 },
  },
  {
    what: 'pushes a group',
    method: 'POST',
    path: '/Groups',
    body: { schemas: [groupUrn], displayName: 'Test SCIMv2', members: [] },
    status: 201,
    makes: 'group',
  },
  {
    what: 'renames it without a path, with its id',
    ...patch('/Groups/{group}', { op: 'replace', value: { id: '{group}', displayName: 'Test SCIMv3' } }),
    status: 200,
    shows: { displayName: 'Test SCIMv3' },
  },
  {
    what: 'adds members with names',
    ...patch('/Groups/{group}', {
      op: 'add',
      path: 'members',
      value: [
        { value: '{user}', display: 'test.user@okta.local' },
        { value: '{other}', display: 'other@okta.local' },
      ],
    }),
    status: 200,
    shows: { 'members.length': 2, 'members.0.type': 'User' },
  },
  {
    what: 'shows the group in the user',
    ...get('/Users/{user}'),
    status: 200,
    shows: { 'groups.0.value': '{group}', 'groups.0.display': 'Test SCIMv3' },
  },
  {
    what: 'removes a member by a filter',
    ...patch('/Groups/{group}', { op: 'remove', path: 'members[value eq "{other}"]' }),
    status: 200,
    shows: { 'members.0.value': '{user}', 'members.1': undefined },
  },
  {
    what: 'replaces the members by PATCH',
    ...patch('/Groups/{group}', { op: 'replace', path: 'members', value: [{ value: '{other}' }] }),
    status: 200,
    shows: { 'members.0.value': '{other}', 'members.1': undefined },
  },
  {
    what: 'replaces members and name without a path',
    ...patch('/Groups/{group}', {
      op: 'replace',
      value: { displayName: 'Test SCIMv4', members: [{ value: '{user}', display: 'x' }] },
    }),
    status: 200,
    shows: { displayName: 'Test SCIMv4', 'members.0.value': '{user}', 'members.1': undefined },
  },
  {
    what: 'replaces the whole group by PUT',
    method: 'PUT',
    path: '/Groups/{group}',
    body: { schemas: [groupUrn], id: '{group}', displayName: 'Test SCIMv4', members: [{ value: '{other}' }] },
    status: 200,
    shows: { 'members.0.value': '{other}' },
  },
  { what: 'deletes the group', method: 'DELETE', path: '/Groups/{group}', status: 204 },
  { what: 'no longer finds it', ...get('/Groups/{group}'), status: 404 },
];

for (const [directory, steps] of Object.entries({ 'Entra ID': entra, Okta: okta }))
  test(`what ${directory} sends, from the first test of the connection to the last delete`, async (t) => {
    const { token } = await makeProvisioning(identity);
    const ids: Record<string, string> = {};
    const filled = <T>(value: T): T =>
      value === undefined
        ? value
        : (JSON.parse(
            JSON.stringify(value).replaceAll(/\{(user|other|group)\}/g, (_, name) => ids[name] ?? ''),
          ) as T);
    for (const step of steps)
      await t.test(step.what, async () => {
        const { status, body } = await identity.request(step.method, `/scim/v2${filled(step.path)}`, {
          ...(step.body === undefined ? {} : { body: filled(step.body) }),
          headers: {
            authorization: `Bearer ${token}`,
            accept: 'application/scim+json',
            ...(step.body === undefined ? {} : { 'content-type': 'application/scim+json; charset=utf-8' }),
          },
        });
        assert.equal(status, step.status, JSON.stringify(body));
        if (step.makes !== undefined) ids[step.makes] = body.id;
        for (const [path, wanted] of Object.entries(step.shows ?? {}))
          assert.deepEqual(partOf(body, path), filled(wanted), path);
      });
  });

/** Splits a path at its first dot, but not inside a schema name, which contains dots of its own. */
function partOf(body: Resource, path: string): unknown {
  const [first, rest] = path.startsWith(enterpriseUrn)
    ? [enterpriseUrn, path.slice(enterpriseUrn.length + 1)]
    : [undefined, path];
  const names = [...(first === undefined ? [] : [first]), ...rest.split('.')];
  return names.reduce<unknown>((part, name) => (part as Resource | undefined)?.[name], body);
}
