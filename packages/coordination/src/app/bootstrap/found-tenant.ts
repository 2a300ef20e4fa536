import type { Db } from '@baton/kernel/database/db';
import { newId } from '@baton/values/ids';
import { claimMovesOf } from '../../definitions/task-types/lifecycle-grammar.ts';
import { systemExecution, systemLifecycle } from '../../definitions/task-types/system-type.ts';
import { createTaskNumbers, insertTenant } from './found-tenant.sql.ts';

/**
 * Creates a tenant with its first administrator, the principal of the core itself, the built-in types of tasks and
 * workspaces, the sequence for its task numbers and the floor of its journal.
 * @returns the ids
 */
export async function foundTenant(
  tx: Db,
  {
    tenantId = newId(),
    tenantSlug,
    tenantName,
    adminDisplayName,
  }: {
    tenantId?: string | undefined;
    tenantSlug: string;
    tenantName: string;
    adminDisplayName: string;
  },
): Promise<{ tenantId: string; adminPrincipalId: string }> {
  const adminPrincipalId = newId();
  await tx.run(
    insertTenant({
      tenantId,
      tenantSlug,
      tenantName,
      adminPrincipalId,
      adminDisplayName,
      corePrincipalId: newId(),
      taskTypeId: newId(),
      workspaceTypeId: newId(),
      lifecycle: systemLifecycle,
      claimFrom: claimMovesOf(systemLifecycle).claimFrom,
      execution: systemExecution,
    }),
  );
  await tx.run(createTaskNumbers(tenantId));
  return { tenantId, adminPrincipalId };
}
