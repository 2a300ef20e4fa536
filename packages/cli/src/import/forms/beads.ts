import { withInheritedWaits } from '../inherited-waits.ts';
import { instantIn } from '../instants.ts';
import {
  LeftOut,
  namesIn,
  omitEmpty,
  type Source,
  type SourceComment,
  type SourceItem,
  textIn,
} from '../source.ts';
import type { Words } from '../words.ts';
import { type BacklogLine, backlogLines, readPriority } from './beads-lines.ts';
import { type BeadsGraph, beadsGraph, holdsChildren, resolveLinks, statusIn } from './beads-readiness.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Sections that beads keeps as fields of their own, below the description. */
const sections = [
  ['design', 'Design'],
  ['acceptance_criteria', 'Acceptance criteria'],
  ['notes', 'Notes'],
] as const;

/** Fields that are mapped to the task, or that change whenever beads writes the issue. */
const usedFields: ReadonlySet<string> = new Set([
  ...(
    '_type id title description status priority issue_type assignee labels dependencies ' +
    'comments due_at due_date defer_until created_at closed_at close_reason external_ref ' +
    'updated_at content_hash is_blocked last_activity dependency_count dependent_count ' +
    'comment_count parent dependents'
  ).split(' '),
  ...sections.map(([name]) => name),
]);

/**
 * Reads the JSON lines of beads (`.beads/issues.jsonl`, `bd export`).
 * @throws PlainError for a file without a readable line
 */
export function readBeads(text: string, name: string, words: Words): Source {
  const leftOut = new LeftOut();
  const lines = backlogLines(text, name, leftOut);
  const graph = beadsGraph(lines, words, leftOut);
  const read = lines.map((line) => itemOf(line, graph));
  leftOut.requireReadable(read, name);
  const holding = new Set(lines.filter((line) => holdsChildren(line, graph)).map(({ issue }) => issue.id));
  const items = withInheritedWaits(read, leftOut, ({ id }) => holding.has(id));
  return { system: 'beads', type: 'issue', items, leftOut };
}

function itemOf(line: BacklogLine, graph: BeadsGraph): SourceItem {
  const { issue, fields, place } = line;
  const assignee = textIn(fields['assignee']);
  const dueDate = textIn(fields['due_at']) ?? textIn(fields['due_date']);
  const startDate = instantIn(textIn(fields['defer_until']) ?? '');
  return {
    id: issue.id,
    place,
    title: issue.title,
    description: descriptionOf(fields),
    status: statusIn(line, graph),
    priority: readPriority(issue.priority),
    ...(assignee !== undefined && { assignee }),
    ...(dueDate !== undefined && { dueDate }),
    ...(startDate !== undefined && { startDate }),
    customFields: omitEmpty({
      labels: namesIn(fields['labels']),
      imported: {
        ...othersOf(line, graph.leftOut),
        ...omitEmpty({
          id: issue.id,
          type: issue.issue_type,
          status: issue.status,
          assignee,
          createdAt: textIn(fields['created_at']),
          closedAt: textIn(fields['closed_at']),
          closeReason: textIn(fields['close_reason']),
          externalRef: textIn(fields['external_ref']),
        }),
      },
    }),
    links: resolveLinks(line, graph),
    comments: commentsIn(fields['comments']),
  };
}

/** Other fields with a single value, by their names in beads; the rest are reported. */
function othersOf({ issue, fields }: BacklogLine, leftOut: LeftOut): Record<string, unknown> {
  const others = Object.entries(fields).filter(([name]) => !usedFields.has(name));
  return omitEmpty(
    Object.fromEntries(
      others.filter(([name, value]) => {
        const isPlain = value !== null && ['string', 'number', 'boolean'].includes(typeof value);
        const isEmpty = value === null || (Array.isArray(value) && value.length === 0);
        if (!isPlain && !isEmpty) leftOut.add(`field ${name.slice(0, 40)} is left out`, issue.id);
        return isPlain;
      }),
    ),
  );
}

function descriptionOf(fields: Fields): string {
  const own = textIn(fields['description']);
  const more = sections.flatMap(([name, title]) => {
    const text = textIn(fields[name]);
    return text === undefined ? [] : [`## ${title}\n\n${text}`];
  });
  return [...(own === undefined ? [] : [own]), ...more].join('\n\n');
}

function commentsIn(value: unknown): SourceComment[] {
  if (!Array.isArray(value)) return [];
  return (value as unknown[]).flatMap((one) => {
    const { text, body, author, created_at } = (one ?? {}) as Fields;
    const said = textIn(text) ?? textIn(body);
    const [who, at] = [textIn(author), textIn(created_at)];
    return said === undefined
      ? []
      : [{ body: said, ...(who !== undefined && { author: who }), ...(at !== undefined && { at }) }];
  });
}
