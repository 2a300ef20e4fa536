import {
  LeftOut,
  type Link,
  namesIn,
  omitEmpty,
  type Priority,
  type Source,
  type SourceComment,
  type SourceItem,
  type SourceStatus,
  textIn,
} from '../source.ts';
import { withTurnedBlocks } from '../turned-blocks.ts';
import { plainWord, priorityIn, type Words } from '../words.ts';
import { githubRecords, listMembers } from './github-records.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads GitHub issues: a response from the REST API (`gh api repos/OWNER/REPO/issues --paginate`), the output of `gh
 * issue list --json …`, or a GraphQL response.
 * @param repository as `owner/repo`, for issues without an address
 * @throws PlainError for any other input, and if no issue could be read
 */
export function readGithub(text: string, name: string, words: Words, repository?: string): Source {
  const leftOut = new LeftOut();
  const items: SourceItem[] = [];
  const seen = new Set<string>();
  const neighbours = new Map<string, Neighbours>();
  for (const { value, place } of githubRecords(text, name, leftOut)) {
    const fields = (typeof value === 'object' && value !== null ? value : {}) as Fields;
    const { number, title } = fields;
    const owner = repositoryOf(fields) ?? repository;
    const id = `${owner}#${String(Number.isSafeInteger(number) ? number : '')}`;
    if (!Number.isSafeInteger(number) || typeof title !== 'string')
      leftOut.addUnreadable('is not a GitHub issue: it needs a number and a title', place);
    else if (isPullRequest(fields)) leftOut.add('is a pull request, not an issue', id);
    else if (owner === undefined)
      leftOut.addUnreadable("has no URL: add url to gh's --json option, or pass --source owner/repo", place);
    else if (seen.has(id)) leftOut.add('is listed twice', id);
    else {
      seen.add(id);
      items.push(itemOf(fields, id, title, place, words, leftOut));
      neighbours.set(id, neighboursIn(fields, id));
    }
  }
  leftOut.requireReadable(items, name, ' gh issue list --json number,title,… prints issues.');
  const related = withTurnedBlocks(withParents(items, neighbours));
  const held = withForeignBlockers(related, neighbours, leftOut);
  return { system: 'github', type: 'issue', items: held, leftOut };
}

function isPullRequest(fields: Fields): boolean {
  const { pull_request: rest, __typename: kind } = fields;
  return (rest !== undefined && rest !== null) || kind === 'PullRequest';
}

function repositoryOf(fields: Fields): string | undefined {
  const address = textIn(fields['html_url']) ?? textIn(fields['url']) ?? '';
  const { nameWithOwner } = objectIn(fields['repository']);
  return (
    /^https:\/\/[^/]+\/(?:api\/v3\/)?(?:repos\/)?([\w.-]+\/[\w.-]+)\/(?:issues|pull)\/\d+$/.exec(
      address,
    )?.[1] ?? /^[\w.-]+\/[\w.-]+$/.exec(textIn(nameWithOwner) ?? '')?.[0]
  );
}

const objectIn = (value: unknown): Fields =>
  (typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}) as Fields;

