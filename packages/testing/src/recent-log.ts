/** The last lines that services logged in this process, or in a Baton that it started: a failing test shows those of its request. */
const lines: string[] = [];
const linesMax = 500;
const lineCharactersMax = 2000;

/** @param text whole lines */
export function noteLog(text: string): void {
  for (const line of text.split('\n')) if (line !== '') lines.push(line.slice(0, lineCharactersMax));
  lines.splice(0, lines.length - linesMax);
}

/** The lines that contain a text, oldest first. */
export const logLinesWith = (text: string): string[] => lines.filter((line) => line.includes(text));
