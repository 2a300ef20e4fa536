import { PlainError } from '../../plain-error.ts';
import { readingBounds, readJson } from '../read-source.ts';
import type { LeftOut } from '../source.ts';

/** A value in a list of issues, and its position. */
export interface GithubRecord {
  readonly value: unknown;
  readonly place: string;
}

/**
 * The values of a list of issues: a list; lists in a list (`gh api --slurp`); the response of a search or of
 * GraphQL; several of these one after another, as pages are printed.
 * @throws PlainError for a text without a list, and for too many values
 */
export function githubRecords(text: string, name: string, leftOut: LeftOut): GithubRecord[] {
  const { itemsMax } = readingBounds;
  const trimmed = text.trim();
  if (trimmed === '') throw new PlainError(`${name} is empty.`);
  const whole = readJson(trimmed);
  const documents = 'value' in whole ? [whole.value] : pagesIn(trimmed, name, whole.fault, leftOut);
  const lists = documents.map((document) => listIn(document));
  if (lists.every((list) => list === undefined)) throw new PlainError(`${name} is not a list of issues.`);
  const values = lists.flatMap((list) => list ?? []);
  if (values.length > itemsMax) throw new PlainError(`${name} has more than ${itemsMax} issues.`);
  return values.map((value, at) => ({ value, place: `issue ${at + 1}` }));
}

/** JSON values one after another; an unreadable one is skipped if others can be read. */
function pagesIn(text: string, name: string, fault: string, leftOut: LeftOut): unknown[] {
  const lines = linesIn(text);
  // Pages of one line each, one of which may be truncated; otherwise a page ends with its outermost bracket.
  const isByLine = lines.filter(({ part }) => isDocument(part)).length * 2 >= lines.length;
  const parts = isByLine ? lines : partsOf(text);
  if (parts.length < 2) throw new PlainError(`${name} ${fault}.`);
  const read = parts.map(({ part, line }) => ({ page: readJson(part), line }));
  if (read.every(({ page }) => 'fault' in page)) throw new PlainError(`${name} ${fault}.`);
  return read.flatMap(({ page, line }) => {
    if ('value' in page) return [page.value];
    leftOut.addUnreadable(page.fault, `line ${line}`);
    return [];
  });
}

interface Part {
  readonly part: string;
  readonly line: number;
}

function linesIn(text: string): Part[] {
  return text
    .split('\n', readingBounds.itemsMax + 1)
    .map((one, at) => ({ part: one.trim(), line: at + 1 }))
    .filter(({ part }) => part !== '');
}

function isDocument(text: string): boolean {
  const read = /^[[{]/.test(text) ? readJson(text) : { fault: '' };
  return 'value' in read;
}

/** Splits where a bracket closes the outermost value, and at the end of a line that can't belong to one. */
function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  let [depth, isInText, from, line, began] = [0, false, 0, 1, 1];
  const cut = (to: number) => {
    const part = text.slice(from, to).trim();
    if (part !== '') parts.push({ part, line: began });
    [from, began, depth, isInText] = [to, line, 0, false];
  };
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (parts.length > readingBounds.itemsMax) break;
    if (code === 0x0a) {
      line += 1;
      // A JSON string can't contain a line break, so a value whose string reaches one was truncated.
      if (isInText || depth === 0) cut(at + 1);
    } else if (isInText) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) isInText = false;
    } else if (code === 0x22) isInText = true;
    else if (code === 0x7b || code === 0x5b) depth += 1;
    else if (code === 0x7d || code === 0x5d) {
      depth -= 1;
      if (depth <= 0) cut(at + 1);
    }
  }
  cut(text.length);
  return parts;
}

type Fields = Readonly<Record<string, unknown>>;

/** Undefined for anything other than a list or an issue. */
function listIn(value: unknown): unknown[] | undefined {
  if (Array.isArray(value)) return (value as unknown[]).flat();
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = value as Fields;
  if (Array.isArray(fields['items'])) return fields['items'] as unknown[];
  const { data } = fields;
  if (typeof data === 'object' && data !== null) return nodesBelow(data);
  return typeof fields['number'] === 'number' ? [value] : undefined;
}

const levelsMax = 6;

/** The `nodes` of the first connection of issues below a GraphQL response. */
function nodesBelow(data: object): unknown[] | undefined {
  let level: object[] = [data];
  for (let depth = 0; depth < levelsMax && level.length > 0 && level.length < 100; depth += 1) {
    for (const one of level) {
      const { nodes } = one as { nodes?: unknown };
      if (Array.isArray(nodes)) return nodes as unknown[];
    }
    level = level.flatMap((one) =>
      Object.values(one).filter((part): part is object => typeof part === 'object' && part !== null),
    );
  }
  return undefined;
}

/** The members of a list, or of a GraphQL connection (`{nodes: […]}`). */
export function listMembers(value: unknown): unknown[] {
  if (Array.isArray(value)) return value as unknown[];
  if (typeof value !== 'object' || value === null)
    return value === undefined || value === null ? [] : [value];
  const { nodes, edges } = value as Fields;
  if (Array.isArray(nodes)) return nodes as unknown[];
  if (Array.isArray(edges)) return edges.map((edge) => (edge as { node?: unknown } | null)?.node);
  return [value];
}
