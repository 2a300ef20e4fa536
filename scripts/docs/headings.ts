import { maskBlocks } from './references.ts';

export interface Heading {
  readonly level: number;
  /** Without markup. */
  readonly text: string;
  /** The fragment under which GitHub links to the heading. */
  readonly anchor: string;
  /** The offsets of the heading's first line and of the line after the heading. */
  readonly start: number;
  readonly end: number;
}

const headingForms = [
  /^ {0,3}(?<marks>#{1,6})[ \t]+(?<text>.*?)(?:[ \t]+#+)?[ \t]*(?:\n|$)/gm,
  /^ {0,3}(?<text>[^\s|>#*+-][^\n]*)\n {0,3}(?<marks>=+|-{2,})[ \t]*(?:\n|$)/gm,
];

/** Returns the headings of a page in Markdown, in order, with the anchors that GitHub gives them. */
export function headingsOf(markdown: string): Heading[] {
  const readable = maskBlocks(markdown);
  const anchors = new Map<string, number>();
  return headingForms
    .flatMap((form) => [...readable.matchAll(form)])
    .sort((one, other) => one.index - other.index)
    .map(({ 0: whole, index, groups: { marks = '', text: source = '' } = {} }) => {
      const text = plainText(source);
      const level = marks.startsWith('#') ? marks.length : marks.startsWith('=') ? 1 : 2;
      return { level, text, anchor: unusedAnchor(text, anchors), start: index, end: index + whole.length };
    });
}

/** Returns every fragment by which a page can be linked: its headings, and elements with an `id` or a `name`. */
export function anchorsOf(markdown: string): Set<string> {
  const elements = [...maskBlocks(markdown).matchAll(/<[a-z]\w*\s[^>]*\b(?:id|name)="([^"]+)"/g)];
  return new Set([...headingsOf(markdown).map(({ anchor }) => anchor), ...elements.map(([, id = '']) => id)]);
}

/** GitHub numbers the anchors of equal headings: `limits`, `limits-1`, `limits-2`. */
function unusedAnchor(text: string, used: Map<string, number>): string {
  const plain = anchorOf(text);
  let anchor = plain;
  for (let number = used.get(plain) ?? 0; used.has(anchor); ) {
    number += 1;
    anchor = `${plain}-${number}`;
    used.set(plain, number);
  }
  used.set(anchor, 0);
  return anchor;
}

/** Letters, digits, hyphens and underscores remain; a space becomes a hyphen. */
export function anchorOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{Alphabetic}\p{Mark}\p{Decimal_Number}\p{Connector_Punctuation}\- ]/gu, '')
    .replaceAll(' ', '-');
}

/** Returns a line of Markdown as a reader sees it. */
export function plainText(inline: string): string {
  const parts = inline.split(/(`+[^`]+`+)/);
  return parts
    .map((part, index) => (index % 2 === 1 ? part.replaceAll(/^`+ ?| ?`+$/g, '') : withoutMarkup(part)))
    .join('')
    .trim();
}

const withoutMarkup = (text: string) =>
  text
    .replaceAll(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replaceAll(/\]\([^)]*\)|\]\[[^\]]*\]/g, '')
    .replaceAll(/(?<!\\)\[/g, '')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/(?<!\\)\*+|(?<![\\\w])_+(?=\S)|(?<=[^\\\s])_+(?!\w)/g, '')
    .replaceAll(/\\([^\w\s])/g, '$1');
