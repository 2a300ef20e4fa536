import { sqlState } from '@baton/kernel/database/db';
import { encodeCursor } from '@baton/kernel/http/paging';
import { getWorkspaceRow } from '../../organisation/workspaces/workspaces.ts';
import { decidesPerObject, holds, holdsOnSome, permittedIds } from '../../service/permissions.ts';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type Asked, keysOfGroups, keysOfRows, parseQuery } from './block-query.ts';
import { startOf } from './cursors.ts';
import type { FieldType } from './field-values.ts';
import {
  type Access,
  type BlockRow,
  findAuthorizedObjects,
  findBlockGroups,
  findBlockRows,
  type GroupRow,
  type Looking,
  type RowsPage,
  type SortKey,
  type Stored,
  scannedRowsMax,
} from './rows.sql.ts';
import type { Field } from './source-fields.sql.ts';
import { type Source, sources } from './sources.ts';
import type { ViewQuery, ViewRows } from './view.ts';
import { type SourceName, type ViewBlock, valueColumn } from './view-spec.ts';
import { getViewRow } from './views.ts';

/** Maximum number of indexed fields that are tried one after the other before a query is refused. */
const fieldLooksMax = 2;
/** Limits that apply if external authorization decides per object: rows of one page, and objects of an aggregate. */
const judgedRowsMax = 500;
/** The maximum number of reads that search for visible rows. */
const judgedReadsMax = 8;
const judgedObjectsMax = 5000;

/** The inputs of one query. */
interface Querying {
  readonly context: Context;
  readonly block: ViewBlock;
  readonly source: Source;
  readonly asked: Asked;
  readonly query: ViewQuery;
  readonly viewerId: string | null;
}

/**
 * The rows of a block of a view (docs/reference/views-and-lists.md#read): those rows of its source that the caller may
 * read and see.
 * @throws Refusal `not_found`, `not_implemented`, `permission_denied`, `undeclared_filter`, `undeclared_sort`,
 * `workspace_required`, `validation_error`, `invalid_cursor`, `view_too_costly`
 */
export async function queryView(context: Context, key: string, query: ViewQuery): Promise<ViewRows> {
  const view = await getViewRow(context, key);
  const block = view.spec.blocks[query.block] ?? fail('not_found', { view: key, block: query.block });
  if (block.source === 'knowledge') return fail('not_implemented', { source: block.source });
  const source = sources[block.source];
  requireRight(context, source);
  const { workspaceId } = query;
  if (workspaceId != null) await getWorkspaceRow(context, workspaceId);
  const asked = parseQuery(block, source, query);
  const querying = { context, block, source, asked, query, viewerId: await viewerOf(context) };
  const isGrouped = block.groupBy !== undefined || block.aggregate !== undefined;
  const page = await inTime(() => (isGrouped ? groupsOf(querying) : rowsOf(querying)));
  const { version } = view;
  return {
    view: key,
    version,
    block: query.block,
    source: block.source as SourceName,
    columns: columnsOf(querying),
    ...page,
  };
}

/** @throws Refusal `permission_denied` */
function requireRight({ caller }: Context, { right, judgedBy }: Source): void {
  const isHeld = judgedBy === undefined ? holds : holdsOnSome;
  if (!isHeld(caller.permissions, right)) fail('permission_denied', { required: [right] });
}

type Page = Pick<ViewRows, 'items' | 'nextCursor'>;

/** A statement that exceeds the database's statement timeout is too costly, like one that scans too many rows. */
async function inTime(read: () => Promise<Page>): Promise<Page> {
  try {
    return await read();
  } catch (error) {
    if (sqlState(error) === '57014') return tooCostly();
    throw error;
  }
}

function tooCostly(): never {
  return fail('view_too_costly', { maxRows: scannedRowsMax });
}

/**
 * The access paths to the rows, narrowest first. Callers with partial visibility get only the path to their part: rows
 * outside of it must not even be counted.
 */
function accessesOf({ source, asked, query, viewerId }: Querying): Access[] {
  const places = source.filedBy !== undefined && (viewerId !== null || query.workspaceId != null);
  if (places && viewerId !== null) return [{ by: 'places' }];
  const byField = Object.values(source.fields).flatMap((field): Access[] => {
    const comparison = asked.comparisons.find((one) => one.field === field && isLookedUp(one));
    return comparison === undefined ? [] : [{ by: 'field', comparison }];
  });
  const wider: Access[] = places ? [{ by: 'places' }, { by: 'tenant' }] : [{ by: 'tenant' }];
  return [...byField.slice(0, fieldLooksMax), ...wider];
}

