import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { inSlices } from '@baton/kernel/limits/slices';
import type { WorkingCalendar } from '@baton/process-engine/calendars/working-calendar';
import type { ProcessSpec } from '@baton/process-engine/language/definition';
import { FreeObject, Uuid } from '@baton/values/wire';
import { findSeenRows } from '../../../service/sight/seen-list.ts';
import { viewerOf } from '../../../service/sight/sight.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { calendarsOf, preparedOf, toolsOf, useDefinition } from '../definitions-in-use.ts';
import { instanceStatuses, journalKinds } from '../instance.ts';
import {
  findLastLine,
  findRecordedLines,
  findReplayed,
  hasTakenUnseen,
  listOfReplayed,
  type ReplayedRow,
} from './replay.sql.ts';
import { type Candidate, type Line, type Replay, replayInstance } from './replay-instance.ts';

/** Replays instances with another definition, without writing anything (docs/reference/processes.md#replay). */

export const replayedMax = 200;
const divergencesMax = 10;
/** Limits for one instance's journal. */
const linesMax = 2000;
const charactersMax = 2_097_152;
/** Maximum time for one input, because other work has to wait in the meantime. */
const inputMsMax = 60;
/** Maximum time for a whole call; instances that have not been started by then are omitted. */
export const callMsMax = 5000;

export const ReplayedInstance = z
  .strictObject({
    id: Uuid,
    instanceKey: z.string(),
    version: z.int().positive(),
    status: z.enum(instanceStatuses),
    result: z.enum(['same', 'diverged', 'incomplete']),
    reason: z.enum(['not_recorded', 'too_long', 'too_slow', 'time_over']).nullable().meta({
      description:
        'The reason for an incomplete replay: the journal does not contain its inputs, or has more than 2,000 lines or 2 MiB; an input took longer than 60 ms, or the call longer than 5 s.',
    }),
    replayedStatus: z.enum(instanceStatuses).nullable(),
    divergences: z
      .array(
        z.strictObject({
          journalSeq: z.int().positive().meta({
            description: 'A line of its journal; if only the replay has the line, the line of the input.',
          }),
          kind: z.enum(journalKinds),
          element: z.string().nullable(),
          recorded: FreeObject.nullable(),
          replayed: FreeObject.nullable(),
        }),
      )
      .max(divergencesMax),
    divergencesTotal: z.int().nonnegative(),
  })
  .meta({ id: 'ReplayedInstance' });
export type ReplayedInstance = z.infer<typeof ReplayedInstance>;

export interface ReplayResult {
  readonly replayed: number;
  readonly diverged: number;
  readonly instances: ReplayedInstance[];
}

export interface ReplayQuestion {
  readonly key: string;
  /** The parsed and validated candidate. */
  readonly spec: ProcessSpec;
  readonly instanceIds?: readonly string[] | undefined;
  /** How many of the newest instances are replayed if no ids are given. */
  readonly limit: number;
  /** The time, as measured by `performance.now()`, after which no further instance is started. */
  readonly untilMs: number;
}

/**
 * Processes the recorded inputs of visible instances again with a candidate. Calendars are used in their current state.
 * Call it outside a transaction; it stops at the deadline in the request.
 * @throws Refusal `not_found` for an instance
 */
export async function replayDefinition(
  context: Context,
  { key, spec, instanceIds, limit, untilMs }: ReplayQuestion,
): Promise<ReplayResult> {
  const rows = await rowsOf(context, key, instanceIds, limit);
  const prepared = preparedOf(key, spec);
  const calendars = await calendarsOf(context, prepared);
  const candidate = { prepared, calendars, handlers: handlersTextOf(spec) };
  const instances: ReplayedInstance[] = [];
  for (const row of rows) {
    const found = performance.now() > untilMs ? 'time_over' : await replayOne(context, row, candidate);
    instances.push(shown(row, found));
    await nextTurn();
  }
  const countOf = (...results: ReplayedInstance['result'][]) =>
    instances.filter(({ result }) => results.includes(result)).length;
  return { replayed: countOf('same', 'diverged'), diverged: countOf('diverged'), instances };
}

