import { setImmediate as nextTurn } from 'node:timers/promises';
import type { WorkingCalendar } from '@baton/process-engine/calendars/working-calendar';
import { takeInput } from '@baton/process-engine/engine/engine';
import { type EngineTools, ProcessFault } from '@baton/process-engine/engine/machine';
import type { Deadline, ProcessState } from '@baton/process-engine/engine/state';
import type { ProcessSpec } from '@baton/process-engine/language/definition';
import { findSeenRows } from '../../../service/sight/seen-list.ts';
import { viewerOf } from '../../../service/sight/sight.ts';
import type { Context } from '../../context.ts';
import { calendarsOf, migrationTarget, preparedOf, toolsOf, useDefinition } from '../definitions-in-use.ts';
import { findState, listOfReplayed } from './replay.sql.ts';

/** How a migration would change deadlines, computed without writing anything (docs/reference/packages.md#plan). */

/** The maximum number of instances; the definition's newest ones are used. */
export const predictedMax = 200;
/** Maximum time for one instance, because other work has to wait in the meantime. */
const instanceMsMax = 60;

/** Thrown if an instance takes too long: its deadlines are omitted. */
class TooSlow extends Error {}

export interface MovedDeadline {
  readonly instanceId: string;
  /** The due time after the migration. */
  readonly dueAt: string;
}

interface Question {
  readonly key: string;
  /** The parsed and validated candidate. */
  readonly spec: ProcessSpec;
  /** Versions whose instances would migrate to the candidate. */
  readonly versions: readonly number[];
  /** The time, as measured by `performance.now()`, after which no further instance is started. */
  readonly untilMs: number;
}

/**
 * The deadlines of instances, and of their open steps, that a candidate would move. Instances that the caller doesn't
 * see, and those that could not migrate, are omitted. Call it outside a transaction.
 */
export async function predictDeadlines(
  context: Context,
  { key, spec, versions, untilMs }: Question,
): Promise<MovedDeadline[]> {
  if (versions.length === 0) return [];
  const { db, tenantId, settings } = context;
  const page = { limit: predictedMax, cursor: undefined };
  const rows = await findSeenRows(db, await viewerOf(context), listOfReplayed(tenantId, key), page);
  const prepared = preparedOf(key, spec);
  const calendars: ReadonlyMap<string, WorkingCalendar> = await calendarsOf(context, prepared);
  let endsAtMs = 0;
  const tools: EngineTools = toolsOf(prepared, calendars, settings.CP_CEL_COST_LIMIT, () => {
    if (performance.now() > endsAtMs) throw new TooSlow();
  });
  const candidate = { definition: prepared.definition, tools };
  const targets = new Map<number, typeof candidate>();
  const at = new Date().toISOString();
  const moved: MovedDeadline[] = [];
  for (const { id, definition_version: version, status } of rows.slice(0, predictedMax)) {
    if (performance.now() > untilMs) break;
    const isOpen = status === 'running' || status === 'suspended';
    const map = spec.migrations.find(({ from }) => from === version)?.map ?? {};
    if (!isOpen || !versions.includes(version)) continue;
    const from = (await useDefinition(context, key, version)).definition;
    const target = targets.get(version) ?? migrationTarget(from, candidate, map);
    targets.set(version, target);
    const state = (await db.row(findState(tenantId, id)))?.state;
    endsAtMs = performance.now() + instanceMsMax;
    const input = { kind: 'migrate', at, fromVersion: version, toVersion: spec.version } as const;
    const next = state && tried(() => takeInput(target.definition, state, input, target.tools).state);
    if (state !== undefined && next !== undefined)
      moved.push(...movedBetween(state, next).map((dueAt) => ({ instanceId: id, dueAt })));
    await nextTurn();
  }
  return moved;
}

function tried(work: () => ProcessState): ProcessState | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof ProcessFault || error instanceof TooSlow) return undefined;
    throw error;
  }
}

/** The new due times of deadlines that existed before and have moved. */
function movedBetween(before: ProcessState, now: ProcessState): string[] {
  const known = deadlinesOf(before);
  return [...deadlinesOf(now)].flatMap(([activity, due]) => {
    const earlier = known.get(activity);
    if (earlier === undefined || due.dueAt === null || earlier.dueAt === due.dueAt) return [];
    return [due.dueAt];
  });
}

function deadlinesOf({ id, due, nodes }: ProcessState): Map<string, Deadline> {
  const found = new Map<string, Deadline>();
  if (due !== null) found.set(id, due);
  for (const node of Object.values(nodes))
    if (node.kind === 'element' && node.due !== null) found.set(node.activityId, node.due);
  return found;
}
