import { useEffect } from 'react';

/** The current titles of the page and of the object on it. */
const shown = new Map<'thing' | 'page', string>();

/**
 * Sets the document title to that of the object on the page while it is mounted.
 * @param text undefined while it is loading
 */
export const useTitle = (text: string | undefined): void => useName('thing', text);

/** Sets the document title to that of the page, if its object has none. */
export const usePageTitle = (text: string | undefined): void => useName('page', text);

function useName(kind: 'thing' | 'page', text: string | undefined): void {
  useEffect(() => {
    if (text === undefined) return;
    name(kind, text);
    return () => name(kind, undefined);
  }, [kind, text]);
}

function name(kind: 'thing' | 'page', text: string | undefined): void {
  if (text === undefined) shown.delete(kind);
  else shown.set(kind, text);
  document.title = [shown.get('thing') ?? shown.get('page'), 'Baton'].filter(Boolean).join(' · ');
}
