import { z } from 'zod';
import {
  type Approval,
  type ApprovalSubject,
  type ListedApproval,
  presentSubject,
  subjectChanges,
} from '@baton/sdk';
import { limit, taskRef } from '../inputs.ts';
import { documentFromOthers, listFromOthers, noteOmitted } from '../others-text.ts';
import { lines, tool } from '../tool.ts';

const list = tool({
  name: 'approval_list',
  title: 'List approvals',
  description:
    'The approvals that were requested, newest first. People decide them in the console or the command line.',
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
    return lines(
      noteOmitted(list.shown, items.length, 'name a task, or read one by approval_get'),
      list.text,
    );
  },
});

const get = tool({
  name: 'approval_get',
  title: 'Read an approval',
  description:
    'Returns the question, its subject with the actions that follow, what has changed since, and the decision.',
  toolset: 'approvals',
  permissions: ['approvals.read'],
  isReadOnly: true,
  input: z.strictObject({ approval: z.uuid().describe('Its id, as returned by ask_approval.') }),
  async run({ approval: id }, { baton, signal }) {
    const approval = await baton.approvals.get(id, { signal });
    return lines(
      approval.status === 'pending'
        ? 'It is not decided yet. Continue with other work.'
        : `It is decided: ${approval.status}.`,
      changeText(approval),
      documentFromOthers(`the approval ${id}`, { ...shown(approval), ...subjectsOf(approval) }),
    );
  },
});

export const approvalTools = [list, get];

type Shown = Pick<
  ListedApproval,
  | 'id'
  | 'taskId'
  | 'status'
  | 'gate'
  | 'comment'
  | 'decisionComment'
  | 'subjectChanged'
  | 'createdAt'
  | 'decisionAt'
>;

function shown({ gate, ...approval }: Shown) {
  const { id, taskId, status, comment, decisionComment, subjectChanged, createdAt, decisionAt } = approval;
  const decision = { decisionAt, decisionComment };
  return { id, taskId, status, holdsTaskBack: gate, comment, subjectChanged, createdAt, ...decision };
}

/** Lists the changed fields. Their values come from other authors and are in the envelope. */
function changeText({ status, subjectChanged, changedFields, current }: Approval): string | undefined {
  if (!subjectChanged || changedFields.length === 0) return undefined;
  const since = status === 'pending' ? 'requested' : 'decided';
  const tooLarge = current === null ? ' It is now too large to be shown, so nobody can approve it.' : '';
  const asked =
    status === 'pending' && current !== null
      ? ' The approver sees the change and decides on the current state.'
      : '';
  return `Its subject has changed since it was ${since}: ${changedFields.join(', ')}.${tooLarge}${asked}`;
}

/** The changes are listed first, because a long subject may be cut. */
function subjectsOf(approval: Approval) {
  const { status, subject, requestedSubject, current } = approval;
  const about = status === 'pending' ? presentSubject(approval) : subject;
  return {
    ...changesOf('changesBeforeTheDecision', requestedSubject, subject),
    ...changesOf(
      status === 'pending' ? 'changesSinceTheRequest' : 'changesSinceTheDecision',
      subject,
      current,
    ),
    ...(about != null && { subjectDigest: about.digest, about: about.snapshot }),
  };
}

function changesOf(name: string, before: ApprovalSubject | null, after: ApprovalSubject | null) {
  if (before === null || after === null) return {};
  const changes = subjectChanges(before, after).map(({ path, before: was, after: is }) => ({
    at: path.join('.'),
    was: was ?? null,
    is: is ?? null,
  }));
  return changes.length === 0 ? {} : { [name]: changes };
}
