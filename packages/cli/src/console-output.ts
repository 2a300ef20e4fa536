import { once } from 'node:events';
import { terminalText } from './terminal-text.ts';

/** The output streams of a command: results to standard output, progress and errors to standard error. */
export interface ConsoleOutput {
  /** @throws OutputClosed */
  line(text: string): void;
  progress(text: string): void;
  /** Resolves when the reader has read everything but one buffer; absent if output isn't buffered. */
  drained?(): Promise<void>;
  /** Whether standard error is a terminal, on which a line can be redrawn. */
  readonly isTerminal: boolean;
  readonly columns: number;
}

/**
 * The reader has closed standard output. The command ends only when it prints its next line, so that its other writes
 * complete.
 */
export class OutputClosed extends Error {
  override readonly name = 'OutputClosed';
}

/** Clears the last line on a terminal, so that the text after it replaces that line. */
export const clearLine = '\r\x1b[2K';

/**
 * The reader of standard output may close it (`| head`), which is not a failure: the next line throws `OutputClosed`.
 * On a terminal, no command can print characters that move the cursor: JSON and filtered JSON contain others' texts,
 * too.
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
  // If the reader has closed standard error, only the exit code can report the result.
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

/** Escapes a progress message, which may contain other people's text, such as the titles in an import's plan. */
function progressText(text: string): string {
  if (!text.startsWith(clearLine)) return terminalText(text);
  return clearLine + terminalText(text.slice(clearLine.length));
}