async function rowsOf(
  context: Context,
  key: string,
  ids: readonly string[] | undefined,
  limit: number,
): Promise<ReplayedRow[]> {
  if (ids !== undefined) return namedRows(context, key, ids);
  const { db, tenantId } = context;
  const page = { limit, cursor: undefined };
  const rows = await findSeenRows(db, await viewerOf(context), listOfReplayed(tenantId, key), page);
  return rows.slice(0, limit);
}

/** @throws Refusal `not_found` for an instance that the caller doesn't see, or that belongs to another definition */
export async function namedRows(
  context: Context,
  key: string,
  ids: readonly string[],
): Promise<ReplayedRow[]> {
  const { db, tenantId } = context;
  const rows = await db.rows(findReplayed(tenantId, key, ids, await viewerOf(context)));
  const missing = ids.find((id) => rows.every((row) => row.id !== id));
  return missing === undefined ? rows : fail('not_found', { processInstanceId: missing });
}

interface Prepared {
  readonly prepared: ReturnType<typeof preparedOf>;
  readonly calendars: ReadonlyMap<string, WorkingCalendar>;
  readonly handlers: string;
}

type Reason = NonNullable<ReplayedInstance['reason']>;

class TooSlow extends Error {}

/**
 * The correlations and event handlers of a definition, as text for comparison: if they differ, recorded events are
 * correlated again.
 */
const handlersTextOf = ({ correlate, onEvent }: ProcessSpec) => JSON.stringify([correlate, onEvent]);

/** The versions that an instance has had, if it has had several. */
function versionsOf(lines: readonly Line[]): Set<number> {
  return new Set(
    lines.flatMap(({ input }) =>
      input?.taken.kind === 'migrate' ? [input.taken.fromVersion, input.taken.toVersion] : [],
    ),
  );
}

async function replayOne(
  context: Context,
  row: ReplayedRow,
  { prepared, calendars, handlers }: Prepared,
): Promise<Replay | Reason> {
  const { db, tenantId, settings } = context;
  const lines = await db.rows(findRecordedLines(tenantId, row.id, linesMax, charactersMax));
  const lastSeq = (await db.row(findLastLine(tenantId, row.id)))?.journal_seq ?? 0;
  if (lines.length < Math.min(lastSeq, linesMax + 1)) return 'too_long';
  const viewer = await viewerOf(context);
  // Otherwise, a caller who may not see an instance's inputs would see them in the candidate's results.
  if (viewer !== null && (await db.row(hasTakenUnseen(tenantId, row.id, viewer)))?.has === true)
    return 'not_recorded';
  const own = await useDefinition(context, row.definition_key, row.definition_version);
  let endsAtMs = 0;
  const check = () => {
    if (performance.now() > endsAtMs) throw new TooSlow();
  };
  const tools = toolsOf(prepared, calendars, settings.CP_CEL_COST_LIMIT, check);
  const earlier = new Map<number, Pick<Candidate, 'definition' | 'tools'>>();
  for (const version of versionsOf(lines)) {
    const use = await useDefinition(context, row.definition_key, version);
    const known = await calendarsOf(context, use);
    const { definition } = use;
    earlier.set(version, { definition, tools: toolsOf(use, known, settings.CP_CEL_COST_LIMIT, check) });
  }
  const hasSameCorrelations = handlersTextOf(own.definition.spec) === handlers;
  const steps = replayInstance(
    { definition: prepared.definition, tools, earlier, hasSameCorrelations },
    { id: row.id, key: row.instance_key, startedAt: row.started_at, lines },
    divergencesMax,
  );
  const next = () => {
    endsAtMs = performance.now() + inputMsMax;
    return steps.next();
  };
  try {
    return (await inSlices({ next })) ?? 'not_recorded';
  } catch (error) {
    if (error instanceof TooSlow) return 'too_slow';
    throw error;
  }
}

function shown(row: ReplayedRow, found: Replay | Reason): ReplayedInstance {
  const { id, instance_key: instanceKey, definition_version: version, status } = row;
  const head = { id, instanceKey, version, status };
  if (typeof found === 'string')
    return {
      ...head,
      result: 'incomplete',
      reason: found,
      replayedStatus: null,
      divergences: [],
      divergencesTotal: 0,
    };
  const { divergences, divergencesTotal, status: replayedStatus } = found;
  const result = divergencesTotal > 0 ? 'diverged' : 'same';
  return { ...head, result, reason: null, replayedStatus, divergences, divergencesTotal };
}
