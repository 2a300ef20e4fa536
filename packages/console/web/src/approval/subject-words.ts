import type { ApprovalSubject, SubjectChange } from '@baton/sdk';

type TaskSnapshot = NonNullable<ApprovalSubject['snapshot']['task']>;

const taskFields = {
  title: 'Title',
  description: 'Description',
  typeKey: 'Type',
  typeVersion: 'Version of the type',
  priority: 'Priority',
  startDate: 'Start date',
  dueDate: 'Due date',
  customFields: 'Custom fields',
  acceptance: 'Done when',
} as const satisfies Record<keyof TaskSnapshot, string>;

const answers: Readonly<Record<string, string>> = {
  approved: 'If approved',
  rejected: 'If rejected',
};

export const fieldWords = (name: keyof TaskSnapshot): string => taskFields[name];

/** Where a changed value stands: our word for the part, and the names that others chose within it. */
export function placeOf(path: readonly string[]): {
  readonly part: string;
  readonly names: readonly string[];
} {
  const [root = '', name = '', ...rest] = path;
  if (root === 'task' && name === 'customFields' && rest.length > 0) return { part: 'Field', names: rest };
  if (root === 'task' && name === 'acceptance' && rest.length > 0) return { part: 'Check', names: rest };
  if (root === 'task' && Object.hasOwn(taskFields, name))
    return { part: taskFields[name as keyof TaskSnapshot], names: rest };
  if (root === 'artifact') return { part: 'Result', names: path.slice(1) };
  if (root === 'outcome' && Object.hasOwn(answers, name)) {
    const [number, ...within] = rest;
    return {
      part: `${answers[name]}${number === undefined ? '' : `, action\u00A0${number}`}`,
      names: within,
    };
  }
  return { part: root === 'task' ? 'Task' : 'What follows', names: path.slice(1) };
}

/** Whether something at or below a place of the snapshot has changed. */
export function isChangedAt(changes: readonly SubjectChange[], ...place: readonly string[]): boolean {
  return changes.some(({ path }) =>
    place.every((name, index) => index >= path.length || path[index] === name),
  );
}

/** What doesn't show: controls, marks of direction, joiners, tag characters. Line end and tab stay. */
const invisible = /[^\P{Cc}\t\n]|\p{Cf}|[\u{E0000}-\u{E0FFF}]/gu;
const joiners: readonly string[] = ['\u200C', '\u200D'];

/**
 * A text of others in which nothing is hidden: what doesn't show is written as its code.
 * @param keepsJoiners Persian and emoji need them; where two texts are compared, they are shown, too
 */
export function unhidden(text: string, keepsJoiners = true): string {
  return text.replaceAll(invisible, (character) =>
    keepsJoiners && joiners.includes(character)
      ? character
      : `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`,
  );
}

/** A value as text: a text as it is, anything else as JSON. Nothing is cut: a decision may hang on its end. */
export function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 1);
}

/** The parts of two texts that differ, between what they have in common at both ends. */
export interface Difference {
  readonly start: string;
  readonly before: string;
  readonly after: string;
  readonly end: string;
}

/** Compares two texts by words. */
export function differenceOf(before: string, after: string): Difference {
  const [old, now] = [before, after].map((text) => text.split(/(\s+)/)) as [string[], string[]];
  const shorter = Math.min(old.length, now.length);
  let start = 0;
  while (start < shorter && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < shorter - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const middle = (words: string[]) => words.slice(start, words.length - end).join('');
  return {
    start: old.slice(0, start).join(''),
    before: middle(old),
    after: middle(now),
    end: old.slice(old.length - end).join(''),
  };
}
