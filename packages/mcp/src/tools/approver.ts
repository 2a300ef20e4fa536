import type { BatonClient, EligibleDeciders, Task } from '@baton/sdk';
import { documentFromOthers, seen } from '../others-text.ts';
import { lines } from '../tool.ts';

interface Asked {
  readonly baton: BatonClient;
  readonly task: Task;
  readonly personId: string | undefined;
  readonly role: string | undefined;
  readonly signal: AbortSignal;
}

/** Nobody can be asked as it was wanted. The message names whom the agent can ask instead. */
export class NoApproverError extends Error {
  override readonly name = 'NoApproverError';
}

/**
 * Whom an approval is requested of: the person or role that was named, else the owner of the task.
 * @throws TypeError where both are named; NoApproverError where nobody could decide
 */
export async function approverOf({
  baton,
  task,
  personId,
  role,
  signal,
}: Asked): Promise<{ assignedPrincipalId: string } | { requiredRoleId: string }> {
  if (personId !== undefined && role !== undefined)
    throw new TypeError('name personId or role, not both: one of them decides');
  const deciders = await baton.tasks.listDeciders(task.id, { signal });
  if (role !== undefined) return { requiredRoleId: roleIdOf(role, task, deciders) };
  const wanted = personId ?? task.ownerId;
  if (wanted !== null && mayDecide(wanted, deciders)) return { assignedPrincipalId: wanted };
  throw new NoApproverError(lines(`${whyNobody(task, personId)}.`, choiceText(deciders)));
}

function whyNobody({ publicId, ownerId }: Task, personId: string | undefined): string {
  if (personId !== undefined) return `${personId} can't decide about ${publicId}`;
  return ownerId === null
    ? `${publicId} has no owner: name a person or a role`
    : `The owner of ${publicId} (${ownerId}) can't decide about it: name a person or a role`;
}

/** Whom a request about a task can be addressed to, by names and ids. */
export async function decidersText(baton: BatonClient, ref: string, signal: AbortSignal): Promise<string> {
  return choiceText(await baton.tasks.listDeciders(ref, { signal }));
}

/** Where more could decide than are listed, the service judges. */
function mayDecide(personId: string, { people, hasMore }: EligibleDeciders): boolean {
  return hasMore || people.some(({ id }) => id === personId.toLowerCase());
}

function roleIdOf(wanted: string, { publicId }: Task, deciders: EligibleDeciders): string {
  const found = deciders.roles.find(({ id, slug }) => id === wanted.toLowerCase() || slug === wanted);
  if (found !== undefined) return found.id;
  if (deciders.hasMore && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(wanted)) return wanted;
  throw new NoApproverError(
    lines(`Nobody who could decide about ${publicId} holds a role ${seen(wanted)}.`, choiceText(deciders)),
  );
}

function choiceText({ people, roles, hasMore }: EligibleDeciders): string {
  if (people.length === 0 && !hasMore)
    return 'Nobody can decide about it: no person who sees it has the permission approvals.decide.';
  return lines(
    'Name a person by personId, or a role by its slug:',
    documentFromOthers('who could decide', { people, roles }),
    hasMore ? 'There are more: ask a person for the id, if the right one is not among these.' : undefined,
  );
}
