import { z } from 'zod';
import { leaseId, shortText, taskRef } from '../inputs.ts';
import { lines, tool } from '../tool.ts';
import { decidersText, resolveApprover } from './approver.ts';
import { workPermissions } from './work-permissions.ts';

export const askApproval = tool({
  name: 'ask_approval',
  title: 'Request an approval',
  description:
    'Requests a decision of a person, and suspends the task until then: no agent works on it, and you no longer hold it. After the decision, work_next gives it to you or another agent, with your checkpoints. Save a checkpoint first. approval_deciders lists the possible approvers.',
  toolset: 'work',
  permissions: [...workPermissions, 'approvals.manage'],
  input: z.strictObject({
    lease: leaseId,
    question: shortText('The question, with all information that the decision requires.', 4000),
    personId: z
      .uuid()
      .optional()
      .describe('The person who decides. Without person and role, the owner of the task.'),
    role: shortText('The role whose holders decide: its slug or id.', 200).optional(),
  }),
  async run({ lease: id, question, personId, role }, { baton, workplace, signal }) {
    const lease = workplace.find(id);
    const approver = await resolveApprover({ baton, task: lease.task, personId, role, signal });
    const approval = await lease.askApproval({ comment: question, ...approver }, { signal });
    const text = lines(
      `The approval is requested (approval ${approval.id}), and ${lease.task.publicId} is suspended: you no longer hold it. Stop working on it.`,
      'approval_get returns the decision; work_next gives you other work.',
    );
    return { text, followed: { kind: 'approval', id: approval.id } };
  },
});

export const approvalDeciders = tool({
  name: 'approval_deciders',
  title: 'List who could decide',
  description:
    'The people who could decide about a task, and the roles that they hold there: names and ids for ask_approval.',
  toolset: 'work',
  permissions: ['tasks.read', 'approvals.manage'],
  isReadOnly: true,
  input: z.strictObject({ task: taskRef }),
  run: ({ task }, { baton, signal }) => decidersText(baton, task, signal),
});
