/** Where a command writes: results to standard output, everything about its progress to standard error. */
export interface ConsoleOutput {
  line(text: string): void;
  progress(text: string): void;
  /** Whether a person watches, so that a line may be drawn over. */
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

/** A result for a program, or the same for a person. */
export function show(
  output: ConsoleOutput,
  json: boolean | undefined,
  value: unknown,
  lines: () => string[],
): void {
  if (json) output.line(JSON.stringify(value));
  else for (const text of lines()) output.line(text);
}
