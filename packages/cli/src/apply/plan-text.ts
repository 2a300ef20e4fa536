import { isDeepStrictEqual } from 'node:util';
import { revealHidden } from '@baton/sdk';
import type { Change, FieldChange } from './change.ts';
import { formatPointer, isObject, onOneLine } from './documents.ts';
import { escapePointer, type JsonObject } from './yaml-documents.ts';

/** The plan of an apply, for a person to confirm. Nothing is truncated, because any part may matter. */

const marks = { create: '+', change: '~', unchanged: '=' } as const;

/** @returns one line per document and per field, the granted permissions, and the counts */
export function planLines(changes: readonly Change[]): string[] {
  const counts = { create: 0, change: 0, unchanged: 0 };
  const lines = changes.flatMap(({ document, action, fields, note }) => {
    counts[action] += 1;
    const { kind, key, file, line } = document;
    return [
      `${marks[action]} ${action.padEnd(9)}  ${kind} ${onOneLine(key)}  (${file}:${line})`,
      ...(note === undefined ? [] : [`    ${note}`]),
      ...(action === 'create' ? fields.flatMap(createdLines) : fields.flatMap(changedLines)),
    ];
  });
  return [
    ...lines,
    ...changes.flatMap(grantLines),
    `${counts.create} to create, ${counts.change} to change, ${counts.unchanged} unchanged.`,
  ];
}

function changedLines({ path, before, after }: FieldChange): string[] {
  if (!isObject(before) || !isObject(after) || isHash(before))
    // The two values may differ only in an invisible character, such as a zero-width joiner, so both are shown in full.
    return [
      `    ${formatPointer(path)}: ${valueText(before, { all: true })} → ${valueText(after, { all: true })}`,
    ];
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .map((name) => ({ path: `${path}/${escapePointer(name)}`, before: before[name], after: after[name] }))
    .filter((member) => !isDeepStrictEqual(member.before, member.after))
    .flatMap(changedLines);
}

/** The service's placeholder for a long value. */
const isHash = (value: JsonObject): boolean => Object.keys(value).sort().join() === 'bytes,sha256';

/** One line per member, so that a long one can't hide others. */
function createdLines({ path, after }: FieldChange): string[] {
  if (after === null || after === undefined) return [];
  const members = isObject(after) ? Object.entries(after) : [];
  if (members.length === 0) return [`    ${formatPointer(path)}: ${valueText(after)}`];
  return members.flatMap(([name, value]) =>
    createdLines({ path: `${path}/${escapePointer(name)}`, before: null, after: value }),
  );
}

/** As JSON, with hidden characters written as their codes. */
function valueText(value: unknown, options: Parameters<typeof revealHidden>[1] = {}): string {
  return revealHidden(JSON.stringify(value) ?? 'nothing', options);
}

/** The permissions that a document newly grants, at the end, so that a long plan doesn't scroll them off the screen. */
function grantLines({ document: { kind, key }, action, fields }: Change): string[] {
  if (action === 'unchanged') return [];
  const granted = fields.flatMap(({ path, before, after }) => {
    const name = path.split('/').at(-1) as string;
    const held = permissionsIn(before, name);
    return permissionsIn(after, name).filter((permission) => !held.includes(permission));
  });
  const names = [...new Set(granted)].sort();
  return names.length === 0 ? [] : [`Grants ${kind} ${onOneLine(key)}: ${names.map(onOneLine).join(', ')}`];
}

/** The strings in every list named `permissions` in a value, and the access roles that it names. */
function permissionsIn(value: unknown, name: string): string[] {
  if (name === 'accessRole' && typeof value === 'string') return [`the access role ${value}`];
  if (Array.isArray(value))
    return name === 'permissions'
      ? value.filter((one): one is string => typeof one === 'string')
      : value.flatMap((one) => permissionsIn(one, ''));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([member, part]) => permissionsIn(part, member));
}
