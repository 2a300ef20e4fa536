import { z } from 'zod';
import type { Lease, RunContext, Task } from '@baton/sdk';
import { jsonObject, leaseId, shortText, taskRef } from '../inputs.ts';
import { documentFromOthers, fromOthers } from '../others-text.ts';
import { lines, tool } from '../tool.ts';
import { approverOf } from './approver.ts';
import { taskText } from './task-text.ts';

const needed = ['sessions.open', 'tasks.claim', 'tasks.read', 'task_types.read'] as const;
const checkpointsShown = 5;
/** Where a lease can't be given back in this time, it runs out. */
const givingBackMsMax = 10_000;

const next = tool({
  name: 'work_next',
  title: 'Take the next task',
  description:
    'Finds the most urgent task that you may do, takes it for you alone and starts its run. Answers with a lease, which the other work tools want. End every task with work_done, work_blocked or ask_approval.',
  toolset: 'work',
  permissions: needed,
  input: z.strictObject({
    workspaceId: z.uuid().optional().describe('Only of this workspace and those below it.'),
    projectId: z.uuid().optional().describe('Only of this project and those below it.'),
    assignedToMe: z.boolean().default(false).describe('Only what is assigned to you.'),
    waitSeconds: z.int().min(0).max(50).default(0).describe('How long to wait for work when there is none.'),
  }),
  async run({ workspaceId, projectId, assignedToMe, waitSeconds }, { workplace, signal }) {
    const filter = {
      ...(workspaceId !== undefined && { workspaceId, includeDescendants: true }),
      ...(projectId !== undefined && { projectId, includeSubprojects: true }),
      ...(assignedToMe && { assignedToMe }),
    };
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(Math.max(waitSeconds * 1000, 1))]);
    const lease = await workplace.take(
      waitSeconds === 0 ? { filter, once: true } : { filter, signal: inTime },
    );
    if (lease === undefined)
      return 'There is no work for you now. Call work_next again later, with waitSeconds to wait for some.';
    return takenText(lease, await contextOf(lease, signal));
  },
});

const checkpoint = tool({
  name: 'work_checkpoint',
  title: 'Save progress',
  description:
    'Saves where the work stands, so that whoever continues it after you begins there. Call it after each step that would be a pity to do twice, and at least every 10 minutes.',
  toolset: 'work',
  permissions: needed,
  input: z.strictObject({
    lease: leaseId,
    note: shortText('What is done, and what comes next.', 10_000),
    kind: shortText('A word for the step, such as tests_written.', 100).default('progress'),
    data: jsonObject('Facts that the next step needs.').optional(),
  }),
  async run({ lease: id, note, kind, data }, { baton, workplace, signal }) {
    const lease = workplace.find(id);
    const { seq } = await lease.checkpoint(kind, { note, ...data }, { signal });
    const { cancelRequestedAt } = await baton.runs.get(lease.run.id, { signal });
    if (cancelRequestedAt !== null)
      return `Checkpoint ${seq} is saved. Somebody asks you to stop the work on ${lease.task.publicId}: stop, and give it back with work_blocked.`;
    return `Checkpoint ${seq} of ${lease.task.publicId} is saved. Go on; work_done ends the task.`;
  },
});

const done = tool({
  name: 'work_done',
  title: 'Finish the task',
  description: 'Ends the task as done, with what came out. Publish larger results with artifact_put first.',
  toolset: 'work',
  permissions: needed,
  input: z.strictObject({
    lease: leaseId,
    summary: shortText('What was done, and how it was checked.', 10_000),
    output: jsonObject('Results as data.').optional(),
  }),
  async run({ lease: id, summary, output }, { workplace, signal }) {
    const lease = workplace.find(id);
    const task = await lease.succeed({ summary, ...output }, { signal });
    return doneText(task);
  },
});

