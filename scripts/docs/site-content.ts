import { dirname, extname, normalize } from 'node:path';
import type { Tree } from '../links.ts';
import { headingsOf } from './headings.ts';
import { markdownPath, type Page, pagesOf } from './pages.ts';
import { isExternal, maskBlocks, replaceReferences } from './references.ts';
import { filesIn, pathOf, type Section, sectionsOf, sidebarItems } from './sidebar.ts';

/** The content of the site: each file's path in its folder, and its text or the file to copy. */
export type SiteContent = ReadonlyMap<string, string | { readonly copyOf: string }>;

const images = new Set(['.png', '.svg', '.jpg', '.jpeg', '.gif', '.webp']);
/** Pages for maintainers, which the full text omits. */
const optionalSections = new Set(['Contribute', 'Decisions']);
/** If there are more headings than this, the outline shows only those of level 2. */
const outlineHeadingsMax = 120;
const outlineLevelMax = 3;

/**
 * Returns the site's content: `pages/` for Starlight, `public/` for files that are served unchanged (each page in
 * Markdown, the indexes for language models, images, and the sources that pages link to), and the sidebar.
 */
export function siteContent(tree: Tree): SiteContent {
  const pages = pagesOf(tree);
  const sections = sectionsOf(tree);
  const content = new Map<string, string | { readonly copyOf: string }>();
  const links = new SiteLinks(tree, pages, content);
  const inMarkdown = new Map<string, string>();
  for (const page of pages) {
    content.set(`pages/${markdownPath(page)}`, pageFor(page, links));
    const body = links.rewrite(page, (other) => `/${markdownPath(other)}`);
    inMarkdown.set(page.file, `# ${page.title}\n\n${body}`);
    content.set(`public/${markdownPath(page)}`, inMarkdown.get(page.file) ?? '');
  }
  content.set('sidebar.json', JSON.stringify(sidebarItems(sections, pages), null, 2));
  content.set('public/favicon.svg', { copyOf: 'packages/console/web/src/icon.svg' });
  content.set('public/llms.txt', indexForModels(sections, pages));
  const full = filesIn(sections.filter(({ label }) => !optionalSections.has(label)));
  content.set('public/llms-full.txt', full.map((file) => inMarkdown.get(file) ?? '').join('\n\n'));
  return content;
}

/** A page as Starlight reads it, with its title, its description for search engines, and its outline in the margin. */
function pageFor(page: Page, links: SiteLinks): string {
  const headings = headingsOf(page.body).filter(({ level }) => level <= outlineLevelMax);
  const properties = {
    title: page.title,
    description: page.description || page.title,
    ...(headings.length > outlineHeadingsMax && { tableOfContents: { maxHeadingLevel: 2 } }),
  };
  const front = Object.entries(properties).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
  const body = links.rewrite({ ...page, body: links.nameLinkedPages(page) }, pathOf);
  return `---\n${front.join('')}---\n\n${weightCatalog(body)}`;
}

/**
 * With this weight, a search for a code, a setting or a permission finds the row that describes it before the pages
 * that mention it.
 */
const weightCatalog = (body: string): string =>
  body.replaceAll(/^\| `([\w.:*-]+)` \|/gm, '| <code data-pagefind-weight="10">$1</code> |');

/**
 * The index of https://llmstxt.org: one line per page, under the sections of the sidebar. Readers may skip its section
 * `Optional`.
 */
function indexForModels(sections: readonly Section[], pages: readonly Page[]): string {
  const pageOf = new Map(pages.map((page) => [page.file, page]));
  const linesOf = (some: readonly Section[]) =>
    filesIn(some)
      .flatMap((file) => pageOf.get(file) ?? [])
      .map(
        (page) =>
          `- [${page.title}](/${markdownPath(page)})${page.description === '' ? '' : `: ${page.description}`}\n`,
      )
      .join('');
  const optional = sections.filter(({ label }) => optionalSections.has(label));
  const usual = sections.filter(({ label }) => !optionalSections.has(label));
  const home = pageOf.get('README.md');
  return [
    `# ${home?.title ?? ''}\n\n> ${home?.description ?? ''}\n\nAll pages but the optional ones in one file: /llms-full.txt\n`,
    ...usual.map((section) => `## ${section.label}\n\n${linesOf([section])}`),
    `## Optional\n\n${linesOf(optional)}`,
  ].join('\n');
}

/** Rewrites the links of pages to the same targets on the site, and adds the linked files to its content. */
class SiteLinks {
  readonly #files: ReadonlySet<string>;
  readonly #pages: ReadonlyMap<string, Page>;
  readonly #tree: Tree;
  readonly #content: Map<string, string | { readonly copyOf: string }>;

  constructor(
    tree: Tree,
    pages: readonly Page[],
    content: Map<string, string | { readonly copyOf: string }>,
  ) {
    this.#tree = tree;
    this.#files = new Set(tree.files);
    this.#pages = new Map(pages.map((page) => [page.file, page]));
    this.#content = content;
  }

  /** Returns the page's body. @param pathTo returns the path of another page */
  rewrite(page: Page, pathTo: (other: Page) => string): string {
    return replaceReferences(page.body, (target) => {
      if (isExternal(target)) return target;
      const [path, anchor] = target.split('#') as [string, string?];
      if (path === '') return anchor === page.titleAnchor ? pathTo(page) : target;
      const file = normalize(`${dirname(page.file)}/${decodeURI(path)}`).replace(/\/$/, '');
      const other = this.#pages.get(file) ?? this.#pages.get(`${file}/README.md`);
      if (other === undefined) return this.#pathOfFile(file) ?? target;
      const isPart = anchor !== undefined && anchor !== other.titleAnchor;
      return pathTo(other) + (isPart ? `#${anchor}` : '');
    });
  }

  /** Returns the page's body. A link whose text is the name of a file gets the title of its target as its text. */
  nameLinkedPages(page: Page): string {
    const code = maskBlocks(page.body);
    return page.body.replaceAll(/\[([\w./-]+\.md)\]\(([^\s()]+)\)/g, (link, name, target, index) => {
      const [path, anchor] = (target as string).split('#') as [string, string?];
      const other = this.#pages.get(normalize(`${dirname(page.file)}/${path}`));
      const isName = other !== undefined && other.file.endsWith(name as string) && code[index] === '[';
      if (!isName) return link;
      const heading = headingsOf(other.body).find((one) => one.anchor === anchor);
      return `[${heading?.text ?? other.title}](${target as string})`;
    });
  }

  /**
   * Sources are served as plain text, because servers treat `.ts` as a video. A folder is served as the list of its
   * files.
   */
  #pathOfFile(file: string): string | undefined {
    if (this.#files.has(file)) {
      const path = images.has(extname(file)) ? file : `source/${file}.txt`;
      this.#content.set(`public/${path}`, { copyOf: file });
      return `/${path}`;
    }
    const below = this.#tree.files.filter((one) => one.startsWith(`${file}/`));
    if (below.length === 0) return undefined;
    this.#content.set(`public/source/${file}.txt`, below.map((one) => `${one}\n`).join(''));
    return `/source/${file}.txt`;
  }
}
