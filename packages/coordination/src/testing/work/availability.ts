import { sql } from '@baton/kernel/database/sql';
import type { TestCoordination } from '../coordination.ts';
import { done, type Worker } from '../leases.ts';

/**
 * Ends the pause of a task, or makes its start date arrive, as if time had passed: its row in the work queue is
 * unchanged.
 */
export async function letComeDue(baton: TestCoordination, taskId: string): Promise<void> {
  await baton.pool.transaction(async (tx) => {
    await tx.run(sql`set local session_replication_role = replica`);
    await tx.run(sql`
      update tasks
      set starts_at = case when starts_at > now() then now() else starts_at end,
        retry_at = case when retry_at > now() then now() else retry_at end,
        available_at = case when available_at > now() then now() else available_at end
      where id = ${taskId}`);
    await tx.run(
      sql`update work_queue set due_at = now() - interval '1 ms' where task_id = ${taskId} and due_at is not null`,
    );
  });
}

/** Lets the worker claim a task, fail its run immediately and release it. @returns the resulting task */
export async function failOnce(
  baton: TestCoordination,
  { actor, sessionId }: Worker,
  taskId: string,
  failure: object = {},
) {
  const claim = await done(actor.post(`/tasks/${taskId}:claim`, { sessionId }));
  const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
  const run = await done(actor.post(`/tasks/${taskId}:start-run`, keys), 201);
  await done(
    actor.post(`/runs/${run.id}:fail`, { failureReason: 'broken: it does not compile', ...failure }),
  );
  await done(actor.post(`/claims/${claim.id}:release`, {}));
  return done(baton.admin.get(`/tasks/${taskId}`));
}
