import { once } from 'node:events';
import { terminalText } from './terminal-text.ts';

/** Where a command writes: results to standard output, progress and errors to standard error. */
export interface ConsoleOutput {
  line(text: string): void;
  progress(text: string): void;
  /** Resolves when the reader has taken what was written but for a buffer; absent where nothing is buffered. */
  drained?(): Promise<void>;
  /** Whether standard error is a terminal, on which a line can be redrawn. */
  readonly isTerminal: boolean;
  readonly columns: number;
}

/** Begins a text that takes the place of the last line on a terminal. */
export const clearLine = '\r\x1b[2K';

/**
 * Whoever reads standard output may go away (`| head`): the program then ends with a sentence and exit code 1. Where it is a
 * terminal, no command can print what moves its cursor: also JSON and what a filter makes of it hold others' texts.
 */
export function consoleOutput(): ConsoleOutput {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    process.stderr.write(`Standard output was closed (${code}): whoever read it went away.\n`);
    process.exit(1);
  });
  const unchanged = (text: string) => text;
  const shown = process.stdout.isTTY ? terminalText : unchanged;
  const shownOfProgress = process.stderr.isTTY ? progressText : unchanged;
  return {
    line: (text) => process.stdout.write(`${shown(text)}\n`),
    progress: (text) => process.stderr.write(shownOfProgress(text)),
    async drained() {
      if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
    },
    isTerminal: process.stderr.isTTY === true,
    columns: process.stderr.columns ?? 80,
  };
}

/** The plan of an import, for example, has titles in it. */
function progressText(text: string): string {
  if (!text.startsWith(clearLine)) return terminalText(text);
  return clearLine + terminalText(text.slice(clearLine.length));
}
