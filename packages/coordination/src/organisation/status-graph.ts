import type { Json, JsonObject } from '@baton/values/wire';
import { fail } from './errors.ts';

/**
 * The grammar shared by the lifecycles of task types (docs/reference/definitions.md#lifecycle) and of projects
 * (docs/reference/projects.md#lifecycle): statuses with a category, and the transitions between them. Each check
 * refuses an invalid lifecycle with `invalid_lifecycle_schema` and the path of the problem.
 */

const field = 'lifecycleSchema';
export const statusesMax = 100;
export const statusKeyCharactersMax = 64;
export const statusNameCharactersMax = 200;

export interface GraphStatus<Category extends string> {
  readonly key: string;
  readonly category: Category;
  readonly displayName: string;
}

export interface GraphTransition {
  readonly from: string;
  readonly to: string[];
}

/** @throws Refusal `invalid_lifecycle_schema` */
export function statusesOf<Category extends string>(
  sent: Json | undefined,
  categories: readonly Category[],
): { key: string; category: Category; displayName: string }[] {
  const path = '/statuses';
  if (!Array.isArray(sent) || sent.length === 0 || sent.length > statusesMax)
    return refuseLifecycle(path, `must be a list of 1 to ${statusesMax} statuses`);
  const keys = new Set<string>();
  return sent.map((status, index) => {
    const at = `${path}/${index}`;
    if (!isObject(status)) return refuseLifecycle(at, 'must be an object');
    refuseOthers(status, at, ['key', 'category', 'displayName']);
    const key = requireText(status['key'], `${at}/key`, statusKeyCharactersMax);
    if (keys.has(key)) refuseLifecycle(`${at}/key`, 'must be a key that no other status uses');
    keys.add(key);
    const category = status['category'] as Category;
    if (!categories.includes(category))
      refuseLifecycle(`${at}/category`, `must be one of ${categories.join(', ')}`);
    const displayName = requireText(
      status['displayName'] ?? key,
      `${at}/displayName`,
      statusNameCharactersMax,
    );
    return { key, category, displayName };
  });
}

type KnownStatuses = ReadonlyMap<string, string>;

/** @throws Refusal `invalid_lifecycle_schema` */
export function transitionsOf(known: KnownStatuses, sent: Json): GraphTransition[] {
  const path = '/transitions';
  if (!Array.isArray(sent)) return refuseLifecycle(path, 'must be a list');
  const starts = new Set<string>();
  return sent.map((transition, index) => {
    const at = `${path}/${index}`;
    if (!isObject(transition)) return refuseLifecycle(at, 'must be an object');
    refuseOthers(transition, at, ['from', 'to']);
    const from = requireStatusKey(known, transition['from'], `${at}/from`);
    if (starts.has(from))
      refuseLifecycle(`${at}/from`, 'must be a status from which no other transition starts');
    starts.add(from);
    const { to } = transition;
    if (!Array.isArray(to) || to.length > statusesMax)
      return refuseLifecycle(`${at}/to`, `must be a list of at most ${statusesMax} statuses`);
    // Duplicate transitions count once.
    return { from, to: [...new Set(to.map((key, n) => requireStatusKey(known, key, `${at}/to/${n}`)))] };
  });
}

/** @throws Refusal `invalid_lifecycle_schema` */
export function requireStatusKey(known: KnownStatuses, key: Json | undefined, path: string): string {
  return typeof key === 'string' && known.has(key)
    ? key
    : refuseLifecycle(path, 'must be the key of a status');
}

function requireText(sent: Json | undefined, path: string, charactersMax: number): string {
  if (typeof sent === 'string' && sent.length > 0 && sent.length <= charactersMax) return sent;
  return refuseLifecycle(path, `must be a text of 1 to ${charactersMax} characters`);
}

/** @throws Refusal `invalid_lifecycle_schema` */
export function refuseOthers(object: JsonObject, path: string, names: readonly string[]): void {
  const other = Object.keys(object).find((name) => !names.includes(name));
  if (other !== undefined)
    refuseLifecycle(`${path}/${other.slice(0, 100).toWellFormed()}`, 'is not a known field');
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function refuseLifecycle(path: string, message: string): never {
  return fail('invalid_lifecycle_schema', { field, path, message });
}

/** The keys of the statuses that `status` may change to, in the declared order. */
export function movesFrom(
  { transitions }: { readonly transitions: readonly GraphTransition[] },
  status: string,
): readonly string[] {
  return transitions.find(({ from }) => from === status)?.to.filter((to) => to !== status) ?? [];
}

/** The status with that key, or undefined. */
export function findStatus<Status extends { readonly key: string }>(
  { statuses }: { readonly statuses: readonly Status[] },
  key: string,
): Status | undefined {
  return statuses.find((status) => status.key === key);
}
