import { z } from 'zod';
import type { Approval } from '@baton/sdk';
import { limit, taskRef } from '../inputs.ts';
import { documentFromOthers, listFromOthers, shortened } from '../others-text.ts';
import { lines, tool } from '../tool.ts';

const list = tool({
  name: 'approval_list',
  title: 'List approvals',
  description:
    'What people were asked to decide, newest first. Deciding is for people, in the console or the command line.',
  toolset: 'approvals',
  permissions: ['approvals.read'],
  isReadOnly: true,
  input: z.strictObject({
    status: z.enum(['pending', 'approved', 'rejected', 'cancelled']).default('pending'),
    task: taskRef.optional().describe('Only those about this task.'),
    limit,
  }),
  async run({ status, task, limit: most }, { baton, signal }) {
    const taskId = task === undefined ? undefined : (await baton.tasks.get(task, { signal })).id;
    const { items } = await baton.approvals.list(
      { status, limit: most, ...(taskId !== undefined && { taskId }) },
      { signal },
    );
    if (items.length === 0) return `There is no approval that is ${status}.`;
    const list = listFromOthers(`approvals that are ${status}`, items.map(shown));
    return lines(shortened(list.shown, items.length, 'name a task, or read one by approval_get'), list.text);
  },
});

const get = tool({
  name: 'approval_get',
  title: 'Read an approval',
  description: 'What was asked, and what was decided.',
  toolset: 'approvals',
  permissions: ['approvals.read'],
  isReadOnly: true,
  input: z.strictObject({ approval: z.uuid().describe('Its id, as ask_approval said it.') }),
  async run({ approval: id }, { baton, signal }) {
    const approval = await baton.approvals.get(id, { signal });
    return lines(
      approval.status === 'pending'
        ? 'It is not decided yet. Go on with other work.'
        : `It is decided: ${approval.status}.`,
      documentFromOthers(`the approval ${id}`, shown(approval)),
    );
  },
});

export const approvalTools = [list, get];

type Shown = 'id' | 'taskId' | 'status' | 'gate' | 'comment' | 'decisionComment' | 'createdAt' | 'decisionAt';

function shown({ gate, ...approval }: Pick<Approval, Shown>) {
  const { id, taskId, status, comment, createdAt, decisionAt, decisionComment } = approval;
  return { id, taskId, status, holdsTaskBack: gate, comment, createdAt, decisionAt, decisionComment };
}
