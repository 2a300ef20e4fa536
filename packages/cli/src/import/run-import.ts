import { type BatonClient, BatonError } from '@baton/sdk';
import { forEachConcurrently } from '@baton/values/concurrently';
import { type Attempt, keysNotKept } from '../attempt-keys.ts';
import type { ConsoleOutput } from '../console-output.ts';
import { describeError } from '../error-text.ts';
import { PlainError } from '../plain-error.ts';
import { Progress } from '../progress.ts';
import { compareItem, type ImportChange } from './compare.ts';
import { withHeldStarts } from './held-starts.ts';
import {
  cannotHoldReason,
  collectHeldIds,
  findHold,
  type Hold,
  isOver,
  isUnfinished,
  makeHold,
  type Wait,
  waitsIn,
} from './hold-tasks.ts';
import { concurrencyMax, findBegunTasks, findKnownTasks, type KnownTask } from './known-tasks.ts';
import { planItems, withUsableIds } from './planned-item.ts';
import { LeftOut, type Source } from './source.ts';
import type { Targets } from './targets.ts';
import {
  claimName,
  finishTask,
  Overtaken,
  type UnfinishedTask,
  type Writing,
  writeComments,
  writeReference,
  writeTask,
} from './write-item.ts';
import { type WrittenLinks, writeLinks } from './write-links.ts';

/** The result of comparing the source of an import with the existing tasks. */
export interface ImportPlan {
  readonly source: Source;
  readonly changes: readonly ImportChange[];
  /** All tasks of imports, including those that only relations reference. */
  readonly known: ReadonlyMap<string, KnownTask>;
  /** The number of tasks that an earlier import has begun to write. */
  readonly begun: number;
  /** Items that are held back until they are complete, and whether that is possible. */
  readonly held: ReadonlySet<string>;
  readonly hold: Hold;
}

const failuresMax = 50;

/** Compares a source with the existing tasks; writes nothing. */
export async function planImport(
  baton: BatonClient,
  given: Source,
  targets: Targets,
  output: ConsoleOutput,
): Promise<ImportPlan> {
  const source = withHeldStarts(withUsableIds(given), targets, new Date());
  const ids = new Set(source.items.map(({ id }) => id));
  const named = new Set([...ids, ...source.items.flatMap(({ links }) => links.map(({ to }) => to))]);
  const { known, begun } = await findKnown(baton, source, { ids, named }, output);
  const items = planItems(source, (id) => known.has(id), targets.assigneeIdOf);
  const changes = items.map((item) => compareItem(item, known.get(item.id)));
  const held = collectHeldIds(changes);
  const toHold = changes.filter(({ action, item }) => action === 'create' && held.has(item.id));
  const hold = toHold.length === 0 ? 'there' : await findHold(baton);
  if (hold === 'impossible') for (const { item } of toHold) source.leftOut.add(cannotHoldReason, item.id);
  return { source, changes, known, begun, held, hold };
}

async function findKnown(
  baton: BatonClient,
  source: Source,
  { ids, named }: { readonly ids: ReadonlySet<string>; readonly named: ReadonlySet<string> },
  output: ConsoleOutput,
): Promise<{ known: Map<string, KnownTask>; begun: number }> {
  let [done, scanned] = [0, 0];
  const work = async () => {
    const known = await findKnownTasks(baton, source, [...named], () => {
      done += 1;
    });
    const missing = new Set([...ids].filter((id) => !known.has(id)));
    const begun = await findBegunTasks(baton, source, missing, () => {
      scanned += 1;
    });
    for (const [id, task] of begun) known.set(id, task);
    return { known, begun: [...ids].filter((id) => isBegun(known.get(id))).length };
  };
  const detail = () => (scanned === 0 ? '' : `${scanned} tasks searched`);
  return shown(output, { name: 'comparing', total: named.size, done: () => done, detail }, work);
}

