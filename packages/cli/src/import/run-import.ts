import { type BatonClient, BatonError } from '@baton/sdk';
import { forEachConcurrently } from '../concurrently.ts';
import type { ConsoleOutput } from '../console-output.ts';
import { textOf } from '../error-text.ts';
import { PlainError } from '../plain-error.ts';
import { Progress } from '../progress.ts';
import { changeOf, type ImportChange } from './compare.ts';
import { concurrencyMax, findBegunTasks, findKnownTasks, type KnownTask } from './known-tasks.ts';
import { planItems } from './planned-item.ts';
import { LeftOut, type Source } from './source.ts';
import type { Targets } from './targets.ts';
import {
  releaseTask,
  type Writing,
  writeComments,
  writeLinks,
  writeReference,
  writeTask,
} from './write-item.ts';

/** What an import will do, compared with what imports before have done. */
export interface ImportPlan {
  readonly source: Source;
  readonly changes: readonly ImportChange[];
  /** Everything that an import has made, also what only relations name. */
  readonly known: ReadonlyMap<string, KnownTask>;
  /** How many tasks an import before has begun. */
  readonly begun: number;
}

const failuresMax = 50;

/** Compares a source with what is there; writes nothing. */
export async function planImport(
  baton: BatonClient,
  source: Source,
  targets: Targets,
  output: ConsoleOutput,
): Promise<ImportPlan> {
  const ids = new Set(source.items.map(({ id }) => id));
  const named = new Set([...ids, ...source.items.flatMap(({ links }) => links.map(({ to }) => to))]);
  let done = 0;
  const known = await shown(
    output,
    'comparing',
    named.size,
    () => done,
    () =>
      findKnownTasks(baton, source, [...named], () => {
        done += 1;
      }),
  );
  const missing = new Set([...ids].filter((id) => !known.has(id)));
  const begun =
    missing.size === 0 ? new Map<string, KnownTask>() : await findBegunTasks(baton, source, missing);
  for (const [id, task] of begun) known.set(id, task);
  const items = planItems(source, (id) => known.has(id), targets.assigneeIdOf);
  const changes = items.map((item) => changeOf(item, known.get(item.id)));
  return { source, changes, known, begun: begun.size };
}

/** What was done, and what could not be. */
export interface ImportResult {
  readonly created: number;
  readonly changed: number;
  /** Why an item could not be written, by its id; the next import tries it again. */
  readonly failed: ReadonlyMap<string, string>;
  /** What could not be written as the source has it. */
  readonly leftOut: LeftOut;
  readonly taskIds: ReadonlyMap<string, string>;
  readonly seconds: number;
}

/**
 * Writes what the plan says: first the tasks, then what stands between them. The reference of an item comes last: it says
 * that all of the item is made, so an import that is ended half-way is taken up by the next one.
 * @throws BatonError where the service can't be asked or refuses everything; PlainError for too many failures
 */
export async function runImport(
  baton: BatonClient,
  { source, changes, known }: ImportPlan,
  targets: Targets,
  output: ConsoleOutput,
): Promise<ImportResult> {
  const began = performance.now();
  const taskIds = new Map([...known].map(([id, { taskId }]) => [id, taskId]));
  const leftOut = new LeftOut();
  const leaveOut = (reason: string, example: string) => leftOut.add(reason, example);
  const writing: Writing = { baton, kind: source, targets, taskIds, leaveOut };
  const open = new Set(
    changes
      .filter(({ item: { status } }) => status !== 'done' && status !== 'cancelled')
      .map(({ item }) => item.id),
  );
  const todo = changes.filter(({ action }) => action !== 'unchanged');
  const held = new Set<string>();
  const failures = new Failures();
  const later = todo.filter(hasMore);
  let done = 0;
  await shown(
    output,
    'importing',
    todo.length + later.length,
    () => done,
    async () => {
      await forEachConcurrently(todo, concurrencyMax, async (change) => {
        const { item } = change;
        const mustWait = item.links.some(({ type, to }) => type === 'depends_on' && open.has(to));
        await failures.catch(item.id, async () => {
          const { taskId, isHeld } = await writeTask(writing, change, mustWait);
          taskIds.set(item.id, taskId);
          if (isHeld) held.add(item.id);
          if (hasMore(change)) return;
          if (isHeld) await releaseTask(writing, item, taskId);
          await writeReference(writing, change, taskId, { links: [], comments: [] });
        });
        done += 1;
      });
      await forEachConcurrently(later, concurrencyMax, async (change) => {
        const { item } = change;
        const taskId = taskIds.get(item.id);
        if (taskId !== undefined && !failures.has(item.id))
          await failures.catch(item.id, async () => {
            const links = await writeLinks(writing, change, taskId);
            if (held.has(item.id)) await releaseTask(writing, item, taskId);
            const comments = await writeComments(writing, change, taskId);
            await writeReference(writing, change, taskId, { links, comments });
          });
        done += 1;
      });
    },
  );
  const written = todo.filter(({ item }) => taskIds.has(item.id) && !failures.has(item.id));
  return {
    created: written.filter(({ action }) => action === 'create').length,
    changed: written.filter(({ action }) => action === 'change').length,
    failed: failures.texts,
    leftOut,
    taskIds,
    seconds: Math.round((performance.now() - began) / 100) / 10,
  };
}

/** Whether something stands beside the task itself, now or since the last import. */
function hasMore({ item, known }: ImportChange): boolean {
  const before = (known?.links.length ?? 0) + (known?.comments.length ?? 0);
  return item.links.length + item.comments.length + before > 0;
}

/** Refusals of single items, which don't end the import. */
class Failures {
  readonly texts = new Map<string, string>();

  has(id: string): boolean {
    return this.texts.has(id);
  }

  async catch(id: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof BatonError) || !isOfItem(error)) throw error;
      this.texts.set(id, reasonOf(error));
      if (this.texts.size > failuresMax)
        throw new PlainError(
          `More than ${failuresMax} items were refused, the last one (${id}): ${reasonOf(error)}\nWhat was made stays; run it again when that is mended.`,
        );
    }
  }
}

/** Whether another item may fare better. */
function isOfItem({ status }: BatonError): boolean {
  return status >= 400 && status < 500 && ![401, 403, 429].includes(status);
}

function reasonOf(error: BatonError): string {
  if (error.code === 'task_claimed') return 'Somebody works on it now: the next import changes it.';
  if (error.code === 'idempotency_key_reused' || error.code === 'idempotency_in_flight')
    return 'Another import makes it at the same time: run it again.';
  return textOf(error);
}

async function shown<Value>(
  output: ConsoleOutput,
  name: string,
  total: number,
  done: () => number,
  work: () => Promise<Value>,
): Promise<Value> {
  const progress = new Progress(output);
  if (total > 1) progress.begin(name, total, done);
  try {
    return await work();
  } finally {
    progress.end();
  }
}
