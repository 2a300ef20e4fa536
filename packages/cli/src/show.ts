import { visible } from '@baton/sdk/node';
import type { ConsoleOutput } from './console-output.ts';
import { filtered } from './json-filter.ts';

/** How a result is printed. */
export interface ShowOptions {
  /** `true` for the whole object; otherwise the selected fields, separated by commas. */
  readonly json?: boolean | string;
  /** A jq filter for the JSON. */
  readonly jq?: string;
}

/**
 * Prints a result: as JSON, if requested, or as lines for people, in which others' texts can't move the cursor.
 * @throws FilterFailure if the filter fails on this result
 */
export async function show(
  output: ConsoleOutput,
  { json, jq }: ShowOptions,
  value: unknown,
  lines: () => readonly string[],
): Promise<void> {
  if (jq === undefined && (json === undefined || json === false)) {
    for (const line of lines()) output.line(visible(line));
    return;
  }
  const chosen = typeof json === 'string' ? fieldsOf(value, namesIn(json), output) : value;
  if (jq === undefined) output.line(JSON.stringify(chosen ?? null));
  else for (const line of await filtered(chosen, jq)) output.line(line);
}

/**
 * Selects fields of each item of a page, or of one object. They were validated before the command started; a missing
 * one becomes null instead of an error, because the command may have written something.
 */
function fieldsOf(value: unknown, names: readonly string[], output: ConsoleOutput): unknown {
  const items = (value as { items?: unknown } | undefined)?.items ?? value;
  const given = [items].flat().map((one) => (one ?? {}) as Record<string, unknown>);
  const unknown = names.filter((name) => given.length > 0 && !given.some((one) => Object.hasOwn(one, name)));
  if (unknown.length > 0)
    output.progress(`The result has no field ${unknown.map(visible).join(', ')}; null is shown instead.\n`);
  const picked = given.map((one) => Object.fromEntries(names.map((name) => [name, one[name] ?? null])));
  return Array.isArray(items) ? picked : picked[0];
}

export const namesIn = (json: string): string[] => json.split(',').map((name) => name.trim());

/**
 * Rows in columns below a header, or a message for an empty list. The last column is truncated at the terminal's width.
 */
export function table(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number | undefined,
  empty: string,
): string[] {
  if (rows.length === 0) return [empty];
  const all = [header, ...rows];
  const widths = header.map((_, at) => Math.max(...all.map((row) => (row[at] ?? '').length)));
  return all.map((row) => {
    const line = row
      .map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at] ?? 0)))
      .join('  ');
    return columns !== undefined && line.length > columns
      ? `${line.slice(0, Math.max(columns - 1, 20))}…`
      : line;
  });
}
