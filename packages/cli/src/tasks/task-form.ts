import { Option } from 'commander';
import { type BatonClient, BatonError, etagOf, type Task } from '@baton/sdk';
import { exitCodes } from '../error-text.ts';
import { PlainError } from '../plain-error.ts';

/** The form of the process step that a task belongs to. */
export interface TaskForm {
  readonly process: { readonly instanceId: string; readonly element: string | null } | null;
  /** A JSON Schema of an object; null if the step has no form. */
  readonly form: FormSchema | null;
  readonly context: Readonly<Record<string, unknown>>;
  readonly values: Readonly<Record<string, unknown>>;
  /** The reasons why a completion would be rejected now. */
  readonly errors: readonly { readonly path: string; readonly message: string }[];
}

interface FormSchema {
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
}

interface FieldSchema {
  readonly type?: unknown;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly enum?: readonly unknown[];
}

/** @returns undefined for a task that is not a process step */
export async function readTaskForm(baton: BatonClient, task: Task): Promise<TaskForm | undefined> {
  if (task.origin.kind !== 'process') return undefined;
  return baton.tasks.getForm(task.id).catch((error: unknown) => {
    // An older service without validated forms.
    if (error instanceof BatonError && [404, 405].includes(error.status)) return undefined;
    throw error;
  });
}

/** The fields of a form with their values, one per line; empty if there is no form. */
export function formLines({ form, context, values, errors }: TaskForm): string[] {
  const passed = Object.entries(context).map(([name, value]) => `${name} is ${shown(value)}`);
  if (form === null) return passed;
  const fields = Object.entries(form.properties ?? {}).map(([name, field]) => {
    const about = [
      kindOf(field),
      ...(form.required?.includes(name) ? ['required'] : []),
      ...(field.enum === undefined ? [] : [`one of ${field.enum.map(shown).join(', ')}`]),
    ];
    const label = [field.title, field.description].filter((text) => typeof text === 'string').join(': ');
    const value = values[name] === undefined ? '' : ` = ${shown(values[name])}`;
    return `${name}${value}  (${about.join(', ')})${label === '' ? '' : `  ${label}`}`;
  });
  return [...passed, ...fields, ...errors.map(problemLine)];
}

/** The values of the fields that have one, one per line. */
export function answerLines({ form, values }: TaskForm): string[] {
  return Object.keys(form?.properties ?? {})
    .filter((name) => values[name] !== undefined)
    .map((name) => `${name} = ${shown(values[name])}`);
}

const problemLine = ({ path, message }: TaskForm['errors'][number]) =>
  `missing or wrong: ${path === '' ? '' : `${path.slice(1)} `}${message}`;

const kindOf = ({ type }: FieldSchema) => (typeof type === 'string' ? type : 'JSON');

const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

/** `--field`, of the commands that complete a task. Without it the option is undefined. */
export function fieldOption(): Option {
  return new Option(
    '--field <name=value>',
    'a value for a field of the process form; may be repeated',
  ).argParser<string[]>((text, before) => [...(before ?? []), text]);
}

/**
 * Reads `--field name=value` with the types of the form. Missing required fields are rejected here, before anything is
 * written; the service validates the rest.
 * @throws PlainError that shows the form
 */
export function answersIn(
  given: readonly string[],
  ref: string,
  form: TaskForm | undefined,
): Readonly<Record<string, unknown>> {
  const schema = form?.form ?? undefined;
  if (given.length > 0 && schema === undefined)
    throw new PlainError(`${ref} has no form: --field is only for tasks whose process step has one.`, {
      exitCode: exitCodes.usage,
    });
  if (form === undefined || schema === undefined) return {};
  const answers = Object.fromEntries(given.map((text) => answerIn(text, schema)));
  const values = { ...form.values, ...answers };
  const missing = (schema.required ?? []).filter((name) => values[name] === undefined);
  if (missing.length > 0 || (given.length === 0 && form.errors.length > 0))
    throw new PlainError(
      [
        `${ref} requires ${missing.length === 0 ? 'other values' : missing.join(', ')}. Nothing was changed.`,
        ...formLines(form).map((line) => `  ${line}`),
        `Give each as --field ${missing[0] ?? 'NAME'}=VALUE.`,
      ].join('\n'),
    );
  return answers;
}

function answerIn(text: string, { properties = {} }: FormSchema): [name: string, value: unknown] {
  const at = text.indexOf('=');
  const name = text.slice(0, Math.max(at, 0));
  const field = Object.hasOwn(properties, name) ? properties[name] : undefined;
  if (field === undefined)
    throw usageError(
      `${text} is not a field of this form: NAME=VALUE with one of ${Object.keys(properties).join(', ')}.`,
    );
  return [name, valueIn(text.slice(at + 1), name, field)];
}

function valueIn(text: string, name: string, field: FieldSchema): unknown {
  if (field.type === 'string') return text;
  try {
    const value: unknown = JSON.parse(text);
    const isRight =
      typeof field.type !== 'string' ||
      { number: 'number', integer: 'number', boolean: 'boolean' }[field.type] === undefined ||
      typeof value === (field.type === 'boolean' ? 'boolean' : 'number');
    if (isRight) return value;
  } catch {
    // Not valid JSON: accepted as plain text if the field's enumeration contains it, or if the field has no type.
    if (field.enum?.includes(text) || field.type === undefined) return text;
  }
  throw usageError(`${name} is a ${kindOf(field)}; got ${text}.`);
}

const usageError = (message: string) => new PlainError(message, { exitCode: exitCodes.usage });

/**
 * A process reads the answers from the custom fields of its task.
 * @param lease of the task's holder, who alone can change it
 */
export async function writeAnswers(
  baton: BatonClient,
  task: Task,
  answers: Readonly<Record<string, unknown>>,
  lease: { readonly claimId?: string; readonly fencingToken?: number } = {},
): Promise<Task> {
  if (Object.keys(answers).length === 0) return task;
  const customFields = { ...task.customFields, ...answers };
  return baton.tasks.update(task.id, { customFields, ...lease }, { ifMatch: etagOf(task) });
}
