import { type Category, categories } from '../parts/Category.tsx';

/** The parameters in the URL of the work page. */
export interface WorkSearch {
  readonly q?: string;
  readonly view?: 'board';
  readonly category?: Category;
  readonly priority?: Priority;
  readonly assignee?: 'me';
  /** Id of a workspace. */
  readonly workspace?: string;
  /** Whether tasks of archived workspaces are shown too. */
  readonly archived?: boolean;
  readonly create?: boolean;
}

export const priorities = ['critical', 'high', 'medium', 'low'] as const;
export type Priority = (typeof priorities)[number];

/** Parses the URL; unknown parameters are dropped. */
export function workSearch(given: Record<string, unknown>): WorkSearch {
  const { q, view, category, priority, assignee, workspace, archived, create } = given;
  const known = categories.find(([name]) => name === category)?.[0];
  const knownPriority = priorities.find((name) => name === priority);
  return {
    ...(typeof q === 'string' && q !== '' && { q: q.slice(0, 200) }),
    ...(view === 'board' && { view }),
    ...(known && { category: known }),
    ...(knownPriority && { priority: knownPriority }),
    ...(assignee === 'me' && { assignee }),
    ...(typeof workspace === 'string' && /^[\da-f-]{36}$/.test(workspace) && { workspace }),
    ...(archived === true && { archived }),
    ...(create === true && { create }),
  };
}
