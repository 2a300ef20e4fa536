import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { Evidence } from '../../definitions/acceptance/evidence.ts';
import { WorkItem } from '../acts/work-item.ts';
import { triggerKinds } from '../documents/trigger.ts';
import { evaluationStatuses } from './evaluation.ts';

/** Emitted once per evaluation, when it is final. */
export const ruleEvaluated = defineEvent(
  'rule.evaluated',
  'rule',
  z.strictObject({
    ruleId: Uuid,
    ruleKey: z.string(),
    ruleVersion: z.int(),
    evaluationId: Uuid,
    triggerRef: z.string(),
    trigger: z.strictObject({ kind: z.enum(triggerKinds), type: z.string() }),
    result: z.enum(evaluationStatuses),
    conditionMatched: z.boolean(),
    evidence: z.array(Evidence),
    skillInvocationId: Uuid.nullable(),
    work: z.array(WorkItem),
    error: z.strictObject({ code: z.string() }).optional(),
  }),
);
