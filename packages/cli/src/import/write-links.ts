import { BatonError } from '@baton/sdk';
import { type ImportChange, linkText } from './compare.ts';
import type { Link } from './source.ts';
import type { Writing } from './write-item.ts';

const protectedCodes: readonly string[] = ['permission_denied', 'acceptance_protected'];

export interface WrittenLinks {
  /** The current relations, for the comparison of the next import. */
  readonly made: readonly string[];
  /** The relations that may be created later, once their targets exist. */
  readonly missing: ReadonlySet<Link>;
}

/** Creates and removes the relations of a task. */
export async function writeLinks(
  writing: Writing,
  change: ImportChange,
  taskId: string,
): Promise<WrittenLinks> {
  const made = new Set(change.known?.links ?? []);
  const missing = new Set<Link>();
  for (const link of change.addedLinks) {
    const result = await writeLink(writing, taskId, link, change.item.id);
    if (result === 'made') made.add(linkText(link));
    if (result === 'missing') missing.add(link);
  }
  for (const link of await removeLinks(writing, change, taskId)) made.delete(linkText(link));
  return { made: [...made], missing };
}

async function writeLink(
  { baton, taskIds, leaveOut }: Writing,
  taskId: string,
  link: Link,
  id: string,
): Promise<'made' | 'missing' | 'refused'> {
  const toTask = taskIds.get(link.to);
  if (toTask === undefined) {
    leaveOut('relation points to an item that could not be created', `${id} → ${link.to}`);
    return 'missing';
  }
  try {
    await baton.tasks.createRelation(taskId, { toTask, type: link.type });
    return 'made';
  } catch (error) {
    if (!(error instanceof BatonError)) throw error;
    if (error.code === 'relation_exists') return 'made';
    if (!['dependency_cycle', 'invalid_relation', 'not_found'].includes(error.code)) throw error;
    leaveOut(`relation was refused (${error.code})`, id);
    // A task that isn't visible now may become visible, so its relation is tried again. A relation that would close a
    // cycle isn't: an import never removes relations that people created.
    return error.code === 'not_found' ? 'missing' : 'refused';
  }
}

/**
 * @returns the relations that no longer exist
 */
async function removeLinks(
  { baton, taskIds, leaveOut }: Writing,
  { item, removedLinks }: ImportChange,
  taskId: string,
): Promise<Link[]> {
  if (removedLinks.length === 0) return [];
  const removed: Link[] = [];
  const { items } = await baton.tasks.listRelations(taskId);
  for (const link of removedLinks) {
    const toTask = taskIds.get(link.to);
    const found = items.find(
      ({ fromTaskId, toTaskId, type }) => fromTaskId === taskId && toTaskId === toTask && type === link.type,
    );
    try {
      if (found !== undefined) await baton.tasks.deleteRelation(taskId, found.id);
      removed.push(link);
    } catch (error) {
      // Only holders of task_types.manage can remove `spawned_by`, and only people and its author can remove a blocking
      // relation. Such a rejection doesn't end the import.
      if (!(error instanceof BatonError) || !protectedCodes.includes(error.code)) throw error;
      leaveOut(`relation was removed in the source, and you may not remove it here (${link.type})`, item.id);
    }
  }
  return removed;
}