function itemOf(
  fields: Fields,
  id: string,
  title: string,
  place: string,
  words: Words,
  leftOut: LeftOut,
): SourceItem {
  const labels = namesIn(listMembers(fields['labels']));
  const people = namesIn(listMembers(fields['assignees'] ?? fields['assignee']), 'login');
  if (people.length > 1)
    leftOut.add('has several assignees: it is assigned to the first one; all are kept in its fields', id);
  const comments = commentsIn(fields['comments']);
  const { totalCount = fields['comments'] } = objectIn(fields['comments']);
  if (typeof totalCount === 'number' && totalCount > comments.length)
    leftOut.add(
      'has comments that this list does not contain: gh issue list --json comments prints them',
      id,
    );
  const milestone = objectIn(fields['milestone']);
  const dueDate = textIn(milestone['due_on']) ?? textIn(milestone['dueOn']);
  const state = stateIn(fields);
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
    customFields: omitEmpty({
      labels,
      imported: omitEmpty({
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
    links: linksOf(fields, id),
    comments,
  };
}

/** A list without the issues' states may contain the time at which they were closed. */
function stateIn(fields: Fields): string {
  const isClosed =
    fields['closed'] === true || textIn(fields['closed_at'] ?? fields['closedAt']) !== undefined;
  return textIn(fields['state'])?.toLowerCase() ?? (isClosed ? 'closed' : 'open');
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

/** The relations of the issue: parent, sub-issues, and blocking or blocked issues. */
function linksOf(fields: Fields, id: string): Link[] {
  const [repository = ''] = id.split('#', 1);
  const parent = idIn(fields['parent'] ?? fields['parent_issue_url'], repository);
  const linksTo = (names: readonly string[], type: Link['type']) =>
    names
      .flatMap((name) => listMembers(fields[name]))
      .flatMap((one) => idIn(one, repository) ?? [])
      .map((to): Link => ({ to, type }));
  return [
    ...(parent === undefined ? [] : [{ to: parent, type: 'parent' } satisfies Link]),
    ...linksTo(['blocked_by', 'blockedBy'], 'depends_on'),
    ...linksTo(['blocking'], 'blocks'),
  ];
}

/** The id of a referenced issue, given as an object or an address. */
function idIn(value: unknown, repository: string): string | undefined {
  const address = /\/([\w.-]+\/[\w.-]+)\/issues\/(\d+)$/.exec(textIn(value) ?? '');
  if (address !== null) return `${address[1]}#${address[2]}`;
  const fields = objectIn(value);
  const { number } = fields;
  return Number.isSafeInteger(number) ? `${repositoryOf(fields) ?? repository}#${String(number)}` : undefined;
}

/** References to other issues that are not relations. */
interface Neighbours {
  readonly children: readonly string[];
  /** The issues that block it, except those that are closed in the list. */
  readonly openBlockers: readonly string[];
  /** The number of open issues that block it: the REST API's list contains only their number. */
  readonly blockers: number;
}

function neighboursIn(fields: Fields, id: string): Neighbours {
  const [repository = ''] = id.split('#', 1);
  const of = (...names: string[]) => names.flatMap((name) => listMembers(fields[name]));
  const isOpen = (one: unknown) => !/^closed$/i.test(textIn(objectIn(one)['state']) ?? '');
  const { blocked_by: count } = objectIn(fields['issue_dependencies_summary']);
  return {
    children: of('sub_issues', 'subIssues').flatMap((one) => idIn(one, repository) ?? []),
    openBlockers: of('blocked_by', 'blockedBy')
      .filter(isOpen)
      .flatMap((one) => idIn(one, repository) ?? []),
    blockers: typeof count === 'number' ? count : 0,
  };
}

/** GraphQL lists the sub-issues of an issue; the REST API gives their parent. */
function withParents(
  items: readonly SourceItem[],
  neighbours: ReadonlyMap<string, Neighbours>,
): SourceItem[] {
  const parents = new Map(
    [...neighbours].flatMap(([id, { children }]) => children.map((child) => [child, id])),
  );
  return items.map((item) => {
    const to = parents.get(item.id);
    if (to === undefined || item.links.some(({ type }) => type === 'parent')) return item;
    return { ...item, links: [{ to, type: 'parent' }, ...item.links] };
  });
}

/** An issue that is blocked by one outside the list gets a blocked status, because no relation can be created. */
function withForeignBlockers(
  items: readonly SourceItem[],
  neighbours: ReadonlyMap<string, Neighbours>,
  leftOut: LeftOut,
): SourceItem[] {
  const ids = new Set(items.map(({ id }) => id));
  return items.map((item) => {
    const { openBlockers = [], blockers = 0 } = neighbours.get(item.id) ?? {};
    const isForeign = blockers > openBlockers.length || openBlockers.some((to) => !ids.has(to));
    if (!isForeign || item.status !== 'open') return item;
    leftOut.add('is blocked by an open issue that this list does not contain (blocked_by): blocked', item.id);
    return { ...item, status: 'blocked' };
  });
}

/** `gh` prints the comments; the REST API only their number. */
function commentsIn(value: unknown): SourceComment[] {
  if (typeof value !== 'object') return [];
  return listMembers(value).flatMap((one) => {
    const { body, author, user, createdAt, created_at } = objectIn(one);
    const said = textIn(body);
    const [who, at] = [namesIn(author ?? user, 'login')[0], textIn(createdAt) ?? textIn(created_at)];
    return said === undefined
      ? []
      : [{ body: said, ...(who !== undefined && { author: who }), ...(at !== undefined && { at }) }];
  });
}
