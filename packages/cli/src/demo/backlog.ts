import { readFileSync } from 'node:fs';
import { PlainError } from '../plain-error.ts';

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

const issuesMax = 100_000;

/**
 * Reads a backlog file, one JSON object per line.
 * @throws PlainError that names the first invalid line
 */
export function readBacklog(path: string): Issue[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new PlainError(`${path} can't be read (${(error as NodeJS.ErrnoException).code}).`);
  }
  return parseBacklog(text, path);
}

/** As `readBacklog`, from its text; `name` is for error messages. */
export function parseBacklog(text: string, name: string): Issue[] {
  const lines = text.split('\n').map((line) => line.trim());
  const numbered = lines
    .map((line, index) => ({ line, number: index + 1 }))
    .filter(({ line }) => line !== '');
  if (numbered.length === 0) throw new PlainError(`${name} is empty.`);
  if (numbered.length > issuesMax) throw new PlainError(`${name} has more than ${issuesMax} lines.`);
  const seen = new Set<string>();
  return numbered.map(({ line, number }) => {
    const issue = parseIssue(line);
    if (issue === undefined)
      throw new PlainError(
        `Line ${number} of ${name} is not an issue: it needs id, title and status as strings.`,
      );
    if (seen.has(issue.id)) throw new PlainError(`Line ${number} of ${name} repeats the id ${issue.id}.`);
    seen.add(issue.id);
    return issue;
  });
}

function parseIssue(line: string): Issue | undefined {
  let value: Partial<Issue>;
  try {
    value = JSON.parse(line) as Partial<Issue>;
  } catch {
    return undefined;
  }
  const { id, title, status, priority = 2, issue_type = 'task', dependencies = [] } = value ?? {};
  const texts = [id, title, status, issue_type];
  if (texts.some((text) => typeof text !== 'string') || id === '' || !Array.isArray(dependencies))
    return undefined;
  if (dependencies.some((one) => typeof one?.on !== 'string' || typeof one.type !== 'string'))
    return undefined;
  return { id, title, status, priority: Number(priority), issue_type, dependencies } as Issue;
}
