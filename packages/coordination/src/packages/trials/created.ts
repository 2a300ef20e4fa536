import type { Effect } from '@baton/process-engine/engine/inputs';
import type { Assignee } from '@baton/process-engine/language/forms';
import type { JsonObject } from '@baton/values/wire';
import type { Created } from './outcome.ts';

type Opening = Exclude<
  Effect,
  {
    kind:
      | 'find_voters'
      | 'rename_tasks'
      | 'close_task'
      | 'close_call'
      | 'close_approval'
      | 'close_instance'
      | 'close_recall';
  }
>;

/** The objects that an effect would create, in the format of `created`: without ids, which no test can predict. */
export function createdBy(effect: Opening): Created {
  const { element } = effect;
  switch (effect.kind) {
    case 'open_task': {
      const { typeKey: taskType, title, form, context, dueAt } = effect;
      const assign = peopleOf(effect.assign)[0] ?? null;
      return { kind: 'task', element, taskType, title, form, context, assign, dueAt };
    }
    case 'ask_approval':
      return { kind: 'approval', element, approver: effect.principalId, comment: effect.comment };
    case 'open_call':
      return { kind: 'call', element, skill: effect.skill, inputs: effect.inputs };
    case 'open_instance': {
      const { process, instanceKey: key, data } = effect;
      return { kind: 'process', element, process, key, data };
    }
    case 'open_recall':
      return { kind: 'recall', element, question: { ...effect.question } as unknown as JsonObject };
    case 'open_observation': {
      const { observed, content, data, facts } = effect;
      return {
        kind: 'observation',
        element,
        observed,
        content,
        data,
        facts: facts as unknown as JsonObject[],
      };
    }
    case 'tell_case':
      return { kind: 'case', status: effect.status, memory: effect.memory as unknown as JsonObject };
    case 'escalate': {
      const { action, level, to } = effect;
      return { kind: 'escalation', element, action, level, to: peopleOf(to) };
    }
  }
}

/** In a test, a role and an agent each resolve to one person: `role:<slug>`, `agent:<key>`. */
export function peopleOf(assignees: readonly Assignee[]): string[] {
  const named = assignees.flatMap(({ principal, role, agent, expr = '' }) => {
    if (principal !== undefined) return [principal];
    if (role !== undefined) return [`role:${role}`];
    if (agent !== undefined) return [`agent:${agent}`];
    return expr === '' ? [] : [expr];
  });
  return [...new Set(named)];
}
