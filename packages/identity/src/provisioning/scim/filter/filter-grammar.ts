import { type ErrorCode, fail } from '../../errors.ts';
import { type AttributePath, parseAttributePath } from '../protocol/attribute-path.ts';

/** Filters and PATCH paths as RFC 7644 writes them (sections 3.4.2.2 and 3.5.2), read in one pass. */

export const operators = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const;
export type Operator = (typeof operators)[number];

export type Filter =
  | { readonly kind: 'and'; readonly of: readonly Filter[] }
  | { readonly kind: 'or'; readonly of: readonly Filter[] }
  | { readonly kind: 'not'; readonly of: Filter }
  | LeafFilter
  /** `emails[type eq "work"]`: a list with an element that meets the filter in brackets. */
  | { readonly kind: 'elements'; readonly path: AttributePath; readonly of: Filter };

/** A condition on one attribute. */
export type LeafFilter = Comparison | { readonly kind: 'present'; readonly path: AttributePath };

export interface Comparison {
  readonly kind: 'compare';
  readonly path: AttributePath;
  readonly operator: Operator;
  readonly value: string | number | boolean | null;
}

/** The target of a PATCH operation: `emails[type eq "work"].value`. */
export interface PatchPath {
  readonly path: AttributePath;
  readonly filter: Filter | undefined;
  /** The part of an element that follows the brackets. */
  readonly sub: string | undefined;
}

export const filterCharactersMax = 2000;
export const filterLevelsMax = 16;

type Token = { readonly kind: 'mark' | 'word' | 'text'; readonly text: string };

const tokenForm = /[ \t\r\n]+|([()[\]])|"((?:[^"\\]|\\.)*)"|([A-Za-z0-9_$.:+-]+)/sy;

/** @throws Refusal `scim_invalid_filter` */
export function parseFilter(text: string): Filter {
  const reader = new Reader(text, 'scim_invalid_filter');
  const filter = reader.readOr(1, false);
  reader.expectEnd();
  return filter;
}

/** @throws Refusal `scim_invalid_path` */
export function parsePatchPath(text: string): PatchPath {
  const reader = new Reader(text, 'scim_invalid_path');
  const path = reader.readPath();
  let filter: Filter | undefined;
  let sub: string | undefined;
  if (reader.take('[')) {
    if (path.sub !== undefined) reader.refuse();
    filter = reader.readOr(1, true);
    if (!reader.take(']')) reader.refuse();
    sub = reader.readSub();
  }
  reader.expectEnd();
  return { path, filter, sub };
}

class Reader {
  readonly #tokens: readonly Token[];
  readonly #code: ErrorCode;
  #at = 0;

  constructor(text: string, code: ErrorCode) {
    this.#code = code;
    if (text.length > filterCharactersMax) this.refuse();
    this.#tokens = this.#split(text);
  }

  refuse(): never {
    return fail(this.#code);
  }

  /**
   * @param level the level of nesting, starting at 1
   * @param inside whether it is in brackets, where names refer to an element and brackets can't be nested
   */
  readOr(level: number, inside: boolean): Filter {
    if (level > filterLevelsMax) this.refuse();
    const parts = [this.#readAnd(level, inside)];
    while (this.#takeWord('or')) parts.push(this.#readAnd(level, inside));
    return parts.length === 1 ? (parts[0] as Filter) : { kind: 'or', of: parts };
  }

  readPath(): AttributePath {
    const token = this.#tokens[this.#at];
    if (token?.kind !== 'word') return this.refuse();
    this.#at += 1;
    return parseAttributePath(token.text) ?? this.refuse();
  }

  /** `.value` after the brackets. */
  readSub(): string | undefined {
    const token = this.#tokens[this.#at];
    if (token === undefined) return undefined;
    const name = token.kind === 'word' ? /^\.([A-Za-z$][A-Za-z0-9_$-]*)$/.exec(token.text)?.[1] : undefined;
    if (name === undefined) return this.refuse();
    this.#at += 1;
    return name;
  }

  take(mark: string): boolean {
    const token = this.#tokens[this.#at];
    if (token?.kind !== 'mark' || token.text !== mark) return false;
    this.#at += 1;
    return true;
  }

  expectEnd(): void {
    if (this.#at < this.#tokens.length) this.refuse();
  }

  #split(text: string): Token[] {
    const tokens: Token[] = [];
    tokenForm.lastIndex = 0;
    while (tokenForm.lastIndex < text.length) {
      const found = tokenForm.exec(text);
      if (found === null) return this.refuse();
      const [, mark, quoted, word] = found;
      if (mark !== undefined) tokens.push({ kind: 'mark', text: mark });
      else if (quoted !== undefined) tokens.push({ kind: 'text', text: this.#unquote(quoted) });
      else if (word !== undefined) tokens.push({ kind: 'word', text: word });
    }
    return tokens;
  }

  #unquote(quoted: string): string {
    try {
      const text = JSON.parse(`"${quoted}"`) as string;
      if (text.includes('\0') || !text.isWellFormed()) this.refuse();
      return text;
    } catch {
      return this.refuse();
    }
  }

  #readAnd(level: number, inside: boolean): Filter {
    const parts = [this.#readTerm(level, inside)];
    while (this.#takeWord('and')) parts.push(this.#readTerm(level, inside));
    return parts.length === 1 ? (parts[0] as Filter) : { kind: 'and', of: parts };
  }

  #readTerm(level: number, inside: boolean): Filter {
    if (this.take('(')) return this.#readGroup(level, inside);
    if (this.#isWord('not') && this.#isMark(1, '(')) {
      this.#at += 2;
      return { kind: 'not', of: this.#readGroup(level, inside) };
    }
    const path = this.readPath();
    if (this.take('[')) {
      if (inside || path.sub !== undefined) this.refuse();
      const of = this.readOr(level + 1, true);
      if (!this.take(']')) this.refuse();
      return { kind: 'elements', path, of };
    }
    if (this.#takeWord('pr')) return { kind: 'present', path };
    const operator = operators.find((name) => this.#takeWord(name)) ?? this.refuse();
    return { kind: 'compare', path, operator, value: this.#readValue() };
  }

  #readGroup(level: number, inside: boolean): Filter {
    const filter = this.readOr(level + 1, inside);
    if (!this.take(')')) this.refuse();
    return filter;
  }

  #readValue(): string | number | boolean | null {
    const token = this.#tokens[this.#at];
    this.#at += 1;
    if (token?.kind === 'text') return token.text;
    if (token?.kind !== 'word') return this.refuse();
    if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(token.text)) return Number(token.text);
    const words: Record<string, boolean | null> = { true: true, false: false, null: null };
    const word = token.text.toLowerCase();
    return Object.hasOwn(words, word) ? (words[word] as boolean | null) : this.refuse();
  }

  #isWord(word: string): boolean {
    const token = this.#tokens[this.#at];
    return token?.kind === 'word' && token.text.toLowerCase() === word;
  }

  #isMark(ahead: number, mark: string): boolean {
    const token = this.#tokens[this.#at + ahead];
    return token?.kind === 'mark' && token.text === mark;
  }

  #takeWord(word: string): boolean {
    if (!this.#isWord(word)) return false;
    this.#at += 1;
    return true;
  }
}
