import type { Json } from '@baton/kernel/wire';
import type { Expression, Lookup } from '../../../definitions/declared-actions/expressions.ts';
import { fieldOf, memberOf } from '../../../definitions/declared-actions/task-values.ts';
import type { Context } from '../../context.ts';
import { type Task, taskOf } from '../task.ts';
import { findArtifactMetadata, findArtifactValue, findSpawner } from './lookup.sql.ts';

/** The values of expressions (core, section 7.4) of a task, and of whatever else is known there. */
export function lookupOf(
  context: Context,
  task: Task,
  others: Partial<Record<string, Task | object>> = {},
  findMetadata: typeof findArtifactMetadata = findArtifactMetadata,
): Lookup {
  let spawner: Promise<Task | undefined> | undefined;
  const findSpawnerOnce = () => {
    spawner ??= context.db
      .row(findSpawner(context.tenantId, task.id))
      .then((row) => (row === undefined ? undefined : taskOf(row)));
    return spawner;
  };
  return async (expression) => {
    if (expression.root === 'task') return valueInTask(context, task, expression, findMetadata);
    if (expression.root === 'spawnedBy') {
      const found = await findSpawnerOnce();
      return found === undefined ? null : valueInTask(context, found, expression, findMetadata);
    }
    return memberOf(others[expression.root], expression.path);
  };
}

/**
 * The values of the conditions of checks. An artifact that lacks a value hides none of an older one: else whoever does the work
 * would switch a check off by a newer artifact.
 */
export function lookupOfConditions(context: Context, task: Task): Lookup {
  return lookupOf(context, task, {}, findArtifactValue);
}

async function valueInTask(
  context: Context,
  task: Task,
  { path }: Expression,
  findMetadata: typeof findArtifactMetadata,
): Promise<Json> {
  const [, type, name] = /^artifact\[(.+)\]\.metadata\.(.+)$/.exec(path) ?? [];
  if (type !== undefined && name !== undefined) {
    const found = await context.db.row(findMetadata(context.tenantId, task.id, type, name));
    return found?.value ?? null;
  }
  return fieldOf(task, path);
}
