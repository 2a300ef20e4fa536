import type { Json } from '@baton/values/wire';
import type { Expression, Lookup } from '../../definitions/declared-actions/expressions.ts';
import { fieldOf, memberOf } from '../../definitions/declared-actions/task-values.ts';
import type { Context } from '../context.ts';
import type { TaskOfSubject } from '../gates/subject.ts';
import { type Task, taskOf } from './task.ts';
import { findArtifactMetadata, findArtifactValue, findManyMetadata, findSpawner } from './tasks.sql.ts';

/**
 * The values that expressions about a task can read (docs/reference/definitions.md#expressions), together with values
 * that the caller already knows.
 */
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
 * The values that the conditions of checks read. A newer artifact without a value doesn't hide the value of an older
 * one, because otherwise an executor could disable a check by writing a newer artifact.
 */
export function lookupOfConditions(context: Context, task: Task): Lookup {
  return lookupOf(context, task, {}, findArtifactValue);
}

/** A task as the subject of an approval. */
export function subjectTaskOf(context: Context, task: Task): TaskOfSubject {
  return { ...task, lookupFor: (expressions) => lookupForAll(context, task, expressions) };
}

/** The maximum total size of the artifact values that the expressions in one subject read. */
const metadataCharactersMax = 4_194_304;
const idOfSpawner = { root: 'spawnedBy', path: 'id', isRequired: false, charactersMax: undefined } as const;

/**
 * `lookupOf` for these expressions, which reads all artifact values in one statement.
 * @returns undefined if the values have more than `metadataCharactersMax`
 */
async function lookupForAll(
  context: Context,
  task: Task,
  expressions: readonly Expression[],
): Promise<Lookup | undefined> {
  const { db, tenantId } = context;
  const lookup = lookupOf(context, task);
  const read = expressions.flatMap((expression) => {
    const metadata = metadataOf(expression);
    return metadata === undefined ? [] : [{ ...metadata, expression }];
  });
  if (read.length === 0) return lookup;
  const readsSpawner = read.some(({ expression }) => expression.root === 'spawnedBy');
  const spawnerId = readsSpawner ? await lookup(idOfSpawner) : null;
  const asked = read.flatMap(({ expression, ...metadata }) => {
    const taskId = expression.root === 'task' ? task.id : spawnerId;
    return typeof taskId === 'string' ? [{ ...metadata, taskId, expression }] : [];
  });
  const found = await db.rows(findManyMetadata(tenantId, asked, metadataCharactersMax));
  if (found.length < asked.length) return undefined;
  const nameOf = ({ root, path }: Expression) => `${root}.${path}`;
  const values = new Map(asked.map(({ expression }, n) => [nameOf(expression), found[n]?.value ?? null]));
  return async (expression) => {
    const value = values.get(nameOf(expression));
    return value === undefined ? lookup(expression) : value;
  };
}

async function valueInTask(
  context: Context,
  task: Task,
  expression: Expression,
  findMetadata: typeof findArtifactMetadata,
): Promise<Json> {
  const metadata = metadataOf(expression);
  if (metadata === undefined) return fieldOf(task, expression.path);
  const { type, name } = metadata;
  return (await context.db.row(findMetadata(context.tenantId, task.id, type, name)))?.value ?? null;
}

/** The artifact type and the metadata member that an expression reads. */
function metadataOf({ path }: Expression): { type: string; name: string } | undefined {
  const [, type, name] = /^artifact\[(.+)\]\.metadata\.(.+)$/.exec(path) ?? [];
  return type === undefined || name === undefined ? undefined : { type, name };
}
