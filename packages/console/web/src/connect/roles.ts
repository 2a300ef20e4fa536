import { queryOptions } from '@tanstack/react-query';
import { peopleOnlyPermissions, suitsAgents } from '@baton/sdk/connect';
import { baton } from '../client.ts';

/** The access roles that an agent can have, with what they allow an agent: decisions are only for people. */
export const rolesQuery = queryOptions({
  queryKey: ['people', 'roles-of-agents'],
  queryFn: async ({ signal }) => {
    const [{ items: roles }, { items: permissions }, peopleOnly] = await Promise.all([
      baton.accessRoles.list({ signal }),
      baton.permissions.list({ signal }),
      peopleOnlyPermissions(baton, { signal }),
    ]);
    const allowed = new Map(permissions.map(({ name, allows }) => [name, allows]));
    return roles
      .filter((role) => suitsAgents(role, peopleOnly))
      .map(({ key, name, permissions: granted }) => ({
        key,
        name,
        allows: granted.filter((one) => !peopleOnly.has(one)).map((one) => allowed.get(one) ?? one),
      }));
  },
});
