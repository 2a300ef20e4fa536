import type { BatonClient, ExternalReference } from '@baton/sdk';
import { forEachConcurrently } from '@baton/values/concurrently';
import { PlainError } from '../plain-error.ts';

/** The result of an earlier import of an item. */
export interface KnownTask {
  readonly taskId: string;
  /** The fields of the source at that time; absent if that import was interrupted. */
  readonly fields: Readonly<Record<string, string>>;
  /** The relations that it created, each as `type id`. */
  readonly links: readonly string[];
  /** The keys of the comments that it created. */
  readonly comments: readonly string[];
}

/** The type of the items in their tracker. */
export interface SourceKind {
  readonly system: string;
  readonly type: string;
}

export const concurrencyMax = 16;
const tasksScannedMax = 1_000_000;

/** The origin of an imported task: it can't be changed, so it identifies a task of an interrupted import. */
export const originOf = ({ system, type }: SourceKind, id: string): string => `${system}/${type}/${id}`;

/** Reads the results of earlier imports of these items; writes nothing. */
export async function findKnownTasks(
  baton: BatonClient,
  kind: SourceKind,
  ids: readonly string[],
  onStep: () => void,
): Promise<Map<string, KnownTask>> {
  const known = new Map<string, KnownTask>();
  await forEachConcurrently(ids, concurrencyMax, async (externalId) => {
    const { items } = await baton.externalReferences.list({
      externalSystem: kind.system,
      externalType: kind.type,
      externalId,
    });
    const [found] = items.filter(({ entityType }) => entityType === 'task');
    if (found !== undefined) known.set(externalId, knownTaskOf(found));
    onStep();
  });
  return known;
}

/** Tasks of an import that was interrupted before it wrote their reference. */
export async function findBegunTasks(
  baton: BatonClient,
  kind: SourceKind,
  missing: ReadonlySet<string>,
  onStep: () => void,
): Promise<Map<string, KnownTask>> {
  const begun = new Map<string, KnownTask>();
  if (missing.size === 0) return begun;
  const prefix = originOf(kind, '');
  let scanned = 0;
  for await (const { id, origin } of baton.tasks.list({ limit: 200 })) {
    scanned += 1;
    onStep();
    if (scanned > tasksScannedMax)
      throw new PlainError(`There are more than ${tasksScannedMax} tasks, more than an import can search.`);
    if (origin.kind !== 'external' || origin.ref?.startsWith(prefix) !== true) continue;
    const externalId = origin.ref.slice(prefix.length);
    if (missing.has(externalId)) begun.set(externalId, { taskId: id, fields: {}, links: [], comments: [] });
  }
  return begun;
}

/** The content of an imported task's reference, which other clients may have overwritten. */
function knownTaskOf({ entityId, metadata }: ExternalReference): KnownTask {
  const { fields, links, comments } = metadata;
  return {
    taskId: entityId,
    fields: typeof fields === 'object' && fields !== null ? (fields as Record<string, string>) : {},
    links: textsIn(links),
    comments: textsIn(comments),
  };
}

const textsIn = (value: unknown): string[] =>
  Array.isArray(value) ? (value as unknown[]).filter((one) => typeof one === 'string') : [];