function isLookedUp({ field, op, values }: Asked['comparisons'][number]): boolean {
  return field.index !== undefined && values !== null && (op === 'eq' || op === 'in');
}

function looking(
  { context, source, asked, query, viewerId }: Querying,
  access: Access,
  granted: Looking['granted'],
): Looking {
  const { comparisons } = asked;
  const workspaceId = query.workspaceId ?? null;
  return { tenantId: context.tenantId, source, access, viewerId, workspaceId, comparisons, granted };
}

async function rowsOf(querying: Querying): Promise<Page> {
  const { context, block, source, asked, query } = querying;
  const { limit } = query;
  const { keys, isOwnOrder } = keysOfRows(source, asked.sorts);
  const name = cursorName(querying, keys);
  const isJudgedEach = decidesPerObject(context.caller.permissions) && source.judgedBy !== undefined;
  const rowsMax = isJudgedEach ? judgedRowsMax : limit + 1;
  const columns = block.columns.map(({ field }) => source.fields[field] as Field);
  const positionOf = (row: BlockRow) => keys.map((_, n) => row[`s${n}`] ?? null);
  const seen: BlockRow[] = [];
  let start = startOf(name, query.cursor, keys);
  let isMore = true;
  for (
    let reads = 1;
    isMore && seen.length <= limit && reads <= (isJudgedEach ? judgedReadsMax : 1);
    reads += 1
  ) {
    const page = { columns, keys, start, rowsMax };
    const { rows, isCut } = (await findRows(querying, page, isOwnOrder)) ?? tooCostly();
    seen.push(...(isJudgedEach ? grantedRows(querying, rows) : rows));
    isMore = isCut || rows.length === rowsMax;
    if (isMore) start = positionOf(rows.at(-1) as BlockRow);
  }
  const shown = seen.slice(0, limit);
  // A cursor contains the values of its row, so no cursor is made from a row that external authorization hides.
  const last = shown.at(-1) ?? (isMore ? tooCostly() : undefined);
  return {
    items: shown.map((row) => itemOf(columns, (n) => row[`c${n}`] ?? null)),
    nextCursor:
      last !== undefined && (isMore || seen.length > limit)
        ? encodeCursor(name, positionOf(last) as never)
        : null,
  };
}

/**
 * The rows for a page, from the first access path that doesn't scan too many.
 * @returns undefined if every path scans too many; `isCut` if the page is full and the next row is beyond the scan
 * limit of one query
 */
async function findRows(
  querying: Querying,
  page: Omit<RowsPage, 'inOrder'>,
  isOwnOrder: boolean,
): Promise<{ rows: BlockRow[]; isCut: boolean } | undefined> {
  const { context, source, query } = querying;
  for (const access of accessesOf(querying)) {
    const inOrder = isOwnOrder && isInOrder(source, access);
    const look = looking(querying, access, undefined);
    const found = await context.db.rows(findBlockRows(look, { ...page, inOrder }));
    const rows = found.filter(({ passed }) => passed <= scannedRowsMax);
    const isCut = rows.length < found.length;
    if (!isCut || (inOrder && rows.length >= query.limit)) return { rows, isCut };
  }
  return undefined;
}

/** Whether the access path yields the rows newest first. */
function isInOrder({ isOrdered }: Source, access: Access): boolean {
  if (access.by === 'tenant') return isOrdered;
  if (access.by === 'places') return false;
  const { field, values } = access.comparison;
  return field.index?.inOrder === true && values?.length === 1;
}

