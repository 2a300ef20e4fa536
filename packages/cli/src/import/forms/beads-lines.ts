import { readFileSync, statSync } from 'node:fs';
import { PlainError } from '../../plain-error.ts';
import { type NumberedLine, readingBounds, readJson, splitLines, visible } from '../read-source.ts';
import type { Fate, PlannedRelation } from '../relations.ts';
import { LeftOut } from '../source.ts';

/** One issue of a tracker: a line of a backlog file. Other fields are ignored. */
export interface Issue {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  /** 0 is the highest, 4 the lowest. */
  readonly priority: number;
  readonly issue_type: string;
  readonly dependencies?: readonly Dependency[];
}

/**
 * `blocks` and `conditional-blocks`: this issue waits for `on`. `waits-for`: it waits for the children of `on`. `parent-child`:
 * `on` is the parent. Any other type only relates the two.
 */
export interface Dependency {
  readonly on: string;
  readonly type: string;
  /** The condition of `waits-for`, as JSON: `{"gate":"all-children"}` or `any-children`. */
  readonly metadata?: unknown;
}

/**
 * Reads a backlog file, one JSON object per line.
 * @param leftOut gets the lines that contain no issue
 * @throws PlainError for a file that can't be read, or in which no line is an issue
 */
export function readBacklog(path: string, leftOut = new LeftOut()): Issue[] {
  let text: string;
  try {
    if (statSync(path).size > readingBounds.fileBytesMax)
      throw new PlainError(`${path} is larger than ${readingBounds.fileBytesMax} bytes.`);
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof PlainError) throw error;
    throw new PlainError(`${path} can't be read (${(error as NodeJS.ErrnoException).code}).`);
  }
  const issues = backlogLines(text, path, leftOut).map(({ issue }) => issue);
  if (issues.length === 0)
    throw new PlainError([`${visible(path)} holds no issue.`, ...leftOut.lines.map(visible)].join('\n'));
  return issues;
}

/** An issue, all members of its line, and the position of the line. */
export interface BacklogLine {
  readonly issue: Issue;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly place: string;
}

/**
 * The issues in a text, one per line, including fields that `Issue` doesn't declare.
 * @param leftOut gets each line that contains none, with the reason
 * @throws PlainError for a text that is empty or has too many lines
 */
export function backlogLines(text: string, name: string, leftOut: LeftOut): BacklogLine[] {
  const seen = new Set<string>();
  const onTooLong = (number: number) =>
    leftOut.addUnreadable(`has more than ${readingBounds.lineCharactersMax} characters`, `line ${number}`);
  return splitLines(text, name, {}, onTooLong).flatMap((numbered) => {
    const place = `line ${numbered.number}`;
    const read = backlogLine(numbered, place, leftOut);
    if (read === undefined) return [];
    if (seen.has(read.issue.id)) {
      leftOut.add('repeats the id of another line', `${read.issue.id}, ${place}`);
      return [];
    }
    seen.add(read.issue.id);
    return [read];
  });
}

function backlogLine({ line }: NumberedLine, place: string, leftOut: LeftOut): BacklogLine | undefined {
  const fields = objectIn(line, place, leftOut);
  if (fields === undefined) return undefined;
  const { _type: kind } = fields;
  if (fields['_schema'] !== undefined && kind === undefined) {
    leftOut.add('is a header of bd export, not an issue', place);
    return undefined;
  }
  if (kind !== undefined && kind !== 'issue') {
    leftOut.add(
      `is of _type ${typeof kind === 'string' ? kind.slice(0, 40) : 'unknown'}, not an issue`,
      place,
    );
    return undefined;
  }
  const issue = issueOf(fields);
  if (issue !== undefined) return { issue, fields, place };
  leftOut.addUnreadable('is not an issue: it needs id, title and status as strings', place);
  return undefined;
}

function objectIn(line: string, place: string, leftOut: LeftOut): Record<string, unknown> | undefined {
  const read = readJson(line);
  if ('fault' in read) leftOut.addUnreadable(read.fault, place);
  else if (typeof read.value === 'object' && read.value !== null && !Array.isArray(read.value))
    return read.value as Record<string, unknown>;
  else leftOut.addUnreadable('is not a JSON object', place);
  return undefined;
}

function issueOf(fields: Readonly<Record<string, unknown>>): Issue | undefined {
  const { id, title, status = 'open', priority, issue_type = 'task', dependencies } = fields;
  const texts = [id, title, status, issue_type];
  if (texts.some((text) => typeof text !== 'string') || id === '') return undefined;
  const read = dependenciesIn(dependencies ?? []);
  if (read === undefined) return undefined;
  // Only the value of a number is read: a JSON object may have a member named valueOf.
  const number = typeof priority === 'number' || typeof priority === 'string' ? Number(priority) : 2;
  return { id, title, status, priority: number, issue_type, dependencies: read } as Issue;
}

/** Both forms: `{on, type}`, and that of beads itself, `{issue_id, depends_on_id, type}`. */
function dependenciesIn(value: unknown): Dependency[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const read = (value as unknown[]).map((one) => {
    const { on, depends_on_id, type, metadata } = (one ?? {}) as Record<string, unknown>;
    return { on: on ?? depends_on_id, type, metadata };
  });
  const isRight = read.every(({ on, type }) => typeof on === 'string' && typeof type === 'string');
  return isRight ? (read as Dependency[]) : undefined;
}

/** Closed issues are done and tombstones deleted; all others are open. */
export function readFate(status: string): Fate {
  if (status === 'closed') return 'done';
  return status === 'tombstone' ? 'deleted' : 'open';
}

const priorityNames = ['critical', 'high', 'medium', 'low', 'low'] as const;

/** The priority for beads' priority number. */
export function readPriority(priority: number): (typeof priorityNames)[number] {
  return priorityNames[priority] ?? 'medium';
}

/** What each dependency type means, from the issue to the one that it refers to. */
export function relationsIn(issues: readonly Issue[]): PlannedRelation[] {
  return issues.flatMap(({ id, dependencies = [] }) =>
    dependencies.map(({ on, type }) => ({ from: id, to: on, type: relationType(type) })),
  );
}

/** Dependency types that make an issue wait for another one. */
export const waitingTypes: readonly string[] = ['blocks', 'conditional-blocks', 'waits-for'];

export function relationType(type: string): PlannedRelation['type'] {
  if (waitingTypes.includes(type)) return 'depends_on';
  return type === 'parent-child' ? 'parent' : 'related_to';
}
