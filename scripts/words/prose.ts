import { extname } from 'node:path';
import { parseSync } from 'oxc-parser';

/**
 * A piece of prose in a file. Code, quotations and links in it are blanked, so that its offsets still match those of
 * the file.
 */
export interface Prose {
  /** The offset at which the prose begins in the file. */
  readonly start: number;
  readonly text: string;
}

const parsed = new Set(['.ts', '.tsx', '.mjs', '.js']);
/** The comments of files that aren't parsed, by their extension. */
const commentForms: Readonly<Record<string, RegExp>> = {
  '.sql': /(?<=^|\s)--.*$|\/\*[^]*?\*\//gm,
  '.css': /\/\*[^]*?\*\//g,
  '.sh': /(?<=^|\s)#(?!!).*$/gm,
  '.py': /(?<=^|\s)#(?!!).*$|"""[^]*?"""/gm,
  '.yaml': /(?<=^|\s)#.*$/gm,
  '.yml': /(?<=^|\s)#.*$/gm,
  '.html': /<!--[^]*?-->|(?<=>)[^<>]+(?=<)/g,
};

/**
 * Finds the prose of a file: the paragraphs of a page in Markdown; comments, texts with spaces and the text of JSX
 * in TypeScript and JavaScript; comments elsewhere. Of SQL in templates, only the comments count.
 * @returns an empty list for a file without prose
 */
export function findProse(file: string, text: string): Prose[] {
  const extension = extname(file);
  if (extension === '.md') return paragraphsOf(text);
  if (parsed.has(extension)) return proseOfCode(file, text);
  const form = commentForms[extension];
  return form === undefined ? [] : matchesIn(text, 0, form).map(blankInserts);
}

/** Fenced code is blanked first. A quotation may span several lines, but not several paragraphs. */
function paragraphsOf(text: string): Prose[] {
  const prose = text.replace(/^( *)(```+|~~~+)[^]*?^ *\2[`~]* *$/gm, blank);
  return matchesIn(prose, 0, /(?:^.*\S.*(?:\n|$))+/gm).map(blankInserts);
}

/** The tags of templates with SQL. `raw('…')` contains SQL too. */
const sqlTags = new Set(['sql', 'part', 'fragment']);

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

interface TemplateElement extends SyntaxNode {
  readonly value: { readonly raw: string };
}

/** The inner part of a template's element: in TypeScript, an element includes its delimiters. */
function innerOf({ type, start, end, value }: TemplateElement): SyntaxNode {
  const innerStart = end - start > value.raw.length ? start + 1 : start;
  return { type, start: innerStart, end: innerStart + value.raw.length };
}

function proseOfCode(file: string, text: string): Prose[] {
  const { program, comments } = parseSync(file, text);
  const found: Prose[] = comments.map(({ start, end }) =>
    blankInserts({ start, text: text.slice(start, end) }),
  );
  const add = (node: SyntaxNode) => found.push(blankQuotations({ start: node.start, text: sourceOf(node) }));
  const sourceOf = ({ start, end }: SyntaxNode) => text.slice(start, end);

  visit(program, (node) => {
    const { type } = node;
    if (type === 'JSXText' || (type === 'Literal' && isSentence(sourceOf(node)))) add(node);
    if (type === 'TemplateLiteral') {
      const { quasis } = node as unknown as { quasis: TemplateElement[] };
      if (quasis.some(({ value }) => value.raw.includes(' ')))
        for (const quasi of quasis) add(innerOf(quasi));
    }
    if (type === 'CallExpression' && sourceOf((node as unknown as { callee: SyntaxNode }).callee) === 'raw')
      return false;
    if (type !== 'TaggedTemplateExpression') return true;
    const { tag, quasi } = node as unknown as { tag: SyntaxNode; quasi: { quasis: TemplateElement[] } };
    if (!sqlTags.has(sourceOf(tag))) return true;
    for (const part of quasi.quasis.map(innerOf))
      found.push(...matchesIn(sourceOf(part), part.start, /(?<=^|\s)--.*$/gm).map(blankInserts));
    return false;
  });
  return found.sort((one, other) => one.start - other.start);
}

/** Whether a literal is prose: a string with a space in it. A regular expression is code. */
const isSentence = (source: string) => /^['"].* /s.test(source);

/** Calls `enter` for each node, and descends into those for which it returns true. */
function visit(value: unknown, enter: (node: SyntaxNode) => boolean): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const each of value) visit(each, enter);
    return;
  }
  if ('type' in value && !enter(value as unknown as SyntaxNode)) return;
  for (const each of Object.values(value)) visit(each, enter);
}

function matchesIn(text: string, offset: number, form: RegExp): Prose[] {
  return [...text.matchAll(form)].map(({ 0: match, index }) => ({ start: offset + index, text: match }));
}

/** Blanks code, quotations and the targets of links. */
function blankInserts({ start, text }: Prose): Prose {
  const inserts =
    /(`+)(?!`)[^]*?[^`]\1(?!`)|\]\([^)\s]*\)|https?:\/\/\S+|\{@link [^}]*\}|@(?:param|see) \S+/g;
  return blankQuotations({ start, text: text.replace(inserts, blank) });
}

/** The quotation marks around a string in code are not those of a quotation. */
function blankQuotations({ start, text }: Prose): Prose {
  const isString = /^"[^]*"$/.test(text);
  const inner = (isString ? text.slice(1, -1) : text).replaceAll('\\`', ' `');
  const blanked = inner.replace(/"[^"]*"|“[^”]*”|`[^`]*`/g, blank);
  return { start, text: isString ? `"${blanked}"` : blanked };
}

/** Blanks a text but keeps its line breaks. */
const blank = (text: string) => text.replace(/[^\n]/g, ' ');
