import { z } from 'zod';
import type { BatonClient, Lease, RunContext, Task } from '@baton/sdk';
import { jsonObject, leaseId, shortText, taskRef } from '../inputs.ts';
import { documentFromOthers, fromOthers } from '../others-text.ts';
import { lines, tool } from '../tool.ts';
import { approvalDeciders, askApproval } from './ask-approval.ts';
import { formText, withForm, writeAnswers } from './process-form.ts';
import { taskText } from './task-text.ts';
import { blocked } from './work-blocked.ts';
import { workPermissions } from './work-permissions.ts';

const checkpointsShown = 5;
/** The timeout of a release; after it, the lease expires. */
const givingBackMsMax = 10_000;

const next = tool({
  name: 'work_next',
  title: 'Take the next task',
  description:
    'Takes the most urgent available task, those assigned to you first, or the one that you name. Claims it for you alone and starts its run. Returns a lease, which the other work tools need. End every task with work_done, work_blocked or ask_approval.',
  toolset: 'work',
  permissions: workPermissions,
  input: z.strictObject({
    task: taskRef
      .optional()
      .describe('Take only this task, such as TASK-000042, if a person specified the task.'),
    workspaceId: z
      .uuid()
      .optional()
      .describe('Only tasks of this workspace and its descendants, instead of the workspace of the agent.'),
    projectId: z.uuid().optional().describe('Only tasks of this project and its descendants.'),
    assignedToMe: z.boolean().default(false).describe('Only tasks that are assigned to you.'),
    waitSeconds: z.int().min(0).max(50).default(0).describe('The time to wait if no work is available.'),
  }),
  async run({ task, workspaceId, projectId, assignedToMe, waitSeconds }, { baton, workplace, signal }) {
    if (task !== undefined) {
      const held = workplace.findByTask(task);
      if (held !== undefined)
        return takenText(held, await readBriefing(held, baton, signal), { isHeldAlready: true });
      const named = await workplace.take({ task, once: true });
      if (named === undefined) throw new TypeError(`${task} could not be taken: read it with task_get`);
      return takenText(named, await briefingOf(named, baton, signal));
    }
    const within = workspaceId ?? (await workplace.findWorkspace(signal));
    const filter = {
      ...(within !== undefined && { workspaceId: within, includeDescendants: true }),
      ...(projectId !== undefined && { projectId, includeSubprojects: true }),
      ...(assignedToMe && { assignedToMe }),
    };
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(Math.max(waitSeconds * 1000, 1))]);
    const lease = await workplace.take(
      waitSeconds === 0 ? { filter, once: true } : { filter, signal: inTime },
    );
    if (lease === undefined)
      return 'No work is available for you now. Call work_next again later, with waitSeconds to wait for it.';
    return takenText(lease, await briefingOf(lease, baton, signal));
  },
});

const checkpoint = tool({
  name: 'work_checkpoint',
  title: 'Save progress',
  description:
    'Saves the state of the work, from which the next holder continues. Call it after each step that is expensive to repeat, and at least every 10 minutes.',
  toolset: 'work',
  permissions: workPermissions,
  input: z.strictObject({
    lease: leaseId,
    note: shortText('The completed work, and the next step.', 10_000),
    kind: shortText('A short name of the step, such as tests_written.', 100).default('progress'),
    data: jsonObject('Facts that the next step needs.').optional(),
  }),
  async run({ lease: id, note, kind, data }, { baton, workplace, signal }) {
    const lease = workplace.find(id);
    const { seq } = await lease.checkpoint(kind, { note, ...data }, { signal });
    const { cancelRequestedAt } = await baton.runs.get(lease.run.id, { signal });
    if (cancelRequestedAt !== null)
      return `Checkpoint ${seq} is saved. You are requested to stop the work on ${lease.task.publicId}: stop, and release it with work_blocked.`;
    return `Checkpoint ${seq} of ${lease.task.publicId} is saved. Continue; work_done ends the task.`;
  },
});

const done = tool({
  name: 'work_done',
  title: 'Finish the task',
  description: 'Completes the task with its result. Publish larger results with artifact_put first.',
  toolset: 'work',
  permissions: workPermissions,
  input: z.strictObject({
    lease: leaseId,
    summary: shortText('The completed work, and how it was checked.', 10_000),
    output: jsonObject('Results as data.').optional(),
    fields: jsonObject(
      "The answers to the task's form, by name, if work_next showed one. They become custom fields of the task.",
    ).optional(),
  }),
  async run({ lease: id, summary, output, fields }, { baton, workplace, signal }) {
    const lease = workplace.find(id);
    try {
      if (fields !== undefined) await writeAnswers(baton, lease, fields, signal);
      return doneText(await lease.succeed({ summary, ...output }, { signal }));
    } catch (error) {
      throw await withForm(error, baton, lease.task, signal);
    }
  },
});

export const workTools = [next, checkpoint, done, blocked, askApproval, approvalDeciders];

/** Returns the context of a task for an agent. */
interface Briefing {
  readonly context: RunContext;
  readonly form: string | undefined;
}

/**
 * Releases the task if its context can't be returned: the agent wouldn't know the lease, and nobody would do the task.
 * @throws the reason
 */
async function briefingOf(lease: Lease, baton: BatonClient, signal: AbortSignal): Promise<Briefing> {
  try {
    return await readBriefing(lease, baton, signal);
  } catch (error) {
    const reason = signal.aborted ? 'mcp_request_cancelled' : 'mcp_context_not_read';
    await lease
      .release(reason, { attempts: 2, deadlineMs: givingBackMsMax })
      .catch(() => lease.lose('it could not be released'));
    throw error;
  }
}

async function readBriefing(lease: Lease, baton: BatonClient, signal: AbortSignal): Promise<Briefing> {
  signal.throwIfAborted();
  const [context, form] = await Promise.all([lease.context({ signal }), formText(baton, lease.task, signal)]);
  signal.throwIfAborted();
  return { context, form };
}

function takenText(
  { claim, task, isResumed }: Lease,
  { context, form }: Briefing,
  { isHeldAlready = false } = {},
): string {
  // In the context, the newest is first.
  const earlier = context.checkpoints
    .slice(0, checkpointsShown)
    .map(({ kind, data }) => ({ kind, data }))
    .toReversed();
  const instructions = context.instructions.layers.map(({ text }) => text).join('\n\n');
  return lines(
    `You ${isHeldAlready ? 'already hold' : 'hold'} ${task.publicId}. Lease: ${claim.id}`,
    'No other agent can take it while you do. Do the task; save steps with work_checkpoint, at least every 10 minutes; then call work_done, or work_blocked, or ask_approval.',
    isResumed || earlier.length > 0
      ? `${isHeldAlready ? 'It has been started' : 'An earlier holder started it'}: continue from the checkpoints below.`
      : undefined,
    taskText(task),
    form,
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
    return `Your run of ${publicId} has ended, and its ${acceptanceChecks} checks are being evaluated; task_get shows their outcome. work_next gives you the next task.`;
  return `Your run of ${publicId} has ended, but the task is still open (${systemStatusCategory}); task_get shows why. work_next gives you the next task.`;
}
