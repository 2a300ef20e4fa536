import { createHash } from 'node:crypto';
import { fittingFields } from './fitting-fields.ts';
import { instantIn } from './instants.ts';
import { type Dropped, type Fate, keepRelations, type PlannedRelation } from './relations.ts';
import type { Source, SourceComment, SourceItem } from './source.ts';
import { cut, storable } from './storable-text.ts';

/** The fields that an import writes; each is written again only if it has changed in the source. */
export const fieldNames = [
  'title',
  'description',
  'status',
  'priority',
  'assignee',
  'dueDate',
  'customFields',
  'startDate',
  'acceptance',
] as const;
export type FieldName = (typeof fieldNames)[number];

/** What is stored for an empty field that older versions of the import did not write. */
export const digestOfNothing = digestOf(null);

/** An item for writing: texts that are too long are truncated, and characters that can't be stored are removed. */
export interface PlannedItem extends Omit<SourceItem, 'comments'> {
  readonly comments: readonly PlannedComment[];
  readonly assigneeId?: string;
  /** A short hash of each field, to detect changes since the last import. */
  readonly fields: Readonly<Record<FieldName, string>>;
}

export interface PlannedComment {
  readonly body: string;
  /** Identifies a comment: the same in every import. */
  readonly key: string;
}

/** The service's limits. */
const bounds = {
  idCharactersMax: 400,
  titleCharactersMax: 500,
  descriptionBytesMax: 900_000,
  descriptionCharactersMax: 524_288,
  commentCharactersMax: 10_000,
  commentsMax: 500,
  linksMax: 300,
} as const;

/**
 * Prepares every item of a source, and omits the relations that can't be created.
 * @param isKnown whether Baton has an item from an earlier import @param assigneeIdOf returns the principal of a name
 */
export function planItems(
  source: Source,
  isKnown: (id: string) => boolean,
  assigneeIdOf: (name: string) => string | undefined,
): PlannedItem[] {
  const { items } = withUsableIds(source);
  const links = linksOf(items, isKnown, source);
  return items.map((item) => planned(item, links.get(item.id) ?? [], source, assigneeIdOf));
}

/** Removes items and relations with ids that the service rejects: a single one would make every request fail. */
export function withUsableIds<Given extends Source>(source: Given): Given {
  const { leftOut } = source;
  const items = source.items.flatMap((item) => {
    const fault = faultOfId(item.id);
    if (fault !== undefined) {
      leftOut.addUnreadable(fault, item.place);
      return [];
    }
    const links = item.links.filter(({ to }) => faultOfId(to) === undefined);
    if (links.length < item.links.length) leftOut.add('relation has an invalid id', item.id);
    return [{ ...item, links }];
  });
  return { ...source, items };
}

function faultOfId(id: string): string | undefined {
  if (id.length > bounds.idCharactersMax)
    return `has an id of more than ${bounds.idCharactersMax} characters`;
  return id === storable(id) ? undefined : 'has an id with a NUL or half a character';
}

function linksOf(
  items: readonly SourceItem[],
  isKnown: (id: string) => boolean,
  { leftOut }: Source,
): Map<string, PlannedRelation[]> {
  const fates = new Map(items.map(({ id, status }) => [id, fateOf(status)]));
  const wanted = items.flatMap(({ id, links }) => links.map(({ to, type }) => ({ from: id, to, type })));
  for (const { to } of wanted) if (!fates.has(to) && isKnown(to)) fates.set(to, 'open');
  const dropped: Dropped = { dangling: 0, closingCycle: 0, waitingForDeleted: 0, repeated: 0 };
  const kept = keepRelations(wanted, fates, dropped);
  const left = new Set(kept.map(keyOf));
  for (const relation of wanted)
    if (!left.has(keyOf(relation))) leftOut.add(whyNot(relation, fates), textOf(relation));
  // `dropped` also counts relations of an item to itself, which are reported above.
  const repeated = dropped.repeated - wanted.filter(({ from, to }) => from === to).length;
  if (repeated > 0) leftOut.add('relations are duplicates', String(repeated));
  return Map.groupBy(kept, ({ from }) => from);
}

const keyOf = ({ from, to, type }: PlannedRelation) => JSON.stringify([from, to, type]);
const textOf = ({ from, to, type }: PlannedRelation) => `${from} ${type} ${to}`;

