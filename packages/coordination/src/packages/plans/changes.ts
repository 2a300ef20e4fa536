import { createHash } from 'node:crypto';
import { pointer } from '@baton/process-engine/language/problems';
import { canonicalJson } from '@baton/values/canonical-json';
import type { Json, JsonObject } from '@baton/values/wire';
import type { ObjectKind, Rename } from '../source/package-source.ts';
import type { PlannedChange, PlannedField } from './plan.ts';
import type { WorldRow } from './world.sql.ts';

/**
 * The changes of a package version (docs/reference/packages.md#plan), computed by pure functions so that a plan and its
 * apply agree.
 */

/** The desired state of an object, from its document. */
export interface Desired {
  readonly kind: ObjectKind;
  readonly key: string;
  readonly file: string;
  /** The body of the POST that creates the object, with defaults for omitted members. */
  readonly spec: JsonObject;
  readonly hash: string;
}

/** One change, with the data needed to apply it. */
export interface Change extends Omit<PlannedChange, 'fields'> {
  readonly fields: readonly ChangedField[];
  /** The document; undefined for an object that is retired. */
  readonly desired: Desired | undefined;
  /** The current object (for a renamed one, under its old key); its package is null unless it is this package. */
  readonly world: WorldRow | undefined;
  /** The document to write, including the fields that people have changed. */
  readonly written: JsonObject | undefined;
}

interface ChangedField {
  readonly name: string;
  readonly before: Json;
  readonly after: Json;
  readonly owner: PlannedField['owner'];
  readonly applies: boolean;
}

export const nameOf = (kind: string, key: string): string => `${kind}/${key}`;

/**
 * The row as the package sees it: documents of another package, and objects created under a key after the package had
 * removed it, don't belong to it.
 */
function seenBy(packageKey: string, row: WorldRow): WorldRow {
  const isMadeSince = row.retired_by_package_at !== null && row.status === 'active';
  if (row.package_key === packageKey && !isMadeSince) return row;
  return { ...row, package_key: null, applied_by: null, said: null, was: null };
}

/**
 * @param all every object that the package refers to or owns
 * @yields after each document
 * @returns in the order of kinds and keys
 */
export function* computeChanges(
  packageKey: string,
  desired: readonly Desired[],
  {
    renames,
    overwriteConsole,
    kept,
  }: {
    readonly renames: readonly Rename[];
    readonly overwriteConsole: boolean;
    /** Names of objects that stay unchanged because their documents have problems or the caller may not see them. */
    readonly kept: ReadonlySet<string>;
  },
  all: readonly WorldRow[],
): Generator<void, Change[]> {
  const world = all.map((row) => seenBy(packageKey, row));
  const rows = new Map(world.map((row) => [nameOf(row.kind, row.key), row]));
  const moved = new Map(
    renames.flatMap(({ kind, from, to }) => {
      const [before, after] = [rows.get(nameOf(kind, from)), rows.get(nameOf(kind, to))];
      const isOwn = before?.package_key === packageKey && before.status === 'active';
      return isOwn && after?.status !== 'active' ? [[nameOf(kind, to), before] as const] : [];
    }),
  );
  const wanted = new Set(desired.map(({ kind, key }) => nameOf(kind, key)));
  const movedAway = new Set([...moved.values()].map(({ kind, key }) => nameOf(kind, key)));
  const changes: Change[] = [];
  for (const one of desired) {
    const name = nameOf(one.kind, one.key);
    changes.push(changeOf(packageKey, one, rows.get(name), moved.get(name), overwriteConsole));
    yield;
  }
  const retired = world.filter(
    (row) =>
      row.package_key === packageKey &&
      row.applied_by === 'apply' &&
      row.status === 'active' &&
      ![wanted, movedAway, kept].some((names) => names.has(nameOf(row.kind, row.key))),
  );
  return [...changes, ...retired.map(retirementOf)].sort((a, b) =>
    compared(nameOf(a.kind, a.key), nameOf(b.kind, b.key)),
  );
}

const compared = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Whether the plan writes anything. */
export const isWriting = ({ action }: Pick<Change, 'action'>): boolean => action !== 'unchanged';

function retirementOf(world: WorldRow): Change {
  const { kind, key, versions } = world;
  return {
    kind,
    key,
    action: 'retire',
    renamedFrom: null,
    fields: [],
    deprecates: versions ?? [],
    desired: undefined,
    world,
    written: undefined,
  };
}

