import type { Context } from './context.ts';
import { shareTreeLock, takeTreeLock } from './tree-lock.sql.ts';

/**
 * Taken before a change to the tree of workspaces or to workspace types; read the tree after it. In the lock order it
 * follows task, claim and run: its exclusive holder waits for none of them.
 */
export async function lockWorkspaceTree({ db, tenantId }: Context): Promise<void> {
  await db.run(takeTreeLock(tenantId));
}

/** Taken before anything is put into a workspace, so that an archive or a move is either visible or follows it. */
export async function holdWorkspaceTree({ db, tenantId }: Context): Promise<void> {
  await db.run(shareTreeLock(tenantId));
}
