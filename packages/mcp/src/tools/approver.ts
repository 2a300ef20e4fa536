import type { BatonClient, Task } from '@baton/sdk';

const rolesSearchedMax = 500;

interface Asked {
  readonly baton: BatonClient;
  readonly task: Task;
  readonly personId: string | undefined;
  readonly role: string | undefined;
}

/**
 * Whom an approval is asked of: the person or role that was named, else the owner of the task.
 * @throws TypeError that says what to name
 */
export async function approverOf({
  baton,
  task,
  personId,
  role,
}: Asked): Promise<{ assignedPrincipalId: string } | { requiredRoleId: string }> {
  if (personId !== undefined && role !== undefined)
    throw new TypeError('name personId or role, not both: one of them decides');
  if (role !== undefined) return { requiredRoleId: await roleId(baton, role) };
  const asked = personId ?? task.ownerId;
  if (asked !== null) return { assignedPrincipalId: asked };
  throw new TypeError(`${task.publicId} has no owner who could decide: name a role, or a person by personId`);
}

async function roleId(baton: BatonClient, wanted: string): Promise<string> {
  if (/^[\da-f]{8}-[\da-f-]{27}$/i.test(wanted)) return wanted;
  let seen = 0;
  const known: string[] = [];
  for await (const { id, slug } of baton.roles.list({ limit: 200 })) {
    if (slug === wanted) return id;
    if (known.length < 20) known.push(slug);
    seen += 1;
    if (seen >= rolesSearchedMax) break;
  }
  throw new TypeError(`there is no role ${wanted}; there are: ${known.join(', ') || 'none'}`);
}
