import { type BatonClient, BatonError, type EligibleDeciders, type Task } from '@baton/sdk';
import { documentFromOthers, seen } from '../others-text.ts';
import { lines } from '../tool.ts';

const rolesSearchedMax = 500;

interface Asked {
  readonly baton: BatonClient;
  readonly task: Task;
  readonly personId: string | undefined;
  readonly role: string | undefined;
  readonly signal: AbortSignal;
}

/** The named person or role can't decide. The message lists who can. */
export class NoApproverError extends Error {
  override readonly name = 'NoApproverError';
}

/**
 * Resolves the approver of a request: the named person or role, or otherwise the owner of the task.
 * @throws TypeError if both are named; NoApproverError if there is no possible approver
 */
export async function resolveApprover(
  asked: Asked,
): Promise<{ assignedPrincipalId: string } | { requiredRoleId: string }> {
  const { baton, task, personId, role, signal } = asked;
  if (personId !== undefined && role !== undefined)
    throw new TypeError('name personId or role, not both: one of them decides');
  const deciders = await baton.tasks.listDeciders(task.id, { signal });
  if (role !== undefined) return { requiredRoleId: await roleIdOf(asked, role, deciders) };
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

/** The possible approvers of a task, by names and ids. */
export async function decidersText(baton: BatonClient, ref: string, signal: AbortSignal): Promise<string> {
  return choiceText(await baton.tasks.listDeciders(ref, { signal }));
}

/** Whether a person may decide. If the list is incomplete, the service makes the check. */
function mayDecide(personId: string, { people, hasMore }: EligibleDeciders): boolean {
  return hasMore || people.some(({ id }) => id === personId.toLowerCase());
}

async function roleIdOf(
  { baton, task, signal }: Asked,
  wanted: string,
  deciders: EligibleDeciders,
): Promise<string> {
  const listed = deciders.roles.find(({ id, slug }) => id === wanted.toLowerCase() || slug === wanted);
  if (listed !== undefined) return listed.id;
  const found = deciders.hasMore ? await findRole(baton, wanted, signal) : undefined;
  if (found !== undefined) return found;
  throw new NoApproverError(
    lines(
      `Nobody who could decide about ${task.publicId} is known to hold a role ${seen(wanted)}.`,
      choiceText(deciders),
    ),
  );
}

/** The role isn't in the list, so the service checks who holds it. */
async function findRole(
  baton: BatonClient,
  wanted: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(wanted)) return wanted;
  let searched = 0;
  try {
    for await (const { id, slug } of baton.roles.list({ limit: 200 }, { signal })) {
      if (slug === wanted) return id;
      searched += 1;
      if (searched >= rolesSearchedMax) break;
    }
  } catch (error) {
    // A principal that may not list roles can still name one by its id.
    if (!(error instanceof BatonError) || error.status !== 403) throw error;
  }
  return undefined;
}

function choiceText({ people, roles, hasMore }: EligibleDeciders): string {
  if (people.length === 0 && !hasMore)
    return 'Nobody can decide about it: no person who sees it has the permission approvals.decide.';
  return lines(
    'Name a person by personId, or a role by its slug:',
    documentFromOthers('who could decide', { people, roles }),
    hasMore ? 'There are more: if the right one is not among these, a person can name its id.' : undefined,
  );
}
