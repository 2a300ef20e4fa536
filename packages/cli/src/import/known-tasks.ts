import type { BatonClient, ExternalReference } from '@baton/sdk';
import { forEachConcurrently } from '@baton/values/concurrently';
import { PlainError } from '../plain-error.ts';

/** What an import before has made of an item. */
export interface KnownTask {
  readonly taskId: string;
  /** What each field was in the source then; absent where that import was ended half-way. */
  readonly fields: Readonly<Record<string, string>>;
  /** Relations that were made then, as `type id`. */
  readonly links: readonly string[];
  /** Keys of the comments that were made then. */
  readonly comments: readonly string[];
}

/** What kind of thing items are in their tracker. */
export interface SourceKind {
  readonly system: string;
  readonly type: string;
}

export const concurrencyMax = 16;
const tasksScannedMax = 1_000_000;

/** The origin of an imported task: it can't be changed, so a task whose import was ended half-way is known by it. */
export const originOf = ({ system, type }: SourceKind, id: string): string => `${system}/${type}/${id}`;

/** Reads what imports before have made of these items; writes nothing. */
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

/** Tasks that an import has made without coming to write their reference: it was ended between the two. */
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
      throw new PlainError(
        `There are more than ${tasksScannedMax} tasks: an import can't look through them.`,
      );
    if (origin.kind !== 'external' || origin.ref?.startsWith(prefix) !== true) continue;
    const externalId = origin.ref.slice(prefix.length);
    if (missing.has(externalId)) begun.set(externalId, { taskId: id, fields: {}, links: [], comments: [] });
  }
  return begun;
}

/** What the reference of an imported task keeps; somebody may have written something else there. */
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
