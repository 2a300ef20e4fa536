import { PlainError } from '../../plain-error.ts';
import { parsedJson, readingBounds } from '../reading.ts';
import {
  filled,
  LeftOut,
  namesIn,
  type Priority,
  plainWord,
  priorityIn,
  type Source,
  type SourceComment,
  type SourceItem,
  type SourceStatus,
  textIn,
  type Words,
} from '../source.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads issues of GitHub: the answer of the REST API (`gh api repos/OWNER/REPO/issues --paginate`), or what
 * `gh issue list --json …` prints.
 * @param repository as `owner/repo`, for issues that hold no address
 * @throws PlainError for what is neither
 */
export function readGithub(text: string, name: string, words: Words, repository?: string): Source {
  const leftOut = new LeftOut();
  const items: SourceItem[] = [];
  const seen = new Set<string>();
  issuesIn(text, name).forEach((issue, at) => {
    const place = `Issue ${at + 1} of ${name}`;
    const { number, title } = (issue ?? {}) as Fields;
    if (typeof number !== 'number' || typeof title !== 'string')
      throw new PlainError(
        `${place} is no issue of GitHub: it needs number and title (gh issue list --json number,title,…).`,
      );
    const fields = issue as Fields;
    const id = `${repositoryOf(fields, repository, place)}#${number}`;
    if (fields['pull_request'] !== undefined && fields['pull_request'] !== null)
      return leftOut.add('is a pull request, no issue', id);
    if (seen.has(id)) return leftOut.add('stands there twice', id);
    seen.add(id);
    items.push(itemOf(fields, id, title, place, words, leftOut));
  });
  return { system: 'github', type: 'issue', items, leftOut };
}

/** A list; lists in a list (`gh api --slurp`); the answer of a search; one value a line. */
function issuesIn(text: string, name: string): unknown[] {
  const { itemsMax } = readingBounds;
  const trimmed = text.trim();
  if (trimmed === '') throw new PlainError(`${name} is empty.`);
  let value: unknown;
  try {
    value = parsedJson(trimmed, name);
  } catch (error) {
    const lines = trimmed.split('\n', itemsMax + 1);
    if (!(error instanceof PlainError) || lines.length === 1 || !/^[[{].*[\]}]\s*$/.test(lines[0] ?? ''))
      throw error;
    value = lines.map((line, at) => parsedJson(line, `Line ${at + 1} of ${name}`));
  }
  const items = (value as { items?: unknown } | null)?.items;
  const list = Array.isArray(value) ? (value as unknown[]).flat() : Array.isArray(items) ? items : undefined;
  if (list === undefined) throw new PlainError(`${name} is no list of issues.`);
  if (list.length > itemsMax) throw new PlainError(`${name} has more than ${itemsMax} issues.`);
  return list as unknown[];
}

function repositoryOf(fields: Fields, given: string | undefined, place: string): string {
  const address = textIn(fields['html_url']) ?? textIn(fields['url']) ?? '';
  const found = /^https:\/\/[^/]+\/(?:api\/v3\/)?(?:repos\/)?([\w.-]+\/[\w.-]+)\/(?:issues|pull)\/\d+$/.exec(
    address,
  )?.[1];
  const repository = found ?? given;
  if (repository === undefined)
    throw new PlainError(
      `${place} holds no address of its repository: ask gh for url too, or name it by --source owner/repo.`,
    );
  return repository;
}

function itemOf(
  fields: Fields,
  id: string,
  title: string,
  place: string,
  words: Words,
  leftOut: LeftOut,
): SourceItem {
  const labels = namesIn(fields['labels']);
  const people = namesIn(fields['assignees'] ?? fields['assignee'], 'login');
  if (people.length > 1)
    leftOut.add('has several assignees: the first one gets it, all are kept in its fields', id);
  if (typeof fields['comments'] === 'number' && fields['comments'] > 0)
    leftOut.add('has comments, which this list does not hold: gh issue list --json comments prints them', id);
  const milestone = (fields['milestone'] ?? {}) as Fields;
  const dueDate = textIn(milestone['due_on']) ?? textIn(milestone['dueOn']);
  const state = textIn(fields['state'])?.toLowerCase() ?? 'open';
  const reason = (textIn(fields['state_reason']) ?? textIn(fields['stateReason']))?.toLowerCase();
  return {
    id,
    place,
    title,
    description: textIn(fields['body']) ?? '',
    status: statusIn(state, reason, labels, words),
    priority: priorityOf(labels),
    ...(people[0] !== undefined && { assignee: people[0] }),
    ...(dueDate !== undefined && { dueDate }),
    customFields: filled({
      labels,
      imported: filled({
        id,
        url: textIn(fields['html_url']) ?? textIn(fields['url']),
        status: reason === undefined ? state : `${state}, ${reason}`,
        assignees: people,
        author: namesIn(fields['user'] ?? fields['author'], 'login')[0],
        milestone: textIn(milestone['title']),
        createdAt: textIn(fields['created_at']) ?? textIn(fields['createdAt']),
        closedAt: textIn(fields['closed_at']) ?? textIn(fields['closedAt']),
      }),
    }),
    links: linksOf(fields),
    comments: commentsIn(fields['comments']),
  };
}

function statusIn(
  state: string,
  reason: string | undefined,
  labels: readonly string[],
  { statuses }: Words,
): SourceStatus {
  if (state === 'closed') return reason === 'not_planned' || reason === 'duplicate' ? 'cancelled' : 'done';
  const said = labels.map((label) => statuses.get(plainWord(label))).find((one) => one !== undefined);
  return said ?? 'open';
}

/** A label such as `P1`, `priority: high` or `priority/critical`; the most urgent of them. */
function priorityOf(labels: readonly string[]): Priority {
  const order: readonly Priority[] = ['critical', 'high', 'medium', 'low'];
  const found = labels.flatMap((label) => {
    const word = /^prio(?:rity)?[\s:/-]*([\p{L}\d]+)$/iu.exec(label)?.[1];
    return priorityIn(word ?? (/^(?:p[0-4]|critical|urgent)$/i.test(label) ? label : '')) ?? [];
  });
  return order.find((one) => found.includes(one)) ?? 'medium';
}

/** The parent, where the REST API names it. */
function linksOf(fields: Fields): SourceItem['links'] {
  const found = /\/repos\/([\w.-]+\/[\w.-]+)\/issues\/(\d+)$/.exec(textIn(fields['parent_issue_url']) ?? '');
  return found === null ? [] : [{ to: `${found[1]}#${found[2]}`, type: 'parent' }];
}

/** `gh` prints the comments; the REST API only their number. */
function commentsIn(value: unknown): SourceComment[] {
  if (!Array.isArray(value)) return [];
  return (value as unknown[]).flatMap((one) => {
    const { body, author, user, createdAt, created_at } = (one ?? {}) as Fields;
    const said = textIn(body);
    const [who, at] = [namesIn(author ?? user, 'login')[0], textIn(createdAt) ?? textIn(created_at)];
    return said === undefined
      ? []
      : [{ body: said, ...(who !== undefined && { author: who }), ...(at !== undefined && { at }) }];
  });
}
