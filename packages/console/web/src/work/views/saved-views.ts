import { useSyncExternalStore } from 'react';
import { type WorkSearch, workSearch } from '../work-search.ts';

/** Filters of the work page, and list or board, under a name. */
export interface SavedView {
  readonly name: string;
  readonly search: WorkSearch;
}

export const viewsMax = 50;
export const nameCharactersMax = 60;

const listeners = new Set<() => void>();
const none: readonly SavedView[] = [];

/** Each person has their own. They stay in this browser: they hold the words of filters, and nothing that opens a door. */
function storageKeyOf(me: string): string {
  return `baton.views.${me}`;
}

function textOf(me: string | undefined): string | null {
  try {
    return me === undefined ? null : localStorage.getItem(storageKeyOf(me));
  } catch {
    return null;
  }
}

let last: { readonly text: string; readonly views: readonly SavedView[] } | undefined;

/** @returns the views of a person, the same object while they are the same */
export function savedViewsOf(me: string | undefined): readonly SavedView[] {
  const text = textOf(me);
  if (text === null) return none;
  if (last?.text !== text) last = { text, views: viewsIn(text) };
  return last.views;
}

/** What the browser holds may be of another version, or was changed by hand: what is not understood is left out. */
function viewsIn(text: string): readonly SavedView[] {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    return none;
  }
  if (!Array.isArray(given)) return none;
  const views = new Map<string, SavedView>();
  for (const one of given.slice(0, viewsMax) as Partial<Record<keyof SavedView, unknown>>[]) {
    if (typeof one?.name !== 'string' || typeof one.search !== 'object' || one.search === null) continue;
    const name = one.name.trim().slice(0, nameCharactersMax);
    if (name !== '') views.set(name, { name, search: filtersOf(one.search) });
  }
  return [...views.values()];
}

function filtersOf(search: object): WorkSearch {
  const { create: _create, ...filters } = workSearch(search as Record<string, unknown>);
  return filters;
}

/** Whether two addresses show the same. */
export function isSameView(one: WorkSearch, other: WorkSearch): boolean {
  return JSON.stringify(filtersOf(one)) === JSON.stringify(filtersOf(other));
}

/** Keeps these views. @returns what is wrong, if something is */
export function keepViews(me: string | undefined, views: readonly SavedView[]): string | undefined {
  if (me === undefined) return 'It is not known yet who you are: try again.';
  if (views.length > viewsMax) return `There are ${viewsMax} views already: delete one first.`;
  try {
    localStorage.setItem(storageKeyOf(me), JSON.stringify(views));
  } catch {
    return 'This browser lets the page keep nothing.';
  }
  for (const listener of listeners) listener();
  return undefined;
}

/** Keeps one more view; one of the same name is replaced. @returns what is wrong, if something is */
export function saveView(
  me: string | undefined,
  views: readonly SavedView[],
  { name, search }: SavedView,
): string | undefined {
  const view = { name: name.trim().slice(0, nameCharactersMax), search: filtersOf(search) };
  const isKnown = views.some((one) => one.name === view.name);
  return keepViews(
    me,
    isKnown ? views.map((one) => (one.name === view.name ? view : one)) : [...views, view],
  );
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  // Written by another tab.
  addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    removeEventListener('storage', listener);
  };
}

/** The views of a person, also when another tab changes them. */
export function useSavedViews(me: string | undefined): readonly SavedView[] {
  return useSyncExternalStore(subscribe, () => savedViewsOf(me));
}
