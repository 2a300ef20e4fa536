import { type Facts, lookup, type Part, say, type Teller } from './sentence.ts';

const operations: Readonly<Record<string, string>> = {
  queue: 'a note for later',
  steer: 'a hint',
  redirect: 'a new direction',
  request_cancel: 'the request to stop',
  force_cancel: 'an immediate stop',
};
const message = (f: Facts): string => lookup(operations, f.text('operation')) ?? 'a message';

/** The attempt itself, with its number. */
const attempt = (f: Facts, word = 'attempt'): Part =>
  f.named('run', f.id, f.has('attempt') ? `${word} ${f.number('attempt')}` : 'an attempt');
const childEnds: Readonly<Record<string, string>> = {
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'was cancelled',
};

const addressee = (f: Facts): Part =>
  f.has('assignedPrincipalId')
    ? f.person('assignedPrincipalId')
    : f.object('role', 'requiredRoleId', 'an approver');

/** Attempts, their control messages and children, approvals, artifacts and called skills. */
export const ofRuns: Readonly<Record<string, Teller>> = {
  'run.started': (f) => say`${f.by} started ${attempt(f)}${f.about('at', f.task)}`,
  'run.checkpointed': (f) =>
    say`${f.by} saved checkpoint ${f.number('seq')}${f.about('of', f.task)}${{ is: 'note', runId: f.id, seq: f.number('seq') }}`,
  'run.succeeded': (f) => say`${f.by} finished ${f.task}${{ is: 'result', runId: f.id }}`,
  'run.failed': (f) => say`${attempt(f, 'Attempt')}${f.about('at', f.task)} failed${f.tail('reason')}`,
  'run.cancelled': (f) => say`${f.by} cancelled ${attempt(f)}${f.about('at', f.task)}${f.tail('reason')}`,
  'run.suspended': (f) =>
    f.has('waitingForApprovalId')
      ? say`${f.by} paused ${f.task} to wait for ${f.object('approval', 'waitingForApprovalId')}`
      : say`${f.by} paused ${f.task}${f.tail('reason')}`,
  'run.handoff_prepared': (f) => say`${f.by} handed over ${f.task}${f.tail('reason')}`,
  'run.stalled': (f) =>
    say`${attempt(f, 'Attempt')}${f.about('at', f.task)} stalled: its last progress was ${f.time('lastProgressAt')}`,
  'run.cancel_requested': (f) =>
    say`${f.by} requested that ${attempt(f)}${f.about('at', f.task)} stop${f.tail('reason')}`,
  'run.control_message.accepted': (f) => say`${f.by} sent the agent ${message(f)}${f.about('about', f.task)}`,
  'run.control_message.applied': (f) => say`${f.by} acted on ${message(f)}${f.about('about', f.task)}`,
  'run.control_message.rejected': (f) => say`${f.by} rejected ${message(f)}${f.about('about', f.task)}`,
  'run.control_message.superseded': (f) =>
    say`A newer message replaced ${message(f)}${f.about('about', f.task)}`,
  'run.child.launched': (f) =>
    say`${f.by} delegated ${f.named('task', f.text('childTaskId'), f.text('childTaskPublicId'))}${f.about('from', f.task)}`,
  'run.child.started': (f) =>
    say`${f.by} started the delegated task ${f.object('task', 'childTaskId', 'of it')}`,
  'run.child.resolved': (f) =>
    say`The delegated task ${f.object('task', 'childTaskId', 'of it')} ${lookup(childEnds, f.text('outcome')) ?? 'ended'}`,
  'run.child.revoked': (f) =>
    say`${f.by} revoked the delegated task ${f.object('task', 'childTaskId', 'of it')}${f.tail('reason')}`,
  'run.child.cancel_requested': (f) =>
    say`${f.by} requested that the delegated ${f.object('run', 'childRunId', 'attempt')} stop`,
  'session.opened': (f) => say`${f.by} opened a session with ${f.code('clientName')}`,
  'session.closed': (f) =>
    say`${f.by} closed a session${f.number('releasedClaims') > 0 ? ` and released ${f.count('releasedClaims', 'claim')}` : ''}`,
  'session.expired': (f) =>
    say`A session expired${f.number('releasedClaims') > 0 ? ` and lost ${f.count('releasedClaims', 'claim')}` : ''}`,
  'approval.requested': (f) =>
    say`${f.person('requestedBy', f.by)} requested a decision from ${addressee(f)}${f.has('taskId') ? f.about('about', f.task) : ''}${f.tail('comment')}`,
  'approval.approved': (f) =>
    say`${f.person('decisionBy', f.by)} approved ${f.named('approval', f.id)}${f.tail('comment')}`,
  'approval.rejected': (f) =>
    say`${f.person('decisionBy', f.by)} rejected ${f.named('approval', f.id)}${f.tail('comment')}`,
  'approval.cancelled': (f) => say`${f.person('cancelledBy', f.by)} withdrew ${f.named('approval', f.id)}`,
  'approval.outcome_executed': (f) => say`The outcome of ${f.named('approval', f.id)} was carried out`,
  'approval.outcome_deferred': (f) =>
    say`The outcome of ${f.named('approval', f.id)} is waiting: ${f.words('reason')}`,
  'approval.outcome_failed': (f) => say`The outcome of ${f.named('approval', f.id)} failed`,
  'artifact.created': (f) =>
    say`${f.by} ${f.has('supersedesArtifactId') ? 'revised' : 'delivered'} ${f.it}${f.has('taskId') ? f.about('for', f.task) : ''}`,
  'artifact.content_read': (f) => say`${f.by} opened the content of ${f.named('artifact', f.id)}`,
  'artifact.content_purged': (f) =>
    say`${f.by} deleted the content of ${f.named('artifact', f.id)}${f.tail('reason')}`,
  'artifact_type.created': (f) =>
    say`${f.by} defined version ${f.number('version')} of ${f.the('artifact type')}`,
  'observation.recorded': (f) =>
    say`${f.by} recorded a ${f.quotedWords('kind') || 'fact'}${f.tail('content')}`,
  'skill.invocation_requested': (f) => say`${f.by} requested a call to the skill ${f.code('skill')}`,
  'skill.invocation_claimed': (f) =>
    say`${f.by} started call ${f.number('attempt')} to ${f.object('skill', 'skillId', 'a skill')}`,
  'skill.invocation_succeeded': (f) => say`${f.by} finished a call to the skill ${f.code('skill')}`,
  'skill.invocation_failed': (f) =>
    say`A call to the skill ${f.code('skill')} failed${f.tailIn('error', 'message')}`,
  'skill.invocation_retry_scheduled': (f) =>
    say`Call ${f.number('attempt')} to ${f.object('skill', 'skillId', 'a skill')} failed; the next one may start ${f.time('availableAt')}`,
  'skill.invocation_cancelled': (f) =>
    say`${f.person('cancelledBy', f.by)} cancelled a call to the skill ${f.code('skill')}${f.tail('reason')}`,
};
