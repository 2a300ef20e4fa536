import { queryOptions, useQuery } from '@tanstack/react-query';
import type { Workspace } from '@baton/sdk';
import { baton } from '../client.ts';
import type { WorkSearch } from './work-search.ts';

const workspacesMax = 200;
/** The slug of a workspace that `baton demo live` has made begins so. */
const demoSlugPrefix = 'baton-demo-';

/** The newest workspaces, archived ones too; none where this person may not read them. */
export const workspacesQuery = queryOptions({
  queryKey: ['workspaces', 'newest'],
  queryFn: ({ signal }) =>
    baton.workspaces.list({ limit: workspacesMax }, { signal }).then(({ items }) => items),
});

/** The demo that is there, if one is. */
export const demoIn = (workspaces: readonly Workspace[] = []) =>
  workspaces.find(({ slug, status }) => status === 'active' && slug.startsWith(demoSlugPrefix));

const none: ReadonlySet<string> = new Set();

/** The workspaces whose tasks a search leaves out: archived ones, unless it asks for them. */
export function useHidden({ archived, workspace }: WorkSearch): ReadonlySet<string> {
  const { data } = useQuery({
    ...workspacesQuery,
    select: (found) => new Set(found.filter(({ status }) => status === 'archived').map(({ id }) => id)),
  });
  return (archived || workspace ? undefined : data) ?? none;
}
