import MarkdownIt, { type StateBlock, type StateInline, type Token } from 'markdown-it';
import { revealHidden } from '@baton/sdk';
import { linkTarget } from './links.ts';
import { mentionAt } from './mention-text.ts';
import type { Align, MarkdownElement, MarkdownNode, PlainType } from './node.ts';
import { referencesIn } from './references.ts';

/** Longer texts are shown without formatting. Parsing takes at most a few tenths of a second at this length. */
export const charactersMax = 65_536;
/** Each line of a table or a list becomes several elements. */
export const linesMax = 5000;
export const nestingMax = 20;
export const nodesMax = 10_000;

/** Beyond this depth, the parser drops text. A text is rejected before that, beyond `nestingMax`. */
const parsedNestingMax = 2 * nestingMax + 10;

const parser = new MarkdownIt({ html: false, linkify: false, breaks: true, maxNesting: parsedNestingMax });
// Addresses are checked and normalized by the browser's own rules, which also apply when a link is followed.
parser.validateLink = (address) => linkTarget(address) !== undefined;
parser.normalizeLink = (address) => address;
parser.normalizeLinkText = (text) => text;
// Definitions of links stay visible, see `definition`.
parser.core.ruler.disable(['strip_references']);
parser.inline.ruler.before('link', 'mention', parseMention);
const [parseTable] = parser.block.ruler.getRules('').filter(isRuleOf('table'));
if (parseTable === undefined) throw new Error('the parser has no tables');
parser.block.ruler.at('table', keepCells(parseTable), { alt: ['paragraph', 'reference'] });

type BlockRule = ReturnType<typeof parser.block.ruler.getRules>[number];

/** Finds a rule by disabling its name, because minification removes the names of functions. */
function isRuleOf(name: string): (rule: BlockRule) => boolean {
  parser.block.ruler.disable([name]);
  const others = new Set(parser.block.ruler.getRules(''));
  parser.block.ruler.enable([name]);
  return (rule) => !others.has(rule);
}

function parseMention(state: StateInline, isSilent: boolean): boolean {
  if (state.src[state.pos] !== '@') return false;
  const mention = mentionAt(state.src, state.pos);
  if (mention === undefined || state.pos + mention.length > state.posMax) return false;
  if (!isSilent) state.push('mention', '', 0).meta = { name: mention.name, id: mention.id };
  state.pos += mention.length;
  return true;
}

/** Markdown tables drop cells beyond the columns of the header. People wouldn't see their text, but programs would. */
function keepCells(rule: BlockRule): BlockRule {
  return (state, startLine, endLine, isSilent) => {
    const isTable = rule(state, startLine, endLine, isSilent);
    if (!isTable || isSilent) return isTable;
    const columns = countCells(state, startLine);
    for (let line = startLine + 2; line < state.line; line += 1)
      if (countCells(state, line) > columns) state.env['isTextLost'] = true;
    return true;
  };
}

function countCells({ src, bMarks, tShift, eMarks }: StateBlock, line: number): number {
  const text = src.slice((bMarks[line] ?? 0) + (tShift[line] ?? 0), eMarks[line]).trim();
  return text
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
    .split(/(?<!\\)\|/).length;
}

/**
 * Parses CommonMark with tables, strikethrough and task lists; HTML is text. Nothing but the markup is left out,
 * and invisible characters are replaced by their codes.
 * @returns undefined for a text that exceeds the limits or of which the parser would drop a part
 */
export function parseMarkdown(text: string): readonly MarkdownNode[] | undefined {
  if (text.length > charactersMax || countLines(text) > linesMax) return undefined;
  const env: Record<string, unknown> = {};
  const tokens = parser.parse(text, env);
  if (env['isTextLost'] === true) return undefined;
  return new Builder(text).build(tokens);
}

