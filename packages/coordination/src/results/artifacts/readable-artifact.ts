import { holds } from '../../service/permissions.ts';
import type { Task } from '../../work/tasks/task.ts';
import type { TaskRef } from '../../work/tasks/task-ref.ts';
import { getTask } from '../../work/tasks/tasks.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type Artifact, type ArtifactRow, artifactOf } from './artifact.ts';
import { isInputOf } from './artifacts.sql.ts';
import { getArtifactRow } from './artifacts.ts';

export interface ReadableArtifact {
  readonly artifact: ArtifactRow;
  /** The task whose input is being read, if the caller specified one. */
  readonly forTaskId: string | null;
}

/**
 * Finds an artifact for a caller who may read all artifacts, or only the inputs of tasks.
 * @throws Refusal `not_found`, and `permission_denied` if it isn't an input of the specified task
 */
export async function findReadableArtifact(
  context: Context,
  artifactId: string,
  forTask: TaskRef | undefined,
): Promise<ReadableArtifact> {
  const { permissions } = context.caller;
  const required = ['artifacts.read'];
  if (!holds(permissions, 'artifacts.read') && forTask === undefined) fail('permission_denied', { required });
  const artifact = await getArtifactRow(context, artifactId);
  const task = forTask === undefined ? undefined : await getTask(context, forTask);
  if (!holds(permissions, 'artifacts.read') && !(await isInput(context, artifact, task)))
    fail('permission_denied', { required });
  return { artifact, forTaskId: task?.id ?? null };
}

async function isInput({ db }: Context, { id }: ArtifactRow, task: Task | undefined): Promise<boolean> {
  return task !== undefined && (await db.row(isInputOf(id, task.id)))?.found === true;
}

/** @throws Refusal as `findReadableArtifact` */
export async function getArtifact(
  context: Context,
  artifactId: string,
  forTask: TaskRef | undefined,
): Promise<Artifact> {
  const { artifact } = await findReadableArtifact(context, artifactId, forTask);
  return artifactOf(artifact);
}
