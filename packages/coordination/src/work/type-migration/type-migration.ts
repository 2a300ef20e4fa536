import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { encodeCursor } from '@baton/kernel/http/paging';
import { Refusal } from '@baton/kernel/http/refusal';
import { textsByName, Uuid } from '@baton/values/wire';
import { rulesOf } from '../../definitions/task-types/type-rules.ts';
import { undoOnFailure } from '../../ledger/savepoint.ts';
import { findSeenRows } from '../../service/sight/seen-list.ts';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { type ErrorCode, errors, fail } from '../errors.ts';
import { findForeignAddressees, requireAddressee } from '../tasks/addressees/addressees.ts';
import { renewApprovals } from '../tasks/changed-subjects.ts';
import { type Task, type TaskRow, taskOf } from '../tasks/task.ts';
import type { TaskRef } from '../tasks/task-ref.ts';
import { getTaskRow, lockTaskRow } from '../tasks/tasks.ts';
import { requireVersion } from '../tasks/versions.ts';
import { type Migration, moveTasks, planMigration, statusAfterMigration } from './plan-migration.ts';
import {
  findMigratingTasks,
  listOfTaskIds,
  lockTasksOfType,
  type MigratedTaskRow,
  type MigratingTaskRow,
  orderOfTasks,
} from './type-migration.sql.ts';

const bulkMax = 500;
const bulkDefault = 100;
/**
 * The maximum number of tasks whose documents are in memory at the same time. A task's documents can have up to 2 MB.
 */
const atOnceMax = 20;
/**
 * A batch ends after this time, with a cursor, even if it has fewer tasks than requested. The time is limited because
 * the batch's tasks are locked.
 */
const batchMsMax = 1_000;
/** How long tasks are checked before the event loop is released. */
const turnMsMax = 10;

const statusKey = z.string().min(1).max(64);
const version = z.int().min(1).max(2_147_483_647);
const StatusMap = textsByName(statusKey, statusKey, 100).meta({
  description: 'Maps statuses of the old version to those of the new one.',
});

export const TypeMigration = z
  .strictObject({ typeVersion: version.nullish(), statusMap: StatusMap.nullish() })
  .meta({ id: 'TypeMigration' });

export const TypeMigrationBatch = z
  .strictObject({
    toVersion: version.nullish(),
    statusMap: StatusMap.nullish(),
    limit: z
      .number()
      .nullish()
      .meta({ description: `The number of tasks to process: 1 to ${bulkMax}; ${bulkDefault} by default.` }),
    cursor: z.string().max(1000).nullish(),
  })
  .meta({ id: 'TypeMigrationBatch' });

export const TypeMigrationReport = z
  .strictObject({
    typeKey: z.string(),
    fromTypeVersion: z.int(),
    typeVersion: z.int(),
    typeId: Uuid,
    migrated: z.array(
      z.strictObject({
        taskId: Uuid,
        publicId: z.string(),
        fromStatus: z.string(),
        status: z.string(),
        version: z.int(),
      }),
    ),
    skipped: z.array(
      z.strictObject({
        taskId: Uuid,
        code: z.string(),
        message: z.string(),
        details: z.record(z.string(), z.unknown()),
      }),
    ),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: 'TypeMigrationReport' });
export type TypeMigrationReport = z.infer<typeof TypeMigrationReport>;

/**
 * Migrates a task to another version of its type (docs/reference/definitions.md#type-migration). No principal may be
 * working on it, not even the caller. Migrating to the current version changes nothing.
 * @throws Refusal `not_found`, `version_conflict`, those of `planMigration`, of `statusAfterMigration` and of
 * `renewApprovals`, `not_eligible` if the task has another addressee
 */
export async function migrateTaskType(
  context: Context,
  ref: TaskRef,
  ifMatch: number,
  { typeVersion, statusMap }: z.output<typeof TypeMigration>,
): Promise<Task> {
  const before = await lockTaskRow(context, ref);
  requireVersion(before, ifMatch);
  const from = await rulesOf(context, before.type_id);
  const migration = await planMigration(context, from, typeVersion, statusMap);
  if (migration.to.id === from.id) return taskOf(before);
  const [task] = await context.db.rows(
    findMigratingTasks(context.tenantId, [before.id], context.caller.principalId),
  );
  const move = {
    task: task as MigratingTaskRow,
    status: statusAfterMigration(context, task as MigratingTaskRow, migration),
  };
  await requireAddressee(context, before);
  await moveTasks(context, migration, [move], 'task');
  return taskOf(await renewApprovalsOf(context, before.id));
}

/** Renews the task's approvals, because a different type may change what the task means. */
async function renewApprovalsOf(context: Context, taskId: string): Promise<TaskRow> {
  const row = await getTaskRow(context, { id: taskId, number: null });
  await renewApprovals(context, undefined, row);
  return row;
}

/**
 * Migrates tasks of one version of a type to another version, up to `limit` per call
 * (docs/reference/definitions.md#type-migration). A task that can't be migrated is skipped with the reason.
 * @throws Refusal `not_found`, `invalid_migration_target`, `invalid_status_map`, `invalid_limit`, `invalid_cursor`
 */