const blocked = tool({
  name: 'work_blocked',
  title: 'Give the task back',
  description:
    'Gives a task back that you can not finish, with the reason as a comment. With waitsFor nobody is given it before that other task is done; without, it is offered again at once. Where a person must decide, use ask_approval instead.',
  toolset: 'work',
  permissions: [...needed, 'tasks.write'],
  input: z.strictObject({
    lease: leaseId,
    reason: shortText('What stands in the way, and what would help.', 1_900),
    waitsFor: taskRef.optional().describe('A task that must be done before this one can go on.'),
  }),
  async run({ lease: id, reason, waitsFor }, { baton, workplace, signal }) {
    const lease = workplace.find(id);
    const { publicId } = lease.task;
    if (waitsFor !== undefined)
      await lease.write(() =>
        baton.tasks.createRelation(publicId, { type: 'depends_on', toTask: waitsFor }, { signal }),
      );
    // Not as the run's: one whose grant has no tasks.write may not comment, and its task must be given back all the same.
    await lease.comment({ body: `Blocked: ${reason}`, runId: null }, { signal });
    await lease.fail(`blocked: ${reason}`, undefined, { signal });
    return waitsFor === undefined
      ? `You gave ${publicId} back, and it is offered again. If work_next gives it to you unchanged, ask a person with ask_approval.`
      : `You gave ${publicId} back; it is offered again when ${waitsFor} is done. work_next gives you other work.`;
  },
});

const askApproval = tool({
  name: 'ask_approval',
  title: 'Ask a person',
  description:
    'Asks a person to decide, and suspends the task until then: nobody works on it, and you no longer hold it. After the decision work_next gives it to you or another agent, with your checkpoints. Save a checkpoint first.',
  toolset: 'work',
  permissions: [...needed, 'approvals.manage'],
  input: z.strictObject({
    lease: leaseId,
    question: shortText('What to decide, with all that is needed for it.', 4000),
    personId: z.uuid().optional().describe('Who decides. Without person and role: the owner of the task.'),
    role: shortText('The role whose holders decide: its slug or id.', 200).optional(),
  }),
  async run({ lease: id, question, personId, role }, { baton, workplace, signal }) {
    const lease = workplace.find(id);
    const approver = await approverOf({ baton, task: lease.task, personId, role });
    const approval = await lease.askApproval({ comment: question, ...approver }, { signal });
    const text = lines(
      `A person was asked (approval ${approval.id}), and ${lease.task.publicId} is suspended: you no longer hold it. Stop working on it.`,
      'approval_get says what was decided; work_next gives you other work.',
    );
    return { text, followed: { kind: 'approval', id: approval.id } };
  },
});

export const workTools = [next, checkpoint, done, blocked, askApproval];

/** An agent that gets no answer knows no lease, and so nobody would do the task: it is given back. @throws why */
async function contextOf(lease: Lease, signal: AbortSignal): Promise<RunContext> {
  try {
    signal.throwIfAborted();
    const context = await lease.context({ signal });
    signal.throwIfAborted();
    return context;
  } catch (error) {
    const reason = signal.aborted ? 'mcp_request_cancelled' : 'mcp_context_not_read';
    await lease
      .release(reason, { attempts: 2, deadlineMs: givingBackMsMax })
      .catch(() => lease.lose('it could not be given back'));
    throw error;
  }
}

function takenText({ claim, task, isResumed }: Lease, context: RunContext): string {
  const earlier = context.checkpoints.slice(-checkpointsShown).map(({ kind, data }) => ({ kind, data }));
  const instructions = context.instructions.layers.map(({ text }) => text).join('\n\n');
  return lines(
    `You hold ${task.publicId}. Lease: ${claim.id}`,
    'Nobody else can take it while you do. Do the task; save steps with work_checkpoint, at least every 10 minutes; then call work_done, or work_blocked, or ask_approval.',
    isResumed || earlier.length > 0
      ? 'Somebody began it before: go on from the checkpoints below.'
      : undefined,
    taskText(task),
    instructions === ''
      ? undefined
      : fromOthers(`how tasks of the type ${task.typeKey} are done`, instructions),
    earlier.length === 0 ? undefined : documentFromOthers('the last checkpoints', earlier),
  );
}

function doneText({ publicId, systemStatusCategory, acceptanceChecks }: Task): string {
  if (systemStatusCategory === 'terminal_success')
    return `${publicId} is done. work_next gives you the next task.`;
  if (acceptanceChecks > 0)
    return `Your run of ${publicId} is over, and its ${acceptanceChecks} checks are being judged; task_get says how they ended. work_next gives you the next task.`;
  return `Your run of ${publicId} is over, but the task is still open (${systemStatusCategory}); task_get says why. work_next gives you the next task.`;
}
