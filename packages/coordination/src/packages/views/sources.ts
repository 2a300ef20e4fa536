import type { Permission } from '../../service/permissions.ts';
import type { FiledBy } from '../../service/sight/places.ts';
import { type Field, fieldsBySource } from './source-fields.sql.ts';

export type { Field };

import type { SourceName } from './view-spec.ts';

/** The source of a block's rows. */
export interface Source {
  readonly table: string;
  readonly fields: Readonly<Record<string, Field>>;
  /** The permission to read the source's list. */
  readonly right: Permission;
  /**
   * The column that contains the object of external authorization for each row, and the object's kind; `place` is the
   * workspace, or the tenant for rows without a workspace. Absent if authorization applies to the source as a whole.
   */
  readonly judgedBy?: {
    readonly column: string;
    readonly type: 'task' | 'run' | 'approval' | 'project_profile' | 'place';
  };
  /** Where a row's visibility comes from; absent for rows that belong to the whole tenant. */
  readonly filedBy?: FiledBy & ('workspace' | 'task' | 'taskOrWorkspace');
  /** The column that determines the source's own order, newest first, then by id. */
  readonly orderedBy: string;
  /** Whether an index contains all rows of a tenant in that order. */
  readonly isOrdered: boolean;
}

const byPlace = { column: 'coalesce(t.workspace_id, t.tenant_id)', type: 'place' } as const;
const newest = { orderedBy: 'createdAt', isOrdered: true } as const;

export const sources: Readonly<Record<Exclude<SourceName, 'knowledge'>, Source>> = {
  tasks: {
    table: 'tasks',
    fields: fieldsBySource.tasks,
    right: 'tasks.read',
    judgedBy: { column: 't.id', type: 'task' },
    filedBy: 'workspace',
    ...newest,
  },
  runs: {
    table: 'runs',
    fields: fieldsBySource.runs,
    right: 'tasks.read',
    judgedBy: { column: 't.id', type: 'run' },
    filedBy: 'task',
    orderedBy: 'startedAt',
    isOrdered: true,
  },
  claims: {
    table: 'claims',
    fields: fieldsBySource.claims,
    right: 'tasks.read',
    judgedBy: { column: 't.task_id', type: 'task' },
    filedBy: 'task',
    orderedBy: 'acquiredAt',
    isOrdered: false,
  },
  approvals: {
    table: 'approvals',
    fields: fieldsBySource.approvals,
    right: 'approvals.read',
    judgedBy: { column: 't.id', type: 'approval' },
    filedBy: 'taskOrWorkspace',
    ...newest,
  },
  projects: {
    table: 'projects',
    fields: fieldsBySource.projects,
    right: 'projects.read',
    judgedBy: { column: 't.id', type: 'project_profile' },
    filedBy: 'workspace',
    ...newest,
  },
  goals: {
    table: 'goals',
    fields: fieldsBySource.goals,
    right: 'goals.read',
    judgedBy: byPlace,
    filedBy: 'workspace',
    ...newest,
  },
  processes: {
    table: 'process_instances',
    fields: fieldsBySource.processes,
    right: 'processes.read',
    judgedBy: byPlace,
    filedBy: 'workspace',
    orderedBy: 'startedAt',
    isOrdered: true,
  },
  agents: {
    table: 'agents',
    fields: fieldsBySource.agents,
    right: 'agents.read',
    filedBy: 'workspace',
    ...newest,
  },
  connections: {
    table: 'connections',
    fields: fieldsBySource.connections,
    right: 'connections.read',
    ...newest,
  },
  // Invocations have no list: callers who execute skills may read each of them.
  invocations: {
    table: 'skill_invocations',
    fields: fieldsBySource.invocations,
    right: 'skills.execute',
    filedBy: 'taskOrWorkspace',
    ...newest,
  },
};
