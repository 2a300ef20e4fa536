import { readFileSync, statSync } from 'node:fs';
import { PlainError } from '../../plain-error.ts';
import { linesOf, parsedJson, readingBounds, visible } from '../reading.ts';
import type { Fate, PlannedRelation } from '../relations.ts';

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

/** `blocks`: this issue waits for `on`. `parent-child`: `on` is the parent. Any other type only relates the two. */
export interface Dependency {
  readonly on: string;
  readonly type: string;
}

/**
 * Reads a backlog file, one JSON object per line.
 * @throws PlainError that names the first invalid line
 */
export function readBacklog(path: string): Issue[] {
  let text: string;
  try {
    if (statSync(path).size > readingBounds.fileBytesMax)
      throw new PlainError(`${path} is larger than ${readingBounds.fileBytesMax} bytes.`);
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof PlainError) throw error;
    throw new PlainError(`${path} can't be read (${(error as NodeJS.ErrnoException).code}).`);
  }
  return parseBacklog(text, path);
}

/** As `readBacklog`, from its text; `name` is for error messages. */
export function parseBacklog(text: string, name: string): Issue[] {
  return backlogLines(text, name).map(({ issue }) => issue);
}

/** An issue, all that its line holds, and where that stands. */
export interface BacklogLine {
  readonly issue: Issue;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly place: string;
}

/** As `parseBacklog`, with the fields that an `Issue` does not have. */
export function backlogLines(text: string, name: string): BacklogLine[] {
  const seen = new Set<string>();
  return linesOf(text, name).map(({ line, number }) => {
    const place = `Line ${number} of ${name}`;
    const fields = objectIn(line, place);
    const issue = fields && issueOf(fields);
    if (fields === undefined || issue === undefined)
      throw new PlainError(`${place} is not an issue: it needs id, title and status as strings.`);
    if (seen.has(issue.id)) throw new PlainError(`${place} repeats the id ${visible(issue.id)}.`);
    seen.add(issue.id);
    return { issue, fields, place };
  });
}

function objectIn(line: string, place: string): Record<string, unknown> | undefined {
  try {
    const value = parsedJson(line, place);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch (error) {
    if (error instanceof PlainError && error.message.endsWith('is no JSON.')) return undefined;
    throw error;
  }
}

function issueOf(fields: Readonly<Record<string, unknown>>): Issue | undefined {
  const { id, title, status, priority = 2, issue_type = 'task', dependencies } = fields;
  const texts = [id, title, status, issue_type];
  if (texts.some((text) => typeof text !== 'string') || id === '') return undefined;
  const read = dependenciesIn(dependencies ?? []);
  if (read === undefined) return undefined;
  return { id, title, status, priority: Number(priority), issue_type, dependencies: read } as Issue;
}

/** Both forms: `{on, type}`, and that of beads itself, `{issue_id, depends_on_id, type}`. */
function dependenciesIn(value: unknown): Dependency[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const read = (value as unknown[]).map((one) => {
    const { on, depends_on_id, type } = (one ?? {}) as Record<string, unknown>;
    return { on: on ?? depends_on_id, type };
  });
  const isRight = read.every(({ on, type }) => typeof on === 'string' && typeof type === 'string');
  return isRight ? (read as Dependency[]) : undefined;
}

/** Closed issues are done and tombstones deleted; all others are open. */
export function fateOf(status: string): Fate {
  if (status === 'closed') return 'done';
  return status === 'tombstone' ? 'deleted' : 'open';
}

const priorityNames = ['critical', 'high', 'medium', 'low', 'low'] as const;

/** The priority that a number of beads means. */
export function priorityOf(priority: number): (typeof priorityNames)[number] {
  return priorityNames[priority] ?? 'medium';
}

/** What the dependencies of issues mean, from the issue to the one that it names. */
export function relationsIn(issues: readonly Issue[]): PlannedRelation[] {
  return issues.flatMap(({ id, dependencies = [] }) =>
    dependencies.map(({ on, type }) => ({ from: id, to: on, type: relationType(type) })),
  );
}

function relationType(type: string): PlannedRelation['type'] {
  if (type === 'blocks') return 'depends_on';
  return type === 'parent-child' ? 'parent' : 'related_to';
}
