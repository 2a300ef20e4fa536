type Schema = Readonly<Record<string, unknown>>;

/** The form control for a field. Values without a simple control are edited as JSON. */
export type FieldKind =
  | 'text'
  | 'long'
  | 'number'
  | 'choice'
  | 'several'
  | 'lines'
  | 'date'
  | 'instant'
  | 'email'
  | 'url'
  | 'json';

export interface Choice {
  readonly value: unknown;
  readonly label: string;
}

/** One field of a form. Baton validates the answer; the bounds here only show an error earlier. */
export interface FormField {
  readonly name: string;
  readonly label: string;
  readonly help: string;
  readonly isRequired: boolean;
  readonly kind: FieldKind;
  readonly choices: readonly Choice[];
  readonly initial: unknown;
  readonly bounds: {
    readonly min?: number;
    readonly max?: number;
    readonly step?: number | 'any';
    readonly minLength?: number;
    readonly maxLength?: number;
  };
}

/** Answers by the names of their fields; undefined for a field that is left empty. */
export type Answers = Readonly<Record<string, unknown>>;

/** A text field that allows more characters than this is multi-line. */
const lineCharactersMax = 120;
const choicesMax = 200;

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const textIn = (schema: Schema, name: string): string =>
  typeof schema[name] === 'string' ? schema[name].trim() : '';
const numberIn = (schema: Schema, name: string): number | undefined =>
  typeof schema[name] === 'number' ? schema[name] : undefined;
const labelOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/**
 * The fields of a form, which is a JSON Schema of an object: its properties, and required names that it does not
 * describe. Baton stores no order of properties, so the required ones come first, in the order of `required`.
 */
export function fieldsOf(form: Schema): FormField[] {
  const properties = isSchema(form['properties']) ? form['properties'] : {};
  const required = Array.isArray(form['required']) ? form['required'].map(String) : [];
  const names = [...new Set([...required, ...Object.keys(properties)])];
  return names.map((name) => {
    const given = properties[name];
    return fieldOf(name, isSchema(given) ? given : {}, required.includes(name));
  });
}

function fieldOf(name: string, schema: Schema, isRequired: boolean): FormField {
  const type = typeOf(schema);
  const items = isSchema(schema['items']) ? schema['items'] : {};
  const choices = type === 'array' ? choicesOf(items) : choicesOf(schema);
  return {
    name,
    label: textIn(schema, 'title') || name,
    help: textIn(schema, 'description'),
    isRequired,
    kind: kindOf(schema, type, choices),
    choices,
    initial: schema['default'],
    bounds: boundsOf(schema, type),
  };
}

/** The type of a value that is not null. */
function typeOf({ type }: Schema): unknown {
  if (!Array.isArray(type)) return type;
  const others = type.filter((one) => one !== 'null');
  return others.length === 1 ? others[0] : undefined;
}

function choicesOf(schema: Schema): Choice[] {
  if (typeOf(schema) === 'boolean')
    return [
      { value: true, label: 'Yes' },
      { value: false, label: 'No' },
    ];
  if ('const' in schema) return [{ value: schema['const'], label: labelOf(schema['const']) }];
  const { enum: values } = schema;
  if (Array.isArray(values))
    return values.slice(0, choicesMax).map((value) => ({ value, label: labelOf(value) }));
  const named = schema['oneOf'] ?? schema['anyOf'];
  if (!Array.isArray(named) || !named.every((one) => isSchema(one) && 'const' in one)) return [];
  return (named as Schema[])
    .slice(0, choicesMax)
    .map((one) => ({ value: one['const'], label: textIn(one, 'title') || labelOf(one['const']) }));
}

const formats: Readonly<Record<string, FieldKind>> = {
  date: 'date',
  'date-time': 'instant',
  email: 'email',
  uri: 'url',
};

