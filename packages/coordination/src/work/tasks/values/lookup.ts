import type { Json } from '@baton/kernel/wire';
import {
  type Expression,
  type Lookup,
  UnresolvedExpression,
  valueOfText,
} from '../../../definitions/declared-actions/expressions.ts';
import type { Context } from '../../context.ts';
import { type Task, taskOf } from '../task.ts';
import { findArtifactMetadata, findSpawner } from './lookup.sql.ts';

/** The values of expressions (core, section 7.4) of a task, and of whatever else is known there. */
export function lookupOf(
  context: Context,
  task: Task,
  others: Partial<Record<string, Task | object>> = {},
): Lookup {
  let spawner: Promise<Task | undefined> | undefined;
  const findSpawnerOnce = () => {
    spawner ??= context.db
      .row(findSpawner(context.tenantId, task.id))
      .then((row) => (row === undefined ? undefined : taskOf(row)));
    return spawner;
  };
  return async (expression) => {
    if (expression.root === 'task') return valueInTask(context, task, expression);
    if (expression.root === 'spawnedBy') {
      const found = await findSpawnerOnce();
      return found === undefined ? null : valueInTask(context, found, expression);
    }
    return memberOf(others[expression.root], expression.path);
  };
}

async function valueInTask(context: Context, task: Task, { path }: Expression): Promise<Json> {
  const [, type, name] = /^artifact\[(.+)\]\.metadata\.(.+)$/.exec(path) ?? [];
  if (type !== undefined && name !== undefined) {
    const found = await context.db.row(findArtifactMetadata(context.tenantId, task.id, type, name));
    return found?.value ?? null;
  }
  const [, field] = /^customFields\.(.+)$/.exec(path) ?? [];
  return field === undefined ? memberOf(task, path) : memberOf(task.customFields, field);
}

/** Own members only: a field may be named like something that every object inherits. */
function memberOf(object: object | undefined, name: string): Json {
  if (object === undefined || !Object.hasOwn(object, name)) return null;
  return ((object as Record<string, unknown>)[name] ?? null) as Json;
}

/** Whether each of these expressions has a value that is not empty; 0 and false are values. */
export async function allHaveValues(expressions: readonly string[], lookup: Lookup): Promise<boolean> {
  for (const expression of expressions) {
    try {
      const value = await valueOfText(expression, lookup);
      if (value === null || value === '') return false;
      if (typeof value === 'object' && Object.keys(value).length === 0) return false;
    } catch (error) {
      if (error instanceof UnresolvedExpression) return false;
      throw error;
    }
  }
  return true;
}
