import { type Facts, fieldWords, lookup, type Part, type Sentence, say, type Teller } from './sentence.ts';

const madeBy: Readonly<Record<string, string>> = {
  rule: ' for a rule',
  process: ' for a process',
  parent: ' as part of another task',
  external: ' for another system',
};

/** The reasons for releasing a claim that Baton itself writes. Any other is the caller's text, so it is quoted. */
const released: Readonly<Record<string, string>> = {
  completed: ' after completing it',
  task_cancelled: ' because the task was cancelled',
  human_harness_handoff: ' to hand it over',
  waiting_approval: ' to wait for an approval',
  session_closed: ' because its session was closed',
  session_expired: ' because its session expired',
  principal_disabled: ' because its holder was disabled',
};

function releaseOf(f: Facts): Sentence {
  const reason = f.text('reason');
  const known = lookup(released, reason);
  if (known !== undefined) return [known];
  return f.tail('reason');
}

function change(f: Facts): Sentence {
  const { title, status, assigneeId, priority, ...rest } = changesIn(f);
  const moved = typeof status === 'string' ? status : f.has('fromStatus') ? f.text('status') : '';
  const parts: ((it: Part) => Sentence)[] = [];
  if (moved !== '') parts.push((it) => say`moved ${it} to ${moved.replaceAll('_', ' ').slice(0, 100)}`);
  if (typeof title === 'string')
    parts.push((it) => say`renamed ${it} to ${{ is: 'quote', text: title.slice(0, 500) }}`);
  if (typeof assigneeId === 'string')
    parts.push((it) => say`assigned ${it} to ${{ is: 'person', id: assigneeId }}`);
  if (assigneeId === null) parts.push((it) => say`unassigned ${it}`);
  if (typeof priority === 'string') parts.push((it) => say`set the priority of ${it} to ${priority}`);
  const others = Object.keys(rest).filter((name) => name !== 'systemStatusCategory' && name !== 'version');
  if (others.length > 0) parts.push((it) => say`changed the ${listed(others)} of ${it}`);
  if (parts.length === 0) parts.push((it) => say`changed ${it}`);
  return say`${f.by} ${parts.flatMap((part, place) => (place === 0 ? part(f.it) : [' and ', ...part('it')]))}`;
}

function changesIn(f: Facts): Record<string, unknown> {
  const changes = f.value('changes');
  return typeof changes === 'object' && changes !== null ? { ...changes } : {};
}

const listed = (names: readonly string[]): string =>
  names
    .slice(0, 6)
    .map((name) => fieldWords(name.slice(0, 60)))
    .join(', ');

const relations: Readonly<Record<string, string>> = {
  parent: 'as a subtask of',
  blocks: 'as a blocker of',
  depends_on: 'as dependent on',
  spawned_by: 'as spawned by',
  related_to: 'as related to',
};

/** @param verb and @param preposition of `added the github pull request 12 to it` */
const external: (verb: string, preposition: string) => Teller = (verb, preposition) => (f) =>
  say`${f.by} ${verb} the ${f.code('externalSystem')} ${f.quotedWords('externalType') || 'reference'} ${f.code('externalId')} ${preposition} ${f.it}`;

const failedAction: Teller = (f) =>
  say`Follow-up work for ${f.it} failed${f.textIn('failedAction', 'kind') && ` at ${f.textIn('failedAction', 'kind')}`}`;

/** Tasks, their comments, relations, claims and verifications. */
export const ofTasks: Readonly<Record<string, Teller>> = {
  'task.created': (f) => say`${f.by} created ${f.it}${lookup(madeBy, f.textIn('origin', 'kind')) ?? ''}`,
  'task.updated': change,
  'task.claimed': (f) => say`${f.person('holderId', f.by)} claimed ${f.it}`,
  'task.completed': (f) => say`${f.by} completed ${f.it} as ${f.words('status')}`,
  'task.comment_added': (f) => say`${f.person('authorPrincipalId', f.by)} commented${f.about('on', f.it)}`,
  'task.comment_edited': (f) =>
    say`${f.person('authorPrincipalId', f.by)} edited a comment${f.about('on', f.it)}`,
  'task.mentioned': (f) =>
    say`${f.person('authorPrincipalId', f.by)} mentioned ${f.people('principalIds')}${f.about('in', f.it)}`,
  'task.relation_added': (f) =>
    say`${f.by} linked ${f.it} ${lookup(relations, f.text('type')) ?? 'to'} ${f.object('task', 'toTaskId', 'another task')}`,
  'task.relation_removed': (f) =>
    say`${f.by} unlinked ${f.it} ${lookup(relations, f.text('type')) ?? 'from'} ${f.object('task', 'toTaskId', 'another task')}`,
  'task.external_reference_added': external('added', 'to'),
  'task.external_reference_updated': external('changed', 'on'),
  'task.external_reference_removed': external('removed', 'from'),
  'task.made_available': (f) => say`${f.by} made ${f.it} available again`,
  'task.retry_scheduled': (f) =>
    say`Attempt ${f.number('attempt')}${f.about('at', f.it)} failed; the next one may start ${f.time('availableAt')}${f.tail('reason')}`,
  'task.attempts_exhausted': (f) =>
    say`${f.it} is on hold after ${f.count('failedAttempts', 'failed attempt')}${f.tail('reason')}`,
  'task.type_migrated': (f) =>
    say`${f.by} moved ${f.it} from version ${f.number('fromTypeVersion')} to version ${f.number('typeVersion')} of the type ${f.code('typeKey')}`,
  'task.context_pack_recorded': (f) =>
    say`${f.by} read the context of ${f.it}: ${f.count('facts', 'fact')}, ${f.number('entities').toLocaleString('en')} entities`,
  'task.completion_work_executed': (f) => say`Follow-up work for ${f.it} was done`,
  'task.completion_work_failed': failedAction,
  'task.verification_started': (f) =>
    say`Verification ${f.number('attempt')}${f.about('of', f.it)} started: ${f.count('checks', 'check')}`,
  'task.verified': (f) =>
    say`Verification ${f.number('attempt')}${f.about('of', f.it)} passed: ${f.count('checks', 'check')}`,
  'task.verification_failed': (f) =>
    say`Verification ${f.number('attempt')}${f.about('of', f.it)} failed${f.has('failedCheck') ? say` at the check ${f.code('failedCheck')}` : ''}: ${f.words('reason')}${f.is('blocked') ? '; the task is blocked' : ''}`,
  'claim.expired': (f) =>
    f.text('reason') === 'session_inactive'
      ? say`The claim${f.about('on', f.task)} ended with its session`
      : say`The claim${f.about('on', f.task)} expired: its holder didn't renew the lease`,
  'claim.released': (f) => say`${f.by} released ${f.task}${releaseOf(f)}`,
  'work.derived': (f) =>
    say`The rule ${f.named('rule', f.text('ruleId'), f.text('ruleKey'))} ${f.is('created') ? 'created' : 'matched'} ${f.task}`,
  'work.reconciled': (f) =>
    say`The rule ${f.named('rule', f.text('ruleId'), f.text('ruleKey'))} updated ${f.task}${f.names('changes') && `: ${f.names('changes')}`}`,
  'goal.created': (f) => say`${f.by} set ${f.the('goal')}`,
  'goal.updated': (f) =>
    f.has('fromStatus')
      ? say`${f.by} marked ${f.the('goal')} as ${f.words('status')}`
      : say`${f.by} changed the ${f.names('changes') || 'details'} of ${f.the('goal')}`,
};