function kindOf(schema: Schema, type: unknown, choices: readonly Choice[]): FieldKind {
  if (type === 'array') {
    if (choices.length > 0) return 'several';
    return isSchema(schema['items']) && typeOf(schema['items']) === 'string' ? 'lines' : 'json';
  }
  if (choices.length > 0) return 'choice';
  if (type === 'number' || type === 'integer') return 'number';
  if (type !== 'string') return 'json';
  const format = formats[textIn(schema, 'format')];
  if (format !== undefined) return format;
  return (numberIn(schema, 'maxLength') ?? Number.POSITIVE_INFINITY) > lineCharactersMax ? 'long' : 'text';
}

function boundsOf(schema: Schema, type: unknown): FormField['bounds'] {
  const bounds = {
    min: numberIn(schema, 'minimum'),
    max: numberIn(schema, 'maximum'),
    minLength: numberIn(schema, 'minLength'),
    maxLength: numberIn(schema, 'maxLength'),
    ...(type === 'integer' && { step: 1 }),
    ...(type === 'number' && { step: 'any' as const }),
  };
  return Object.fromEntries(Object.entries(bounds).filter(([, value]) => value !== undefined));
}

/** Formats a value as the text of its field; a choice as its index. */
export function formatFieldValue({ kind, choices }: FormField, value: unknown): string {
  if (value === undefined || value === null) return '';
  const chosen = (one: unknown) => choices.findIndex((choice) => isSame(choice.value, one));
  switch (kind) {
    case 'choice':
      return chosen(value) < 0 ? '' : String(chosen(value));
    case 'several':
      return Array.isArray(value)
        ? value
            .map(chosen)
            .filter((number) => number >= 0)
            .join(',')
        : '';
    case 'lines':
      return Array.isArray(value) ? value.map(String).join('\n') : '';
    case 'instant':
      return typeof value === 'string' ? localTextOf(value) : '';
    case 'json':
      return JSON.stringify(value, null, 2);
    default:
      return labelOf(value);
  }
}

/** Replaces field names and choice values by their labels. */
export function labelAnswers(form: Schema, values: Answers): Record<string, unknown> {
  const fields = fieldsOf(form);
  const known = new Map(fields.map((field) => [field.name, field]));
  const shown = [
    ...fields.map(({ name }) => name),
    ...Object.keys(values).filter((name) => !known.has(name)),
  ];
  return Object.fromEntries(
    shown
      .filter((name) => values[name] !== undefined)
      .map((name) => {
        const { label = name, choices = [] } = known.get(name) ?? {};
        const word = (value: unknown) =>
          choices.find((choice) => isSame(choice.value, value))?.label ?? value;
        const value = values[name];
        const isOfTexts = Array.isArray(value) && value.every((one) => typeof one === 'string');
        return [label, isOfTexts ? value.map(word).join(', ') : word(value)];
      }),
  );
}

/** Parses the text of a field; undefined if it is empty. @throws Error with the validation error */
export function parseAnswer({ kind, choices, label }: FormField, text: string): unknown {
  if (kind === 'several')
    return text === '' ? undefined : text.split(',').map((n) => choices[Number(n)]?.value);
  if (text.trim() === '') return undefined;
  switch (kind) {
    case 'choice':
      return choices[Number(text)]?.value;
    case 'number': {
      const number = Number(text);
      if (!Number.isFinite(number)) throw new Error(`${label} must be a number.`);
      return number;
    }
    case 'lines':
      return text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '');
    case 'instant': {
      const instant = new Date(text);
      if (Number.isNaN(instant.getTime())) throw new Error(`${label} must be a date and a time.`);
      return instant.toISOString();
    }
    case 'json':
      try {
        return JSON.parse(text) as unknown;
      } catch {
        throw new Error(`${label} must be JSON, for example {"count": 1} or ["a", "b"].`);
      }
    default:
      return text;
  }
}

/** The custom fields of a task with these answers: empty answers are removed, other fields stay. */
export function withAnswers(customFields: Answers, answers: Answers): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries({ ...customFields, ...answers }).filter(([, value]) => value !== undefined),
  );
}

export const isSame = (left: unknown, right: unknown): boolean =>
  JSON.stringify(left) === JSON.stringify(right);

/** An instant in the browser's time zone, in the format of a `datetime-local` field. */
function localTextOf(instant: string): string {
  const date = new Date(instant);
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
