import { createHash } from 'node:crypto';
import { filterVisibleInputs } from '../../execution/handover/read-run-context.ts';
import { withTextInstant } from '../../execution/handover/run-context.ts';
import { getRun } from '../../execution/runs/runs.ts';
import { findEffectiveConfig } from '../../organisation/projects/config-revisions.ts';
import type { Project } from '../../organisation/projects/project.ts';
import { getProject } from '../../organisation/projects/projects.ts';
import { getWorkspaceRow } from '../../organisation/workspaces/workspaces.ts';
import { holds, type Permission } from '../../service/permissions.ts';
import type { Task } from '../../work/tasks/task.ts';
import type { TaskRef } from '../../work/tasks/task-ref.ts';
import { getTask } from '../../work/tasks/tasks.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  type ContextFocus,
  type ContextProject,
  type ContextRequest,
  type Instructions,
  projectWorkspacesMax,
} from './context-response.ts';
import {
  findFocusParts,
  findRoot,
  findTypeOfTask,
  findWorkspacesOfProject,
  type TypeOfTaskRow,
} from './focus.sql.ts';

const artifactsMax = 20;
const inputsMax = 50;

/** The subject of a context: a task with its type, a project, and the tree of workspaces whose knowledge applies. */
export interface Focus {
  readonly task: Task | undefined;
  readonly type: TypeOfTaskRow | undefined;
  readonly project: Project | undefined;
  readonly workspaceId: string | null;
  readonly rootWorkspaceId: string | null;
}

/** @throws Refusal `permission_denied` */
export function requireRight({ caller }: Context, ...required: Permission[]): void {
  if (!required.some((name) => holds(caller.permissions, name))) fail('permission_denied', { required });
}

/**
 * Resolves the subject of a context, performing the checks in the documented order. See
 * docs/reference/memory.md#context.
 * @throws Refusal `permission_denied`, `not_found`; `invalid_context_request` for a run of another task
 */
export async function findFocus(
  context: Context,
  request: Pick<ContextRequest, 'task' | 'runId' | 'projectId' | 'workspaceId'>,
): Promise<Focus> {
  const { task: ref, runId, projectId, workspaceId } = request;
  if (ref != null || runId != null) requireRight(context, 'tasks.read');
  const task = await findTaskOfFocus(context, ref, runId);
  if (projectId != null) requireRight(context, 'projects.read');
  const project = projectId == null ? undefined : await getProject(context, projectId);
  const named = workspaceId == null ? undefined : await getWorkspaceRow(context, workspaceId);
  const { db, tenantId } = context;
  const type = task === undefined ? undefined : await db.row(findTypeOfTask(tenantId, task.typeId));
  const placeId = named?.id ?? task?.workspaceId ?? project?.workspaceId ?? null;
  return { task, type, project, workspaceId: placeId, rootWorkspaceId: await rootOf(context, placeId) };
}

async function findTaskOfFocus(
  context: Context,
  ref: TaskRef | null | undefined,
  runId: string | null | undefined,
): Promise<Task | undefined> {
  const run = runId == null ? undefined : await getRun(context, runId);
  if (ref == null) return run === undefined ? undefined : getTask(context, { id: run.taskId, number: null });
  const task = await getTask(context, ref);
  if (run !== undefined && run.taskId !== task.id) fail('invalid_context_request', { field: 'runId' });
  return task;
}

/** The root of the tree; null without a workspace. */
export async function rootOf({ db, tenantId }: Context, workspaceId: string | null): Promise<string | null> {
  if (workspaceId === null) return null;
  return (await db.row(findRoot(tenantId, workspaceId)))?.root_id ?? null;
}

/** The task with its artifacts and inputs, limited to those that the caller may see. */
export async function readFocus(context: Context, task: Task): Promise<ContextFocus> {
  const { db, tenantId, caller } = context;
  const { artifacts, inputs } = (await db.row(
    findFocusParts(tenantId, task.id, artifactsMax, inputsMax),
  )) as NonNullable<ReturnType<typeof findFocusParts>['row']>;
  const { id, publicId, title, description, status, priority, workspaceId, version, activeClaimId } = task;
  return {
    task: { id, publicId, title, description, status, priority, workspaceId, version, activeClaimId },
    artifacts: holds(caller.permissions, 'artifacts.read') ? artifacts.map(withTextInstant) : null,
    inputs: (await filterVisibleInputs(context, inputs)).map(({ key, type, from, required, artifactId }) => ({
      key,
      type,
      from,
      required,
      artifactId,
    })),
  };
}

/** The effective configuration of a project, and its workspaces. @throws Refusal `not_found` */
export async function readProject(
  context: Context,
  project: Project,
  includeSubprojects: boolean,
): Promise<ContextProject> {
  const { db, tenantId } = context;
  const { config, provenance } = (await findEffectiveConfig(context, project.id)).make();
  const workspaces = await db.rows(
    findWorkspacesOfProject(tenantId, project, includeSubprojects, projectWorkspacesMax),
  );
  return {
    ...project,
    effectiveConfig: config,
    configProvenance: provenance,
    workspaceScope: workspaces.map(({ id }) => id),
    includeSubprojects,
  };
}

/**
 * The instructions for the executor of a task, the most general first. With only one layer, the hash is that of the
 * layer's text, which a run stores when it starts. See docs/reference/memory.md#context.
 */
export async function readInstructions(
  context: Context,
  { projectId }: Pick<Task, 'projectId'>,
  { key, version, instructions }: TypeOfTaskRow,
): Promise<Instructions> {
  const ofType = {
    source: 'taskType',
    ref: `taskType:${key}@${version}`,
    version,
    text: instructions,
  } as const;
  const ofProject = projectId === null ? [] : [await projectLayer(context, projectId)];
  const layers = [...ofProject, ofType].filter(({ text }) => text !== '');
  const texts = layers.map(({ text }) => text);
  return { layers, hash: texts.length === 0 ? null : hashOf(texts.join('\n\n')) };
}

/**
 * The effective `settings.agentInstructions` of the project, with the version of the project. See
 * docs/reference/projects.md#configuration-document.
 */
async function projectLayer(context: Context, projectId: string) {
  const { version, config } = (await findEffectiveConfig(context, projectId)).make();
  const { agentInstructions: text } = config.settings;
  const ref = `project:${projectId}`;
  return { source: 'project', ref, version, text: typeof text === 'string' ? text : '' } as const;
}

function hashOf(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}
