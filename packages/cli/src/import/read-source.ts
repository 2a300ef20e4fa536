import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { visible } from '@baton/sdk/node';
import { PlainError } from '../plain-error.ts';

export { visible };

/** The limits of one import. The 3,003 issues of a real tracker take up 0.8 MB. */
export const readingBounds = {
  fileBytesMax: 256 * 1024 * 1024,
  /** The limit of one JSON value on a line: the longest description, with each character escaped. */
  lineCharactersMax: 4 * 1024 * 1024,
  itemsMax: 100_000,
  /** More than enough: a task's document has at most 20 levels, and no tracker nests deeper. */
  depthMax: 64,
} as const;

/**
 * The text of a file, or of standard input for `-`.
 * @throws PlainError for a file that can't be read, is larger than `bytesMax`, or is not UTF-8
 */
export async function readSourceText(
  path: string,
  bytesMax: number = readingBounds.fileBytesMax,
): Promise<string> {
  const name = path === '-' ? 'Standard input' : visible(path);
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    if (path !== '-' && (await stat(path)).isDirectory())
      throw new PlainError(`${name} is a folder: specify a file.`);
    for await (const part of path === '-' ? process.stdin : createReadStream(path)) {
      parts.push(Buffer.from(part as Uint8Array));
      bytes += parts.at(-1)?.length ?? 0;
      if (bytes > bytesMax)
        throw new PlainError(`${name} is larger than ${sizeOf(bytesMax)}: split it into several files.`);
    }
  } catch (error) {
    if (error instanceof PlainError) throw error;
    throw new PlainError(`${name} can't be read (${(error as NodeJS.ErrnoException).code}).`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts));
  } catch {
    throw new PlainError(`${name} is not UTF-8 text: save it as UTF-8.`);
  }
}

function sizeOf(bytes: number): string {
  return bytes >= 1024 * 1024 ? `${bytes / 1024 / 1024} MiB` : `${bytes / 1024} KiB`;
}

/** A JSON value, or the error in its text as the end of a sentence. */
export type ReadJson = { readonly value: unknown } | { readonly fault: string };

/** Parses untrusted JSON; text that is nested too deeply is not parsed. */
export function readJson(text: string): ReadJson {
  const { depthMax } = readingBounds;
  if (isDeeper(text, depthMax)) return { fault: `is nested deeper than ${depthMax} levels` };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { fault: 'is not JSON' };
  }
}

/**
 * Like `readJson`.
 * @param place of the text, for the sentence
 * @throws PlainError for invalid JSON, and for text that is nested too deeply
 */
export function parsedJson(text: string, place: string): unknown {
  const read = readJson(text);
  if ('fault' in read) throw new PlainError(`${place} ${read.fault}.`);
  return read.value;
}

/** Counts brackets outside of strings; the parser rejects invalid JSON later. */
function isDeeper(text: string, depthMax: number): boolean {
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isInText) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) isInText = false;
    } else if (code === 0x22) isInText = true;
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > depthMax) return true;
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return false;
}

/** A line with content, and its number, starting at 1. */
export interface NumberedLine {
  readonly line: string;
  readonly number: number;
}

/**
 * Returns the lines of a text that have content.
 * @param bounds the number of lines and their length; by default those of a source with one item per line
 * @param onTooLong called with the number of a line that is too long, which is then skipped
 * @throws PlainError if there are no lines or too many, or if one is too long and `onTooLong` is absent
 */
export function splitLines(
  text: string,
  name: string,
  {
    linesMax = readingBounds.itemsMax,
    lineCharactersMax = readingBounds.lineCharactersMax,
  }: { readonly linesMax?: number; readonly lineCharactersMax?: number } = {},
  onTooLong?: (number: number) => void,
): NumberedLine[] {
  const numbered: NumberedLine[] = [];
  let [number, found] = [0, false];
  for (let at = 0; at < text.length; ) {
    const next = text.indexOf('\n', at);
    const end = next === -1 ? text.length : next;
    number += 1;
    const isTooLong = end - at > lineCharactersMax;
    if (isTooLong && onTooLong === undefined)
      throw new PlainError(`Line ${number} of ${name} has more than ${lineCharactersMax} characters.`);
    if (isTooLong) onTooLong?.(number);
    const line = isTooLong ? '' : text.slice(at, end).trim();
    if (line !== '') numbered.push({ line, number });
    found ||= isTooLong || line !== '';
    if (numbered.length > linesMax) throw new PlainError(`${name} has more than ${linesMax} lines.`);
    at = end + 1;
  }
  if (!found) throw new PlainError(`${name} is empty.`);
  return numbered;
}
