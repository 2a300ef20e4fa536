import type { Json, JsonObject } from '@baton/values/wire';
import {
  isObject,
  movesFrom,
  refuseLifecycle,
  refuseOthers,
  requireStatusKey,
  statusesMax,
  statusesOf,
  transitionsOf,
} from '../../organisation/status-graph.ts';
import { checkDocument } from '../../service/documents.ts';
import { type Lifecycle, type StatusCategory, statusCategories } from './lifecycle.ts';

const field = 'lifecycleSchema';

/**
 * Parses the lifecycle of a task type (docs/reference/definitions.md#lifecycle) and fills in the defaults: names of
 * statuses, transitions, and the completion status if only one is possible.
 * @throws Refusal `invalid_lifecycle_schema` with the path of the defect, `payload_too_large`, `payload_too_deep`
 */
export function parseLifecycle(sent: unknown): Lifecycle {
  if (!isObject(sent)) return refuseLifecycle('', 'must be an object');
  checkDocument(sent, { field });
  refuseOthers(sent, '', [
    'statuses',
    'initialStatus',
    'transitions',
    'claimStatus',
    'releaseStatus',
    'claimFrom',
    'completionStatus',
  ]);
  const statuses = statusesOf(sent['statuses'], statusCategories);
  const known = new Map(statuses.map(({ key, category }) => [key, category]));
  // A task with a terminal initial status would never be completed, and its checks would never be evaluated.
  const initialStatus = openStatus(known, sent['initialStatus'], '/initialStatus');
  const transitions = transitionsOf(known, sent['transitions'] ?? []);
  return {
    statuses,
    initialStatus,
    transitions,
    ...optionalStatus(known, sent, 'claimStatus'),
    ...optionalStatus(known, sent, 'releaseStatus'),
    ...claimableBlocked(known, sent['claimFrom']),
    completionStatus: completionOf(known, sent['completionStatus']),
  };
}

type KnownStatuses = ReadonlyMap<string, StatusCategory>;

function optionalStatus(known: KnownStatuses, sent: JsonObject, name: 'claimStatus' | 'releaseStatus') {
  const given = sent[name];
  return given === undefined || given === null ? {} : { [name]: openStatus(known, given, `/${name}`) };
}

function claimableBlocked(known: KnownStatuses, sent: Json | undefined): { claimFrom?: string[] } {
  const path = '/claimFrom';
  if (sent === undefined || sent === null) return {};
  if (!Array.isArray(sent) || sent.length > statusesMax)
    return refuseLifecycle(path, `must be a list of at most ${statusesMax} statuses`);
  const keys = sent.map((key, index) => {
    const named = requireStatusKey(known, key, `${path}/${index}`);
    if (known.get(named) !== 'blocked')
      refuseLifecycle(
        `${path}/${index}`,
        'must be a status of category blocked: a claim may start from every other open status',
      );
    return named;
  });
  return { claimFrom: [...new Set(keys)] };
}

function openStatus(known: KnownStatuses, sent: Json | undefined, path: string): string {
  const key = requireStatusKey(known, sent, path);
  if (known.get(key)?.startsWith('terminal_')) refuseLifecycle(path, 'must be a status that is not terminal');
  return key;
}

function completionOf(known: KnownStatuses, sent: Json | undefined): string {
  const path = '/completionStatus';
  const successes = [...known].filter(([, category]) => category === 'terminal_success').map(([key]) => key);
  if (sent === undefined || sent === null) {
    const [only, another] = successes;
    if (only === undefined || another !== undefined)
      return refuseLifecycle(
        path,
        'must be specified unless there is exactly one status of category terminal_success',
      );
    return only;
  }
  const key = requireStatusKey(known, sent, path);
  if (!successes.includes(key)) refuseLifecycle(path, 'must be a status of category terminal_success');
  return key;
}

/** The effect of claims and releases on a task's status: columns of the type that the claim statement reads. */
export interface ClaimMoves {
  claimStatus: string | null;
  claimCategory: StatusCategory | null;
  /** The statuses from which a claim moves a task. */
  claimFrom: string[];
  /**
   * The status to which a release moves the task; null unless a transition to it from the claim status is declared,
   * because a release only follows declared transitions.
   */
  releaseStatus: string | null;
  releaseCategory: StatusCategory | null;
  /** The statuses of category blocked in which a task may be claimed. */
  claimableBlocked: string[];
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
    claimableBlocked: lifecycle.claimFrom ?? [],
  };
}
