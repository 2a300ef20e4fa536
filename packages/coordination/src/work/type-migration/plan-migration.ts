import { requireKnownChecks } from '../../definitions/acceptance/evidence.ts';
import { findStatus, type LifecycleStatus } from '../../definitions/task-types/lifecycle.ts';
import { resolveTaskType, type TypeRules } from '../../definitions/task-types/type-rules.ts';
import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  findLostRequirements,
  type RemovedRequirement,
  refuseRemoval,
} from '../tasks/protection/protection.ts';
import { taskTypeMigrated } from './type-migration.events.ts';
import {
  findActiveVersion,
  type MigratedTaskRow,
  type MigratingTaskRow,
  updateTaskTypes,
} from './type-migration.sql.ts';

/** The source and target version of a type, and the mapping of statuses. */
export interface Migration {
  readonly from: TypeRules;
  readonly to: TypeRules;
  readonly statusMap: ReadonlyMap<string, string>;
  /** Checks and required outputs that tasks lose. */
  readonly taken: readonly RemovedRequirement[];
}

/**
 * Validates the request against the two versions alone.
 * @param version the target version; by default the newest active one
 * @throws Refusal `invalid_migration_target` for a version that is absent or deprecated, `invalid_status_map`
 */
export async function planMigration(
  context: Context,
  from: TypeRules,
  version: number | null | undefined,
  statusMap: Readonly<Record<string, string>> | null | undefined,
): Promise<Migration> {
  const { key: typeKey } = from;
  const found = await context.db.row(findActiveVersion(context.tenantId, typeKey, version ?? null));
  if (found === undefined) return fail('invalid_migration_target', { typeKey, typeVersion: version ?? null });
  const to = await resolveTaskType(context, { typeId: found.id });
  return {
    from,
    to,
    statusMap: parseStatusMap(from, to, statusMap ?? {}),
    taken: findLostRequirements(from, to),
  };
}

/** Maps statuses of the old version to open ones of the new version. */
function parseStatusMap(
  from: TypeRules,
  to: TypeRules,
  statusMap: Readonly<Record<string, string>>,
): ReadonlyMap<string, string> {
  for (const [fromKey, toKey] of Object.entries(statusMap)) {
    const fromKeys = from.lifecycle.statuses.map(({ key }) => key);
    if (!fromKeys.includes(fromKey)) fail('invalid_status_map', { statusKey: fromKey, known: fromKeys });
    const known = openStatuses(to).map(({ key }) => key);
    if (!known.includes(toKey)) fail('invalid_status_map', { statusKey: toKey, known });
  }
  return new Map(Object.entries(statusMap));
}

function openStatuses({ lifecycle }: TypeRules): LifecycleStatus[] {
  return lifecycle.statuses.filter(({ category }) => !category.startsWith('terminal_'));
}

/**
 * The status of a locked task in the new version (docs/reference/definitions.md#type-migration).
 * @throws Refusal `task_terminal`, `task_claimed`, `run_in_progress`, `verification_pending`, `approval_pending`,
 * `incompatible_status`, `custom_fields_invalid`, `acceptance_protected`, `invalid_acceptance`,
 * `unknown_acceptance_check`
 */
export function statusAfterMigration(
  context: Context,
  task: MigratingTaskRow,
  { to, statusMap, taken }: Migration,
): LifecycleStatus {
  refuseBusyTask(task);
  const { id: taskId } = task;
  const statusKey = statusMap.get(task.status) ?? task.status;
  const status = findStatus(to.lifecycle, statusKey);
  const open = openStatuses(to);
  if (status === undefined || !open.includes(status))
    return fail('incompatible_status', { taskId, statusKey, known: open.map(({ key }) => key) });
  const errors = to.fieldSchema.faultsOf(task.custom_fields);
  if (errors.length > 0) fail('custom_fields_invalid', { errors });
  refuseRemoval(context, taken, task.had_run);
  const clash = task.acceptance.findIndex(({ key }) => to.acceptanceKeys.includes(key));
  if (clash >= 0)
    fail('invalid_acceptance', {
      field: `acceptance[${clash}].key`,
      message: 'the task type has a check of this key',
    });
  requireKnownChecks(task.evidence, [...to.acceptanceKeys, ...task.acceptance.map(({ key }) => key)]);
  return status;
}

/** Refuses a task with a claim, a run, an attempt or an approval, because these depend on the task's current type. */
function refuseBusyTask(task: MigratingTaskRow): void {
  const { id: taskId, status, category, claim_id: claimId, run_id: runId } = task;
  if (category.startsWith('terminal_'))
    fail('task_terminal', { taskId, status, systemStatusCategory: category });
  if (claimId !== null) fail('task_claimed', { taskId, claimId, expiresAt: task.expires_at });
  if (runId !== null) fail('run_in_progress', { taskId, runId });
  const { open_verification_id: verificationId, verification_status: attemptStatus } = task;
  if (verificationId !== null)
    fail('verification_pending', { taskId, verificationId, status: attemptStatus });
  const { pending_approvals: pendingApprovals } = task;
  if (pendingApprovals.length > 0) fail('approval_pending', { taskId, pendingApprovals });
}

/** Migrates locked tasks to the new version and emits the events. @returns them in no particular order */
export async function moveTasks(
  context: Context,
  { from, to }: Migration,
  moves: readonly { task: MigratingTaskRow; status: LifecycleStatus }[],
  trigger: 'task' | 'bulk',
): Promise<MigratedTaskRow[]> {
  const rows = await context.db.rows(
    updateTaskTypes(
      context.tenantId,
      to.id,
      moves.map(({ task, status: { key, category } }) => ({ id: task.id, status: key, category })),
    ),
  );
  const statusBefore = new Map(moves.map(({ task }) => [task.id, task.status]));
  for (const row of rows)
    emit(
      context,
      taskTypeMigrated,
      { entityId: row.id, workspaceId: row.workspace_id },
      {
        publicId: row.public_id,
        typeKey: to.key,
        fromTypeVersion: from.version,
        typeVersion: to.version,
        fromStatus: statusBefore.get(row.id) as string,
        status: row.status,
        systemStatusCategory: row.category,
        trigger,
        version: row.version,
      },
    );
  return rows;
}
