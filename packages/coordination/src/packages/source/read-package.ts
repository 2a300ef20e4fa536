import { inSlices } from '@baton/kernel/limits/slices';
import { pointer } from '@baton/process-engine/language/problems';
import { jsonValue, readYaml, yamlCharactersMax } from '@baton/process-engine/language/yaml';
import { measureDocument } from '@baton/values/document-size';
import { nodesOf } from '@baton/values/json';
import type { Json } from '@baton/values/wire';
import {
  Envelope,
  Manifest,
  type PackageDocument,
  type PackageFile,
  type PackageProblem,
  type Rename,
} from './package-source.ts';

/** Size as compact JSON in UTF-8: the limit of the largest kind, a process. */
const documentBytesMax = 262_144;
/** The maximum number of reported problems per file and per package. */
const fileProblemsMax = 50;
const problemsMax = 500;
const textCharactersMax = 300;
const manifestPath = 'package.yaml';

export interface ReadPackage {
  /** The content of `package.yaml`; undefined if it is missing or invalid, which a problem reports. */
  readonly package: Manifest | undefined;
  /** The files that have the form of a document, in order. */
  readonly documents: readonly PackageDocument[];
  readonly problems: readonly PackageProblem[];
}

/**
 * Parses the files of a package up to the envelope of each document, without the database
 * (docs/reference/packages.md#source). It works in slices: no file blocks the event loop for longer than parsing its
 * YAML takes, at most 40 ms.
 * @returns with problems `invalid_document`, `invalid_yaml`, `unresolved_install_variable`
 */
export function readPackage(files: readonly PackageFile[]): Promise<ReadPackage> {
  return inSlices(readingPackage(files));
}

function* readingPackage(files: readonly PackageFile[]): Generator<void, ReadPackage> {
  const found = new Found();
  const documents: PackageDocument[] = [];
  const paths = new Set<string>();
  let manifest: Manifest | undefined;
  for (const { path: file, content } of files) {
    const fault = faultOfPath(file, paths);
    paths.add(file);
    if (fault !== undefined) {
      found.add(file, 'invalid_document', '', fault);
      continue;
    }
    const value = readFile(found, file, content);
    yield;
    if (value === undefined) continue;
    noteVariables(found, file, value);
    yield;
    if (file === manifestPath) manifest = manifestOf(found, value);
    else {
      const document = documentOf(found, file, value);
      if (document !== undefined) documents.push(document);
    }
    yield;
  }
  if (!paths.has(manifestPath))
    found.add(
      manifestPath,
      'invalid_document',
      '',
      'is missing: it must contain the key and version of the package',
    );
  noteRepeated(found, documents);
  if (manifest !== undefined) checkRenames(found, manifest, documents);
  return { package: manifest, documents, problems: found.all() };
}

/** Collects problems within their limits. */
class Found {
  readonly #problems: PackageProblem[] = [];
  readonly #byFile = new Map<string, number>();

