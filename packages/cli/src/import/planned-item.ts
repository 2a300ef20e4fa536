import { createHash } from 'node:crypto';
import { type Dropped, type Fate, keptRelations, type PlannedRelation } from './relations.ts';
import type { Source, SourceComment, SourceItem } from './source.ts';

/** The fields that an import writes; each is written again only when it has changed in the source. */
export const fieldNames = [
  'title',
  'description',
  'status',
  'priority',
  'assignee',
  'dueDate',
  'customFields',
] as const;
export type FieldName = (typeof fieldNames)[number];

/** An item as it will be written: what is too long is cut, what can't be stored is taken out. */
export interface PlannedItem extends Omit<SourceItem, 'comments'> {
  readonly comments: readonly PlannedComment[];
  readonly assigneeId?: string;
  /** What each field is now, in a few characters, to tell whether it has changed since the last import. */
  readonly fields: Readonly<Record<FieldName, string>>;
}

export interface PlannedComment {
  readonly body: string;
  /** The same for the same comment in every import. */
  readonly key: string;
}

/** As the service bounds them. */
const bounds = {
  idCharactersMax: 400,
  titleCharactersMax: 500,
  descriptionBytesMax: 900_000,
  descriptionCharactersMax: 524_288,
  commentCharactersMax: 10_000,
  commentsMax: 500,
  linksMax: 300,
  labelsMax: 200,
  fieldCharactersMax: 2_000,
} as const;

/**
 * Prepares every item of a source, and leaves out the relations that can't be made.
 * @param isKnown tells of items that only Baton has, from an import before @param assigneeIdOf who a name is here
 */
export function planItems(
  source: Source,
  isKnown: (id: string) => boolean,
  assigneeIdOf: (name: string) => string | undefined,
): PlannedItem[] {
  const { leftOut } = source;
  const items = source.items.filter(({ id, place }) => {
    if (id.length <= bounds.idCharactersMax) return true;
    leftOut.add(`has an id of more than ${bounds.idCharactersMax} characters`, place);
    return false;
  });
  const links = linksOf(items, isKnown, source);
  return items.map((item) => planned(item, links.get(item.id) ?? [], source, assigneeIdOf));
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
  const kept = keptRelations(wanted, fates, dropped);
  const left = new Set(kept.map(keyOf));
  for (const relation of wanted)
    if (!left.has(keyOf(relation))) leftOut.add(whyNot(relation, fates), textOf(relation));
  // Those to their own item are counted there too, and said above.
  const repeated = dropped.repeated - wanted.filter(({ from, to }) => from === to).length;
  if (repeated > 0) leftOut.add('relations repeat another one', String(repeated));
  return Map.groupBy(kept, ({ from }) => from);
}

const keyOf = ({ from, to, type }: PlannedRelation) => JSON.stringify([from, to, type]);
const textOf = ({ from, to, type }: PlannedRelation) => `${from} ${type} ${to}`;

function whyNot({ from, to, type }: PlannedRelation, fates: ReadonlyMap<string, Fate>): string {
  if (!fates.has(to)) return 'relation points to what is not in the source';
  if (from === to) return 'relation points to its own item';
  if (type === 'depends_on' && fates.get(to) === 'deleted') return 'relation waits for what is cancelled';
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
  if (title.length > bounds.titleCharactersMax) leftOut.add('title was too long and is cut', id);
  const description = fitting(storable(item.description));
  if (description.length < storable(item.description).length)
    leftOut.add('description was too long and is cut', id);
  if (relations.length > bounds.linksMax)
    leftOut.add(`has more than ${bounds.linksMax} relations: the rest`, id);
  if (item.comments.length > bounds.commentsMax)
    leftOut.add(`has more than ${bounds.commentsMax} comments: the oldest`, id);
  // Those of a Baton are as the service takes them.
  const customFields = system === 'baton' ? item.customFields : storableFields(item.customFields);
  if (JSON.stringify(customFields).length < JSON.stringify(item.customFields).length)
    leftOut.add('field was too long and is cut', id);
  const dueDate = item.dueDate === undefined ? undefined : instantOf(item.dueDate);
  if (item.dueDate !== undefined && dueDate === undefined) leftOut.add('has a due date that is no date', id);
  const { dueDate: _, ...rest } = item;
  const clean = {
    ...rest,
    title: cut(title, bounds.titleCharactersMax) || cut(id, bounds.titleCharactersMax),
    description,
    ...(dueDate !== undefined && { dueDate }),
    ...(assigneeId !== undefined && { assigneeId }),
    customFields,
    links: relations.slice(0, bounds.linksMax).map(({ to, type }) => ({ to, type })),
    comments: plannedComments(item.comments.slice(-bounds.commentsMax), () =>
      leftOut.add('comment was too long and is cut', id),
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
    // The same words may be said twice.
    const before = seen.get(text) ?? 0;
    seen.set(text, before + 1);
    return [{ body: text, key: digestOf([text, before]) }];
  });
}

/** PostgreSQL stores no NUL, and UTF-8 no half of a surrogate pair. */
function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

/** @returns the beginning, never half of a character */
function cut(text: string, charactersMax: number): string {
  return text.length <= charactersMax ? text : text.slice(0, charactersMax).replace(/[\uD800-\uDBFF]$/, '');
}

/** A request holds 1 MiB, as JSON in UTF-8. */
function fitting(text: string): string {
  let fits = cut(text, bounds.descriptionCharactersMax);
  while (Buffer.byteLength(JSON.stringify(fits)) > bounds.descriptionBytesMax)
    fits = cut(fits, Math.floor(fits.length * 0.9));
  return fits;
}

function storableFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') return cut(storable(value), bounds.fieldCharactersMax);
    if (Array.isArray(value)) return (value as unknown[]).slice(0, bounds.labelsMax).map(clean);
    if (typeof value === 'object' && value !== null) return storableFields(value as Record<string, unknown>);
    return value;
  };
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [storable(name), clean(value)]));
}

function instantOf(text: string): string | undefined {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 12);
}
