import { useEffect, useRef } from 'react';

/** What each key does; `g w` is one after the other, `mod+k` is with Control or the Mac's command key. */
export type Keys = Readonly<Record<string, () => void>>;

const sequenceMsMax = 1200;

/** Listens for keys while the component is shown. Keys without `mod` do nothing while somebody writes, or a dialog or a menu is open. */
export function useKeys(keys: Keys): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    let first: { key: string; atMs: number } | undefined;
    function onKey(event: KeyboardEvent) {
      if (event.defaultPrevented || event.altKey) return;
      const isMod = event.metaKey || event.ctrlKey;
      if (
        !isMod &&
        (isWriting(event.target) || document.querySelector('[role="dialog"], [role="menu"]') !== null)
      )
        return;
      const key = isMod ? `mod+${event.key.toLowerCase()}` : event.key;
      const before =
        first !== undefined && event.timeStamp - first.atMs < sequenceMsMax ? first.key : undefined;
      first = { key, atMs: event.timeStamp };
      const act = (before !== undefined && current.current[`${before} ${key}`]) || current.current[key];
      if (!act) return;
      event.preventDefault();
      first = undefined;
      act();
    }
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest('input, textarea, select, [contenteditable="true"]') !== null
  );
}
