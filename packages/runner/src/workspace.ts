import { type BatonClient, BatonError } from '@baton/sdk';
import { SettingsError } from '@baton/values/program-options';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const workspacesMax = 10_000;
const idsShownMax = 10;

/**
 * Resolves the workspace of `--workspace` to its id. Workspaces with different parents may have the same slug.
 * @throws SettingsError if no workspace or several have the slug; BatonError
 */
export async function findWorkspaceId(baton: BatonClient, ref: string): Promise<string> {
  if (uuid.test(ref)) return ref;
  const ids: string[] = [];
  let looked = 0;
  try {
    for await (const { id, slug } of baton.workspaces.list({ status: 'active', limit: 200 })) {
      if (slug === ref) ids.push(id);
      looked += 1;
      if (looked === workspacesMax) break;
    }
  } catch (error) {
    if (!(error instanceof BatonError) || error.status !== 403) throw error;
    throw new SettingsError(
      '--workspace takes a slug only with the permission workspaces.read: name its id.',
      1,
    );
  }
  const [id] = ids;
  if (id === undefined)
    throw new SettingsError(`There is no active workspace ${ref} that this agent sees.`, 1);
  if (ids.length > 1)
    throw new SettingsError(
      `Several workspaces have the slug ${ref}; name one by its id: ${ids.slice(0, idsShownMax).join(', ')}`,
      1,
    );
  return id;
}