function changeOf(
  packageKey: string,
  desired: Desired,
  own: WorldRow | undefined,
  moved: WorldRow | undefined,
  overwriteConsole: boolean,
): Change {
  const world = moved ?? own;
  const fields = fieldsOf(packageKey, desired, world, overwriteConsole);
  const action = actionOf(fields, world, moved, own);
  const left = new Map(fields.filter(({ applies }) => !applies).map(({ name, before }) => [name, before]));
  const written = Object.fromEntries(
    [...new Set([...Object.keys(desired.spec), ...left.keys()])].flatMap((name) => {
      const value = left.has(name) ? left.get(name) : desired.spec[name];
      return value === undefined || value === null ? [] : [[name, value]];
    }),
  );
  const { kind, key } = desired;
  const isNewVersion = kind === 'TaskType' && action !== 'unchanged';
  return {
    kind,
    key,
    action,
    renamedFrom: moved?.key ?? null,
    fields,
    deprecates: isNewVersion ? (world?.versions ?? []) : [],
    desired,
    world,
    written,
  };
}

function actionOf(
  fields: readonly ChangedField[],
  world: WorldRow | undefined,
  moved: WorldRow | undefined,
  own: WorldRow | undefined,
): PlannedChange['action'] {
  if (moved !== undefined) return 'rename';
  if (world === undefined || world.id === null)
    return own?.retired_by_package_at == null ? 'create' : 'restore';
  if (world.status === 'retired') return 'restore';
  return fields.some(({ applies }) => applies) ? 'update' : 'unchanged';
}

/** Kinds that consist of one document: a version is replaced or preserved as a whole. */
const wholeKinds: readonly ObjectKind[] = ['Process'];

function fieldsOf(
  packageKey: string,
  { kind, spec }: Desired,
  world: WorldRow | undefined,
  overwriteConsole: boolean,
): ChangedField[] {
  const state = world?.state ?? {};
  const isOwn = world?.package_key === packageKey;
  const [said, was] = isOwn ? [world.said, world.was] : [null, null];
  const names = [...new Set([...Object.keys(spec), ...Object.keys(said ?? {}), ...Object.keys(state)])].sort(
    compared,
  );
  const fields = names.flatMap((name): ChangedField[] => {
    const [before, after] = [state[name] ?? null, spec[name] ?? null];
    if (world?.id == null)
      return after === null ? [] : [{ name, before: null, after, owner: 'package', applies: true }];
    if (isSame(before, after)) return [];
    if (said === null || was === null) {
      const owner = isOwn ? 'package' : 'console';
      return [{ name, before, after, owner, applies: isOwn || overwriteConsole }];
    }
    const isSaidAnew = !isSame(after, said[name] ?? null);
    const isMoved = !isSame(before, was[name] ?? null);
    if (!isSaidAnew && !isMoved) return [];
    return [
      { name, before, after, owner: isMoved ? 'console' : 'package', applies: !isMoved || overwriteConsole },
    ];
  });
  const isLeftWhole =
    wholeKinds.includes(kind) && fields.some(({ owner, applies }) => owner === 'console' && !applies);
  return isLeftWhole ? fields.map((field) => ({ ...field, owner: 'console', applies: false })) : fields;
}

function isSame(a: Json, b: Json): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

/**
 * The recorded state of an object after an apply, which the next plan compares.
 * @param state the current object
 */
export function wasOf({ fields, desired, world }: Change, state: JsonObject): JsonObject {
  const left = fields.filter(({ applies }) => !applies);
  const before = world?.was ?? {};
  return {
    ...state,
    ...Object.fromEntries(left.map(({ name }) => [name, before[name] ?? desired?.spec[name] ?? null])),
  };
}

const shownBytesMax = 2048;
const allShownBytesMax = 1_048_576;

/**
 * Changes in the format of the response. A long value is replaced by its hash, and so are all values after the first 1
 * MiB.
 */
export function* renderChanges(changes: readonly Change[]): Generator<void, PlannedChange[]> {
  let left = allShownBytesMax;
  const shown = (value: Json): Json => {
    const text = canonicalJson(value);
    const bytes = Buffer.byteLength(text);
    if (bytes <= shownBytesMax && bytes <= left) {
      left -= bytes;
      return value;
    }
    return { sha256: createHash('sha256').update(text).digest('hex'), bytes };
  };
  const all: PlannedChange[] = [];
  for (const { kind, key, action, renamedFrom, fields, deprecates } of changes) {
    const told = fields.map(({ name, before, after, owner, applies }) => ({
      path: pointer(name),
      before: shown(before),
      after: shown(after),
      owner,
      applies,
    }));
    all.push({ kind, key, action, renamedFrom, fields: told, deprecates: [...deprecates] });
    yield;
  }
  return all;
}
