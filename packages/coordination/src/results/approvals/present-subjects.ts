import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApprovalRow } from '../../work/gates/gates.ts';
import {
  checkOfApproval,
  findArtifactOfSubject,
  findArtifactsOf,
  type PresentSubject,
  takeSubjectSnapshot,
} from '../../work/gates/subject.ts';
import { subjectTaskOf } from '../../work/tasks/lookup.ts';
import { taskOf } from '../../work/tasks/task.ts';
import type { Context } from '../context.ts';
import { findTasksOfSubjects } from './approvals.sql.ts';

type About = Pick<ApprovalRow, 'id' | 'task_id' | 'artifact_id' | 'gate' | 'verification_id' | 'check_key'>;

/** Maximum number of tasks whose documents are in memory at the same time. A task's documents can take up to 2 MB. */
const atOnceMax = 20;

/** Builds the current subject of an approval. For a decision, the caller holds the task's lock. */
export async function presentSubjectOf(
  context: Context,
  approval: Omit<About, 'id'>,
): Promise<PresentSubject> {
  const { db, tenantId } = context;
  const { task_id: taskId, artifact_id: artifactId, gate } = approval;
  const row = taskId === null ? undefined : await db.row(findTasksOfSubjects(tenantId, [taskId]));
  const artifact = await findArtifactOfSubject(context, artifactId);
  return takeSubjectSnapshot(context, {
    task: row === undefined ? null : subjectTaskOf(context, taskOf(row)),
    artifact,
    gate,
    check: checkOfApproval(approval),
  });
}

/** The digests of the current subjects of these approvals, by id; a subject that is too large has none. */
export async function findPresentDigests(
  context: Context,
  approvals: readonly About[],
): Promise<ReadonlyMap<string, string>> {
  const { db, tenantId } = context;
  const digests = new Map<string, string>();
  // Many approvals may concern the same task.
  const known = new Map<string, string | undefined>();
  for (let at = 0; at < approvals.length; at += atOnceMax) {
    const part = approvals.slice(at, at + atOnceMax);
    const taskIds = [...new Set(part.flatMap(({ task_id: id }) => id ?? []))];
    const artifactIds = part.flatMap(({ artifact_id: id }) => id ?? []);
    const tasks = taskIds.length === 0 ? [] : await db.rows(findTasksOfSubjects(tenantId, taskIds));
    const artifacts = await findArtifactsOf(context, artifactIds);
    for (const approval of part) {
      const { id, task_id: taskId, artifact_id: artifactId, gate } = approval;
      const check = checkOfApproval(approval);
      const about = [taskId, artifactId, gate, check?.verificationId, check?.key].join('/');
      if (!known.has(about)) {
        const row = tasks.find((task) => task.id === taskId);
        const artifact = artifacts.find((found) => found.id === artifactId) ?? null;
        const task = row === undefined ? null : subjectTaskOf(context, taskOf(row));
        known.set(
          about,
          (await takeSubjectSnapshot(context, { task, artifact, gate, check })).subject?.digest,
        );
        // A large subject takes some milliseconds, so this yields to other requests.
        await nextTurn();
      }
      const digest = known.get(about);
      if (digest !== undefined) digests.set(id, digest);
    }
  }
  return digests;
}
