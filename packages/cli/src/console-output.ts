/** Where a command writes: results to standard output, progress and errors to standard error. */
export interface ConsoleOutput {
  line(text: string): void;
  progress(text: string): void;
  /** Whether standard error is a terminal, on which a line can be redrawn. */
  readonly isTerminal: boolean;
  readonly columns: number;
}

export function consoleOutput(): ConsoleOutput {
  return {
    line: (text) => process.stdout.write(`${text}\n`),
    progress: (text) => process.stderr.write(text),
    isTerminal: process.stderr.isTTY === true,
    columns: process.stderr.columns ?? 80,
  };
}

/** Prints a result as JSON, or as lines of text. */
export function show(
  output: ConsoleOutput,
  json: boolean | undefined,
  value: unknown,
  lines: () => string[],
): void {
  if (json) output.line(JSON.stringify(value));
  else for (const text of lines()) output.line(text);
}
