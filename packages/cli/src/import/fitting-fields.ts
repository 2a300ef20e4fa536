import { cut, storable } from './storable-text.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The service's limits for custom fields, with room for fields that others write. */
const bounds = {
  bytesMax: 60_000,
  membersMax: 500,
  valuesMax: 200,
  charactersMax: 2_000,
} as const;

/**
 * Parts of field names that the service treats as secrets, in any spelling; it rejects the whole task if it has such a
 * field.
 */
const secretName = /password|passwd|secret|token|apikey|privatekey|credential|authorization/;

/**
 * Returns custom fields that the service accepts: a field that it would reject is omitted, not the whole item.
 * @param leaveOut gets the reason
 */
export function fittingFields(fields: Fields, leaveOut: (reason: string) => void): Record<string, unknown> {
  const clean = cleanFields(fields, leaveOut);
  if (JSON.stringify(clean).length < JSON.stringify(fields).length)
    leaveOut('field was too long and has been truncated');
  while (bytesOf(clean) > bounds.bytesMax && dropLargest(clean))
    leaveOut('has fields that are too large: the largest');
  return clean;
}

function cleanFields(fields: Fields, leaveOut: (reason: string) => void): Record<string, unknown> {
  const entries = Object.entries(fields);
  const kept = entries.slice(0, bounds.membersMax).flatMap(([name, value]): [string, unknown][] => {
    const isSecret = secretName.test(name.toLowerCase().replaceAll(/[-_]/g, ''));
    if (isSecret) leaveOut(`field ${name.slice(0, 40)} is named like a secret and was skipped`);
    return isSecret ? [] : [[cut(storable(name), bounds.charactersMax), cleanValue(value, leaveOut)]];
  });
  return Object.fromEntries(kept);
}

function cleanValue(value: unknown, leaveOut: (reason: string) => void): unknown {
  if (typeof value === 'string') return cut(storable(value), bounds.charactersMax);
  // The service rejects a number that JSON can't represent exactly, so it becomes a string.
  if (typeof value === 'number')
    return Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value))
      ? value
      : String(value);
  if (Array.isArray(value))
    return (value as unknown[]).slice(0, bounds.valuesMax).map((one) => cleanValue(one, leaveOut));
  if (typeof value === 'object' && value !== null) return cleanFields(value as Fields, leaveOut);
  return value;
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Drops the largest member, or the largest one within it if it is an object. @returns whether a member was dropped */
function dropLargest(fields: Record<string, unknown>): boolean {
  const sizes = Object.entries(fields).map(([name, value]) => [bytesOf(value), name, value] as const);
  const [, name, value] = sizes.sort(([a], [b]) => b - a)[0] ?? [];
  if (name === undefined) return false;
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject || !dropLargest(value as Record<string, unknown>)) delete fields[name];
  return true;
}
