import { createHash } from 'node:crypto';
import { type JsonSchema, readReferredName } from './schemas.ts';

/** The position of a value: the name of its field, the object that contains the field, and the enclosing components. */
interface Place {
  readonly field: string;
  readonly owner: string;
  readonly inside: readonly string[];
  readonly components: Readonly<Record<string, JsonSchema>>;
}

/** Typical values for fields with these names. The first matching expression applies. */
const texts: readonly (readonly [RegExp, string])[] = [
  [/cursor$/i, 'WyJ0YXNrcyIsNDJd'],
  [/^publicId$/, 'TASK-000042'],
  [/^status$/, 'ready'],
  [/^typeKey$/, 'task'],
  [/^title$/, 'Fix the flaky login test'],
  [/description$/i, 'What it is about.'],
  [/^display_?name$/i, 'Reviewer'],
  [/^type$/, 'task.created'],
  [/email|userName/i, 'ada@example.com'],
  [/^(issuer|iss)$/, 'https://baton.example/iam'],
  [/ur[il]$/i, 'https://baton.example'],
  [/permissions?$/i, 'tasks.read'],
  [/scope/i, 'control-plane:read'],
  [/audience/i, 'control-plane'],
  [/requestId/i, 'req_0190b2c4000070008000000000000001'],
  [/traceRunId/i, 'run_0190b2c4000070008000000000000001'],
  [/slug$/i, 'acme'],
  [/hash$/i, `sha256:${'0'.repeat(64)}`],
  [/version$/i, '1'],
  [/^name$/, 'Example'],
  [/prefix$/i, '0123456789ab'],
];

const moments: readonly (readonly [RegExp, string])[] = [
  [/^(expires|due|until|notAfter)|deadline/i, '2026-03-02T10:00:00.000Z'],
  [/^(updated|last|heartbeat|ended|closed|finished|completed|revoked)/i, '2026-03-02T09:05:00.000Z'],
];
const usualMoment = '2026-03-02T09:00:00.000Z';

/** Fields that are usually null: those that a later event sets, and those that only a failure sets. */
const usuallyNull =
  /cursor$|reason$|error$|^next_?after$|^(revoked|ended|closed|released|disabled|finished|completed|cancel)/i;

/**
 * Generates a deterministic example for a JSON schema. `examples` in the metadata take precedence, followed by
 * constants, the first enum value, and values by format and field name. @param schema with references into `components`
 * only
 * @param components the named schemas of the description
 */
export function exampleOf(schema: JsonSchema, components: Readonly<Record<string, JsonSchema>>): unknown {
  return valueOf(schema, { field: '', owner: '', inside: [], components });
}

/** Undefined where a recursive schema would repeat: the field is then omitted, or the list is empty. */
function valueOf(form: JsonSchema, place: Place): unknown {
  const [given] = (form['examples'] as unknown[] | undefined) ?? [];
  if (given !== undefined) return given;
  if (typeof form['$ref'] === 'string') return referredValue(readReferredName(form['$ref']), place);
  for (const key of ['const', 'default']) if (form[key] !== undefined) return form[key];
  if (Array.isArray(form['enum'])) return form['enum'][0];
  const choices = (form['anyOf'] ?? form['oneOf']) as JsonSchema[] | undefined;
  if (choices !== undefined) return chosenValue(choices, place);
  if (!Array.isArray(form['type'])) return typedValue(form, place);
  return chosenValue(
    form['type'].map((type: unknown) => ({ ...form, type })),
    place,
  );
}

function referredValue(name: string, place: Place): unknown {
  const form = place.components[name];
  if (form === undefined || place.inside.includes(name)) return undefined;
  const within = { ...place, inside: [...place.inside, name] };
  const isThing = form['properties'] !== undefined;
  return valueOf(form, isThing ? { ...within, field: '', owner: name } : within);
}

function chosenValue(choices: JsonSchema[], place: Place): unknown {
  const isNullable = choices.some(({ type }) => type === 'null');
  if (isNullable && usuallyNull.test(place.field)) return null;
  for (const choice of choices) {
    const value = choice['type'] === 'null' ? undefined : valueOf(choice, place);
    if (value !== undefined) return value;
  }
  return isNullable ? null : undefined;
}

function typedValue(form: JsonSchema, place: Place): unknown {
  switch (form['type']) {
    case 'object':
      return objectOf(form, place);
    case 'array': {
      const item = valueOf((form['items'] ?? {}) as JsonSchema, place);
      return item === undefined ? [] : [item];
    }
    case 'string':
      return textOf(form, place);
    case 'integer':
    case 'number':
      return numberOf(form, place.field);
    case 'boolean':
      return !/^(has|is)[A-Z]|only$/.test(place.field);
    case 'null':
      return null;
    default:
      return {};
  }
}

function objectOf({ properties = {} }: JsonSchema, place: Place): object {
  // An unnamed part is named after its field: `session: { id }`, `activeClaims: [{ id }]`.
  const owner = place.field === '' ? place.owner : place.field.replace(/s$/, '').replace(/^active/, '');
  const fields = Object.entries(properties as Record<string, JsonSchema>)
    .map(([field, form]) => [field, valueOf(form, { ...place, field, owner })] as const)
    .filter(([, value]) => value !== undefined);
  return Object.fromEntries(fields);
}

function textOf({ format, pattern, minLength, maxLength }: JsonSchema, { field, owner }: Place): string {
  if (format === 'uuid') return uuidOf(field === 'id' ? owner : field);
  if (format === 'date-time') return firstOf(moments, field) ?? usualMoment;
  if (format === 'date') return usualMoment.slice(0, 10);
  if (format === 'uri' || format === 'url') return 'https://baton.example';
  if (format === 'email') return 'ada@example.com';
  const text = firstOf(texts, field) ?? wordsOf(field);
  const fitting = [text, text.replaceAll(' ', '-'), text.replaceAll(' ', '_'), 'acme', 'TASK-000042'];
  const matching =
    typeof pattern === 'string' ? fitting.find((one) => new RegExp(pattern, 'u').test(one)) : text;
  return (matching ?? text).padEnd(Number(minLength ?? 0), '.').slice(0, Number(maxLength ?? Infinity));
}

function numberOf({ minimum, maximum, exclusiveMinimum }: JsonSchema, field: string): number {
  const value = /seconds$|^expires_?in$/i.test(field) ? 300 : 1;
  const least = Number(minimum ?? Number(exclusiveMinimum ?? -1) + 1);
  return Math.min(Math.max(value, least), Number(maximum ?? Infinity));
}

function firstOf(table: readonly (readonly [RegExp, string])[], field: string): string | undefined {
  return table.find(([expression]) => expression.test(field))?.[1];
}

/** The same UUID for `id` of a Task and for `taskId` elsewhere, so that the examples fit together. */
function uuidOf(name: string): string {
  const noun = name.replace(/_?id$/i, '').replaceAll('_', '').toLowerCase();
  const digits = createHash('sha256').update(noun).digest('hex').slice(0, 12);
  return `0190b2c4-0000-7000-8000-${digits}`;
}

/** `clientName` is "client name". */
function wordsOf(field: string): string {
  const words = field.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').replaceAll(/[_-]/g, ' ');
  return words === '' ? 'text' : words.toLowerCase();
}
