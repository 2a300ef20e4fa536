import { z } from 'zod';
import { Timestamp, Uuid } from '@baton/values/wire';
import { statusCategories } from '../../definitions/task-types/lifecycle.ts';
import { getProjectRow } from '../../organisation/projects/projects.ts';
import type { Context } from '../context.ts';
import { criticalPathOf, type Dependency } from './critical-path.ts';
import { type DependentTaskRow, findDependencies, findDependentTasks } from './project-dependencies.sql.ts';

/** A graph with more arrows than this is unreadable. */
const dependenciesMax = 2000;

/** The tasks of a project that depend on each other (docs/reference/relations.md#dependencies-of-a-project). */
export const ProjectDependencies = z
  .strictObject({
    projectId: Uuid,
    tasks: z.array(
      z.strictObject({
        id: Uuid,
        publicId: z.string(),
        title: z.string(),
        status: z.string(),
        systemStatusCategory: z.enum(statusCategories),
        assigneeId: Uuid.nullable(),
        dueDate: Timestamp.nullable(),
        workspaceId: Uuid.nullable(),
      }),
    ),
    dependencies: z.array(
      z.strictObject({ relationId: Uuid, prerequisiteTaskId: Uuid, waitingTaskId: Uuid }),
    ),
    criticalPath: z.array(Uuid).meta({
      description: 'The longest chain of tasks that are not done, each of which waits for the one before it.',
    }),
    isTruncated: z.boolean().meta({
      description:
        'Whether the project has more than 2,000 dependencies, of which only the newest are returned.',
    }),
  })
  .meta({ id: 'ProjectDependencies' });
export type ProjectDependencies = z.infer<typeof ProjectDependencies>;

/** @throws Refusal `not_found` */
export async function getProjectDependencies(
  context: Context,
  projectId: string,
  includeSubprojects: boolean,
): Promise<ProjectDependencies> {
  const { db, tenantId } = context;
  const project = await getProjectRow(context, projectId);
  const top = includeSubprojects ? project.workspace_id : null;
  const found = await db.rows(findDependencies(tenantId, { projectId, top }, dependenciesMax + 1));
  const dependencies = found.slice(0, dependenciesMax).map((row) => ({
    relationId: row.relation_id,
    prerequisiteTaskId: row.prerequisite_task_id,
    waitingTaskId: row.waiting_task_id,
  }));
  const ids = [...new Set(dependencies.flatMap((one) => [one.prerequisiteTaskId, one.waitingTaskId]))];
  const rows = ids.length === 0 ? [] : await db.rows(findDependentTasks(tenantId, ids));
  const open = rows.filter(({ category }) => category !== 'terminal_success').map(({ id }) => id);
  return {
    projectId,
    tasks: rows.map(taskOf),
    dependencies,
    criticalPath: criticalPathOf(open, dependencies satisfies Dependency[]),
    isTruncated: found.length > dependenciesMax,
  };
}

function taskOf(row: DependentTaskRow): ProjectDependencies['tasks'][number] {
  return {
    id: row.id,
    publicId: row.public_id,
    title: row.title,
    status: row.status,
    systemStatusCategory: row.category,
    assigneeId: row.assignee_id,
    dueDate: row.due_date,
    workspaceId: row.workspace_id,
  };
}
