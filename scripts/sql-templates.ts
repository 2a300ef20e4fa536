/** A static statement in a source file: what stands between the backticks after `sql` or `sql<Row>`. */
export interface SqlTemplate {
  /** With `$1`, `$2` … for the parameters. */
  readonly text: string;
  /** From 1. */
  readonly line: number;
  /** Where the declared row type stands, without its angle brackets; undefined where none is declared. */
  readonly row: { readonly start: number; readonly end: number } | undefined;
}

export interface SqlDeclaration {
  readonly name: string;
  readonly isExported: boolean;
  readonly templates: readonly SqlTemplate[];
  /** Every name that stands in it. */
  readonly names: ReadonlySet<string>;
}

/**
 * Finds the static statements of a source file, by the top-level declarations that hold them.
 * @param source text of a TypeScript file as biome formats it
 */
export function findSqlTemplates(source: string): SqlDeclaration[] {
  const heads = [...source.matchAll(/^(export )?(?:async )?(?:function|const|class)\*? (\w+)/gm)];
  const templates = new Scanner(source).templates();
  return heads.map((head, index) => {
    const [start, end] = [head.index, heads[index + 1]?.index ?? source.length];
    const inside = templates.filter(({ at }) => at >= start && at < end).map(({ template }) => template);
    const names = new Set(source.slice(start, end).match(/[\w$]+/g));
    return { name: head[2] as string, isExported: head[1] !== undefined, templates: inside, names };
  });
}

/** Comments to the end of the line, texts, words. */
const skippable = /\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|[\w$]+/y;

/** Reads TypeScript as far as it must to know where texts, comments and templates begin and end. */
class Scanner {
  readonly #source: string;
  readonly #found: { at: number; template: SqlTemplate }[] = [];
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  templates() {
    this.#code();
    return this.#found;
  }

  /** Up to the brace that closes a `${`, or the end of the file. */
  #code(): void {
    for (let depth = 0; this.#at < this.#source.length; ) {
      skippable.lastIndex = this.#at;
      const skipped = skippable.exec(this.#source)?.[0];
      const character = this.#source[this.#at] as string;
      if (this.#source.startsWith('/*', this.#at)) this.#at = this.#source.indexOf('*/', this.#at) + 2;
      else if (skipped === 'sql') this.#afterSql();
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

  #afterSql(): void {
    const at = this.#at;
    const line = this.#source.slice(0, at).split('\n').length;
    this.#at += 'sql'.length;
    const row = this.#source[this.#at] === '<' ? this.#typeArgument() : undefined;
    if (this.#source[this.#at] !== '`') return;
    this.#found.push({ at, template: { text: this.#template(), line, row } });
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

  /** The text of a template with `$1`, `$2` … for what is between the braces. */
  #template(): string {
    let text = '';
    let parameters = 0;
    for (this.#at += 1; this.#source[this.#at] !== '`'; ) {
      const character = this.#source[this.#at] as string;
      if (character === '\\') {
        const escaped = this.#source[this.#at + 1] as string;
        text += { n: '\n', t: '\t', r: '\r' }[escaped] ?? escaped;
        this.#at += 2;
      } else if (this.#source.startsWith('${', this.#at)) {
        parameters += 1;
        text += `$${parameters}`;
        this.#at += 2;
        this.#code();
        this.#at += 1;
      } else {
        text += character;
        this.#at += 1;
      }
    }
    this.#at += 1;
    return text;
  }

  /** A slash divides after a value and begins a regular expression elsewhere. */
  #isExpressionNext(): boolean {
    return !/[\w$)\]'"`]\s*$/.test(this.#source.slice(Math.max(0, this.#at - 20), this.#at));
  }

  #regularExpression(): string {
    const rest = this.#source.slice(this.#at, this.#source.indexOf('\n', this.#at));
    return /^\/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\[])+\//.exec(rest)?.[0] ?? '/';
  }
}