export async function migrateTasks(
  context: Context,
  typeId: string,
  request: z.output<typeof TypeMigrationBatch>,
): Promise<TypeMigrationReport> {
  const from = await rulesOf(context, typeId);
  const migration = await planMigration(context, from, request.toVersion, request.statusMap);
  const { to } = migration;
  if (to.id === from.id)
    fail('invalid_migration_target', { typeKey: to.key, typeVersion: to.version, reason: 'same_version' });
  const limit = request.limit ?? bulkDefault;
  if (!Number.isInteger(limit) || limit < 1 || limit > bulkMax)
    fail('invalid_limit', { min: 1, max: bulkMax });
  const page = { limit, cursor: request.cursor ?? undefined };
  const list = listOfTaskIds(context.tenantId, typeId);
  const found = await findSeenRows(context.db, await viewerOf(context), list, page);
  const batch = found.slice(0, limit);
  const done = await migrateBatch(
    context,
    migration,
    batch.map(({ id }) => id),
  );
  const last = batch[done.looked - 1];
  const isEnd = done.looked === found.length || last === undefined;
  return {
    typeKey: to.key,
    fromTypeVersion: from.version,
    typeVersion: to.version,
    typeId: to.id,
    migrated: done.migrated,
    skipped: done.skipped,
    nextCursor: isEnd ? null : encodeCursor(orderOfTasks(typeId).cursor, [last.created_at, last.id]),
  };
}

type Outcome = Pick<TypeMigrationReport, 'migrated' | 'skipped'> & { looked: number };

/** Migrates these tasks in order, until a batch has taken `batchMsMax`. */
async function migrateBatch(
  context: Context,
  migration: Migration,
  ids: readonly string[],
): Promise<Outcome> {
  const outcome: Outcome = { migrated: [], skipped: [], looked: 0 };
  const { db, tenantId } = context;
  const locked = await db.rows(lockTasksOfType(tenantId, migration.from.id, ids));
  const isLocked = new Set(locked.map(({ id }) => id));
  const endsAt = performance.now() + batchMsMax;
  while (outcome.looked < ids.length && (outcome.looked === 0 || performance.now() < endsAt)) {
    const part = ids.slice(outcome.looked, outcome.looked + atOnceMax);
    await migratePart(
      context,
      migration,
      part.filter((id) => isLocked.has(id)),
      outcome,
    );
    outcome.looked += part.length;
  }
  return outcome;
}

type Move = Parameters<typeof moveTasks>[2][number];

async function migratePart(
  context: Context,
  migration: Migration,
  ids: readonly string[],
  { migrated, skipped }: Outcome,
): Promise<void> {
  const moves: Move[] = [];
  let turnEndsAt = performance.now() + turnMsMax;
  const { db, tenantId, caller } = context;
  const tasks = await db.rows(findMigratingTasks(tenantId, ids, caller.principalId));
  const addressed = tasks.filter((task) => task.is_addressed).map(({ id }) => id);
  const addressees = await findForeignAddressees(context, addressed);
  for (const task of tasks) {
    try {
      const addressee = addressees.get(task.id);
      if (addressee !== undefined) fail('not_eligible', { taskId: task.id, addressee });
      moves.push({ task, status: statusAfterMigration(context, task, migration) });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      skipped.push(skippedFor(task.id, error));
    }
    if (performance.now() < turnEndsAt) continue;
    await nextTurn();
    turnEndsAt = performance.now() + turnMsMax;
  }
  const fromStatus = new Map(moves.map(({ task }) => [task.id, task.status]));
  const rows = await moveTasks(
    context,
    migration,
    moves.filter(({ task }) => !task.has_approved_gates),
    'bulk',
  );
  for (const move of moves.filter(({ task }) => task.has_approved_gates)) {
    const moved = await moveGatedTask(context, migration, move);
    if (moved instanceof Refusal) skipped.push(skippedFor(move.task.id, moved));
    else rows.push(...moved);
  }
  for (const row of rows)
    migrated.push({
      taskId: row.id,
      publicId: row.public_id,
      fromStatus: fromStatus.get(row.id) as string,
      status: row.status,
      version: row.version,
    });
}

/** Migrates a task with approvals, which are renewed. If that is impossible, the task keeps its type. */
async function moveGatedTask(
  context: Context,
  migration: Migration,
  move: Move,
): Promise<MigratedTaskRow[] | Refusal> {
  return undoOnFailure<MigratedTaskRow[] | Refusal>(
    context,
    async () => {
      const rows = await moveTasks(context, migration, [move], 'bulk');
      await renewApprovalsOf(context, move.task.id);
      return rows;
    },
    (error) => {
      if (error instanceof Refusal) return error;
      throw error;
    },
  );
}

function skippedFor(taskId: string, { code, details }: Refusal): TypeMigrationReport['skipped'][number] {
  return { taskId, code, message: errors[code as ErrorCode].when, details };
}