async function groupsOf(querying: Querying): Promise<Page> {
  const { context, block, source, asked, query } = querying;
  const groupBy = block.groupBy === undefined ? undefined : (source.fields[block.groupBy] as Field);
  const { fn, field: name } = block.aggregate ?? { fn: 'count' };
  const aggregate = { fn, field: name === undefined ? undefined : source.fields[name] };
  const storedAs = valueTypeOf(querying) === 'time' ? 'timestamptz' : 'double precision';
  const keys = keysOfGroups(groupBy, storedAs, asked.sorts);
  const cursor = cursorName(querying, keys);
  const start = startOf(cursor, query.cursor, keys);
  let rows: GroupRow[] | undefined;
  for (const access of accessesOf(querying)) {
    const granted = await grantedObjects(querying, access);
    if (granted === 'too many') continue;
    const page = { groupBy, aggregate, keys, start, rowsMax: query.limit + 1 };
    const found = await context.db.rows(findBlockGroups(looking(querying, access, granted), page));
    if (found[0]?.is_excess === true) continue;
    rows = found;
    break;
  }
  if (rows === undefined) return tooCostly();
  // Without `groupBy`, an empty result is one group.
  if (groupBy === undefined && rows.length === 0 && start === undefined)
    rows = [{ is_excess: false, g: null, value: fn === 'count' ? 0 : null }];
  const shown = rows.slice(0, query.limit);
  const last = shown.at(-1) as GroupRow;
  const cells = ({ g, value }: GroupRow) => ({
    ...(groupBy !== undefined && { [groupBy.name]: cellOf(groupBy, g) }),
    [valueColumn]: value,
  });
  const isShown = new Set(block.columns.map(({ field }) => field));
  const items = shown.map((row) =>
    Object.fromEntries(Object.entries(cells(row)).filter(([column]) => isShown.has(column))),
  );
  const position = () => keys.map(({ expression }) => (expression === 'g' ? last.g : last.value));
  return { items, nextCursor: rows.length > query.limit ? encodeCursor(cursor, position() as never) : null };
}

function itemOf(columns: readonly Field[], valueAt: (n: number) => Stored | null): ViewRows['items'][number] {
  return Object.fromEntries(columns.map((field, n) => [field.name, cellOf(field, valueAt(n))]));
}

function cellOf({ words }: Field, value: Stored | null): Stored | null {
  return words === undefined || value === null ? value : (words[value as number] ?? null);
}

/** The rows that external authorization grants. */
function grantedRows({ context, source }: Querying, rows: readonly BlockRow[]): BlockRow[] {
  const ids = new Set(rows.flatMap(({ judged }) => (judged === null ? [] : [judged])));
  const granted = new Set(grantedIds(context, source, [...ids]));
  return rows.filter(({ judged }) => judged !== null && granted.has(judged));
}

function grantedIds(
  { caller, tenantId }: Context,
  { right, judgedBy }: Source,
  ids: readonly string[],
): readonly string[] {
  const type = judgedBy?.type as NonNullable<Source['judgedBy']>['type'];
  if (type !== 'place') return permittedIds(caller.permissions, right, type, ids);
  const workspaces = ids.filter((id) => id !== tenantId);
  const inWorkspaces = permittedIds(caller.permissions, right, 'workspace', workspaces);
  const inTenant =
    workspaces.length === ids.length ? [] : permittedIds(caller.permissions, right, 'tenant', [tenantId]);
  return [...inWorkspaces, ...inTenant];
}

/** The objects of an aggregate, if external authorization decides on each; otherwise undefined. */
async function grantedObjects(
  querying: Querying,
  access: Access,
): Promise<readonly string[] | 'too many' | undefined> {
  const { context, source } = querying;
  if (!decidesPerObject(context.caller.permissions) || source.judgedBy === undefined) return undefined;
  const look = looking(querying, access, undefined);
  const found = await context.db.rows(findAuthorizedObjects(look, judgedObjectsMax + 1));
  if (found[0]?.is_excess === true || found.length > judgedObjectsMax) return 'too many';
  return grantedIds(
    context,
    source,
    found.flatMap(({ id }) => (id === null ? [] : [id])),
  );
}

/** The name ensures that cursors of another block, or for a different order, are refused. */
function cursorName({ query, block }: Querying, keys: readonly SortKey[]): string {
  const order = keys.map(({ expression, direction }) => `${expression} ${direction}`).join();
  return `view:${block.source}:${query.block}:${block.groupBy ?? ''}:${order}`;
}

function columnsOf(querying: Querying): ViewRows['columns'] {
  const { block, source } = querying;
  return block.columns.map(({ field, title = null }) => ({
    field,
    title,
    type: field === valueColumn ? valueTypeOf(querying) : (source.fields[field] as Field).type,
  }));
}

function valueTypeOf({ block: { aggregate }, source }: Querying): FieldType {
  const { fn, field } = aggregate ?? { fn: 'count', field: undefined };
  return field !== undefined && (fn === 'min' || fn === 'max')
    ? (source.fields[field] as Field).type
    : 'number';
}
