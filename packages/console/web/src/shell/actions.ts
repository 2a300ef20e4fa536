import { useQuery } from '@tanstack/react-query';
import { useLocation, useNavigate, useParams } from '@tanstack/react-router';
import { tell } from '../parts/Notices.tsx';
import { meQuery } from '../queries.ts';
import { nameCharactersMax, savedViewsOf, saveView, useSavedViews } from '../work/views/saved-views.ts';
import { workSearch } from '../work/work-search.ts';
import { places } from './places.ts';

/** Something that a person can do. The palette lists all of them, the help those with keys, and the shell listens for these. */
export interface Action {
  /** No other action has it. */
  readonly name: string;
  readonly group: 'This task' | 'Work' | 'Saved views' | 'Pages' | 'Console';
  /** As `useKeys` names them. */
  readonly keys?: string;
  /** What the palette asks for first; `run` gets the answer, trimmed and not empty. */
  readonly asks?: { readonly label: string; readonly charactersMax: number };
  run(answer: string): unknown;
}

/** Keys that pages listen for themselves, because they act on what is chosen there. */
export const pageKeys: readonly [string, string][] = [
  ['j, k', 'next, previous'],
  ['h, l', 'the column to the left, to the right (board)'],
  ['Enter', 'open'],
  ['m', 'move the card that has the focus (board)'],
  ['t', 'take the task (on its page)'],
  ['e', 'change the task (on its page)'],
  ['a', 'give the task to somebody (on its page)'],
  ['p', 'pause the journal, go on'],
];

/** What the shell can show above the page, and who signs out. */
export interface ShellActs {
  /** @param text that stands in its field already */
  openPalette(text?: string): void;
  openHelp(): void;
  signOut(isEverywhere: boolean): void;
}

/** Every action but those that need the open task itself (see task-actions.ts). */
export function useActions({ openPalette, openHelp, signOut }: ShellActs): readonly Action[] {
  const navigate = useNavigate();
  const { pathname, search } = useLocation();
  const { ref } = useParams({ strict: false });
  const me = useQuery(meQuery).data?.principal.id;
  const views = useSavedViews(me);
  const isWork = pathname === '/';
  // Elsewhere the address has other words, or the same with another meaning.
  const { create: _create, ...shown } = workSearch(isWork ? search : {});
  const hasFilters = Object.keys(shown).length > 0;
  return [
    {
      name: 'Create a task',
      group: 'Work',
      keys: 'c',
      run: () => navigate({ to: '/', search: { ...shown, create: true } }),
    },
    {
      name: 'Search the tasks',
      group: 'Work',
      keys: '/',
      run: () => (isWork ? document.getElementById('task-search')?.focus() : openPalette()),
    },
    {
      name: 'Show the work as a board',
      group: 'Work',
      keys: 'v b',
      run: () => navigate({ to: '/', search: { ...shown, view: 'board' } }),
    },
    {
      name: 'Show the work as a list',
      group: 'Work',
      keys: 'v l',
      run: () => navigate({ to: '/', search: { ...shown, view: undefined } }),
    },
    {
      name: 'Show my tasks only',
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
            name: 'Save this view',
            group: 'Saved views',
            asks: { label: 'Name of the view', charactersMax: nameCharactersMax },
            run: (name: string) => {
              const problem = saveView(me, savedViewsOf(me), { name, search: shown });
              tell(problem ?? `“${name}” is saved.`, { isBad: problem !== undefined });
            },
          },
        ] as const)
      : []),
    ...(ref === undefined
      ? []
      : ([
          { name: 'Move this task …', group: 'This task', keys: 'm', run: () => openPalette('Move to ') },
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
    { name: 'Keys', group: 'Console', keys: '?', run: openHelp },
    { name: 'Sign out', group: 'Console', run: () => signOut(false) },
    { name: 'Sign out in every browser', group: 'Console', run: () => signOut(true) },
  ];
}

const isMac = /^(Mac|iP)/.test(navigator.platform);

/** Keys as people read them. */
export function keysInWords(keys: string): string {
  return keys.replace('mod+k', isMac ? '⌘K' : 'Ctrl K');
}
