import type { Tree } from '../links.ts';
import { anchorOf, headingsOf, plainText } from './headings.ts';
import { maskBlocks } from './references.ts';

/** A page of the site, from a Markdown file. */
export interface Page {
  readonly file: string;
  /** The page's path on the site, without leading or trailing slashes; empty for the first page. */
  readonly address: string;
  readonly title: string;
  /** The anchor of the title in the file. On the site the title is the page's own heading, which has no anchor. */
  readonly titleAnchor: string;
  /** The first sentence; empty if the page begins with another element. */
  readonly description: string;
  /** The text after the title. */
  readonly body: string;
}

const pageForm =
  /^(?:(?:README|ARCHITECTURE|CHANGELOG|CONTRIBUTING|SECURITY)\.md|docs\/.+\.md|examples\/[^/]+\/README\.md|packages\/sdk\/README\.md)$/;

/** Returns the pages of the site, read from the repository's documentation. */
export function pagesOf(tree: Tree): Page[] {
  return tree.files.filter((file) => pageForm.test(file)).map((file) => readPage(file, tree.read(file)));
}

/** `docs/errors.md` is at `/errors/`, and a README at the address of its folder. */
export function addressOf(file: string): string {
  return file
    .replace(/(?:^|\/)README\.md$/, '')
    .replace(/\.md$/, '')
    .replace(/^(?:docs|packages)\//, '')
    .toLowerCase();
}

/** Returns the address of a page's Markdown source: the page's address with `.md`. */
export const markdownPath = ({ address }: Pick<Page, 'address'>): string => `${address || 'index'}.md`;

/** @throws if the page has no title, which the site and its index need */
function readPage(file: string, markdown: string): Page {
  const heading = headingsOf(markdown).find(({ level }) => level === 1);
  if (heading === undefined) throw new Error(`${file} has no title: begin it with a line "# Title"`);
  const body = markdown.slice(heading.end).trimStart();
  const title = heading.text;
  return {
    file,
    address: addressOf(file),
    title,
    titleAnchor: anchorOf(title),
    description: firstSentence(body),
    body,
  };
}

const descriptionLengthMax = 200;

/** The first sentence of the first paragraph, if the text begins with one. */
function firstSentence(body: string): string {
  const [paragraph = ''] = maskBlocks(body)
    .trimStart()
    .split(/\n\s*\n/, 1);
  if (/^\s*(?:[|>#-]|\d+\.)/.test(paragraph)) return '';
  const text = plainText(paragraph.replaceAll(/\s+/g, ' '));
  const sentence = /^.*?[^.][.!?:](?=\s|$)/.exec(text)?.[0] ?? text;
  const short = sentence.replace(/:$/, '.');
  return short.length <= descriptionLengthMax
    ? short
    : `${short.slice(0, short.lastIndexOf(' ', descriptionLengthMax))} …`;
}
