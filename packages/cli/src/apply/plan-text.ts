import { visible } from '@baton/sdk/node';
import type { Change, FieldChange } from './change.ts';
import { fieldOf, isObject } from './documents.ts';
import { escaped } from './yaml-documents.ts';

/** The plan of an apply, as people read it before they confirm. */

/** The longest text that is shown whole; of others, the rest is counted. Lists, names and numbers are never cut. */
const textCharactersMax = 4000;
const marks = { create: '+', change: '~', unchanged: '=' } as const;

/** @returns a line for each document and each of its fields, what it grants, and the counts */
export function planLines(changes: readonly Change[]): string[] {
  const counts = { create: 0, change: 0, unchanged: 0 };
  const lines = changes.flatMap(({ document, action, fields, note }) => {
    counts[action] += 1;
    const { kind, key, file, line } = document;
    return [
      `${marks[action]} ${action.padEnd(9)}  ${kind} ${visible(key)}  (${file}:${line})`,
      ...(note === undefined ? [] : [`    ${note}`]),
      ...(action === 'create' ? fields.flatMap(createdLines) : fields.map(changedLine)),
    ];
  });
  return [
    ...lines,
    ...changes.flatMap(grantLines),
    `${counts.create} to create, ${counts.change} to change, ${counts.unchanged} unchanged.`,
  ];
}

function changedLine({ path, before, after }: FieldChange): string {
  return `    ${fieldOf(path)}: ${valueText(before)} → ${valueText(after)}`;
}

/** A line for each member, so that one can't hide behind a long one. */
function createdLines({ path, after }: FieldChange): string[] {
  if (after === null || after === undefined) return [];
  const members = isObject(after) ? Object.entries(after) : [];
  if (members.length === 0) return [`    ${fieldOf(path)}: ${valueText(after)}`];
  return members.flatMap(([name, value]) =>
    createdLines({ path: `${path}/${escaped(name)}`, before: null, after: value }),
  );
}

function valueText(value: unknown): string {
  return visible(JSON.stringify(value, (_, part: unknown) => shortened(part)) ?? 'nothing');
}

function shortened(value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= textCharactersMax) return value;
  const left = value.length - textCharactersMax;
  return `${value.slice(0, textCharactersMax).toWellFormed()}… (${left} more characters; --json shows all)`;
}

/** What a document grants that was not granted before, at the end, where a long plan can't push it off the screen. */
function grantLines({ document: { kind, key }, action, fields }: Change): string[] {
  if (action === 'unchanged') return [];
  const granted = fields.flatMap(({ path, before, after }) => {
    const name = path.split('/').at(-1) as string;
    const held = permissionsIn(before, name);
    return permissionsIn(after, name).filter((permission) => !held.includes(permission));
  });
  const names = [...new Set(granted)].sort();
  return names.length === 0 ? [] : [`Grants ${kind} ${visible(key)}: ${visible(names.join(', '))}`];
}

/** The texts of every list named `permissions` in a value. */
function permissionsIn(value: unknown, name: string): string[] {
  if (Array.isArray(value))
    return name === 'permissions'
      ? value.filter((one): one is string => typeof one === 'string')
      : value.flatMap((one) => permissionsIn(one, ''));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([member, part]) => permissionsIn(part, member));
}
