import {
  filled,
  LeftOut,
  namesIn,
  plainWord,
  type Source,
  type SourceComment,
  type SourceItem,
  type SourceStatus,
  statusOf,
  textIn,
  type Words,
} from '../source.ts';
import { backlogLines, fateOf, type Issue, priorityOf, relationsIn } from './beads-lines.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Sections that beads keeps as fields of their own, below the description. */
const sections = [
  ['design', 'Design'],
  ['acceptance_criteria', 'Acceptance criteria'],
  ['notes', 'Notes'],
] as const;

/** Reads the JSON lines of beads (`.beads/issues.jsonl`, `bd export`). @throws PlainError that names the line */
export function readBeads(text: string, name: string, words: Words): Source {
  const items = backlogLines(text, name).map(({ issue, fields, place }) =>
    itemOf(issue, fields, place, words),
  );
  return { system: 'beads', type: 'issue', items, leftOut: new LeftOut() };
}

function itemOf(issue: Issue, fields: Fields, place: string, words: Words): SourceItem {
  const assignee = textIn(fields['assignee']);
  const dueDate = textIn(fields['due_at']) ?? textIn(fields['due_date']);
  return {
    id: issue.id,
    place,
    title: issue.title,
    description: descriptionOf(fields),
    status: statusIn(issue, words),
    priority: priorityOf(issue.priority),
    ...(assignee !== undefined && { assignee }),
    ...(dueDate !== undefined && { dueDate }),
    customFields: filled({
      labels: namesIn(fields['labels']),
      imported: filled({
        id: issue.id,
        type: issue.issue_type,
        status: issue.status,
        assignee,
        createdAt: textIn(fields['created_at']),
        closedAt: textIn(fields['closed_at']),
        closeReason: textIn(fields['close_reason']),
        externalRef: textIn(fields['external_ref']),
      }),
    }),
    links: relationsIn([issue]).map(({ to, type }) => ({ to, type })),
    comments: commentsIn(fields['comments']),
  };
}

function statusIn({ status, dependencies = [] }: Issue, words: Words): SourceStatus {
  const chosen = words.statuses.get(plainWord(status));
  if (chosen !== undefined) return chosen;
  const fate = fateOf(status);
  if (fate !== 'open') return fate === 'done' ? 'done' : 'cancelled';
  const read = statusOf(status, words);
  // What waits for another issue is held up by that relation, and goes on by itself when it is done.
  const waits = dependencies.some(({ type }) => type === 'blocks');
  return read === 'backlog' || (read === 'blocked' && !waits) ? read : 'open';
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
