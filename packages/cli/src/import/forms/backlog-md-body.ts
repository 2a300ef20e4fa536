import { namesIn, type SourceComment, textIn } from '../source.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The text of a task: from the Markdown below its front matter, or from the front matter itself (version 2). */
export function bodyIn(
  body: string,
  fields: Fields,
): { readonly description: string; readonly comments: readonly SourceComment[] } {
  const text = body.replaceAll(/\r\n/g, '\n');
  const { rest, comments } = withoutComments(text);
  const sections = [...sectionsIn(fields), plainBody(rest)].filter((one) => one !== '');
  return {
    description: sections.join('\n\n'),
    comments: [...comments, ...fieldComments(fields['comments'])],
  };
}

const sectionFields = [
  ['description', 'Description'],
  ['acceptance_criteria', 'Acceptance Criteria'],
  ['definition_of_done', 'Definition of Done'],
  ['implementation_plan', 'Implementation Plan'],
  ['implementation_notes', 'Implementation Notes'],
  ['final_summary', 'Final Summary'],
] as const;

function sectionsIn(fields: Fields): string[] {
  return sectionFields.flatMap(([name, title]) => {
    const value = fields[name];
    const text = Array.isArray(value) ? checklist(value as unknown[]) : textIn(value);
    return text === undefined || text === '' ? [] : [`## ${title}\n\n${text.trim()}`];
  });
}

/** The Markdown form of older versions. */
function checklist(items: readonly unknown[]): string {
  return items
    .flatMap((item, at) => {
      const { text, checked } = (typeof item === 'object' && item !== null ? item : { text: item }) as Fields;
      return textIn(text) === undefined
        ? []
        : [`- [${checked === true ? 'x' : ' '}] #${at + 1} ${String(text)}`];
    })
    .join('\n');
}

/** The Markdown without Backlog.md's section markers. */
function plainBody(body: string): string {
  return body
    .replaceAll(/^[ \t]*<!-- (?:SECTION:[A-Z_]+|AC|DOD|COMMENTS?):(?:BEGIN|END) -->[ \t]*\n?/gm, '')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

const [begin, end] = ['<!-- COMMENTS:BEGIN -->', '<!-- COMMENTS:END -->'];

/** The comments between their markers; a section without both markers remains in the text. */
function withoutComments(text: string): { rest: string; comments: SourceComment[] } {
  const from = text.indexOf(begin);
  const to = from === -1 ? -1 : text.indexOf(end, from);
  if (to === -1) return { rest: text, comments: [] };
  const inner = text.slice(from + begin.length, to);
  const comments = inner.includes('<!-- COMMENT:BEGIN -->') ? markedComments(inner) : plainComments(inner);
  if (comments.length === 0) return { rest: text, comments };
  const before = text.slice(0, from).replace(/(?:^|\n)## Comments[ \t]*\n\s*$/, '\n');
  return { rest: `${before}\n${text.slice(to + end.length)}`, comments };
}

/** Each comment between its own markers, its text after an empty line. */
function markedComments(inner: string): SourceComment[] {
  return inner
    .split('<!-- COMMENT:BEGIN -->')
    .slice(1)
    .flatMap((part) => {
      const [block = ''] = part.split('<!-- COMMENT:END -->', 1);
      const at = block.search(/\n[ \t]*\n/);
      return at === -1 ? commentOf('', block) : commentOf(block.slice(0, at), block.slice(at));
    });
}

/** `author:` and `created:` above a line of dashes, then the text up to the next such header. */
function plainComments(inner: string): SourceComment[] {
  const heads = [...inner.matchAll(/(?:^|\n)((?:(?:index|author|created):[^\n]*\n){1,4})---[ \t]*\n/g)];
  return heads.flatMap((head, at) => {
    const body = inner.slice(head.index + head[0].length, heads[at + 1]?.index ?? inner.length);
    return commentOf(head[1] ?? '', body.replace(/\n---[ \t]*\n*$/, '\n'));
  });
}

function commentOf(head: string, body: string): SourceComment[] {
  const valueOf = (name: string) => textIn(new RegExp(`^${name}:[ \\t]*(.*)$`, 'm').exec(head)?.[1])?.trim();
  const [author, at] = [valueOf('author'), valueOf('created')];
  const text = body.trim();
  if (text === '') return [];
  return [{ body: text, ...(author !== undefined && { author }), ...(at !== undefined && { at }) }];
}

function fieldComments(value: unknown): SourceComment[] {
  if (!Array.isArray(value)) return [];
  return (value as unknown[]).flatMap((one) => {
    const comment = (typeof one === 'object' && one !== null ? one : { body: one }) as Fields;
    const body = textIn(comment['body']) ?? textIn(comment['text']);
    const author = namesIn(comment['author'])[0];
    const at = namesIn(comment['created'] ?? comment['created_date'])[0];
    return body === undefined
      ? []
      : [{ body, ...(author !== undefined && { author }), ...(at !== undefined && { at }) }];
  });
}
