import { getWorkspaceRow } from '../../organisation/workspaces/workspaces.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { treeNamespace } from '../memory/namespaces.ts';

/** Where knowledge belongs: a workspace, and the namespace of its tree (organisation, section 18). */
export interface KnowledgePlace {
  readonly workspaceId: string;
  readonly rootWorkspaceId: string;
  readonly namespace: string;
  readonly isArchived: boolean;
}

/** @throws Refusal `not_found` */
export async function findPlace(context: Context, workspaceId: string): Promise<KnowledgePlace> {
  const { id, path, status } = await getWorkspaceRow(context, workspaceId);
  const rootWorkspaceId = path[0] ?? id;
  const namespace = treeNamespace(context.settings, context.tenantId, rootWorkspaceId);
  return { workspaceId: id, rootWorkspaceId, namespace, isArchived: status === 'archived' };
}

/** @throws Refusal `not_found`, `workspace_archived` */
export async function findOpenPlace(context: Context, workspaceId: string): Promise<KnowledgePlace> {
  const place = await findPlace(context, workspaceId);
  if (place.isArchived) fail('workspace_archived', { workspaceId });
  return place;
}

/** What the memory service is told of a place: nothing of it comes from the caller. */
export function fieldsOfPlace({ namespace, workspaceId }: KnowledgePlace) {
  return { namespace, scopes: [`workspace:${workspaceId}`] };
}
