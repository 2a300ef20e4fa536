import { queryOptions } from '@tanstack/react-query';
import type { Artifact, Task } from '@baton/sdk';
import { baton } from '../../client.ts';

export const artifactsMax = 100;
const referencesMax = 50;

/** Types of the service's own findings, which other sections show. */
const ofService = new Set(['verification']);

/** The newest artifacts of a task or a run. */
export const artifactsQuery = (of: { readonly taskId: string } | { readonly runId: string }) =>
  queryOptions({
    queryKey: ['tasks', 'artifacts', Object.values(of)[0]],
    queryFn: ({ signal }) =>
      baton.artifacts.list({ ...of, limit: artifactsMax }, { signal }).then(({ items }) => items),
  });

/** The external names of a task, for example a pull request. */
export const referencesQuery = ({ id }: Pick<Task, 'id'>) =>
  queryOptions({
    queryKey: ['tasks', 'references', id],
    queryFn: ({ signal }) =>
      baton.externalReferences
        .list({ entityType: 'task', entityId: id, limit: referencesMax }, { signal })
        .then(({ items }) => items),
  });

/** What all attempts at a task have used. */
export const usageQuery = ({ id }: Pick<Task, 'id'>) =>
  queryOptions({
    queryKey: ['tasks', 'usage', id],
    queryFn: ({ signal }) => baton.tasks.getUsage(id, {}, { signal }),
  });

/** The artifacts that no other one supersedes, and the superseded ones. */
export function currentArtifacts(all: readonly Artifact[]): { current: Artifact[]; earlier: Artifact[] } {
  const shown = all.filter(({ type }) => !ofService.has(type));
  const superseded = new Set(shown.map(({ supersedesArtifactId }) => supersedesArtifactId));
  return {
    current: shown.filter(({ id }) => !superseded.has(id)),
    earlier: shown.filter(({ id }) => superseded.has(id)),
  };
}
