import { queryOptions, useQuery } from '@tanstack/react-query';
import type { Workspace } from '@baton/sdk';
import { baton } from '../client.ts';
import type { WorkSearch } from './work-search.ts';

const workspacesMax = 200;
/** The slug prefix of workspaces that `baton demo live` creates. */
const demoSlugPrefix = 'baton-demo-';

/** The newest workspaces, archived ones too; none if this person may not read them. */
export const workspacesQuery = queryOptions({
  queryKey: ['workspaces', 'newest'],
  queryFn: ({ signal }) =>
    baton.workspaces.list({ limit: workspacesMax }, { signal }).then(({ items }) => items),
});

/** The workspace of the demo, if it exists. */
export const demoIn = (workspaces: readonly Workspace[] = []) =>
  workspaces.find(({ slug, status }) => status === 'active' && slug.startsWith(demoSlugPrefix));

const none: ReadonlySet<string> = new Set();

/** The workspaces whose tasks a search excludes: archived ones, unless it includes them. */
export function useHidden({ archived, workspace }: WorkSearch): ReadonlySet<string> {
  const { data } = useQuery({
    ...workspacesQuery,
    select: (found) => new Set(found.filter(({ status }) => status === 'archived').map(({ id }) => id)),
  });
  return (archived || workspace ? undefined : data) ?? none;
}
