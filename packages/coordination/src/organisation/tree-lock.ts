import type { Context } from './context.ts';
import { shareTreeLock, takeTreeLock } from './tree-lock.sql.ts';

/**
 * Acquire this lock before a change to the tree of workspaces or to workspace types, and read the tree afterwards. In
 * the lock order it follows task, claim and run: a transaction that holds it exclusively waits for none of them.
 */
export async function lockWorkspaceTree({ db, tenantId }: Context): Promise<void> {
  await db.run(takeTreeLock(tenantId));
}

/**
 * Acquire this lock before adding an object to a workspace, so that a concurrent archive or move is either visible or
 * waits.
 */
export async function holdWorkspaceTree({ db, tenantId }: Context): Promise<void> {
  await db.run(shareTreeLock(tenantId));
}
