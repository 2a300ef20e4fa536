import { Refusal } from '@baton/kernel/http/refusal';
import { Uuid } from '@baton/values/wire';
import { getRoleRow } from '../organisation/roles/roles.ts';
import { findRoleOfSlug } from '../work/tasks/requirements.ts';
import type { Context } from './context.ts';

/** A role by its id or, in a workspace and its ancestors, by its slug; undefined if the caller sees none. */
export async function findRoleId(
  context: Context,
  role: string,
  workspaceId: string | null,
): Promise<string | undefined> {
  if (!Uuid.safeParse(role).success) return findRoleOfSlug(context, role, workspaceId);
  try {
    return (await getRoleRow(context, role)).id;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_found') return undefined;
    throw error;
  }
}
