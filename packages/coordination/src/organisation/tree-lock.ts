import type { Context } from './context.ts';
import { shareTreeLock, takeTreeLock } from './tree-lock.sql.ts';

/**
 * Taken by whatever changes the tree of workspaces or the types of workspaces; read the tree after it. In the order of
 * locks it comes after task, claim and run: who holds it alone waits for none of them.
 */
export async function lockWorkspaceTree({ db, tenantId }: Context): Promise<void> {
  await db.run(takeTreeLock(tenantId));
}

/** Taken by whatever is filed in a workspace, so that an archive or a move either is seen or comes after it. */
export async function holdWorkspaceTree({ db, tenantId }: Context): Promise<void> {
  await db.run(shareTreeLock(tenantId));
}
