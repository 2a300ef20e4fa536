import { queryOptions } from '@tanstack/react-query';
import { baton } from '../client.ts';

/** The built-in access roles and the tenant's own, all on one page. */
export const accessRolesQuery = queryOptions({
  queryKey: ['access-roles'],
  queryFn: ({ signal }) => baton.accessRoles.list({ signal }).then(({ items }) => items),
});

/** All permissions in words; they change only with a release. */
export const permissionsQuery = queryOptions({
  queryKey: ['permissions'],
  queryFn: ({ signal }) => baton.permissions.list({ signal }).then(({ items }) => items),
  staleTime: 600_000,
});

/** The permissions of a role that this person doesn't have, and so can't give. */
export const missingOf = (permissions: readonly string[], mine: readonly string[]): string[] =>
  mine.includes('admin') ? [] : permissions.filter((name) => !mine.includes(name));

/** The number of permissions, with its noun. */
export const countPermissions = ({ length }: readonly string[]): string =>
  length === 1 ? '1 permission' : `${length} permissions`;
