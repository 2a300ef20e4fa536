import { closeSync, openSync } from 'node:fs';

/** Whether this process has a terminal. It loses the terminal when its window or connection is closed. */
export function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
