import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { FreeObject, Uuid } from '@baton/values/wire';
import { ActionSummary } from '../../work/declared-actions/declared-actions.ts';

const about = { taskId: Uuid.nullable(), outcome: z.enum(['approved', 'rejected']) };

export const outcomeExecuted = defineEvent(
  'approval.outcome_executed',
  'approval',
  z.strictObject({ ...about, actions: z.array(ActionSummary) }),
);

export const outcomeDeferred = defineEvent(
  'approval.outcome_deferred',
  'approval',
  z.strictObject({ ...about, waitingAction: ActionSummary, reason: z.string(), details: FreeObject }),
);

export const outcomeFailed = defineEvent(
  'approval.outcome_failed',
  'approval',
  z.strictObject({
    ...about,
    /** Null if every action was prevented by the decider's credential or by the store. */
    failedAction: ActionSummary.nullable(),
    actions: z.array(ActionSummary),
    failureWorkTaskId: Uuid.nullable(),
  }),
);
