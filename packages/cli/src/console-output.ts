import { once } from 'node:events';
import { terminalText } from './terminal-text.ts';

/** Where a command writes: results to standard output, progress and errors to standard error. */
export interface ConsoleOutput {
  /** @throws OutputClosed */
  line(text: string): void;
  progress(text: string): void;
  /** Resolves when the reader has taken what was written but for a buffer; absent where nothing is buffered. */
  drained?(): Promise<void>;
  /** Whether standard error is a terminal, on which a line can be redrawn. */
  readonly isTerminal: boolean;
  readonly columns: number;
}

/** The reader has closed standard output. The command ends at its next line, so that it completes what it writes elsewhere. */
export class OutputClosed extends Error {
  override readonly name = 'OutputClosed';
}

/** Begins a text that takes the place of the last line on a terminal. */
export const clearLine = '\r\x1b[2K';

/**
 * Whoever reads standard output may have enough (`| head`), which is no failure: the next line throws `OutputClosed`. Where it is a
 * terminal, no command can print what moves its cursor: also JSON and what a filter makes of it hold others' texts.
 */
export function consoleOutput(): ConsoleOutput {
  let isClosed = false;
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') {
      isClosed = true;
      return;
    }
    process.stderr.write(`Standard output can't be written (${code}).\n`);
    process.exit(1);
  });
  // Nobody reads messages any more: only the exit code is left.
  process.stderr.on('error', () => undefined);
  const unchanged = (text: string) => text;
  const shown = process.stdout.isTTY ? terminalText : unchanged;
  const shownOfProgress = process.stderr.isTTY ? progressText : unchanged;
  return {
    line(text) {
      if (isClosed) throw new OutputClosed();
      process.stdout.write(`${shown(text)}\n`);
    },
    progress: (text) => process.stderr.write(shownOfProgress(text)),
    async drained() {
      try {
        if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
      } catch (error) {
        if (!isClosed) throw error;
      }
      if (isClosed) throw new OutputClosed();
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
