import { closeSync, openSync } from 'node:fs';

/** Whether this process has a terminal, which ends when its window or its connection is closed. */
export function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
