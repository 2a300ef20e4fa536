import { plainCell } from './csv-cells.ts';

/** The row that a cell refers to, or a name without a row. */
export type RowReference =
  | { readonly text: string; readonly own: string | undefined }
  | { readonly text: string; readonly isAmbiguous: true };

/** The maximum number of names in a cell, and of commas in one title. */
const bounds = {
  partsMax: 300,
  commasMax: 12,
  titleCharactersMax: 1000,
  cellCharactersMax: 100_000,
} as const;

/** Finds the rows that cells refer to by one of their ids or by their title. */
export class RowNames {
  readonly #ids = new Map<string, Set<string>>();
  readonly #titles = new Map<string, Set<string>>();

  /** @param own the name of the row @param ids all its ids; none if rows are identified by their title */
  add(own: string, ids: readonly string[], title: string): void {
    for (const id of ids.filter((one) => one !== '')) note(this.#ids, id, own);
    if (title !== '') note(this.#titles, titleKey(title), own);
  }

  find(text: string): RowReference {
    const plain = text.trim();
    const bare = plain.replace(/^#(?=\d)/, '');
    const byId = this.#ids.get(plain) ?? this.#ids.get(bare);
    // The first id of a row is always unambiguous, even if it is an additional id of another row.
    const own = [plain, bare].find((one) => byId?.has(one));
    const found = byId ?? this.#titles.get(titleKey(plain));
    if (own === undefined && found !== undefined && found.size > 1) return { text: plain, isAmbiguous: true };
    const [first] = found ?? [];
    return { text: bare, own: own ?? first };
  }

  isKnown(text: string): boolean {
    const found = this.find(text);
    return 'isAmbiguous' in found || found.own !== undefined;
  }
}

const titleKey = (title: string): string => title.replaceAll(/\s+/g, ' ').trim().toLowerCase();

function note(names: Map<string, Set<string>>, name: string, own: string): void {
  const known = names.get(name);
  if (known === undefined) names.set(name, new Set([own]));
  else known.add(own);
}

/** The rows that a cell refers to. */
export function referencesIn(cell: string, names: RowNames): RowReference[] {
  const plain = plainCell(cell);
  if (plain === '') return [];
  if (names.isKnown(plain)) return [names.find(plain)];
  const parts = pagesIn(plain) ?? partsIn(plain, names);
  return parts.map((part) => names.find(part));
}

/** Titles may contain commas, so the longest part that matches a row is taken. */
function partsIn(text: string, names: RowNames): string[] {
  const cuts = [...text.slice(0, bounds.cellCharactersMax).matchAll(/[,;\n]/g)].slice(0, bounds.partsMax);
  const ends = [...cuts.map(({ index }) => index), text.length];
  const parts: string[] = [];
  for (let [from, at] = [0, 0]; at < ends.length; ) {
    let end = Math.min(at + bounds.commasMax, ends.length - 1);
    while (end > at && !isTitleIn(text, from, ends[end] ?? from, names)) end -= 1;
    const part = text.slice(from, ends[end]).trim();
    if (part !== '') parts.push(part);
    from = (ends[end] ?? text.length) + 1;
    at = end + 1;
  }
  return parts;
}

const isTitleIn = (text: string, from: number, to: number, names: RowNames): boolean =>
  to - from <= bounds.titleCharactersMax && names.isKnown(text.slice(from, to));

/**
 * Notion writes `Title (https://www.notion.so/…)` or `Title (Title%20….md)` for each page; undefined for another text.
 */
function pagesIn(text: string): string[] | undefined {
  const page =
    /\s*([^\n]{0,500}?)\s*\((?:https?:\/\/[^()\s]{1,500}|[^()\n]{1,500}\.(?:md|html))\)\s*(?:,|$)/gy;
  const titles: string[] = [];
  while (page.lastIndex < text.length) {
    const found = page.exec(text);
    if (found === null || titles.length > bounds.partsMax) return undefined;
    titles.push(found[1] ?? '');
  }
  return titles;
}

/** The relation to each issue in Redmine's `Related issues`: `Blocked by #41, Related to #5 (1 day)`. */
const redmineRelation =
  /^(blocked by|blocks|precedes|follows|related to|relates to|duplicates|is duplicate of|has duplicate|duplicated by|copied to|copied from)\s[^#]{0,200}#?(\d+)\b/i;

export interface KindOfRelation {
  readonly type: 'depends_on' | 'blocks' | 'related_to';
  readonly to: string;
}

/** The relation that a text names; undefined if it names none. */
export function kindOfRelation(text: string): KindOfRelation | undefined {
  const [, kind = '', to] = redmineRelation.exec(text) ?? [];
  if (to === undefined) return undefined;
  const plain = kind.toLowerCase();
  if (plain === 'blocked by' || plain === 'follows') return { type: 'depends_on', to };
  return { type: plain === 'blocks' || plain === 'precedes' ? 'blocks' : 'related_to', to };
}
