import { z } from 'zod';
import { type BatonClient, BatonError, etagOf, type Lease, type Task } from '@baton/sdk';
import { leaseId, shortText, taskRef } from '../inputs.ts';
import { lines, tool } from '../tool.ts';
import { workPermissions } from './work-permissions.ts';

const retryAfterSecondsMax = 604_800;

export const blocked = tool({
  name: 'work_blocked',
  title: 'Give the task back',
  description:
    'Releases a task that you can not finish, with the reason as a comment. By default it is offered again after a delay, which grows each time. With waitsFor it is blocked until that other task is done. With needsPerson it is blocked until a person changes its status. If you only need a decision, use ask_approval instead.',
  toolset: 'work',
  permissions: [...workPermissions, 'tasks.write'],
  input: z.strictObject({
    lease: leaseId,
    reason: shortText('What blocks the task, and what would help.', 1_900),
    waitsFor: taskRef.optional().describe('A task that must be done before this one can continue.'),
    needsPerson: z
      .boolean()
      .default(false)
      .describe('Whether a person must act first: the task is blocked until then.'),
    personId: z
      .uuid()
      .optional()
      .describe('The person who should help, mentioned in the comment. By default, the owner of the task.'),
    retryAfterSeconds: z
      .int()
      .min(0)
      .max(retryAfterSecondsMax)
      .optional()
      .describe('The minimum delay, such as the one that a provider requires.'),
  }),
  async run({ lease: id, reason, waitsFor, needsPerson, personId, retryAfterSeconds }, call) {
    const { baton, workplace, signal } = call;
    const lease = workplace.find(id);
    const { publicId, ownerId } = lease.task;
    if (waitsFor !== undefined)
      await lease.write(() =>
        baton.tasks.createRelation(publicId, { type: 'depends_on', toTask: waitsFor }, { signal }),
      );
    const helper = personId ?? ownerId;
    // Not written as a comment of the run, because a run without the grant tasks.write may not comment, and its task
    // must still be released.
    const body = commentBody(reason, helper && (await nameOf(baton, lease.task.id, helper, signal)));
    await lease.comment({ body, runId: null }, { signal });
    const status = needsPerson ? await moveToBlocked(baton, lease, signal) : undefined;
    const failing = { signal, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
    // A task that depends on another one needs no delay, and has not failed.
    if (waitsFor === undefined) await lease.fail(`blocked: ${reason}`, undefined, failing);
    else await lease.cancel(`blocked: it waits for ${waitsFor}`, { signal });
    return lines(
      `You released ${publicId}, with the reason as a comment. ${askedText(helper, personId)}`,
      whenText(await findTask(baton, lease.task.id, signal), { waitsFor, needsPerson, status }),
      'work_next gives you other work.',
    );
  },
});

function commentBody(reason: string, helper: string | null): string {
  return helper === null ? `Blocked: ${reason}` : `Blocked: ${reason}\n\nRequested help: ${helper}`;
}

/** Returns the display name of a person, or the id if the name can't be read. */
async function nameOf(baton: BatonClient, taskId: string, id: string, signal: AbortSignal): Promise<string> {
  try {
    const { people } = await baton.tasks.listDeciders(taskId, { signal });
    const found = people.find((person) => person.id === id.toLowerCase());
    return found === undefined ? id : `${found.displayName} (${id})`;
  } catch (error) {
    if (error instanceof BatonError) return id;
    throw error;
  }
}

function askedText(helper: string | null, personId: string | undefined): string {
  if (helper === null) return 'It has no owner whose help could be requested.';
  return personId === undefined
    ? `Its owner (${helper}) was requested to help.`
    : `The person ${helper} was requested to help.`;
}

/**
 * Moves the task to a status in which it isn't offered.
 * @returns the status; undefined if its lifecycle has none that can be reached
 */
async function moveToBlocked(
  baton: BatonClient,
  lease: Lease,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { targets } = await baton.tasks.listTransitions(lease.task.id, { signal });
  const target = targets.find(
    ({ systemStatusCategory, route }) => systemStatusCategory === 'blocked' && route === 'update',
  );
  if (target === undefined) return undefined;
  const task = await baton.tasks.get(lease.task.id, { signal });
  await lease.update({ status: target.status }, { ifMatch: etagOf(task), signal });
  return target.status;
}

/** Returns the current task; undefined if it can no longer be read, although it was released. */
async function findTask(baton: BatonClient, id: string, signal: AbortSignal): Promise<Task | undefined> {
  try {
    return await baton.tasks.get(id, { signal });
  } catch (error) {
    if (error instanceof BatonError) return undefined;
    throw error;
  }
}

interface HeldBack {
  readonly waitsFor: string | undefined;
  readonly needsPerson: boolean;
  readonly status: string | undefined;
}

function whenText(task: Task | undefined, { waitsFor, needsPerson, status }: HeldBack): string {
  if (status !== undefined) return `It is ${status}: it isn't offered until a person changes its status.`;
  const note = needsPerson ? 'Its type has no blocked status that it could move to. ' : '';
  if (waitsFor !== undefined) return `${note}It is offered again when ${waitsFor} is done.`;
  const { availableAt = null } = task ?? {};
  return availableAt === null
    ? `${note}It is offered again at once: its type has no pause.`
    : `${note}It is paused, and offered again at ${availableAt}.`;
}
