import { queryOptions } from '@tanstack/react-query';
import { baton } from '../../client.ts';

/** Names rarely change. They have their own query keys, so that an event about one task doesn't refetch all names. */
const staleMs = 600_000;

/** Reads the name of an object by type. Objects of other types have no name, or it is in their events. */
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

/** The name of an object; an empty string if it has none. */
export const nameQuery = (type: string, id: string) =>
  queryOptions({
    queryKey: ['names', type, id],
    queryFn: ({ signal }) => readName(type, id, signal),
    staleTime: staleMs,
  });
