import { visible } from '@baton/sdk/node';
import type { ConsoleOutput } from './console-output.ts';
import { exitCodes } from './error-text.ts';
import { PlainError } from './plain-error.ts';

/** How a result is printed. */
export interface ShowOptions {
  /** `true` for all of it; else the fields that are wanted, separated by commas. */
  readonly json?: boolean | string;
  /** A filter of jq for the JSON. */
  readonly jq?: string;
}

/**
 * Prints a result: as JSON, where that is asked for, or as lines for people, in which others' texts can't move the cursor.
 * @throws PlainError for a field that is not there, and a filter that jq refuses
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
  const chosen =
    typeof json === 'string'
      ? fieldsOf(
          value,
          json.split(',').map((name) => name.trim()),
        )
      : value;
  if (jq === undefined) output.line(JSON.stringify(chosen));
  else for (const line of await filtered(chosen, jq)) output.line(line);
}

/** These fields of each item of a page, or of the one object. */
function fieldsOf(value: unknown, names: readonly string[]): unknown {
  const items = (value as { items?: unknown } | undefined)?.items ?? value;
  const pick = (one: unknown) => {
    const given = one as Record<string, unknown>;
    const missing = names.find((name) => !Object.hasOwn(given, name));
    if (missing !== undefined)
      throw new PlainError(`There is no field ${missing}; there are: ${Object.keys(given).join(', ')}.`, {
        exitCode: exitCodes.usage,
      });
    return Object.fromEntries(names.map((name) => [name, given[name]]));
  };
  return Array.isArray(items) ? items.map(pick) : pick(items);
}

async function filtered(value: unknown, filter: string): Promise<string[]> {
  // Loaded where it is used: it takes 20 ms.
  const jq = await import('jq-wasm');
  try {
    const text = await jq.raw(value as object, filter, ['-r', '-c']);
    return text === '' ? [] : text.replace(/\n$/, '').split('\n');
  } catch (error) {
    throw new PlainError((error as Error).message.trim(), { exitCode: exitCodes.usage });
  }
}

/** Rows in columns, the header above; an empty list says so. The last column is cut at the terminal's width. */
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
