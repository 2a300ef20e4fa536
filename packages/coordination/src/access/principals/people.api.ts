import { NameSearch, pageOf, QueryWord, queryUuids, Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { AccessRoleRef } from '../grants/granted-access.ts';
import { getPerson, listPeople } from './people.ts';
import { Person } from './person.ts';
import { requireKind } from './principals.ts';

/** A page of identity's list, which a client joins with this one. */
const identitiesMax = 100;

export const peopleApi = [
  endpoint({
    id: 'listPeople',
    method: 'GET',
    path: '/people',
    summary: 'List people, agents and services with their access and their identities, newest first.',
    permission: 'principals.read',
    query: {
      kind: QueryWord.optional(),
      q: NameSearch.optional().describe(
        'Words, case-insensitive; each must be a prefix of a word in the display name or e-mail address. At most 200 characters and 10 words. Blank: all.',
      ),
      accessRole: AccessRoleRef.optional().describe(
        'The key of an access role that one of their identities has.',
      ),
      iamPrincipalIds: queryUuids(identitiesMax)
        .optional()
        .describe(
          'Ids of principals in identity, separated by commas, at most 100: those to whom one of these is or was bound.',
        ),
    },
    paging: true,
    returns: { 200: pageOf(Person) },
    errors: ['invalid_kind', 'invalid_cursor'],
    checkFilters: ({ kind }) => {
      if (kind !== undefined) requireKind(kind);
    },
    handle: ({ query, page }, context) => listPeople(context, query, page),
  }),
  endpoint({
    id: 'getPerson',
    method: 'GET',
    path: '/people/{id}',
    summary: 'Read a person, an agent or a service with its access and its identities.',
    permission: 'principals.read',
    params: { id: Uuid },
    returns: { 200: Person },
    errors: ['not_found'],
    handle: ({ params }, context) => getPerson(context, params.id),
  }),
];
