/** A static statement in a source file: the text between the backticks after `sql` or `sql<Row>`. */
export interface SqlTemplate {
  /** The text, with `$1`, `$2` … for the parameters, and with the known parts inserted. */
  readonly text: string;
  /** From 1. */
  readonly line: number;
  /** The position of the declared row type, without its angle brackets; undefined if none is declared. */
  readonly row: { readonly start: number; readonly end: number } | undefined;
}

/** The literal parts of a template, between its expressions. */
interface Pieces {
  readonly texts: readonly string[];
  readonly expressions: readonly string[];
}

/** The first part (``part`…` ``) in each declaration, by the declaration's name. */
export type SqlParts = ReadonlyMap<string, Pieces>;

export interface SqlDeclaration {
  readonly name: string;
  readonly isExported: boolean;
  readonly templates: readonly SqlTemplate[];
  /** Every name that occurs in the declaration. */
  readonly names: ReadonlySet<string>;
}

const declarationHead = /^(export )?(?:async )?(?:function|const|class)\*? (\w+)/gm;

/** Finds the parts of statements in a source file. */
export function findSqlParts(source: string): SqlParts {
  const heads = [...source.matchAll(declarationHead)];
  const parts = new Map<string, Pieces>();
  for (const { at, pieces } of new Scanner(source).scan().parts) {
    const name = heads.findLast((head) => head.index < at)?.[2];
    if (name !== undefined && !parts.has(name)) parts.set(name, pieces);
  }
  return parts;
}

/**
 * Finds the static statements of a source file, by the top-level declarations that contain them.
 * @param source text of a TypeScript file as biome formats it
 * @param parts the parts that statements may contain, by the name that an expression begins with
 */
export function findSqlTemplates(source: string, parts: SqlParts = new Map()): SqlDeclaration[] {
  const heads = [...source.matchAll(declarationHead)];
  const templates = new Scanner(source).scan().statements.map(({ at, line, row, pieces }) => ({
    at,
    template: { text: composeText(pieces, parts), line, row },
  }));
  return heads.map((head, index) => {
    const [start, end] = [head.index, heads[index + 1]?.index ?? source.length];
    const inside = templates.filter(({ at }) => at >= start && at < end).map(({ template }) => template);
    const names = new Set(source.slice(start, end).match(/[\w$]+/g));
    return { name: head[2] as string, isExported: head[1] !== undefined, templates: inside, names };
  });
}

/** The text of a template with `$1`, `$2` … for its expressions; an expression that is a part is inserted instead. */
function composeText(pieces: Pieces, parts: SqlParts): string {
  let parameters = 0;
  const write = ({ texts, expressions }: Pieces): string =>
    texts.reduce((left, right, index) => {
      const name = /^\w+/.exec(expressions[index - 1] as string)?.[0];
      const inside = name === undefined ? undefined : parts.get(name);
      if (inside !== undefined) return `${left}${write(inside)}${right}`;
      parameters += 1;
      return `${left}$${parameters}${right}`;
    });
  return write(pieces);
}

interface Found {
  readonly at: number;
  readonly line: number;
  readonly row: SqlTemplate['row'];
  readonly pieces: Pieces;
}

/** Matches what can be skipped as a whole: line comments, strings and words. */
const skippable = /\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|[\w$]+/y;

/** Scans TypeScript only to find the boundaries of strings, comments and templates. */
class Scanner {
  readonly #source: string;
  readonly #found = { statements: [] as Found[], parts: [] as Found[] };
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  scan() {
    this.#code();
    return this.#found;
  }

  /** Scans code up to the brace that closes a `${`, or up to the end of the file. */
  #code(): void {
    for (let depth = 0; this.#at < this.#source.length; ) {
      skippable.lastIndex = this.#at;
      const skipped = skippable.exec(this.#source)?.[0];
      const character = this.#source[this.#at] as string;
      if (this.#source.startsWith('/*', this.#at)) this.#at = this.#source.indexOf('*/', this.#at) + 2;
      else if (skipped === 'sql') this.#afterTag(skipped, this.#found.statements);
      else if (skipped === 'part') this.#afterTag(skipped, this.#found.parts);
      else if (skipped !== undefined) this.#at += skipped.length;
      else if (character === '`') this.#template();
      else if (character === '/' && this.#isExpressionNext()) this.#at += this.#regularExpression().length;
      else {
        if (character === '{') depth += 1;
        if (character === '}') depth -= 1;
        if (depth < 0) return;
        this.#at += 1;
      }
    }
  }

  #afterTag(tag: string, found: Found[]): void {
    const at = this.#at;
    const line = this.#source.slice(0, at).split('\n').length;
    this.#at += tag.length;
    const row = this.#source[this.#at] === '<' ? this.#typeArgument() : undefined;
    if (this.#source[this.#at] !== '`') return;
    const index = found.length;
    const pieces = this.#template();
    found.splice(index, 0, { at, line, row, pieces });
  }

  #typeArgument() {
    const start = this.#at + 1;
    for (let depth = 0; this.#at < this.#source.length; this.#at += 1) {
      if (this.#source[this.#at] === '<') depth += 1;
      if (this.#source[this.#at] === '>' && this.#source[this.#at - 1] !== '=') depth -= 1;
      if (depth === 0) break;
    }
    this.#at += 1;
    return { start, end: this.#at - 1 };
  }

  #template(): Pieces {
    const texts: string[] = [];
    const expressions: string[] = [];
    let text = '';
    for (this.#at += 1; this.#source[this.#at] !== '`'; ) {
      const character = this.#source[this.#at] as string;
      if (character === '\\') {
        const escaped = this.#source[this.#at + 1] as string;
        text += { n: '\n', t: '\t', r: '\r' }[escaped] ?? escaped;
        this.#at += 2;
      } else if (this.#source.startsWith('${', this.#at)) {
        this.#at += 2;
        const start = this.#at;
        this.#code();
        texts.push(text);
        expressions.push(this.#source.slice(start, this.#at));
        text = '';
        this.#at += 1;
      } else {
        text += character;
        this.#at += 1;
      }
    }
    this.#at += 1;
    return { texts: [...texts, text], expressions };
  }

  /** After a value, a slash divides; elsewhere, it begins a regular expression. */
  #isExpressionNext(): boolean {
    return !/[\w$)\]'"`]\s*$/.test(this.#source.slice(Math.max(0, this.#at - 20), this.#at));
  }

  #regularExpression(): string {
    const rest = this.#source.slice(this.#at, this.#source.indexOf('\n', this.#at));
    return /^\/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\[])+\//.exec(rest)?.[0] ?? '/';
  }
}
