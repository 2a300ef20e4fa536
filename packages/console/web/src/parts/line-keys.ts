import { useKeys } from '../shell/keys.ts';

const focusable = 'a[href], summary, button:not(:disabled), input';

/** `j` and `k` focus the first control in the next or previous line of the page's lists. */
export function useLineKeys(): void {
  const move = (step: 1 | -1) => {
    const lines = [...document.querySelectorAll<HTMLElement>('main li')]
      .filter((line) => line.parentElement?.closest('li, nav') === null)
      .map((line) => ({ line, target: line.querySelector<HTMLElement>(focusable) }))
      .filter(({ target }) => target !== null);
    const at = lines.findIndex(({ line }) => line.contains(document.activeElement));
    const next = lines[at === -1 ? 0 : Math.min(Math.max(at + step, 0), lines.length - 1)];
    next?.target?.focus();
    next?.line.scrollIntoView({ block: 'nearest' });
  };
  useKeys({ j: () => move(1), k: () => move(-1) });
}
