import { type BatonClient, BatonError } from '@baton/sdk';
import type { ImportChange } from './compare.ts';

/**
 * The requirement of a task until its import is complete. No initial status keeps a task out of the work queue, and a
 * gate or a relation can only be added after the creation; requirements are part of the creation. No principal
 * has this capability, so the task isn't offered and can't be claimed. A rejected claim reports it.
 */
export const holdCapability = 'import-finished';

/** Why an import's tasks can't be held back. */
export const cannotHoldReason = `can't be held back until it is complete, so an agent may take it too early: a person with org.manage must create the capability ${holdCapability} once`;

/**
 * Whether tasks can be held back: the capability exists, the caller may create it, neither, or the first creation
 * decides.
 */
export type Hold = 'there' | 'to make' | 'impossible' | 'unknown';

/** Checks whether tasks can be held back; writes nothing. */
export async function findHold(baton: BatonClient): Promise<Hold> {
  const { permissions } = await baton.harness.getContext();
  // `admin` includes all permissions, and is listed alone.
  const may = (permission: string) => permissions.includes(permission) || permissions.includes('admin');
  if (may('org.manage')) return 'to make';
  if (!may('org.read')) return 'unknown';
  for await (const { name } of baton.capabilities.list({ limit: 200 }))
    if (name === holdCapability) return 'there';
  return 'impossible';
}

/** Creates the capability, unless it exists. */
export async function makeHold(baton: BatonClient): Promise<void> {
  try {
    await baton.capabilities.create({
      name: holdCapability,
      description:
        'Do not assign it to anybody. A task requires it until `baton import` has completed the task; run an interrupted ' +
        'import again.',
    });
  } catch (error) {
    if (!(error instanceof BatonError) || error.code !== 'capability_exists') throw error;
  }
}

/** A task's requirements, in the form in which a change sends them. */
export interface Requirements {
  readonly roles: string[];
  readonly capabilities: string[];
  readonly skills: string[];
}

/** The requirements of a task that is held back, except the one that holds it; undefined for any other task. */
export async function otherRequirements(
  baton: BatonClient,
  taskId: string,
): Promise<Requirements | undefined> {
  const { roles, capabilities, skills } = await baton.tasks.getRequirements(taskId);
  const names = capabilities.map(({ name }) => name);
  if (!names.includes(holdCapability)) return undefined;
  return {
    roles: roles.map(({ slug }) => slug),
    capabilities: names.filter((name) => name !== holdCapability),
    skills: skills.map(({ name, version, anyVersion }) => (anyVersion ? name : `${name}@${version}`)),
  };
}

/** Whether an item has not yet been written completely by any import. */
export const isUnfinished = ({ known }: ImportChange): boolean => known?.fields['status'] === undefined;

/** The dependencies of one item, from its own relations or the other items'. */
export interface Wait {
  readonly waiting: string;
  readonly prerequisite: string;
  /** The item that has the relation, and that relation. */
  readonly of: string;
  readonly link: ImportChange['item']['links'][number];
}

/** Every dependency that the relations of these items create. */
export function waitsIn(changes: readonly ImportChange[]): Wait[] {
  return changes.flatMap(({ item: { id: of, links } }) =>
    links.flatMap((link) => {
      if (link.type === 'depends_on') return { waiting: of, prerequisite: link.to, of, link };
      return link.type === 'blocks' ? { waiting: link.to, prerequisite: of, of, link } : [];
    }),
  );
}

/**
 * The items that are held back until they are complete: those with dependencies until the relations exist, those that
 * are blocked until they are blocked here, and those closed in the source until they are closed here.
 */
export function collectHeldIds(changes: readonly ImportChange[]): Set<string> {
  const waiting = new Set(waitsIn(changes).map((wait) => wait.waiting));
  return new Set(
    changes
      .filter((change) => isUnfinished(change) && (isStill(change.item) || waiting.has(change.item.id)))
      .map(({ item }) => item.id),
  );
}

/** Whether the item's status prevents agents from taking its task. */
const isStill = (item: ImportChange['item']): boolean => isOver(item) || item.status === 'blocked';

export const isOver = ({ status }: Pick<ImportChange['item'], 'status'>): boolean =>
  status === 'done' || status === 'cancelled';
