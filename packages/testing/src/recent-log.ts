/**
 * The last log lines of services in this process and of a Baton that it started. If a test fails, the lines about its
 * request are printed.
 */
const lines: string[] = [];
const linesMax = 500;
const lineCharactersMax = 2000;

/** @param text complete lines */
export function noteLog(text: string): void {
  for (const line of text.split('\n')) if (line !== '') lines.push(line.slice(0, lineCharactersMax));
  lines.splice(0, lines.length - linesMax);
}

/** Returns the lines that contain a text, oldest first. */
export const logLinesWith = (text: string): string[] => lines.filter((line) => line.includes(text));
