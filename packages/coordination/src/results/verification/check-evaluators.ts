import { Refusal } from '@baton/kernel/http/refusal';
import { findActivePerson } from '../../access/principals/principals.ts';
import { skillOfCheck } from '../../definitions/acceptance/acceptance.ts';
import { writeApprovalRequest } from '../../work/gates/gates.ts';
import { subjectTaskOf } from '../../work/tasks/lookup.ts';
import { type TaskRow, taskOf } from '../../work/tasks/task.ts';
import type { AttemptCheck } from '../../work/verifications/attempt.ts';
import type { Context } from '../context.ts';
import { findParties } from '../provers/provers.ts';
import { type CheckEvaluation, type CheckOutcome, resultOfApproval } from './check-evaluation.ts';
import { evaluateExternalState } from './external-state.ts';
import { evaluateBySkill } from './skill-check.ts';
import { findNewestOfCheck, findOutputs, findRoleHolder } from './verifications.sql.ts';

type CheckEvaluator = (context: Context, evaluation: CheckEvaluation) => Promise<CheckOutcome>;

const artifactsMax = 50;
const ownWork = "A task can't be approved by a person who worked on it or requested its completion.";

/** Evaluates one check of each kind. No check passes by default: a check without an evaluation fails. */
export const checkEvaluators: Record<AttemptCheck['kind'], CheckEvaluator> = {
  deterministic: (context, evaluation) =>
    skillOfCheck(evaluation.check) === undefined
      ? evaluateArtifact(context, evaluation)
      : evaluateBySkill(context, evaluation),
  external_state: evaluateExternalState,
  human: evaluateByPerson,
  // No model can be called yet, so the fallback person of the check decides; without a fallback person the check fails.
  async llm_judge(context, evaluation) {
    const { approver, approverRole } = evaluation.check.spec ?? {};
    if (approver === undefined && approverRole === undefined) return { is: 'failed', reason: 'no_decision' };
    return evaluateByPerson(context, evaluation);
  },
};

/**
 * Passes if the task has an artifact of this type that hasn't been superseded and whose content and media type match.
 */
async function evaluateArtifact(
  { db, tenantId }: Context,
  { task, check }: CheckEvaluation,
): Promise<CheckOutcome> {
  const wanted = check.spec?.['artifact'] as { type: string; mediaTypes?: string[]; content?: string };
  const found = await db.rows(findOutputs(tenantId, task.id, wanted.type, artifactsMax));
  if (found.length === 0) return { is: 'failed', reason: 'artifact_missing' };
  const needsContent = wanted.content !== 'optional';
  const usable = needsContent ? found.filter((artifact) => artifact.has_content) : found;
  if (usable.length === 0) return { is: 'failed', reason: 'artifact_content_missing' };
  const fitting = usable.find(
    ({ has_content: hasContent, media_type: mediaType }) =>
      wanted.mediaTypes === undefined || !hasContent || isOneOf(mediaType ?? '', wanted.mediaTypes),
  );
  if (fitting === undefined) return { is: 'failed', reason: 'artifact_media_type' };
  return { is: 'passed', evidence: [`artifact:${fitting.id}`] };
}

/** Whether `text/plain; charset=utf-8` matches `text/plain`, `text/*` or anything. */
function isOneOf(mediaType: string, ranges: readonly string[]): boolean {
  const [bare = ''] = mediaType.toLowerCase().split(';');
  const [kind = ''] = bare.split('/');
  const fitting = ['*/*', `${kind.trim()}/*`, bare.trim()];
  return ranges.some((range) => fitting.includes(range.toLowerCase()));
}

/**
 * A person decides through a gate that this attempt requests for this check; other approvals of the task do not count.
 */
async function evaluateByPerson(context: Context, evaluation: CheckEvaluation): Promise<CheckOutcome> {
  const { attempt, task, check, acting, hasWaited } = evaluation;
  // If the task was changed after the decision, the newest request replaces the decided one.
  const asked = hasWaited
    ? await context.db.row(findNewestOfCheck(context.tenantId, attempt, check.key))
    : undefined;
  if (asked !== undefined) return resultOfApproval(asked);
  const { approver = null, approverRole = null } = (check.spec ?? {}) as Record<string, string | undefined>;
  const parties = await findParties(context, task.id, [attempt.requester_id]);
  const decider =
    approverRole === null
      ? await personFor(context, approver === null ? [task.owner_id, task.assignee_id] : [approver], parties)
      : await roleFor(context, task, approverRole, parties);
  if (decider === undefined) {
    const isOwn = [approver, task.owner_id, task.assignee_id].some(
      (id) => id !== null && parties.includes(id),
    );
    return { is: 'failed', reason: 'no_approver', ...(isOwn && { message: ownWork }) };
  }
  const request = {
    task: subjectTaskOf(context, taskOf(task)),
    artifactId: null,
    workspaceId: task.workspace_id,
    ...decider,
    excludedPrincipals: [],
    comment: `${task.public_id}, verification ${attempt.attempt}, check ${check.key}: ${check.description}`,
    gate: true,
    isDeclared: true,
    check: { verificationId: attempt.id, key: check.key },
  };
  try {
    const gate = await writeApprovalRequest(acting, request);
    return { is: 'waiting', for: 'waiting_human', approvalId: gate.id };
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'payload_too_large') throw error;
    return { is: 'failed', reason: 'no_decision', message: 'The task is too large to be shown to a person.' };
  }
}

interface Decider {
  assignedPrincipalId: string | null;
  requiredRoleId: string | null;
}

/** The first active person among the candidates who neither worked on the task nor requested its completion. */
async function personFor(
  context: Context,
  ids: readonly (string | null)[],
  parties: readonly string[],
): Promise<Decider | undefined> {
  const person = await findActivePerson(
    context,
    ids.filter((id) => id !== null).filter((id) => !parties.includes(id)),
  );
  return person === undefined ? undefined : { assignedPrincipalId: person, requiredRoleId: null };
}

/** The role, if a person who may decide holds it in the workspace of the task. */
async function roleFor(
  { db, tenantId }: Context,
  task: TaskRow,
  requiredRoleId: string,
  parties: readonly string[],
): Promise<Decider | undefined> {
  const holder = await db.row(findRoleHolder(tenantId, requiredRoleId, task.workspace_id, parties));
  return holder === undefined ? undefined : { assignedPrincipalId: null, requiredRoleId };
}
