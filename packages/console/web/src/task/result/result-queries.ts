import { queryOptions } from '@tanstack/react-query';
import type { Artifact, Task } from '@baton/sdk';
import { baton } from '../../client.ts';

export const artifactsMax = 100;
const referencesMax = 50;

/** Types of artifacts that the service itself creates; other sections show them. */
const ofService = new Set(['verification']);

/** The newest artifacts of a task or a run. */
export const artifactsQuery = (of: { readonly taskId: string } | { readonly runId: string }) =>
  queryOptions({
    queryKey: ['tasks', 'artifacts', Object.values(of)[0]],
    queryFn: ({ signal }) =>
      baton.artifacts.list({ ...of, limit: artifactsMax }, { signal }).then(({ items }) => items),
  });

/** The external references of a task, for example a pull request. */
export const referencesQuery = ({ id }: Pick<Task, 'id'>) =>
  queryOptions({
    queryKey: ['tasks', 'references', id],
    queryFn: ({ signal }) =>
      baton.externalReferences
        .list({ entityType: 'task', entityId: id, limit: referencesMax }, { signal })
        .then(({ items }) => items),
  });

/** The usage of all attempts at a task. */
export const usageQuery = ({ id }: Pick<Task, 'id'>) =>
  queryOptions({
    queryKey: ['tasks', 'usage', id],
    queryFn: ({ signal }) => baton.tasks.getUsage(id, {}, { signal }),
  });

/** Separates the current artifacts from those that others supersede. */
export function currentArtifacts(all: readonly Artifact[]): { current: Artifact[]; earlier: Artifact[] } {
  const shown = all.filter(({ type }) => !ofService.has(type));
  const superseded = new Set(shown.map(({ supersedesArtifactId }) => supersedesArtifactId));
  return {
    current: shown.filter(({ id }) => !superseded.has(id)),
    earlier: shown.filter(({ id }) => superseded.has(id)),
  };
}
