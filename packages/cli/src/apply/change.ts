import { isDeepStrictEqual } from 'node:util';
import type { BatonClient } from '@baton/sdk';
import type { Access } from '../access.ts';
import type { Attempt } from '../attempt-keys.ts';
import { PlainError } from '../plain-error.ts';
import { type Declared, isObject, type Problems } from './documents.ts';
import type { World } from './world.ts';
import { escapePointer, type JsonObject } from './yaml-documents.ts';

/** One field that differs. */
export interface FieldChange {
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** The change of one document. */
export interface Change {
  readonly document: Declared;
  readonly action: 'create' | 'change' | 'unchanged';
  readonly fields: readonly FieldChange[];
  /** Notes for people. */
  readonly note?: string;
  /**
   * Writes the change, based on the compared state.
   * @throws BatonError, also if the object has changed since the comparison; PlainError
   */
  carryOut(): Promise<void>;
}

/** The context of a plan. */
export interface Planning {
  readonly baton: BatonClient;
  readonly access: Access;
  /** Generates the idempotency keys. */
  readonly attempt: Attempt;
  readonly world: World;
  readonly problems: Problems;
  /** Everything that the files declare. */
  readonly declared: readonly Declared[];
}

export const unchanged = (document: Declared): Change => ({
  document,
  action: 'unchanged',
  fields: [],
  carryOut: () => Promise.resolve(),
});

/** The fields in which an object differs from its document; fields that the document omits are not compared. */
export function differences(wanted: JsonObject, current: JsonObject, at = ''): FieldChange[] {
  return Object.entries(wanted).flatMap(([name, after]) => {
    const before = current[name] ?? null;
    const path = `${at}/${escapePointer(name)}`;
    if (isSame(name, before, after)) return [];
    return isObject(after) && isObject(before) && mergedFields.has(name)
      ? differences(after, before, path)
      : [{ path, before, after }];
  });
}

/** Fields with objects whose single members can be changed: members that a document omits remain unchanged. */
const mergedFields = new Set(['customFields', 'settings', 'metadata', 'profile']);
const timeFields = new Set(['startDate', 'targetDate']);

function isSame(name: string, before: unknown, after: unknown): boolean {
  if (timeFields.has(name) && typeof before === 'string' && typeof after === 'string')
    return Date.parse(before) === Date.parse(after);
  return isDeepStrictEqual(before, after);
}

/** The members of a change for a PATCH; a merged object is sent whole, with its unchanged members. */
export function buildPatch(wanted: JsonObject, current: JsonObject): JsonObject {
  const changed = Object.entries(wanted).filter(
    ([name, after]) => differences({ [name]: after }, current).length > 0,
  );
  return Object.fromEntries(
    changed.map(([name, after]) => {
      const before = current[name];
      const isMerged = mergedFields.has(name) && isObject(after) && isObject(before);
      return [name, isMerged ? { ...before, ...after } : after];
    }),
  );
}

/**
 * The service numbers versions. A skipped number is another version, which somebody published since the comparison.
 * @param base the compared version, 0 for none @param written the version that the service assigned
 * @throws PlainError
 */
export function refuseSkippedVersion({ kind, key }: Declared, base: number, written: number): void {
  if (written > base + 1)
    throw new PlainError(
      `Somebody else published ${kind} ${key} at the same moment: theirs is version ${base + 1}, yours is version ${written} and applies. Compare them.`,
    );
}

/** Whether a stored value contains all members of a document's value: the service adds defaults for omitted fields. */
export function holds(whole: unknown, part: unknown): boolean {
  if (Array.isArray(part))
    return (
      Array.isArray(whole) && whole.length === part.length && part.every((one, n) => holds(whole[n], one))
    );
  if (!isObject(part)) return isDeepStrictEqual(whole, part);
  return isObject(whole) && Object.entries(part).every(([name, member]) => holds(whole[name], member));
}
