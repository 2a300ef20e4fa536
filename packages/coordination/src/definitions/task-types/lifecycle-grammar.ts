import type { Json, JsonObject } from '@baton/kernel/wire';
import { checkDocument } from '../../service/documents.ts';
import { fail } from '../errors.ts';
import {
  type Lifecycle,
  movesFrom,
  type StatusCategory,
  statusCategories,
  statusesMax,
  statusKeyCharactersMax,
  statusNameCharactersMax,
} from './lifecycle.ts';

const field = 'lifecycleSchema';

/**
 * Parses the lifecycle of a task type (core, section 7.3) and fills in what may be left out: names of statuses, moves, and
 * the completion status where only one is possible.
 * @throws Refusal `invalid_lifecycle_schema` with the path of the defect, `payload_too_large`, `payload_too_deep`
 */
export function parseLifecycle(sent: unknown): Lifecycle {
  if (!isObject(sent)) return defect('', 'must be an object');
  checkDocument(sent, { field });
  refuseOthers(sent, '', [
    'statuses',
    'initialStatus',
    'transitions',
    'claimStatus',
    'releaseStatus',
    'completionStatus',
  ]);
  const statuses = statusesOf(sent['statuses']);
  const known = new Map(statuses.map(({ key, category }) => [key, category]));
  // A task that begins done would never be completed, nor its checks looked at.
  const initialStatus = openStatus(known, sent['initialStatus'], '/initialStatus');
  const transitions = transitionsOf(known, sent['transitions'] ?? []);
  return {
    statuses,
    initialStatus,
    transitions,
    ...optionalStatus(known, sent, 'claimStatus'),
    ...optionalStatus(known, sent, 'releaseStatus'),
    completionStatus: completionOf(known, sent['completionStatus']),
  };
}

function statusesOf(sent: Json | undefined): Lifecycle['statuses'] {
  const path = '/statuses';
  if (!Array.isArray(sent) || sent.length === 0 || sent.length > statusesMax)
    return defect(path, `must be a list of 1 to ${statusesMax} statuses`);
  const keys = new Set<string>();
  return sent.map((status, index) => {
    const at = `${path}/${index}`;
    if (!isObject(status)) return defect(at, 'must be an object');
    refuseOthers(status, at, ['key', 'category', 'displayName']);
    const key = textOf(status['key'], `${at}/key`, statusKeyCharactersMax);
    if (keys.has(key)) defect(`${at}/key`, 'must be a key that no other status has');
    keys.add(key);
    const category = status['category'] as StatusCategory;
    if (!statusCategories.includes(category))
      defect(`${at}/category`, `must be one of ${statusCategories.join(', ')}`);
    const displayName = textOf(status['displayName'] ?? key, `${at}/displayName`, statusNameCharactersMax);
    return { key, category, displayName };
  });
}

function transitionsOf(known: KnownStatuses, sent: Json): Lifecycle['transitions'] {
  const path = '/transitions';
  if (!Array.isArray(sent)) return defect(path, 'must be a list');
  const starts = new Set<string>();
  return sent.map((transition, index) => {
    const at = `${path}/${index}`;
    if (!isObject(transition)) return defect(at, 'must be an object');
    refuseOthers(transition, at, ['from', 'to']);
    const from = declared(known, transition['from'], `${at}/from`);
    if (starts.has(from)) defect(`${at}/from`, 'must be a status that no other transition starts from');
    starts.add(from);
    const { to } = transition;
    if (!Array.isArray(to) || to.length > statusesMax)
      return defect(`${at}/to`, `must be a list of at most ${statusesMax} statuses`);
    // A move that is named twice is one move.
    return { from, to: [...new Set(to.map((key, n) => declared(known, key, `${at}/to/${n}`)))] };
  });
}

type KnownStatuses = ReadonlyMap<string, StatusCategory>;

function declared(known: KnownStatuses, key: Json | undefined, path: string): string {
  return typeof key === 'string' && known.has(key) ? key : defect(path, 'must be the key of a status');
}

function optionalStatus(known: KnownStatuses, sent: JsonObject, name: 'claimStatus' | 'releaseStatus') {
  const given = sent[name];
  return given === undefined || given === null ? {} : { [name]: openStatus(known, given, `/${name}`) };
}

function openStatus(known: KnownStatuses, sent: Json | undefined, path: string): string {
  const key = declared(known, sent, path);
  if (known.get(key)?.startsWith('terminal_')) defect(path, 'must be a status that is not terminal');
  return key;
}

function completionOf(known: KnownStatuses, sent: Json | undefined): string {
  const path = '/completionStatus';
  const successes = [...known].filter(([, category]) => category === 'terminal_success').map(([key]) => key);
  if (sent === undefined || sent === null) {
    const [only, another] = successes;
    if (only === undefined || another !== undefined)
      return defect(path, 'must be named unless there is exactly one status of category terminal_success');
    return only;
  }
  const key = declared(known, sent, path);
  if (!successes.includes(key)) defect(path, 'must be a status of category terminal_success');
  return key;
}

function textOf(sent: Json | undefined, path: string, charactersMax: number): string {
  if (typeof sent === 'string' && sent.length > 0 && sent.length <= charactersMax) return sent;
  return defect(path, `must be a text of 1 to ${charactersMax} characters`);
}

function refuseOthers(object: JsonObject, path: string, names: readonly string[]): void {
  const other = Object.keys(object).find((name) => !names.includes(name));
  if (other !== undefined) defect(`${path}/${other.slice(0, 100).toWellFormed()}`, 'is not a part of it');
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function defect(path: string, message: string): never {
  return fail('invalid_lifecycle_schema', { field, path, message });
}

/** What claims and releases do to a task's status: columns of the type, which the claim statement reads. */
export interface ClaimMoves {
  claimStatus: string | null;
  claimCategory: StatusCategory | null;
  /** The statuses that a claim moves a task from. */
  claimFrom: string[];
  /** Null unless the claim status leads to it: a release moves a task along a declared edge or not at all. */
  releaseStatus: string | null;
  releaseCategory: StatusCategory | null;
}

export function claimMovesOf(lifecycle: Lifecycle): ClaimMoves {
  const { claimStatus = null, releaseStatus: declaredRelease } = lifecycle;
  const categoryOf = (key: string | null) =>
    lifecycle.statuses.find((status) => status.key === key)?.category ?? null;
  const isReached =
    claimStatus !== null &&
    declaredRelease !== undefined &&
    movesFrom(lifecycle, claimStatus).includes(declaredRelease);
  const releaseStatus = isReached ? declaredRelease : null;
  const claimFrom = lifecycle.statuses
    .map(({ key }) => key)
    .filter((key) => claimStatus !== null && movesFrom(lifecycle, key).includes(claimStatus));
  return {
    claimStatus,
    claimCategory: categoryOf(claimStatus),
    claimFrom,
    releaseStatus,
    releaseCategory: categoryOf(releaseStatus),
  };
}
