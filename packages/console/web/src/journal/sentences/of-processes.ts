import { type Facts, lookup, say, type Teller } from './sentence.ts';

const at = (f: Facts) => (f.has('element') ? say` at the step ${f.code('element')}` : say``);
const ends: Readonly<Record<string, string>> = {
  completed: 'completed',
  cancelled: 'was cancelled',
  withdrawn: 'was withdrawn',
  interrupted: 'was interrupted',
  failed: 'failed',
  timed_out: 'timed out',
  migrated: 'moved to a new version',
};
const escalations: Readonly<Record<string, string>> = {
  remind: 'reminded the assignee',
  reassign: 'reassigned the task',
  notify: 'notified others',
  raise: 'raised the priority',
};
const rule: (verb: string) => Teller = (verb) => (f) => say`${f.by} ${verb} ${f.the('rule')}`;
const results: Readonly<Record<string, string>> = {
  waiting: 'is waiting for a skill',
  matched: 'matched',
  not_matched: "didn't match",
  failed: 'failed',
  skipped: 'was skipped',
};

/** Processes, rules, and the knowledge that both of them read. */
export const ofProcesses: Readonly<Record<string, Teller>> = {
  'process.started': (f) => say`${f.the('process')} started`,
  'process.completed': (f) =>
    say`${f.the('process')} completed${f.has('outcome') ? say`: ${f.quotedWords('outcome')}` : ''}`,
  'process.cancelled': (f) => say`${f.by} cancelled ${f.the('process')}${f.tail('reason')}`,
  'process.failed': (f) => say`${f.the('process')} failed${at(f)}${f.tailIn('error', 'message')}`,
  'process.suspended': (f) => say`${f.by} suspended ${f.the('process')}${f.tail('reason')}`,
  'process.resumed': (f) => say`${f.by} resumed ${f.the('process')}${f.tail('reason')}`,
  'process.migrated': (f) =>
    say`${f.by} moved ${f.the('process')} from version ${f.number('fromVersion')} to version ${f.number('version')}`,
  'process.compensated': (f) => say`${f.the('process')} undid ${f.names('steps') || 'its steps'}`,
  'process.correlated': (f) => say`${f.the('process')} received ${f.code('triggerType') || 'an event'}`,
  'process.data_changed': (f) =>
    say`The data of ${f.the('process')} changed${f.names('changedFields') && `: ${f.names('changedFields')}`}`,
  'process.stage_entered': (f) => say`${f.the('process')} entered the stage ${f.code('stage')}`,
  'process.stage_exited': (f) => say`${f.the('process')} left the stage ${f.code('stage')}`,
  'process.step_entered': (f) =>
    say`The step ${f.code('element')} of ${f.it} started${f.has('taskId') ? say` with ${f.task}` : ''}`,
  'process.step_exited': (f) =>
    say`The step ${f.code('element')} of ${f.it} ${lookup(ends, f.text('outcome')) ?? 'ended'}${f.is('breached') ? ', late' : ''}`,
  'process.milestone_reached': (f) => say`${f.the('process')} reached the milestone ${f.code('milestone')}`,
  'process.milestone_lost': (f) =>
    say`${f.the('process')} no longer meets the milestone ${f.code('milestone')}`,
  'process.escalated': (f) =>
    say`${f.the('process')} ${lookup(escalations, f.text('action')) ?? 'escalated'}${at(f)}`,
  'process.sla_warning': (f) => say`${f.the('process')} is due soon${at(f)}: ${f.time('dueAt') || 'no date'}`,
  'process.sla_breached': (f) =>
    say`${f.the('process')} is late${at(f)}: it was due ${f.time('dueAt') || 'earlier'}`,
  'process.sla_failed': (f) => say`The due date of ${f.the('process')} could not be computed${at(f)}`,
  'process.timer_fired': (f) => say`The timer ${f.code('element')} of ${f.it} fired`,
  'process.timer_rescheduled': (f) =>
    say`The timer ${f.code('element')} of ${f.it} was rescheduled: due ${f.time('dueAt') || 'date removed'}`,
  'process.recall_completed': (f) =>
    say`The step ${f.code('step')} of ${f.it} read ${f.count('nodeCount', 'fact')} from memory`,
  'process.recall_timed_out': (f) => say`The step ${f.code('step')} of ${f.it} continued without memory`,
  'process.definition_published': (f) =>
    say`${f.by} published version ${f.number('version')} of ${f.the('process')}`,
  'process.definition_retired': (f) => say`${f.by} retired ${f.the('process')}${f.tail('reason')}`,
  'process.definition_restored': (f) => say`${f.by} restored ${f.the('process')}`,
  'rule.created': rule('created'),
  'rule.enabled': rule('enabled'),
  'rule.disabled': rule('disabled'),
  'rule.archived': rule('archived'),
  'rule.updated': (f) => say`${f.by} changed the ${f.names('changes') || 'definition'} of ${f.the('rule')}`,
  'rule.evaluated': (f) =>
    say`The rule ${f.named('rule', f.id, f.text('ruleKey'))} ${lookup(results, f.text('result')) ?? 'was evaluated'}${f.tailIn('error', 'message')}`,
  'knowledge.changed': (f) => say`Knowledge from ${f.code('source')} changed in ${f.it}`,
  'knowledge.document_stored': (f) =>
    say`${f.by} stored the document ${f.quote('title') || f.code('naturalKey')} in ${f.named('workspace', f.id)}`,
  'knowledge.pack_registered': (f) =>
    say`${f.by} registered version ${f.code('version')} of ${f.the('knowledge pack')}`,
  'knowledge.packs_configured': (f) =>
    say`${f.by} set the knowledge packs of ${f.it}: ${f.names('packs') || 'none'}`,
  'knowledge.snapshot_reconciled': (f) =>
    say`${f.by} loaded a snapshot from ${f.code('source')} into ${f.it}: ${f.number('entityCount').toLocaleString('en')} entities`,
};
