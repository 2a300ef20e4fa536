import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { commentAdded } from '../comments/comments.events.ts';
import { ActionSummary } from '../declared-actions/declared-actions.ts';
import { approvalRequested } from '../gates/gates.events.ts';
import { taskCompleted, taskCreated, taskRelationAdded } from '../tasks/tasks.events.ts';

const executed = z.strictObject({
  publicId: z.string(),
  taskTypeId: Uuid,
  actions: z.array(ActionSummary),
});

export const completionWorkExecuted = defineEvent('task.completion_work_executed', 'task', executed);

export const completionWorkFailed = defineEvent(
  'task.completion_work_failed',
  'task',
  executed.extend({ failedAction: ActionSummary }),
);

/** The events that an endpoint that completes tasks may emit. */
export const completionEvents = [
  taskCompleted,
  completionWorkExecuted,
  completionWorkFailed,
  taskCreated,
  taskRelationAdded,
  approvalRequested,
  commentAdded,
];
