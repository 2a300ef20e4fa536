import { endpoint } from '../../context.ts';
import { parseSearch } from '../filter/list-page.ts';
import { ScimListResponse } from '../protocol/scim-answer.ts';
import { listErrors, ScimSearch, scim, searchExample } from '../protocol/scim-endpoint.ts';
import { searchRoot } from './root-search.ts';

const search = endpoint({
  id: 'searchScim',
  ...scim,
  method: 'POST',
  path: '/scim/v2/.search',
  summary: 'Find users and groups, with the query in the body.',
  body: ScimSearch,
  returns: { 200: ScimListResponse },
  errors: listErrors,
  transaction: 'none',
  example: searchExample,
  handle: ({ body }, context) => searchRoot(context, parseSearch(body, context.settings)),
});

export const rootSearchApi = [search];
