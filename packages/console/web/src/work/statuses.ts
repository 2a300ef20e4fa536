import { queryOptions } from '@tanstack/react-query';
import type { TaskType } from '@baton/sdk';
import { baton } from '../client.ts';
import { type Category, categories } from '../parts/Category.tsx';

/** A status of tasks, with the name from its task type. */
export interface StatusOfTasks {
  readonly key: string;
  readonly name: string;
  readonly category: Category;
}

const typesMax = 200;

/** The statuses of all active task types, in workflow order and without duplicate keys. */
export const statusesQuery = queryOptions({
  queryKey: ['task-types', 'statuses'],
  queryFn: ({ signal }) =>
    baton.taskTypes
      .list({ status: 'active', limit: typesMax }, { signal })
      .then(({ items }) => statusesOf(items)),
  staleTime: 300_000,
});

function statusesOf(types: readonly TaskType[]): StatusOfTasks[] {
  const statuses = new Map<string, StatusOfTasks>();
  // The built-in type is last in the list. Its status names take precedence, because they are the most familiar.
  for (const { lifecycleSchema } of types.toReversed())
    for (const { key, displayName, category } of lifecycleSchema.statuses)
      if (!statuses.has(key)) statuses.set(key, { key, name: displayName, category });
  const order = categories.map(([category]) => category);
  return [...statuses.values()].sort(
    (one, other) => order.indexOf(one.category) - order.indexOf(other.category),
  );
}
