import { useEffect } from 'react';

/** Names the page in the browser's tabs, in its history, and to screen readers. @param text nothing while it is not known */
export function useTitle(text: string | undefined): void {
  useEffect(() => {
    if (text !== undefined) document.title = `${text} · Baton`;
  }, [text]);
}
