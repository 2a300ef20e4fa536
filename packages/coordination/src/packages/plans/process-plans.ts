import type { ProcessSpec } from '@baton/process-engine/language/definition';
import { elementsOf } from '@baton/process-engine/language/elements';
import { findEarlierVersion } from '../../processes/definitions/declared-migrations.ts';
import { getDefinitionRow } from '../../processes/definitions/definitions.ts';
import { predictDeadlinesInTurn, replayAllInTurn } from '../../processes/instances/replay/candidate.ts';
import { openInstancesOf } from '../../processes/triggers/triggers.ts';
import { holds } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { type Change, isWriting } from './changes.ts';
import type { PackagePlan, PlannedProcess } from './plan.ts';

/** The maximum number of versions with open instances per process. */
const versionsToldMax = 20;

/** The maximum number of listed diverging instances per process. */
const divergedToldMax = 20;

/** The maximum number of deadlines per process. */
const deadlinesMax = 200;

const unreplayed: PlannedProcess['behaviour'] = { replayed: 0, diverged: 0, instanceIds: [] };

/** The effect of process changes on running instances (docs/reference/packages.md#plan). */
export async function planProcesses(context: Context, changes: readonly Change[]): Promise<PlannedProcess[]> {
  const planned: PlannedProcess[] = [];
  for (const change of changes.filter(isOfProcess)) planned.push(await planProcess(context, change));
  return planned;
}

const isOfProcess = (change: Change) => change.kind === 'Process' && isWriting(change);

/**
 * Replays instances of the changed processes with the definitions of a package, for 5 s in all.
 * The result omits instances for a caller without processes.read. Call it outside any transaction.
 * @param limit the number of newest instances of each process
 * @throws Refusal 503 `unavailable` if too many requests wait
 */
export async function replayProcesses(
  context: Context,
  changes: readonly Change[],
  processes: readonly PlannedProcess[],
  limit: number,
): Promise<PlannedProcess[]> {
  if (!holds(context.caller.permissions, 'processes.read')) return [...processes];
  const candidates = candidatesOf(changes);
  const results = await replayAllInTurn(context, candidates, limit);
  const behaviours = new Map(
    results.map(({ replayed, diverged, instances }, n) => {
      const instanceIds = instances.filter(({ result }) => result === 'diverged').map(({ id }) => id);
      return [candidates[n]?.of, { replayed, diverged, instanceIds: instanceIds.slice(0, divergedToldMax) }];
    }),
  );
  return processes.map((one) => ({ ...one, behaviour: behaviours.get(one.key) ?? unreplayed }));
}

/** Versions with open instances, and the effect of the plan on each. */
function candidatesOf(changes: readonly Change[]) {
  return changes
    .filter(isOfProcess)
    .flatMap(({ key, world, written }) =>
      world?.id == null || written === undefined
        ? []
        : [{ of: key, key: world.key, spec: written as unknown as ProcessSpec }],
    );
}

/**
 * Adds the deadlines that move when instances migrate to a new version: those of the newest instances of each process,
 * within 1 s in all. The result omits instances for a caller without processes.read. Call it outside any transaction.
 * @throws Refusal 503 `unavailable` if too many requests wait
 */
export async function predictProcessDeadlines(
  context: Context,
  changes: readonly Change[],
  processes: readonly PlannedProcess[],
): Promise<PlannedProcess[]> {
  if (!holds(context.caller.permissions, 'processes.read')) return [...processes];
  const candidates = candidatesOf(changes).map((candidate) => {
    const instances = processes.find(({ key }) => key === candidate.of)?.instances ?? [];
    const versions = instances.flatMap(({ version, fate }) => (fate === 'migrate' ? [version] : []));
    return { ...candidate, versions };
  });
  const found = await predictDeadlinesInTurn(context, candidates);
  const moved = new Map(candidates.map(({ of }, n) => [of, found[n] ?? []]));
  return processes.map((one) => {
    const deadlines = moved.get(one.key) ?? [];
    return { ...one, deadlines: deadlines.slice(0, deadlinesMax), deadlinesTotal: deadlines.length };
  });
}

async function planProcess(
  context: Context,
  { key, world, written, renamedFrom }: Change,
): Promise<PlannedProcess> {
  const spec = written as unknown as ProcessSpec | undefined;
  const open = world?.id == null ? [] : await openInstancesOf(context, world.key);
  const instances: PlannedProcess['instances'] = [];
  for (const { version, openInstances } of open.slice(0, versionsToldMax))
    instances.push({
      version,
      open: openInstances,
      ...(await fateOf(context, world?.key as string, version, spec)),
    });
  return {
    key,
    fromVersion: renamedFrom === null ? (world?.version ?? null) : null,
    toVersion: spec?.version ?? null,
    behaviour: unreplayed,
    instances,
    deadlines: [],
    deadlinesTotal: 0,
  };
}

/**
 * Instances continue with the version that they started with, unless the new one migrates them, which it can't do for a
 * version that the caller doesn't see. If the new version removes an element or changes its kind, its `migrations` must
 * list the instances' version.
 */
async function fateOf(
  context: Context,
  key: string,
  version: number,
  spec: ProcessSpec | undefined,
): Promise<Pick<PlannedProcess['instances'][number], 'fate' | 'migrationRequired'>> {
  if (spec === undefined) return { fate: 'pin', migrationRequired: false };
  if (spec.version === version) return { fate: 'unaffected', migrationRequired: false };
  const rule = spec.migrations.find(({ from, to }) => from === version && to === spec.version);
  if (rule?.policy === 'migrate') {
    const isSeen = (await findEarlierVersion(context, key, version)) !== undefined;
    return { fate: isSeen ? 'migrate' : 'pin', migrationRequired: false };
  }
  if (rule !== undefined) return { fate: 'pin', migrationRequired: false };
  const before = await getDefinitionRow(context, key, version);
  const kinds = new Map([...elementsOf(spec)].map(({ id, kind }) => [id, kind]));
  const migrationRequired = [...elementsOf(before.spec)].some(({ id, kind }) => kinds.get(id) !== kind);
  return { fate: 'pin', migrationRequired };
}

/** The documents that govern the processes of a package. */
export function coverageOf(changes: readonly Change[]): PackagePlan['regulationCoverage'] {
  const byDocument = new Map<string, string[]>();
  for (const { kind, key, written } of changes) {
    if (kind !== 'Process' || written === undefined) continue;
    for (const document of (written as unknown as ProcessSpec).governedBy ?? [])
      byDocument.set(document, [...(byDocument.get(document) ?? []), key]);
  }
  return [...byDocument].map(([document, processes]) => ({ document, processes }));
}
