import { useQuery } from '@tanstack/react-query';
import { useLocation, useNavigate, useParams } from '@tanstack/react-router';
import { notify } from '../parts/Notices.tsx';
import { meQuery } from '../queries.ts';
import { nameCharactersMax, readSavedViews, saveView, useSavedViews } from '../work/views/saved-views.ts';
import { workSearch } from '../work/work-search.ts';
import { places } from './places.ts';

/**
 * An action of a person. The palette lists all of them, and the help lists those with shortcuts; the shell handles the
 * shortcuts.
 */
export interface Action {
  /** Unique. */
  readonly name: string;
  readonly group: 'This task' | 'Work' | 'Saved views' | 'Pages' | 'Console';
  /** In the notation of `useKeys`. */
  readonly keys?: string;
  /** The palette prompts for a text first; `run` gets it, trimmed and not empty. */
  readonly prompt?: { readonly label: string; readonly charactersMax: number };
  run(text: string): unknown;
}

/** Shortcuts that pages handle themselves, because they act on the selection. */
export const pageKeys: readonly [string, string][] = [
  ['j, k', 'next, previous item'],
  ['h, l', 'previous, next column (board)'],
  ['Enter', 'open'],
  ['m', 'move the focused card (board)'],
  ['t', 'claim the task (task page)'],
  ['e', 'edit the task (task page)'],
  ['a', 'assign the task (task page)'],
  ['p', 'pause or resume the journal'],
];

/** The operations that the shell provides to actions. */
export interface ShellActs {
  /** @param text the initial text of its field */
  openPalette(text?: string): void;
  openHelp(): void;
  signOut(isEverywhere: boolean): void;
}

/** Every action except those on the open task (see task-actions.tsx). */
export function useActions({ openPalette, openHelp, signOut }: ShellActs): readonly Action[] {
  const navigate = useNavigate();
  const { pathname, search } = useLocation();
  const { ref } = useParams({ strict: false });
  const me = useQuery(meQuery).data?.principal.id;
  const views = useSavedViews(me);
  const isWork = pathname === '/';
  // The filters of the work page only: other pages have other parameters, or the same ones with a different meaning.
  const { create: _create, ...shown } = workSearch(isWork ? search : {});
  const hasFilters = Object.keys(shown).length > 0;
  return [
    {
      name: 'Create task',
      group: 'Work',
      keys: 'c',
      run: () => navigate({ to: '/', search: { ...shown, create: true } }),
    },
    {
      name: 'Search tasks',
      group: 'Work',
      keys: '/',
      run: () => (isWork ? document.getElementById('task-search')?.focus() : openPalette()),
    },
    {
      name: 'Switch to board view',
      group: 'Work',
      keys: 'v b',
      run: () => navigate({ to: '/', search: { ...shown, view: 'board' } }),
    },
    {
      name: 'Switch to list view',
      group: 'Work',
      keys: 'v l',
      run: () => navigate({ to: '/', search: { ...shown, view: undefined } }),
    },
    {
      name: 'Show my tasks',
      group: 'Work',
      keys: 'v m',
      run: () => navigate({ to: '/', search: { ...shown, assignee: 'me' } }),
    },
    ...(hasFilters
      ? ([
          {
            name: 'Show all tasks',
            group: 'Work',
            keys: 'v a',
            run: () => navigate({ to: '/', search: {} }),
          },
          {
            name: 'Save view',
            group: 'Saved views',
            prompt: { label: 'View name', charactersMax: nameCharactersMax },
            run: (name: string) => {
              const problem = saveView(me, readSavedViews(me), { name, search: shown });
              notify(problem ?? `Saved view “${name}”.`, { isBad: problem !== undefined });
            },
          },
        ] as const)
      : []),
    ...(ref === undefined
      ? []
      : ([
          { name: 'Move task …', group: 'This task', keys: 'm', run: () => openPalette('Move to ') },
        ] as const)),
    ...views.map(
      (view): Action => ({
        name: `View: ${view.name}`,
        group: 'Saved views',
        run: () => navigate({ to: '/', search: view.search }),
      }),
    ),
    ...places.map(
      ({ to, name, key }): Action => ({
        name,
        group: 'Pages',
        keys: `g ${key}`,
        run: () => navigate({ to }),
      }),
    ),
    { name: 'All commands', group: 'Console', keys: 'mod+k', run: () => openPalette() },
    { name: 'Keyboard shortcuts', group: 'Console', keys: '?', run: openHelp },
    { name: 'Your account', group: 'Console', run: () => navigate({ to: '/account' }) },
    { name: 'Sign out', group: 'Console', run: () => signOut(false) },
    { name: 'Sign out of all browsers', group: 'Console', run: () => signOut(true) },
  ];
}

const isMac = /^(Mac|iP)/.test(navigator.platform);

/** A shortcut in readable form. */
export function formatKeys(keys: string): string {
  return keys.replace('mod+k', isMac ? '⌘K' : 'Ctrl K');
}