/** Whether an import created its task and was interrupted before it completed the reference. */
const isBegun = (known: KnownTask | undefined): boolean =>
  known !== undefined && Object.keys(known.fields).length === 0;

/** The result of an import. */
export interface ImportResult {
  readonly created: number;
  readonly changed: number;
  /** The reason why an item could not be written, by its id; the next import retries it. */
  readonly failed: ReadonlyMap<string, string>;
  /** Values that could not be written as they are in the source. */
  readonly leftOut: LeftOut;
  readonly taskIds: ReadonlyMap<string, string>;
  readonly seconds: number;
}

/**
 * Carries out the plan: first the tasks, then their relations, then the release of held tasks. The reference of an item
 * is last and marks it as complete, so the next import continues an interrupted one.
 * @throws BatonError if the service is unavailable or rejects everything; PlainError for too many failures
 */
export async function runImport(
  baton: BatonClient,
  plan: ImportPlan,
  targets: Targets,
  output: ConsoleOutput,
  attempt: Attempt,
): Promise<ImportResult> {
  if (!attempt.keep()) output.progress(`${keysNotKept}\n`);
  const began = performance.now();
  const { source, changes, known } = plan;
  const taskIds = new Map([...known].map(([id, { taskId }]) => [id, taskId]));
  const leftOut = new LeftOut();
  const leaveOut = (reason: string, example: string) => leftOut.add(reason, example);
  const writing: Writing = { baton, attempt, kind: source, targets, taskIds, leaveOut };
  const todo = changes.filter(({ action }) => action !== 'unchanged');
  const failures = new Failures();
  try {
    await writeAll(writing, { ...plan, todo, failures }, output);
    if (failures.texts.size === 0) attempt.forget();
  } finally {
    if (failures.hasReusedKey) attempt.forget();
  }
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

interface Work extends ImportPlan {
  readonly todo: readonly ImportChange[];
  readonly failures: Failures;
}

async function writeAll(writing: Writing, work: Work, output: ConsoleOutput): Promise<void> {
  const { todo, held, hold, failures } = work;
  const later = todo.filter((change) => hasMore(change) || isHeldOpen(change, held));
  const isLater = new Set(later);
  const unfinished = new Map<string, UnfinishedTask>();
  const links = new Map<string, WrittenLinks>();
  let done = 0;
  const each = (some: readonly ImportChange[], write: (change: ImportChange) => Promise<void>) =>
    forEachConcurrently(some, concurrencyMax, async (change) => {
      if (!failures.has(change.item.id)) await failures.catch(change.item.id, () => write(change));
      done += 1;
    });
  const total = todo.length + 2 * later.length;
  await shown(output, { name: 'importing', total, done: () => done }, async () => {
    if (hold === 'to make') await makeHold(writing.baton);
    await each(todo, async (change) => {
      const { item } = change;
      const written = await writeTask(writing, change, held.has(item.id) && hold !== 'impossible');
      writing.taskIds.set(item.id, written.taskId);
      // These items claim their name now; any other item gets its complete reference below, before others are related
      // to it.
      if (change.known === undefined && (isLater.has(change) || isOver(item) || item.names !== undefined))
        await claimName(writing, change, written.taskId);
      if (written.unfinished !== undefined && isHeldOpen(change, held))
        unfinished.set(item.id, written.unfinished);
      else if (written.unfinished !== undefined) await finishTask(writing, item, written.unfinished);
      if (!isLater.has(change))
        await writeReference(writing, change, written.taskId, { links: [], comments: [] });
    });
    await each(later, async (change) => {
      links.set(change.item.id, await writeLinks(writing, change, taskIdOf(writing, change)));
    });
    noteMissing(work, links);
    await each(later, async (change) => {
      const { item } = change;
      const taskId = taskIdOf(writing, change);
      const task = unfinished.get(item.id);
      if (task !== undefined) await finishTask(writing, item, task);
      const comments = await writeComments(writing, change, taskId);
      await writeReference(writing, change, taskId, { links: links.get(item.id)?.made ?? [], comments });
    });
  });
}

/** Whether the item is open and held back until all relations exist. */
function isHeldOpen({ item }: ImportChange, held: ReadonlySet<string>): boolean {
  return held.has(item.id) && !isOver(item);
}

const taskIdOf = ({ taskIds }: Writing, { item }: ImportChange): string => taskIds.get(item.id) as string;

/** An item with a missing dependency remains held back: otherwise it would be taken too early. */
function noteMissing({ todo, failures }: Work, links: ReadonlyMap<string, WrittenLinks>): void {
  const unfinished = new Set(todo.filter(isUnfinished).map(({ item }) => item.id));
  const changes = new Map(todo.map((change) => [change.item.id, change]));
  const failed = new Set(failures.texts.keys());
  const isMissing = ({ of, link }: Wait) =>
    failed.has(of) ? changes.get(of)?.addedLinks.includes(link) : links.get(of)?.missing.has(link);
  for (const wait of waitsIn(todo))
    if (unfinished.has(wait.waiting) && !failures.has(wait.waiting) && isMissing(wait) === true)
      failures.note(
        wait.waiting,
        `It waits for ${wait.prerequisite}, but that relation could not be created. The item is held back until the next import.`,
      );
}

/** Whether the item has relations, comments or references, now or since the last import. */
function hasMore({ item, known }: ImportChange): boolean {
  const before = (known?.links.length ?? 0) + (known?.comments.length ?? 0);
  return item.links.length + item.comments.length + before > 0;
}

/** Error codes that affect a single item and don't end the import. */
class Failures {
  readonly texts = new Map<string, string>();
  /** Whether the service rejected an idempotency key of this import. */
  hasReusedKey = false;
  #refused = 0;
  #written = 0;

  has(id: string): boolean {
    return this.texts.has(id);
  }

  /** Records a failure that another item caused, so it doesn't end the import. */
  note(id: string, text: string): void {
    this.texts.set(id, text);
  }

  async catch(id: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#written += 1;
    } catch (error) {
      if (error instanceof Overtaken) {
        this.texts.set(id, error.message);
        return;
      }
      if (!(error instanceof BatonError) || !isOfItem(error)) throw error;
      this.hasReusedKey ||= error.code === 'idempotency_key_reused';
      this.texts.set(id, reasonOf(error));
      this.#refused += 1;
      // The import ends only if more items are rejected than written: otherwise, the rejected ones must not affect the
      // others.
      if (this.#refused > Math.max(failuresMax, this.#written))
        throw new PlainError(
          `More than ${failuresMax} items were refused, more than were written; the last refused one (${id}): ${reasonOf(error)}\nThe created tasks remain; run it again when the problem is fixed.`,
        );
    }
  }
}

/** Whether the error concerns only this item, so that others may succeed. */
function isOfItem({ status }: BatonError): boolean {
  return status >= 400 && status < 500 && ![401, 403, 429].includes(status);
}

function reasonOf(error: BatonError): string {
  if (error.code === 'task_claimed') return 'It is being worked on: the next import changes it.';
  if (error.code === 'idempotency_key_reused')
    return 'The service has stored another request under the idempotency key of this write, so nothing was written. The keys of this import were discarded: run it again, with new ones.';
  if (error.code === 'idempotency_in_flight')
    return 'Another run of this import is creating it: run it again when that has ended.';
  return describeError(error);
}

interface Shown {
  readonly name: string;
  readonly total: number;
  done(): number;
  detail?(): string;
}

async function shown<Value>(
  output: ConsoleOutput,
  { name, total, done, detail }: Shown,
  work: () => Promise<Value>,
): Promise<Value> {
  const progress = new Progress(output);
  if (total > 1) progress.begin(name, total, done, detail);
  try {
    return await work();
  } finally {
    progress.end();
  }
}
