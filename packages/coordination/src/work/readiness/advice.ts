import type { Caller } from '../../service/caller.ts';
import { holds, type Permission } from '../../service/permissions.ts';
import type { AdviceRow } from './advice.sql.ts';
import type { ClaimObstacle } from './claim-obstacle.ts';
import type { ClaimReason, Remedy } from './task-readiness.ts';

/** The number of prerequisites and approvals for which remedies are given. */
export const adviceItemsMax = 100;

/** The data from which the remedies are built. */
export interface AdviceSource {
  readonly taskId: string;
  readonly caller: Caller;
  /** Statuses to which the task can be moved if it has ended or is blocked. */
  readonly waysBack: readonly string[];
  readonly advice: AdviceRow;
}

/**
 * A reason, with the caller's remedies and the time it began (docs/reference/relations.md#claimability). `since` is
 * null for lacking requirements, whose start is not recorded.
 */
export function explainObstacle({ code, details }: ClaimObstacle, source: AdviceSource): ClaimReason {
  return {
    code: code === 'task_not_due' ? 'not_before' : code,
    ...detailsOf(code, details, source),
    since: sinceOf(code, source),
    remedies: remediesOf(code, details, source),
  };
}

/**
 * The task's project is archived, so the task is unavailable. Used only to explain; nothing is decided by it.
 * @param isSeen whether the caller can see the project
 */
export function explainArchivedProject({ caller, advice }: AdviceSource, isSeen: boolean): ClaimReason[] {
  const { archived_project_id: projectId, archived_since: since } = advice;
  if (projectId === null) return [];
  if (!isSeen) return [{ code: 'project_archived', since, remedies: [] }];
  const restore = remedyFor(caller)(
    'restore_project',
    'POST',
    `/projects/${projectId}:restore`,
    'projects.manage',
  );
  return [{ code: 'project_archived', projectId, since, remedies: [restore] }];
}

/** No active principal meets the requirements. Used only to explain; nothing is decided by it. */
export function explainMissingExecutor(source: AdviceSource): ClaimReason[] {
  if (source.advice.is_for_anybody !== false) return [];
  return [
    {
      code: 'no_eligible_principal',
      since: null,
      remedies: remediesOfLack('{id}', ['roles', 'capabilities', 'skills'], source),
    },
  ];
}

/** Prerequisites include their own obstacles. */
function detailsOf(code: string, details: Record<string, unknown>, { advice }: AdviceSource) {
  if (code !== 'task_not_ready') return details;
  const known = new Map(advice.blockers.map((blocker) => [blocker.taskId, blocker]));
  const blockedBy = (details['blockedBy'] as { taskId: string }[]).slice(0, adviceItemsMax).map((task) => {
    const { codes = [], holderId = null } = known.get(task.taskId) ?? {};
    const reasons = codes.map((one) =>
      one === 'task_already_claimed' ? { code: one, holderId } : { code: one },
    );
    return { ...task, reasons };
  });
  return { ...details, blockedBy };
}

function sinceOf(code: string, { advice }: AdviceSource): string | null {
  switch (code) {
    case 'task_not_claimable':
      return advice.ended_since;
    case 'task_not_ready':
      return advice.waiting_since;
    case 'approval_required':
      return advice.gates_since;
    case 'verification_pending':
      return advice.verification_since;
    case 'task_already_claimed':
      return advice.claimed_since;
    default:
      return null;
  }
}

function remediesOf(code: string, details: Record<string, unknown>, source: AdviceSource): Remedy[] {
  const { taskId, caller, waysBack, advice } = source;
  const can = remedyFor(caller);
  switch (code) {
    case 'task_not_claimable':
      return waysBack.length === 0
        ? []
        : [
            can(
              details['systemStatusCategory'] === 'blocked' ? 'unblock' : 'reopen',
              'PATCH',
              `/tasks/${taskId}`,
              'tasks.write',
            ),
          ];
    case 'task_not_due':
      return [
        ...(advice.is_paused || !advice.starts_later
          ? [can('make_available', 'POST', `/tasks/${taskId}:make-available`, 'tasks.write')]
          : []),
        ...(advice.starts_later
          ? [can('change_start_date', 'PATCH', `/tasks/${taskId}`, 'tasks.write')]
          : []),
      ];
    case 'not_eligible':
      // Requirements can be met or changed; the addressee is determined by the process.
      return lackedKinds(details).length === 0
        ? []
        : remediesOfLack(caller.principalId, lackedKinds(details), source);
    case 'task_not_ready':
      return advice.blockers.flatMap(({ taskId: prerequisite, relationId, relatedBy, isCancelled }) => [
        ...(isCancelled
          ? []
          : [can('complete_prerequisite', 'POST', `/tasks/${prerequisite}:complete`, 'tasks.write')]),
        removeRelation(relationId, relatedBy, source),
      ]);
    case 'input_missing':
      return [can('record_input', 'POST', '/artifacts', 'artifacts.write')];
    case 'approval_required':
      return (details['pendingApprovals'] as string[])
        .slice(0, adviceItemsMax)
        .flatMap((id) => [
          can('approve', 'POST', `/approvals/${id}:approve`, 'approvals.decide'),
          can('cancel_approval', 'POST', `/approvals/${id}:cancel`, 'approvals.manage'),
        ]);
    case 'verification_pending':
      return [can('read_verifications', 'GET', `/tasks/${taskId}/verifications`, 'tasks.read')];
    case 'task_already_claimed':
      return [
        can(
          'release_claim',
          'POST',
          `/claims/${details['claimId']}:release`,
          details['holderId'] === caller.principalId ? 'tasks.claim' : 'claims.manage',
        ),
      ];
    default:
      return [];
  }
}

function lackedKinds(details: Record<string, unknown>): LackedKind[] {
  const missing = { roles: 'missingRoles', capabilities: 'missingCapabilities', skills: 'missingSkills' };
  return (Object.keys(missing) as LackedKind[]).filter(
    (kind) => (details[missing[kind]] as string[] | undefined)?.length,
  );
}

type LackedKind = 'roles' | 'capabilities' | 'skills';
const assigningActs = { roles: 'assign_role', capabilities: 'assign_capability', skills: 'assign_skill' };

/**
 * @param principalId the principal to which the missing requirement is granted
 */
function remediesOfLack(
  principalId: string,
  kinds: readonly LackedKind[],
  { taskId, caller }: AdviceSource,
): Remedy[] {
  const can = remedyFor(caller);
  return [
    ...kinds.map((kind) =>
      can(assigningActs[kind], 'POST', `/principals/${principalId}/${kind}`, 'org.manage'),
    ),
    can('change_requirements', 'PATCH', `/tasks/${taskId}`, 'tasks.write'),
  ];
}

/** Available to the author of the relation and to people, but not to principals that work on the task. */
function removeRelation(
  relationId: string,
  relatedBy: string,
  { taskId, caller, advice }: AdviceSource,
): Remedy {
  const path = `/tasks/${taskId}/relations/${relationId}`;
  const remedy = remedyFor(caller)('remove_relation', 'DELETE', path, 'tasks.write');
  const isTheirs = caller.kind === 'human' || caller.principalId === relatedBy;
  return { ...remedy, allowed: remedy.allowed && isTheirs && !advice.is_worker };
}

function remedyFor({ permissions }: Caller) {
  return (act: string, method: Remedy['method'], path: string, permission: Permission): Remedy => ({
    act,
    method,
    path,
    permission,
    allowed: holds(permissions, permission),
  });
}
