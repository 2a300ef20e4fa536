import { requireMayFile } from '../../access/policy/filed-in.ts';
import { viewerOf } from '../../service/sight/sight.ts';
import type { TaskRef } from '../../work/tasks/task-ref.ts';
import { getTask } from '../../work/tasks/tasks.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type EligibleDeciders, shownMax } from './eligible-decider.ts';
import { findEligibleDeciders } from './eligible-deciders.sql.ts';

/**
 * The people who could decide about a task, and their roles, for callers who may request an approval. A decision point
 * may grant permissions that no binding contains, so `hasMore` is true whenever one is configured.
 * @throws Refusal `not_found`, `permission_denied`
 */
export async function listEligibleDeciders(context: Context, ref: TaskRef): Promise<EligibleDeciders> {
  const { id: taskId, workspaceId } = await getTask(context, ref);
  await requireMayFile(context, 'approvals.manage', workspaceId);
  const { db, tenantId, settings } = context;
  const viewerId = await viewerOf(context);
  const asked = { tenantId, taskId, viewerId, limit: shownMax };
  const found = (await db.row(findEligibleDeciders(asked))) ?? fail('not_found');
  return { ...found, hasMore: found.hasMore || settings.CP_AUTHZ_MODE === 'policy' };
}