function countLines(text: string): number {
  let count = 1;
  for (let at = text.indexOf('\n'); at >= 0 && count <= linesMax; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

const plainTypes: Readonly<Record<string, PlainType>> = {
  blockquote_open: 'quote',
  bullet_list_open: 'bullet_list',
  table_open: 'table',
  thead_open: 'head',
  tbody_open: 'body',
  tr_open: 'row',
  strong_open: 'strong',
  em_open: 'emphasis',
  s_open: 'deleted',
};

/** Builds a tree from the parser's tokens, without recursion. */
class Builder {
  readonly #text: string;
  #lines: readonly string[] | undefined;
  readonly #root: MarkdownElement = { type: 'root', children: [] };
  readonly #open: MarkdownElement[] = [this.#root];
  #nodes = 0;
  #linkDepth = 0;
  #isBeyond = false;

  constructor(text: string) {
    this.#text = text;
  }

  build(tokens: readonly Token[]): readonly MarkdownNode[] | undefined {
    for (const token of tokens) {
      if (token.type === 'inline') this.#addInline(token);
      else this.#add(token);
      if (this.#isBeyond) return undefined;
    }
    return this.#root.children;
  }

  #addInline({ children }: Token): void {
    const [first] = children ?? [];
    if (first?.type === 'text') this.#markTask(first);
    for (const token of children ?? []) {
      this.#add(token);
      if (this.#isBeyond) return;
    }
  }

  /** `[ ]` and `[x]` at the beginning of an item make it one of a task list. */
  #markTask(first: Token): void {
    const paragraph = this.#open.at(-1);
    const item = this.#open.at(-2);
    if (item?.type !== 'item' || item.children[0] !== paragraph) return;
    const [mark, state] = /^\[([ xX])\](?=\s)/.exec(first.content) ?? [];
    if (mark === undefined) return;
    item.isDone = state !== ' ';
    first.content = first.content.slice(mark.length).trimStart();
  }

  #add(token: Token): void {
    if (token.nesting === 1) this.#push(elementOf(token));
    else if (token.nesting === -1) this.#pop();
    else for (const node of this.#leavesOf(token)) this.#append(node);
  }

  #append(node: MarkdownNode): void {
    this.#nodes += 1;
    if (this.#nodes > nodesMax) this.#isBeyond = true;
    this.#open.at(-1)?.children.push(node);
  }

  #push(element: MarkdownElement): void {
    this.#append(element);
    this.#open.push(element);
    if (element.type === 'link') this.#linkDepth += 1;
    if (this.#open.length > nestingMax) this.#isBeyond = true;
  }

  #pop(): void {
    if (this.#open.pop()?.type === 'link') this.#linkDepth -= 1;
  }

  #leavesOf(token: Token): MarkdownNode[] {
    switch (token.type) {
      case 'text':
        return this.#linkDepth > 0 ? [revealHidden(token.content)] : referencesIn(token.content);
      case 'softbreak':
      case 'hardbreak':
        return [{ type: 'break' }];
      case 'code_inline':
        return [{ type: 'code', text: revealHidden(token.content) }];
      case 'fence':
      case 'code_block': {
        const text = revealHidden(token.content.replace(/\n$/, ''));
        return [{ type: 'code_block', text, info: revealHidden(token.info.trim()) }];
      }
      case 'hr':
        return [{ type: 'rule' }];
      case 'mention':
        return [
          {
            type: 'mention',
            id: String(token.meta?.['id']),
            name: revealHidden(String(token.meta?.['name'])),
          },
        ];
      case 'image':
        return [imageOf(token)];
      case 'reference_definition':
        return [{ type: 'definition', children: referencesIn(this.#linesOf(token)) }];
      default:
        return referencesIn(token.content);
    }
  }

  /** The source of a definition, of which the parser's token contains only the lines. */
  #linesOf({ map }: Token): string {
    const [from, to] = map ?? [0, 0];
    this.#lines ??= this.#text.split(/\r\n?|\n/);
    return this.#lines.slice(from, to).join('\n').trim();
  }
}

function elementOf(token: Token): MarkdownElement {
  const children: MarkdownNode[] = [];
  const type = plainTypes[token.type];
  if (type !== undefined) return { type, children };
  switch (token.type) {
    case 'heading_open':
      return { type: 'heading', level: Number(token.tag.slice(1)), children };
    case 'ordered_list_open':
      return { type: 'ordered_list', start: Number(token.attrGet('start') ?? 1), children };
    case 'list_item_open':
      return { type: 'item', isDone: undefined, children };
    case 'th_open':
    case 'td_open':
      return { type: 'cell', isHead: token.type === 'th_open', align: alignOf(token), children };
    case 'link_open': {
      const url = linkTarget(String(token.attrGet('href') ?? ''));
      if (url === undefined) return { type: 'bare', children };
      return { type: 'link', url, title: titleOf(token), isImage: false, children };
    }
    default:
      return { type: token.hidden ? 'bare' : 'paragraph', children };
  }
}

/** An image becomes a link, because the console sends no requests to other hosts. */
function imageOf(token: Token): MarkdownNode {
  const alt = revealHidden(token.content);
  const url = linkTarget(String(token.attrGet('src') ?? ''));
  if (url === undefined) return alt;
  return { type: 'link', url, title: titleOf(token), isImage: true, children: alt === '' ? [] : [alt] };
}

function titleOf(token: Token): string {
  return revealHidden(String(token.attrGet('title') ?? ''));
}

function alignOf(token: Token): Align {
  const [, align] = /^text-align:(left|right|center)$/.exec(String(token.attrGet('style') ?? '')) ?? [];
  return align as Align;
}
