import { revealHidden } from '@baton/sdk';
import { visible } from '@baton/sdk/node';
import { PlainError } from '../plain-error.ts';
import type { SourceFile } from './files.ts';
import {
  documentBounds,
  type JsonObject,
  readDocuments,
  type TextDocument,
  TextFault,
} from './yaml-documents.ts';

/** The kinds in the order in which they are applied: referenced ones first. */
export const kinds = [
  'Role',
  'Capability',
  'Calendar',
  'TaskType',
  'WorkspaceType',
  'Workspace',
  'Principal',
  'ProjectTemplate',
  'Project',
  'Agent',
  'Process',
  'WorkRule',
] as const;
export type Kind = (typeof kinds)[number];

/** One object as a file declares it. */
export interface Declared {
  readonly kind: Kind;
  readonly key: string;
  readonly spec: JsonObject;
  readonly file: string;
  /** From 1 on, within its file. */
  readonly number: number;
  readonly line: number;
  /** The position of a JSON pointer's value in the document. */
  placeOf(pointer: string): string;
}

const { documentsMax } = documentBounds;
const keyCharactersMax = 500;
const apiVersion = 'baton/v1';
const packageKinds = ['View', 'Settings', 'Test'];

const problemsShownMax = 20;

/** Collects the problems, so that one run reports all of them. */
export class Problems {
  readonly #lines: string[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** @param pointer of the field within the document */
  add(document: Declared, pointer: string, message: string): void {
    const { number, kind, key } = document;
    const field = pointer === '' ? '' : `, ${formatPointer(pointer)}`;
    const place = () =>
      `${document.placeOf(pointer)}: document ${number} (${kind} ${onOneLine(key)})${field}`;
    this.addAt(place, message);
  }

  /**
   * @param place evaluated only for problems that are shown
   */
  addAt(place: () => string, message: string): void {
    this.#count += 1;
    if (this.#count <= problemsShownMax) this.#lines.push(`${place()}: ${visible(message)}`);
  }

  /** @throws PlainError that lists the problems, if any */
  throwIfAny(): void {
    if (this.#lines.length === 0) return;
    const more = this.#count - this.#lines.length;
    throw new PlainError(
      [
        ...this.#lines,
        ...(more > 0 ? [`And ${more} more.`] : []),
        'Nothing was changed: correct the files and apply again.',
      ].join('\n'),
    );
  }
}

/** A pointer in readable form: `spec.roles.0`. */
export function formatPointer(pointer: string): string {
  const parts = pointer.slice(1).split('/');
  return parts.map((part) => onOneLine(part.replaceAll('~1', '/').replaceAll('~0', '~'))).join('.');
}

/**
 * A name as it would be in a JSON string, without the quotes. Two names that differ in hidden characters are shown
 * differently.
 */
export const onOneLine = (name: string): string =>
  revealHidden(JSON.stringify(name).slice(1, -1), { all: true });

/** Returns the documents of all files; adds invalid ones to the problems. */
export function declaredIn(files: readonly SourceFile[], problems: Problems): Declared[] {
  const all: Declared[] = [];
  for (const { name, text } of files)
    try {
      const documents = readDocuments(text);
      if (documents.length === 0) problems.addAt(() => name, 'the file contains no document.');
      for (const [at, document] of documents.entries()) {
        const declared = declaredOf(document, { file: name, number: at + 1 }, problems);
        if (declared !== undefined) all.push(declared);
      }
    } catch (error) {
      if (!(error instanceof TextFault)) throw error;
      const { line, column } = error.position;
      problems.addAt(() => `${name}:${line}:${column}`, `${error.message}.`);
    }
  if (all.length > documentsMax)
    throw new PlainError(
      `One apply accepts at most ${documentsMax} documents; got ${all.length}. Apply them in parts.`,
    );
  noteRepeated(all, problems);
  return all.sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind));
}

function declaredOf(
  { value, positionOf }: TextDocument,
  { file, number }: { file: string; number: number },
  problems: Problems,
): Declared | undefined {
  const placeOf = (pointer: string) => {
    const { line, column } = positionOf(pointer);
    return `${file}:${line}:${column}`;
  };
  const before = problems.count;
  const wrong = (pointer: string, message: string) => {
    const field = pointer === '' ? '' : `, ${formatPointer(pointer)}`;
    problems.addAt(() => `${placeOf(pointer)}: document ${number}${field}`, message);
  };
  if (!isObject(value)) {
    wrong('', `it is not an object; a document has apiVersion: ${apiVersion}, kind, key and spec.`);
    return undefined;
  }
  const { apiVersion: version, kind, key, spec } = value;
  if (/(^|[/\\])package\.ya?ml$/.test(file) && version === undefined) {
    wrong('', 'this is a package, with a plan of its own: POST /packages:plan and :apply (docs/agents.md).');
    return undefined;
  }
  for (const name of Object.keys(value))
    if (!['apiVersion', 'kind', 'key', 'spec'].includes(name))
      wrong(
        `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
        'unknown field; a document has apiVersion, kind, key and spec.',
      );
  if (version !== apiVersion) wrong('/apiVersion', `write apiVersion: ${apiVersion}.`);
  if (packageKinds.includes(kind as string))
    wrong(
      '/kind',
      `${String(kind)} belongs in a package: apply it with POST /packages:plan and :apply (docs/agents.md).`,
    );
  else if (!isKind(kind)) wrong('/kind', `write one of ${kinds.join(', ')}.`);
  if (typeof key !== 'string' || key.trim() !== key || key === '' || key.length > keyCharactersMax)
    wrong(
      '/key',
      typeof key === 'number'
        ? 'put the key in quotes.'
        : `write a key of 1 to ${keyCharactersMax} characters.`,
    );
  if (!isObject(spec)) wrong('/spec', 'write an object with the fields of the kind.');
  if (problems.count > before) return undefined;
  return {
    kind: kind as Kind,
    key: key as string,
    spec: spec as JsonObject,
    file,
    number,
    line: positionOf('').line,
    placeOf,
  };
}

function noteRepeated(all: readonly Declared[], problems: Problems): void {
  const seen = new Map<string, Declared>();
  for (const one of all) {
    const name = `${one.kind}/${one.key}`;
    const first = seen.get(name);
    if (first === undefined) seen.set(name, one);
    else problems.add(one, '/key', `${first.placeOf('/key')} already declares it: remove one of the two.`);
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isKind(kind: unknown): kind is Kind {
  return kinds.some((known) => known === kind);
}
