import { useEffect, useRef } from 'react';

/** Handlers by shortcut; `g w` is a sequence, `mod+k` uses Control or the Mac's command key. */
export type Keys = Readonly<Record<string, () => void>>;

const sequenceMsMax = 1200;

/** Active listeners; the page's precede those of the shell around it. */
const listening = new Set<{ current: Keys }>();
let first: { readonly key: string; readonly atMs: number } | undefined;

/**
 * Handles shortcuts while the component is mounted. Keys without `mod` are ignored in text fields and while a dialog
 * or a menu is open. A sequence takes precedence over its last key: `g j` does not trigger `j`.
 */
export function useKeys(keys: Keys): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    if (listening.size === 0) addEventListener('keydown', onKey);
    listening.add(current);
    return () => {
      listening.delete(current);
      if (listening.size === 0) removeEventListener('keydown', onKey);
    };
  }, []);
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey) return;
  const isMod = event.metaKey || event.ctrlKey;
  const isOpen = document.querySelector('[role="dialog"], [role="alertdialog"], [role="menu"]') !== null;
  if (!isMod && (isWriting(event.target) || isOpen)) return;
  const key = isMod ? `mod+${event.key.toLowerCase()}` : event.key;
  const before = first !== undefined && event.timeStamp - first.atMs < sequenceMsMax ? first.key : undefined;
  first = { key, atMs: event.timeStamp };
  const act = (before !== undefined && actOf(`${before} ${key}`)) || actOf(key);
  if (!act) return;
  event.preventDefault();
  first = undefined;
  act();
}

function actOf(key: string): (() => void) | undefined {
  for (const { current } of listening) if (current[key] !== undefined) return current[key];
  return undefined;
}

function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest('input, textarea, select, [contenteditable="true"]') !== null
  );
}