function whyNot({ from, to, type }: PlannedRelation, fates: ReadonlyMap<string, Fate>): string {
  if (!fates.has(to)) return 'relation points to an item that is not in the source';
  if (from === to) return 'relation points to its own item';
  if (type === 'depends_on' && fates.get(to) === 'deleted') return 'relation waits for a cancelled item';
  return 'relation would close a cycle';
}

function fateOf(status: SourceItem['status']): Fate {
  if (status === 'done') return 'done';
  return status === 'cancelled' ? 'deleted' : 'open';
}

function planned(
  item: SourceItem,
  relations: readonly PlannedRelation[],
  { leftOut, system }: Source,
  assigneeIdOf: (name: string) => string | undefined,
): PlannedItem {
  const { id } = item;
  const assigneeId = item.assignee === undefined ? undefined : assigneeIdOf(item.assignee);
  const title = storable(item.title).replaceAll(/\s+/g, ' ').trim();
  if (title.length > bounds.titleCharactersMax) leftOut.add('title was too long and has been truncated', id);
  const description = fitting(storable(item.description));
  if (description.length < storable(item.description).length)
    leftOut.add('description was too long and has been truncated', id);
  if (relations.length > bounds.linksMax)
    leftOut.add(`has more than ${bounds.linksMax} relations: the rest`, id);
  if (item.comments.length > bounds.commentsMax)
    leftOut.add(`has more than ${bounds.commentsMax} comments: the oldest`, id);
  // The service accepts the custom fields of a Baton unchanged.
  const customFields =
    system === 'baton'
      ? item.customFields
      : fittingFields(item.customFields, (reason) => leftOut.add(reason, id));
  const dueDate = instantIn(item.dueDate ?? '');
  if (item.dueDate !== undefined && dueDate === undefined) leftOut.add('has an invalid due date', id);
  const startDate = instantIn(item.startDate ?? '');
  if (item.startDate !== undefined && startDate === undefined) leftOut.add('has an invalid start date', id);
  const { dueDate: _, startDate: __, ...rest } = item;
  const clean = {
    ...rest,
    title: cut(title, bounds.titleCharactersMax) || cut(id, bounds.titleCharactersMax),
    description,
    ...(dueDate !== undefined && { dueDate }),
    ...(startDate !== undefined && { startDate }),
    ...(assigneeId !== undefined && { assigneeId }),
    customFields,
    links: relations.slice(0, bounds.linksMax).map(({ to, type }) => ({ to, type })),
    comments: plannedComments(item.comments.slice(-bounds.commentsMax), () =>
      leftOut.add('comment was too long and has been truncated', id),
    ),
  };
  const values: Readonly<Record<FieldName, unknown>> = {
    title: clean.title,
    description,
    status: [item.status, item.statusKey ?? null],
    priority: item.priority,
    assignee: assigneeId ?? null,
    dueDate: dueDate ?? null,
    customFields: clean.customFields,
    startDate: startDate ?? null,
    acceptance: item.acceptance ?? null,
  };
  const fields = Object.fromEntries(fieldNames.map((name) => [name, digestOf(values[name])]));
  return { ...clean, fields: fields as Record<FieldName, string> };
}

function plannedComments(comments: readonly SourceComment[], onCut: () => void): PlannedComment[] {
  const seen = new Map<string, number>();
  return comments.flatMap(({ body, author, at }) => {
    const who = [author, at?.slice(0, 10)].filter((one) => one !== undefined).join(', ');
    const whole = `${who === '' ? '' : `${storable(who)}:\n\n`}${storable(body).trim()}`;
    const text = cut(whole, bounds.commentCharactersMax).trim();
    if (text === '') return [];
    if (text.length < whole.length) onCut();
    // Two comments may have the same text.
    const before = seen.get(text) ?? 0;
    seen.set(text, before + 1);
    return [{ body: text, key: digestOf([text, before]) }];
  });
}

/** A request holds at most 1 MiB, as JSON in UTF-8. */
function fitting(text: string): string {
  let fits = cut(text, bounds.descriptionCharactersMax);
  while (Buffer.byteLength(JSON.stringify(fits)) > bounds.descriptionBytesMax)
    fits = cut(fits, Math.floor(fits.length * 0.9));
  return fits;
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 12);
}
