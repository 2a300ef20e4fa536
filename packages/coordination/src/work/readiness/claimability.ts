import { findStatus, movesFrom } from '../../definitions/task-types/lifecycle.ts';
import { rulesOf } from '../../definitions/task-types/type-rules.ts';
import { isInSight, tasksInSight } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findForeignAddressee } from '../tasks/addressees/addressees.ts';
import { itemsOfRequirements, namesOf, type RequirementItemRow } from '../tasks/requirements.ts';
import type { TaskRef } from '../tasks/task-ref.ts';
import { lockTaskRow } from '../tasks/tasks.ts';
import { findAdvice } from './advice.sql.ts';
import { adviceItemsMax, explainArchivedProject, explainMissingExecutor, explainObstacle } from './advice.ts';
import type { ClaimObstacle } from './claim-obstacle.ts';
import { type ClaimabilityRow, findClaimability } from './claimability.sql.ts';
import type { TaskClaimability } from './task-readiness.ts';

export const terminalCategories: readonly string[] = ['terminal_success', 'terminal_cancelled'];

/** All obstacles, in the order in which `:claim` checks them (docs/reference/relations.md#claimability). */
function obstaclesOf(row: SeenClaimability, { missing, addressee }: Lack): ClaimObstacle[] {
  const obstacles: ClaimObstacle[] = [];
  if (terminalCategories.includes(row.category) || row.is_on_hold)
    obstacles.push({
      code: 'task_not_claimable',
      details: { status: row.status, systemStatusCategory: row.category },
    });
  if (missing.length > 0 || addressee !== undefined) {
    const { roles, capabilities, skills } = namesOf(missing);
    const details = {
      missingRoles: roles,
      missingCapabilities: capabilities,
      missingSkills: skills,
      ...(addressee !== undefined && { addressee }),
    };
    obstacles.push({ code: 'not_eligible', details });
  }
  if (row.unmet.length + row.unmetOutOfSight > 0)
    obstacles.push({
      code: 'task_not_ready',
      details: {
        blockedBy: row.unmet,
        ...(row.unmetOutOfSight > 0 && { blockedOutOfSight: row.unmetOutOfSight }),
      },
    });
  if (row.missing_inputs.length > 0)
    obstacles.push({ code: 'input_missing', details: { missing: row.missing_inputs } });
  if (row.pending_gates > 0)
    obstacles.push({ code: 'approval_required', details: { pendingApprovals: row.pending_approvals } });
  if (row.open_verification_id !== null)
    obstacles.push({
      code: 'verification_pending',
      details: { verificationId: row.open_verification_id, status: row.verification?.status },
    });
  if (row.not_before !== null)
    obstacles.push({ code: 'task_not_due', details: { availableAt: row.not_before } });
  if (row.claim_id !== null) {
    const { claim_id: claimId, holder_id: holderId, expires_at: expiresAt } = row;
    obstacles.push({ code: 'task_already_claimed', details: { claimId, holderId, expiresAt } });
  }
  return obstacles;
}

/**
 * Locks the task and refuses with the first obstacle to a claim.
 * @throws Refusal `not_found`, or the obstacle's code with `taskId` in its details
 */
export async function requireClaimableTask(context: Context, ref: TaskRef): Promise<void> {
  await lockTaskRow(context, ref);
  await refuseUnclaimableTask(context, ref);
}

/** Finds the reason for a refused claim, without locking the task. */
export async function refuseUnclaimableTask(context: Context, ref: TaskRef): Promise<void> {
  const row = await claimabilityOf(context, ref);
  const [first] = obstaclesOf(row, await lackOf(context, row));
  if (first === undefined) return;
  const { holderId: _, ...details } = first.details;
  fail(first.code, { taskId: row.id, ...details });
}

/** For prerequisites that the caller can't see, only the number is given (docs/reference/README.md#visibility). */
type SeenClaimability = ClaimabilityRow & { readonly unmetOutOfSight: number };

/** @throws Refusal `not_found` */
async function claimabilityOf(context: Context, ref: TaskRef): Promise<SeenClaimability> {
  const row = (await context.db.row(findClaimability(context.tenantId, ref))) ?? fail('not_found');
  const seen = await tasksInSight(
    context,
    row.unmet.map(({ taskId }) => taskId),
  );
  const unmet = row.unmet.filter(({ taskId }) => seen.has(taskId));
  return { ...row, unmet, unmetOutOfSight: row.unmet.length - unmet.length };
}

/** The reasons why the caller is ineligible. */
interface Lack {
  /** The task's requirements that the caller lacks. */
  readonly missing: readonly RequirementItemRow[];
  /** The task's addressee if that isn't the caller; null if the addressee doesn't exist. */
  readonly addressee: object | null | undefined;
}

async function lackOf(context: Context, row: ClaimabilityRow): Promise<Lack> {
  const { requirement_set_id: setId } = row;
  return {
    missing: await itemsOfRequirements(context, setId, context.caller.principalId),
    addressee: await findForeignAddressee(context, row),
  };
}

/**
 * Lists all obstacles to a claim, not only the first, with their remedies (docs/reference/relations.md#claimability).
 * @throws Refusal `not_found`
 */
export async function getTaskClaimability(context: Context, ref: TaskRef): Promise<TaskClaimability> {
  const { db, tenantId, caller } = context;
  const row = await claimabilityOf(context, ref);
  const obstacles = obstaclesOf(row, await lackOf(context, row));
  const { id: taskId, public_id: publicId } = row;
  const found = await db.row(findAdvice(tenantId, taskId, caller.principalId, adviceItemsMax));
  if (found === undefined) return fail('not_found');
  const seen = new Set(row.unmet.map((task) => task.taskId));
  const advice = { ...found, blockers: found.blockers.filter((blocker) => seen.has(blocker.taskId)) };
  const source = { taskId, caller, waysBack: await waysBack(context, row), advice };
  const reasons = obstacles.map((obstacle) => explainObstacle(obstacle, source));
  const isProjectSeen = await isInSight(context, found.archived_project_place);
  return {
    taskId,
    publicId,
    claimable: obstacles.length === 0,
    reasons: [
      ...reasons,
      ...explainArchivedProject(source, isProjectSeen),
      ...explainMissingExecutor(source),
    ],
  };
}

/** The statuses to which an ended or blocked task can be moved and from which it can be claimed. */
async function waysBack(context: Context, row: ClaimabilityRow): Promise<string[]> {
  if (!terminalCategories.includes(row.category) && !row.is_on_hold) return [];
  const { lifecycle } = await rulesOf(context, row.type_id);
  return movesFrom(lifecycle, row.status).filter((key) => {
    const category = findStatus(lifecycle, key)?.category ?? '';
    if (category === 'blocked') return lifecycle.claimFrom?.includes(key) === true;
    return !terminalCategories.includes(category);
  });
}
