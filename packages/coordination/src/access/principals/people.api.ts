import { NameSearch, pageOf, QueryWord } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { AccessRoleRef } from '../grants/granted-access.ts';
import { listPeople } from './people.ts';
import { Person } from './person.ts';
import { requireKind } from './principals.ts';

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
        'Words, case-insensitive; each must be the beginning of a word in the display name or e-mail address. At most 200 characters and 10 words. Blank: all.',
      ),
      accessRole: AccessRoleRef.optional().describe(
        'The key of an access role that an identity of them has.',
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
];
