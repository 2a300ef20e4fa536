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

export const answers = { approved: 'If approved', rejected: 'If rejected' } as const;

const followUp = 'Follow-up actions';

export const labelField = (name: keyof TaskSnapshot): string => taskFields[name];

/** Where a changed value is: the console's label for the part, and the user-defined names within it. */
export function placeOf(path: readonly string[]): {
  readonly part: string;
  readonly names: readonly string[];
} {
  const [root = '', name = '', ...rest] = path;
  if (root === 'task' && name === 'customFields' && rest.length > 0) return { part: 'Field', names: rest };
  if (root === 'task' && name === 'acceptance' && rest.length > 0) return { part: 'Check', names: rest };
  if (root === 'task' && Object.hasOwn(taskFields, name))
    return { part: taskFields[name as keyof TaskSnapshot], names: rest };
  if (root === 'artifact') return { part: 'Artifact', names: path.slice(1) };
  if (root === 'outcome' && Object.hasOwn(answers, name)) {
    const [number, ...within] = rest;
    return {
      part: `${answers[name as keyof typeof answers]}${number === undefined ? '' : `, action\u00A0${number}`}`,
      names: within,
    };
  }
  return { part: root === 'task' ? 'Task' : followUp, names: path.slice(1) };
}

/** Labels for the changed fields that the service reports. */
export function labelFields(names: readonly string[]): string {
  const words: Readonly<Record<string, string>> = { ...taskFields, artifact: 'Artifact', outcome: followUp };
  return names.map((name) => words[name] ?? name).join(', ');
}

/** Whether something at or below a place in the snapshot has changed. */
export function isChangedAt(changes: readonly SubjectChange[], ...place: readonly string[]): boolean {
  return changes.some(({ path }) =>
    place.every((name, index) => index >= path.length || path[index] === name),
  );
}

const dates: readonly string[] = ['startDate', 'dueDate'] satisfies readonly (keyof TaskSnapshot)[];

export const isDate = ([root, name, ...rest]: readonly string[]): boolean =>
  root === 'task' && name !== undefined && dates.includes(name) && rest.length === 0;

const exact = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'long' });

/** A time to the second, with its zone. */
export const dateText = (at: string): string => exact.format(new Date(at));

/**
 * A value as text: a text as it is, anything else as JSON. Nothing is truncated, because the end may matter to the
 * decision.
 */
export function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 1);
}
