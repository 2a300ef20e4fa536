import { useEffect } from 'react';

/** What is shown now: the thing that a page is about, and the page. */
const shown = new Map<'thing' | 'page', string>();

/**
 * Names what a page is about in the browser's tabs, in its history, and to screen readers, as long as it is shown.
 * @param text nothing while it is not known
 */
export const useTitle = (text: string | undefined): void => useName('thing', text);

/** Names the page, where what it is about has no name. */
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
