import { SettingError } from '@baton/kernel/process/config';
import { visible } from '@baton/sdk/node';
import type { Environment } from '../config.ts';
import { StartError } from '../start-error.ts';

export interface FileCommand {
  readonly env: Environment;
  readonly file: string;
  readonly options: ReadonlySet<string>;
  say(line: string): void;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/**
 * Runs a command with one file argument and exits: 0 on success, 1 with an error message, 2 for a usage error.
 * @param usage one line;
 * @param known the accepted options
 */
export async function runWithFile(
  usage: string,
  known: readonly string[],
  act: (command: FileCommand) => Promise<void>,
): Promise<void> {
  const words = process.argv.slice(2);
  const files = words.filter((word) => !word.startsWith('-'));
  const options = new Set(words.filter((word) => word.startsWith('-')));
  const [file] = files;
  if (file === undefined || files.length > 1 || [...options].some((option) => !known.includes(option))) {
    console.error(`${usage} (BATON_HOME is the data folder, see docs/operations.md)`);
    process.exit(options.has('--help') || options.has('-h') ? 0 : 2);
  }
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());
  try {
    // Names and messages from a database may contain untrusted text.
    const say = (line: string) => console.log(visible(line));
    await act({ env: process.env, file, options, say, signal: stopping.signal });
  } catch (error) {
    const isPlain = error instanceof StartError || error instanceof SettingError;
    if (!isPlain && !stopping.signal.aborted) throw error;
    console.error(isPlain ? visible(error.message) : 'Stopped. Nothing was changed.');
    process.exitCode = 1;
  }
  // A handle that a library left open must not keep the command alive.
  process.exit();
}
