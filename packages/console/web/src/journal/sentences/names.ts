import { queryOptions } from '@tanstack/react-query';
import { baton } from '../../client.ts';

/** Names rarely change. They have keys of their own, because an event about one task must not refetch all names. */
const staleMs = 600_000;

/** How the name of each type of object is read. Other types have the name in their events, or none. */
const readers: Readonly<
  Record<string, (id: string, options: { readonly signal: AbortSignal }) => Promise<string>>
> = {
  approval: (id, options) => baton.approvals.get(id, options).then(({ comment }) => comment),
  artifact: (id, options) => baton.artifacts.get(id, {}, options).then(({ name }) => name),
  capability: (id, options) => baton.capabilities.get(id, options).then(({ name }) => name),
  goal: (id, options) => baton.goals.get(id, options).then(({ title }) => title),
  process_instance: (id, options) =>
    baton.processInstances.get(id, options).then(({ instanceKey }) => instanceKey),
  role: (id, options) => baton.roles.get(id, options).then(({ name }) => name),
  rule: (id, options) => baton.rules.get(id, options).then(({ key }) => key),
  project: async (id, options) => {
    const { workspaceId } = await baton.projects.get(id, options);
    return (await baton.workspaces.get(workspaceId, options)).name;
  },
  skill: (id, options) => baton.skills.get(id, options).then(({ name }) => name),
  task: (id, options) => baton.tasks.get(id, options).then(({ publicId, title }) => `${publicId} ${title}`),
};

/** Whether the name of objects of this type can be read. */
export const hasName = (type: string): boolean => Object.hasOwn(readers, type);

async function readName(type: string, id: string, signal: AbortSignal): Promise<string> {
  return hasName(type) ? ((await readers[type]?.(id, { signal })) ?? '') : '';
}

/** The name of an object; an empty text if it has none. */
export const nameQuery = (type: string, id: string) =>
  queryOptions({
    queryKey: ['names', type, id],
    queryFn: ({ signal }) => readName(type, id, signal),
    staleTime: staleMs,
  });
