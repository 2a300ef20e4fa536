import { type Declared, isObject, type Problems } from './documents.ts';
import { escapePointer } from './yaml-documents.ts';

/** The type of a spec's field; the service validates the rest. */
export type FieldForm =
  | 'text'
  | 'text?'
  | 'texts'
  | 'texts?'
  | 'number'
  | 'object'
  | 'list'
  | readonly string[];

export interface Form {
  readonly fields: Readonly<Record<string, FieldForm>>;
  readonly required: readonly string[];
}

const words: Readonly<Record<string, string>> = {
  text: 'a string',
  'text?': 'a string or null',
  texts: 'a list of strings',
  'texts?': 'a list of strings or null',
  number: 'a whole number',
  object: 'an object',
  list: 'a list',
};

const names = new Set(['name', 'displayName']);

/** Reports fields that are unknown, missing or of another type. */
export function checkForm(document: Declared, form: Form, problems: Problems): void {
  checkFields(document, document.spec, '/spec', form, problems);
}

/** Like `checkForm`, for an object within the spec. */
export function checkFields(
  document: Declared,
  value: Readonly<Record<string, unknown>>,
  at: string,
  { fields, required }: Form,
  problems: Problems,
): void {
  for (const [name, given] of Object.entries(value)) {
    const pointer = `${at}/${escapePointer(name)}`;
    const form = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (form === undefined)
      problems.add(document, pointer, `unknown field; valid fields: ${Object.keys(fields).join(', ')}.`);
    else if (typeof form !== 'string') {
      if (!form.includes(given as string))
        problems.add(document, pointer, `write one of ${form.join(', ')}.`);
    } else if (!isOf(form, given)) {
      const hint = form.startsWith('text') && typeof given === 'number' ? ' in quotes' : '';
      problems.add(document, pointer, `write ${words[form]}${hint}.`);
    } else if (names.has(name) && (given as string).trim() !== given)
      // The service removes these spaces, so each apply would find a change.
      problems.add(document, pointer, 'remove the spaces around it.');
  }
  for (const name of required)
    if (!Object.hasOwn(value, name)) problems.add(document, at, `it lacks ${name}.`);
}

function isOf(form: string, value: unknown): boolean {
  if (form.endsWith('?') && value === null) return true;
  if (form.startsWith('texts')) return Array.isArray(value) && value.every((one) => typeof one === 'string');
  if (form.startsWith('text')) return typeof value === 'string';
  if (form === 'number') return Number.isSafeInteger(value);
  return form === 'list' ? Array.isArray(value) : isObject(value);
}
