import { useSyncExternalStore } from 'react';
import { type WorkSearch, workSearch } from '../work-search.ts';

/** Named filters and layout of the work page. */
export interface SavedView {
  readonly name: string;
  readonly search: WorkSearch;
}

export const viewsMax = 50;
export const nameCharactersMax = 60;

const listeners = new Set<() => void>();
const none: readonly SavedView[] = [];

/** Views are per person and stored in this browser. They hold filters only, no credentials. */
function storageKeyOf(me: string): string {
  return `baton.views.${me}`;
}

function readStored(me: string | undefined): string | null {
  try {
    return me === undefined ? null : localStorage.getItem(storageKeyOf(me));
  } catch {
    return null;
  }
}

let last: { readonly text: string; readonly views: readonly SavedView[] } | undefined;

/** @returns the views of a person, the same object until they change */
export function readSavedViews(me: string | undefined): readonly SavedView[] {
  const text = readStored(me);
  if (text === null) return none;
  if (last?.text !== text) last = { text, views: viewsIn(text) };
  return last.views;
}

/** Stored views may be from another version or edited by hand. Invalid ones are dropped. */
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

/** Whether two searches show the same view. */
export function isSameView(one: WorkSearch, other: WorkSearch): boolean {
  return JSON.stringify(filtersOf(one)) === JSON.stringify(filtersOf(other));
}

/** Stores these views. @returns the error, if any */
export function storeViews(me: string | undefined, views: readonly SavedView[]): string | undefined {
  if (me === undefined) return 'Your account is still loading. Try again.';
  if (views.length > viewsMax) return `You can save at most ${viewsMax} views. Delete one first.`;
  try {
    localStorage.setItem(storageKeyOf(me), JSON.stringify(views));
  } catch {
    return 'This browser does not allow the page to store data.';
  }
  for (const listener of listeners) listener();
  return undefined;
}

/** Saves a view; replaces one with the same name. @returns the error, if any */
export function saveView(
  me: string | undefined,
  views: readonly SavedView[],
  { name, search }: SavedView,
): string | undefined {
  const view = { name: name.trim().slice(0, nameCharactersMax), search: filtersOf(search) };
  const isKnown = views.some((one) => one.name === view.name);
  return storeViews(
    me,
    isKnown ? views.map((one) => (one.name === view.name ? view : one)) : [...views, view],
  );
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  // Changes from another tab.
  addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    removeEventListener('storage', listener);
  };
}

/** The views of a person, updated when another tab changes them. */
export function useSavedViews(me: string | undefined): readonly SavedView[] {
  return useSyncExternalStore(subscribe, () => readSavedViews(me));
}
