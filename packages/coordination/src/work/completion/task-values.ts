import type { Json } from '@baton/kernel/wire';
import {
  type Expression,
  type Lookup,
  UnresolvedExpression,
  valueOfText,
} from '../../definitions/declared-actions/expressions.ts';
import type { Context } from '../context.ts';
import { type TaskRow, taskOf } from '../tasks/task.ts';
import { findArtifactMetadata, findSpawningTask } from './task-values.sql.ts';

/** Gives the values of `$.task…` and `$.spawnedBy…` (core, section 7.4); null where there is none. */
export function taskLookup(context: Context, task: TaskRow): Lookup {
  let spawning: Promise<TaskRow | undefined> | undefined;
  return async (expression) => {
    if (expression.root === 'task') return valueOf(context, task, expression);
    if (expression.root !== 'spawnedBy') return null;
    spawning ??= context.db.row(findSpawningTask(context.tenantId, task.id));
    const row = await spawning;
    return row === undefined ? null : valueOf(context, row, expression);
  };
}

async function valueOf({ db, tenantId }: Context, task: TaskRow, { path }: Expression): Promise<Json> {
  const field = /^customFields\.(.+)$/.exec(path)?.[1];
  if (field !== undefined) return memberOf(task.custom_fields, field);
  const [, type, name] = /^artifact\[(.+)\]\.metadata\.(.+)$/.exec(path) ?? [];
  if (type === undefined || name === undefined) return memberOf(taskOf(task), path);
  const artifact = await db.row(findArtifactMetadata(tenantId, task.id, type));
  return artifact === undefined ? null : memberOf(artifact.metadata, name);
}

function memberOf(document: Record<string, Json>, name: string): Json {
  return Object.hasOwn(document, name) ? (document[name] ?? null) : null;
}

/** Whether each of these expressions has a value: not null, false, or empty. */
export async function haveValues(
  context: Context,
  task: TaskRow,
  expressions: readonly string[],
): Promise<boolean> {
  const lookup = taskLookup(context, task);
  for (const expression of expressions) {
    const value = await valueOfText(expression, lookup).catch((error: unknown) => {
      if (error instanceof UnresolvedExpression) return null;
      throw error;
    });
    if (isEmpty(value)) return false;
  }
  return true;
}

function isEmpty(value: Json): boolean {
  if (value === null || value === false || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
