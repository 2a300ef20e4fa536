import { readJson } from '../read-source.ts';
import type { LeftOut, Link, SourceItem, SourceStatus } from '../source.ts';
import { textIn } from '../source.ts';
import { findStatus, plainWord, type Words } from '../words.ts';
import { type BacklogLine, type Dependency, readFate, relationType, waitingTypes } from './beads-lines.ts';

/** Types of records that `bd ready` never lists, and events, which are done when they are written. */
const typesOfNoWork: ReadonlySet<string> = new Set(
  'agent role rig message gate molecule merge-request convoy event slot'.split(' '),
);

/** The beads statuses of issues that are hooked by or pinned to one agent. */
const heldStatuses: ReadonlySet<string> = new Set(['hooked', 'pinned']);

/** The maximum number of children that a `waits-for` covers; a task can't have more relations. */
const childrenMax = 250;

/** All issues of a file, to resolve references between them. */
export interface BeadsGraph {
  readonly lines: ReadonlyMap<string, BacklogLine>;
  readonly children: ReadonlyMap<string, readonly string[]>;
  readonly words: Words;
  readonly leftOut: LeftOut;
}

export function beadsGraph(lines: readonly BacklogLine[], words: Words, leftOut: LeftOut): BeadsGraph {
  const children = new Map<string, string[]>();
  for (const { issue } of lines)
    for (const { on, type } of issue.dependencies ?? [])
      if (type === 'parent-child') {
        const known = children.get(on) ?? [];
        if (known.length === 0) children.set(on, known);
        known.push(issue.id);
      }
  return { lines: new Map(lines.map((line) => [line.issue.id, line])), children, words, leftOut };
}

/** The status of an issue in Baton: an issue that `bd ready` doesn't list is blocked, and reported. */
export function statusIn(line: BacklogLine, graph: BeadsGraph): SourceStatus {
  const { issue } = line;
  const { words, leftOut } = graph;
  const ended = endOf(line, words);
  if (ended !== undefined) return ended;
  const noWork = noWorkIn(line);
  if (noWork !== undefined)
    leftOut.add(`is not work (${noWork}): blocked, so it is not offered to agents`, issue.id);
  if (noWork !== undefined) return 'blocked';
  const chosen = words.statuses.get(plainWord(issue.status));
  if (chosen !== undefined) return chosen;
  if (heldStatuses.has(issue.status)) {
    leftOut.add(
      `is ${issue.status} for an agent in the source: blocked, so it is not offered to agents`,
      issue.id,
    );
    return 'blocked';
  }
  if ((issue.dependencies ?? []).some(isExternal)) {
    leftOut.add('waits for something outside of the file: blocked', issue.id);
    return 'blocked';
  }
  const read = findStatus(issue.status, words) ?? 'open';
  // An issue that waits for another is held back by that relation, until the other one is done.
  return read === 'blocked' && issue.status === 'blocked' && waitsForOpen(line, graph) ? 'open' : read;
}

function endOf({ issue, fields }: BacklogLine, words: Words): 'done' | 'cancelled' | undefined {
  const chosen = words.statuses.get(plainWord(issue.status));
  const read = chosen ?? findStatus(issue.status, words);
  const fate = chosen === undefined ? readFate(issue.status) : 'open';
  if (read === 'cancelled' || fate === 'deleted') return 'cancelled';
  if (read !== 'done' && fate !== 'done') return undefined;
  // Only reasons that are one of these words count; other reasons are free text.
  const reason = textIn(fields['close_reason']);
  return reason !== undefined && findStatus(reason, words) === 'cancelled' ? 'cancelled' : 'done';
}

function noWorkIn({ issue, fields }: BacklogLine): string | undefined {
  if (fields['is_template'] === true) return 'template';
  if (fields['pinned'] === true) return 'pinned';
  if (fields['ephemeral'] === true || fields['wisp'] === true) return 'ephemeral';
  return typesOfNoWork.has(issue.issue_type) ? issue.issue_type : undefined;
}

const isExternal = ({ on, type }: Dependency): boolean =>
  waitingTypes.includes(type) && on.startsWith('external:');

const isOver = (line: BacklogLine | undefined, words: Words): boolean =>
  line === undefined || endOf(line, words) !== undefined;

function waitsForOpen({ issue }: BacklogLine, { lines, words }: BeadsGraph): boolean {
  return (issue.dependencies ?? []).some(
    ({ on, type }) => waitingTypes.includes(type) && !isOver(lines.get(on), words),
  );
}

/** Whether the children of an issue should not be started: it is deferred, blocked or a template. */
export function holdsChildren({ issue, fields }: BacklogLine, { words }: BeadsGraph): boolean {
  return fields['is_template'] === true || findStatus(issue.status, words) === 'blocked';
}

/** The relations of an issue, from it to others. */
export function resolveLinks({ issue }: BacklogLine, graph: BeadsGraph): SourceItem['links'] {
  const { lines, leftOut } = graph;
  return (issue.dependencies ?? []).flatMap((dependency): Link[] => {
    const { on: to, type } = dependency;
    if (type === 'waits-for') return waitsForChildren(issue.id, dependency, graph);
    const isPinned = lines.get(to)?.issue.status === 'pinned';
    if (!isPinned || !waitingTypes.includes(type)) return [{ to, type: relationType(type) }];
    leftOut.add('waits for a pinned issue, which holds nothing back: related only', `${issue.id} → ${to}`);
    return [{ to, type: 'related_to' }];
  });
}

/** `waits-for` waits for the children of the other issue, or for the first of them. */
function waitsForChildren(
  own: string,
  { on, metadata }: Dependency,
  { lines, children, words }: BeadsGraph,
): Link[] {
  const below = (children.get(on) ?? []).filter((id) => id !== own);
  const open = below.filter((id) => !isOver(lines.get(id), words));
  if (gateIn(metadata) === 'any-children' && open.length < below.length)
    return [{ to: on, type: 'related_to' }];
  // If `on` is the issue's parent, its children are the issue's siblings. The issue doesn't depend on the parent
  // itself, which may wait for the issue.
  const isParent = (children.get(on) ?? []).includes(own);
  return [...(isParent ? [] : [on]), ...open.slice(0, childrenMax)].map((to) => ({ to, type: 'depends_on' }));
}

function gateIn(metadata: unknown): unknown {
  const read = typeof metadata === 'string' ? readJson(metadata) : { value: metadata };
  const value = 'fault' in read ? undefined : read.value;
  return typeof value === 'object' && value !== null ? (value as { gate?: unknown }).gate : undefined;
}
