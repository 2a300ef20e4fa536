import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

const Named = z.strictObject({
  workloadRuleId: Uuid,
  identityProviderId: Uuid,
  key: z.string(),
  principalId: Uuid,
});

export const workloadRuleCreated = defineEvent('workload_rule.created', 'workload_rule', Named);
export const workloadRuleUpdated = defineEvent('workload_rule.updated', 'workload_rule', Named);
export const workloadRuleDisabled = defineEvent('workload_rule.disabled', 'workload_rule', Named);
export const workloadRuleEnabled = defineEvent('workload_rule.enabled', 'workload_rule', Named);
export const workloadRuleDeleted = defineEvent('workload_rule.deleted', 'workload_rule', Named);
