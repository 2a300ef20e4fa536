/**
 * A reference of a page in Markdown to a file or an address: a link, an image, a definition, or an element's attribute.
 */
export interface Reference {
  /** The reference as written, including its fragment. */
  readonly target: string;
  /** The offset of the target in the text. */
  readonly start: number;
  readonly line: number;
}

const referenceForms = [
  /\]\(\s*<?(?<target>[^\s()<>]*(?:\([^\s()]*\)[^\s()]*)*)>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/dg,
  /^ {0,3}\[[^\]^][^\]]*\]:\s*<?(?<target>[^\s<>]+)>?/dgm,
  /<[a-z]\w*\s[^>]*\b(?:href|src)="(?<target>[^"]*)"/dg,
];

/** Returns the references of a page, in order, without those in code. */
export function referencesOf(markdown: string): Reference[] {
  const readable = maskCode(markdown);
  return referenceForms
    .flatMap((form) => [...readable.matchAll(form)])
    .map(({ groups, indices }) => {
      const [start = 0] = indices?.groups?.target ?? [];
      return { target: groups?.target ?? '', start, line: lineAt(markdown, start) };
    })
    .sort((one, other) => one.start - other.start);
}

/**
 * Rewrites the targets of a page's references.
 * @param replacement returns the new target; the same one leaves the reference as it is
 */
export function replaceReferences(markdown: string, replacement: (target: string) => string): string {
  let text = '';
  let end = 0;
  for (const { target, start } of referencesOf(markdown)) {
    text += markdown.slice(end, start) + replacement(target);
    end = start + target.length;
  }
  return text + markdown.slice(end);
}

/** Whether a target is outside of the repository: a site, a mail address or the like. */
export const isExternal = (target: string): boolean => /^(?:[a-z][a-z\d+.-]*:|\/\/)/i.test(target);

export const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length;

/** Replaces fenced code and comments with spaces, so that every position stays the same. */
export function maskBlocks(markdown: string): string {
  let fence: string | undefined;
  const lines = markdown.split('\n').map((line) => {
    const [, marks = '', info = ''] = /^[\s>]*(?:(?:[-*+]|\d+[.)])\s+)?(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (fence === undefined) {
      if (marks === '' || (marks.startsWith('`') && info.includes('`'))) return line;
      fence = marks;
    } else if (marks.startsWith(fence) && info.trim() === '') fence = undefined;
    return blank(line);
  });
  return lines.join('\n').replaceAll(/<!--[\s\S]*?-->/g, blank);
}

/** Like `maskBlocks`, but also masks inline code. */
function maskCode(markdown: string): string {
  return maskBlocks(markdown).replaceAll(/(?<![`\\])(`+)(?!`)(?:(?!\n\s*\n)[\s\S])*?(?<!`)\1(?!`)/g, blank);
}

const blank = (text: string) => text.replaceAll(/[^\n]/g, ' ');