  add(
    file: string,
    code: string,
    path: string,
    message: string,
    more: { line?: number; hint?: string } = {},
  ) {
    const count = (this.#byFile.get(file) ?? 0) + 1;
    this.#byFile.set(file, count);
    if (count > fileProblemsMax || this.#problems.length >= problemsMax) return;
    this.#problems.push({ code, severity: 'error', path: cut(path), file, message: cut(message), ...more });
  }

  all(): readonly PackageProblem[] {
    return this.#problems;
  }
}

const cut = (text: string): string => text.slice(0, textCharactersMax).replaceAll('\0', '').toWellFormed();

function faultOfPath(path: string, before: ReadonlySet<string>): string | undefined {
  if (before.has(path)) return 'is a duplicate';
  if (/^[/\\]|^[A-Za-z]:/.test(path) || path.includes('\\')) return 'must be a relative path with /';
  const parts = path.split('/');
  if (parts.includes('..')) return 'must stay inside the package';
  return parts.some((part) => part === '' || part === '.') ? 'must not have empty parts' : undefined;
}

/** The document of a file; undefined if a problem was reported instead. */
function readFile(found: Found, file: string, content: string): Json | undefined {
  const read = readText(content);
  if ('code' in read) {
    const { code, path, message, line } = read;
    found.add(file, code, path, message, line === undefined ? {} : { line });
    return undefined;
  }
  const { bytes } = measureDocument(read.value);
  if (bytes > documentBytesMax) {
    found.add(file, 'invalid_document', '', `is larger than ${documentBytesMax} bytes of JSON`);
    return undefined;
  }
  const unstorable = pathOfUnstorable(read.value);
  if (unstorable === undefined) return read.value;
  found.add(file, 'invalid_document', unstorable, 'contains a NUL character or half of a surrogate pair');
  return undefined;
}

/**
 * Escapes in YAML and JSON can produce characters that PostgreSQL can't store and that the request itself doesn't
 * contain.
 */
function pathOfUnstorable(document: Json): string | undefined {
  for (const { key, value, path } of nodesOf(document))
    if (isUnstorable(key) || isUnstorable(value)) return path;
  return undefined;
}

function isUnstorable(text: unknown): boolean {
  return typeof text === 'string' && (text.includes('\0') || !text.isWellFormed());
}

/** Parses JSON with a JSON parser: JSON is valid YAML, but the JSON parser is a hundred times as fast. */
function readText(content: string): ReturnType<typeof readYaml> {
  if (/^\s*\{/.test(content)) {
    const json = parsedJson(content);
    if (json !== undefined) return jsonValue(json);
  }
  if (content.length <= yamlCharactersMax) return readYaml(content);
  const message = `is longer than ${yamlCharactersMax} characters and is not JSON`;
  return { code: 'invalid_document', severity: 'error', path: '', message };
}

function parsedJson(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}

/** Variables that an installer should have replaced. */
function noteVariables(found: Found, file: string, document: Json): void {
  for (const { value, path } of nodesOf(document)) {
    if (typeof value !== 'string') continue;
    const [variable] = /\$\{[A-Za-z_][\w.-]{0,100}\}/.exec(value) ?? [];
    if (variable !== undefined)
      found.add(file, 'unresolved_install_variable', path, `${variable} was not replaced`);
  }
}

interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

function noteIssues(found: Found, file: string, issues: readonly Issue[]): void {
  for (const { path, message } of issues)
    found.add(file, 'invalid_document', pointer(...path.map(String)), message);
}

function manifestOf(found: Found, value: Json): Manifest | undefined {
  const parsed = Manifest.safeParse(value);
  if (parsed.success) return parsed.data;
  for (const { path, message } of parsed.error.issues) {
    const isNumber = path[0] === 'version' && message.includes('number');
    const more = isNumber ? { hint: 'Put the version in quotes: YAML reads 1.0 as a number.' } : {};
    found.add(manifestPath, 'invalid_document', pointer(...path.map(String)), message, more);
  }
  return undefined;
}

function documentOf(found: Found, file: string, value: Json): PackageDocument | undefined {
  const parsed = Envelope.safeParse(value);
  if (parsed.success) return { ...parsed.data, file };
  noteIssues(found, file, parsed.error.issues);
  return undefined;
}

const nameOf = ({ kind, key }: Pick<PackageDocument, 'kind' | 'key'>) => `${kind}/${key}`;

/** A package may declare settings only once, and each object only once. */
function noteRepeated(found: Found, documents: readonly PackageDocument[]): void {
  const seen = new Map<string, string>();
  for (const document of documents) {
    const name = document.kind === 'Settings' ? document.kind : nameOf(document);
    const first = seen.get(name);
    if (first === undefined) seen.set(name, document.file);
    else found.add(document.file, 'invalid_document', '/key', `${first} contains ${name} too`);
  }
}

function checkRenames(found: Found, { renames }: Manifest, documents: readonly PackageDocument[]): void {
  const there = new Set(documents.map(nameOf));
  const taken = new Set<string>();
  for (const [n, rename] of renames.entries()) {
    const fault = faultOfRename(rename, there, taken);
    if (fault !== undefined) found.add(manifestPath, 'invalid_document', `/renames/${n}`, fault);
    taken
      .add(nameOf({ kind: rename.kind, key: rename.from }))
      .add(nameOf({ kind: rename.kind, key: rename.to }));
  }
}

function faultOfRename(
  { kind, from, to }: Rename,
  there: ReadonlySet<string>,
  taken: ReadonlySet<string>,
): string | undefined {
  const [before, after] = [nameOf({ kind, key: from }), nameOf({ kind, key: to })];
  if (from === to) return 'must contain two different keys';
  if (taken.has(before) || taken.has(after)) return 'contains a key of another rename';
  if (there.has(before)) return `${before} is still a document of the package`;
  return there.has(after) ? undefined : `${after} is not a document of the package`;
}
