import { Refusal } from '@baton/kernel/refusal';
import { findActivePerson } from '../../access/principals/principals.ts';
import { skillOfCheck } from '../../definitions/acceptance/acceptance.ts';
import type { Evidence } from '../../definitions/acceptance/evidence.ts';
import { eventText } from '../../service/documents.ts';
import { writeApprovalRequest } from '../../work/gates/gates.ts';
import { type TaskRow, taskOf } from '../../work/tasks/task.ts';
import { subjectTaskOf } from '../../work/tasks/values/subject-task.ts';
import type { AttemptCheck } from '../../work/verifications/attempt.ts';
import { getApprovalRow } from '../approvals/approvals.ts';
import type { Context } from '../context.ts';
import type { Judged, Verdict } from './judgement.ts';
import { judgeBySkill } from './skill-judge.ts';
import { findEventOfTask, findOpenGate, findOutputs, findRoleHolder } from './verifications.sql.ts';

type Judge = (context: Context, judged: Judged) => Promise<Verdict>;

const artifactsMax = 50;
const evidenceMax = 5;
const evidenceCharactersMax = 200;

/** The look at a check of each kind. Nothing passes by default: what nobody can judge fails. */
export const judges: Record<AttemptCheck['kind'], Judge> = {
  deterministic: (context, judged) =>
    skillOfCheck(judged.check) === undefined ? judgeArtifact(context, judged) : judgeBySkill(context, judged),
  external_state: judgeExternalState,
  human: judgeByPerson,
  // No judge can be called yet: the person whom the check names for that case decides, else nobody does.
  async llm_judge(context, judged) {
    const { approver, approverRole } = judged.check.spec ?? {};
    if (approver === undefined && approverRole === undefined) return { is: 'failed', reason: 'no_decision' };
    return judgeByPerson(context, judged);
  },
};

/** The task has an artifact of the type that was not superseded, with content and of a media type that fit. */
async function judgeArtifact({ db, tenantId }: Context, { task, check }: Judged): Promise<Verdict> {
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

/** Whether `text/plain; charset=utf-8` is one of `text/plain`, `text/*` or anything. */
function isOneOf(mediaType: string, ranges: readonly string[]): boolean {
  const [bare = ''] = mediaType.toLowerCase().split(';');
  const [kind = ''] = bare.split('/');
  const fitting = ['*/*', `${kind.trim()}/*`, bare.trim()];
  return ranges.some((range) => fitting.includes(range.toLowerCase()));
}

/** Waits for evidence that names the check or, where it names one, for an event on the task since the attempt began. */
async function judgeExternalState(
  context: Context,
  { attempt, task, check, hasWaited }: Judged,
): Promise<Verdict> {
  const { db, tenantId, settings } = context;
  const evidence = task.evidence
    .filter((item) => item.check === check.key)
    .slice(0, evidenceMax)
    .map((item) => `${item.kind}:${idOf(item)}`.slice(0, evidenceCharactersMax).toWellFormed());
  if (evidence.length > 0) return { is: 'passed', evidence };
  const type = check.spec?.['event'];
  if (typeof type === 'string') {
    const event = await db.row(findEventOfTask(tenantId, task.id, type, attempt));
    if (event !== undefined) return { is: 'passed', evidence: [`event:${event.id}`] };
  }
  if (hasWaited && attempt.waited_seconds >= settings.CP_VERIFICATION_EXTERNAL_TIMEOUT_SECONDS)
    return { is: 'failed', reason: 'no_result' };
  return { is: 'waiting', for: 'waiting_external' };
}

function idOf(item: Evidence): string {
  if (item.kind === 'observation') return item.observationId;
  if (item.kind === 'artifact') return item.artifactId;
  if (item.kind === 'context_pack') return item.contextPackId;
  return `${item.externalRef.system}/${item.externalRef.id}`;
}

/** A person says yes or no: through a gate of the task that is open already, else through one that is asked for now. */
async function judgeByPerson(
  context: Context,
  { attempt, task, check, acting, hasWaited }: Judged,
): Promise<Verdict> {
  if (hasWaited && attempt.approval_id !== null) return verdictOf(context, attempt.approval_id);
  const { approver = null, approverRole = null } = (check.spec ?? {}) as Record<string, string | undefined>;
  const open = await context.db.row(findOpenGate(task.id, approver, approverRole));
  if (open !== undefined) return { is: 'waiting', for: 'waiting_human', approvalId: open.id, isAsked: false };
  const decider =
    approverRole === null
      ? await personFor(context, approver === null ? [task.owner_id, task.assignee_id] : [approver])
      : await roleFor(context, task, approverRole);
  if (decider === undefined) return { is: 'failed', reason: 'no_approver' };
  const asked = {
    task: subjectTaskOf(context, taskOf(task)),
    artifactId: null,
    workspaceId: task.workspace_id,
    ...decider,
    excludedPrincipals: [],
    comment: `${task.public_id}, verification ${attempt.attempt}, check ${check.key}: ${check.description}`,
    gate: true,
    isDeclared: true,
  };
  try {
    const gate = await writeApprovalRequest(acting, asked);
    return { is: 'waiting', for: 'waiting_human', approvalId: gate.id, isAsked: true };
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'payload_too_large') throw error;
    return { is: 'failed', reason: 'no_decision', message: 'The task is too large to be shown to a person.' };
  }
}

interface Decider {
  assignedPrincipalId: string | null;
  requiredRoleId: string | null;
}

/** The first of them who is a person and active. */
async function personFor(context: Context, ids: readonly (string | null)[]): Promise<Decider | undefined> {
  const person = await findActivePerson(
    context,
    ids.filter((id) => id !== null),
  );
  return person === undefined ? undefined : { assignedPrincipalId: person, requiredRoleId: null };
}

/** The role, if an active person holds it where the task is. */
async function roleFor(
  { db, tenantId }: Context,
  task: TaskRow,
  requiredRoleId: string,
): Promise<Decider | undefined> {
  const holder = await db.row(findRoleHolder(tenantId, requiredRoleId, task.workspace_id));
  return holder === undefined ? undefined : { assignedPrincipalId: null, requiredRoleId };
}

async function verdictOf(context: Context, approvalId: string): Promise<Verdict> {
  const approval = await getApprovalRow(context, approvalId);
  const evidence = [`approval:${approvalId}`];
  if (approval.status === 'pending')
    return { is: 'waiting', for: 'waiting_human', approvalId, isAsked: false };
  if (approval.status === 'approved') return { is: 'passed', evidence };
  const reason = approval.status === 'rejected' ? 'approval_rejected' : 'approval_cancelled';
  const { decision_comment: comment } = approval;
  return { is: 'failed', reason, evidence, ...(comment && { message: eventText(comment) }) };
}
