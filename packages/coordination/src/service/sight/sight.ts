import type { Db } from '@baton/kernel/db';
import type { Caller } from '../caller.ts';
import { fail } from '../errors.ts';
import { findNarrowSight, seesWorkspace } from './sight.sql.ts';

/**
 * What the caller sees of the tree of workspaces (organisation, section 1.5). A statement narrows its rows by
 * `(viewer is null or sees_workspace(viewer, workspace_id))`.
 */

/** Who asks, and where: the context of a request is one. */
export type Asking = { readonly db: Db; readonly tenantId: string; readonly caller: Caller };

const known = new WeakMap<object, Promise<string | null>>();

/**
 * The person whose memberships decide what the caller sees; null for who sees everything: agents and services always. Read
 * once for each request, not from the cache of bindings.
 */
export function viewerOf(context: Asking): Promise<string | null> {
  if (context.caller.kind !== 'human') return everything;
  const asked = known.get(context) ?? readViewer(context);
  known.set(context, asked);
  return asked;
}

const everything = Promise.resolve(null);

/** The same without what an earlier call has read: for streams, which outlive a request. */
export async function readViewer({ db, tenantId, caller }: Asking): Promise<string | null> {
  if (caller.kind !== 'human') return null;
  const { principalId } = caller;
  return (await db.row(findNarrowSight(tenantId, principalId)))?.is_narrow === true ? principalId : null;
}

/**
 * @param details those of the object's own absence: what is out of sight answers like what is not there
 * @throws Refusal `not_found`
 */
export async function requireSight(
  context: Asking,
  workspaceId: string | null,
  details: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  if (workspaceId === null) return;
  const viewer = await viewerOf(context);
  if (viewer === null) return;
  if ((await context.db.row(seesWorkspace(viewer, workspaceId)))?.sees !== true) fail('not_found', details);
}
