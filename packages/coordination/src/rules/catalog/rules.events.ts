import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { actionKinds } from '../documents/action.ts';
import { triggerKinds } from '../documents/trigger.ts';
import { type Rule, ruleStatuses } from './rule.ts';

const summary = {
  ruleId: Uuid,
  key: z.string(),
  version: z.int(),
  status: z.enum(ruleStatuses),
  workspaceId: Uuid.nullable(),
  goalId: Uuid.nullable(),
  trigger: z.strictObject({ kind: z.enum(triggerKinds), type: z.string() }),
  skill: z.string().nullable(),
  action: z.strictObject({ kind: z.enum(actionKinds), taskType: z.string().nullable() }),
};

/** The part of a rule that events contain, without templates and condition. */
export function ruleSummaryOf(rule: Rule) {
  const { id: ruleId, key, version, status, workspaceId, goalId, trigger, interpretation, action } = rule;
  return {
    ruleId,
    key,
    version,
    status,
    workspaceId,
    goalId,
    trigger: { kind: trigger.kind, type: trigger.type },
    skill: interpretation?.skill ?? null,
    action: { kind: action.kind, taskType: action.taskType ?? null },
  };
}

export const ruleCreated = defineEvent('rule.created', 'rule', z.strictObject(summary));
export const ruleUpdated = defineEvent(
  'rule.updated',
  'rule',
  z.strictObject({ ...summary, changes: z.array(z.string()) }),
);
export const ruleEnabled = defineEvent('rule.enabled', 'rule', z.strictObject(summary));
export const ruleDisabled = defineEvent('rule.disabled', 'rule', z.strictObject(summary));
export const ruleArchived = defineEvent('rule.archived', 'rule', z.strictObject(summary));
