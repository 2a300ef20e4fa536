import { queryBuilder } from '@baton/kernel/database/db';
import { condition, fragment } from '@baton/kernel/database/list';
import type { Statement } from '@baton/kernel/database/sql';
import { placesSeenBy } from '../../service/sight/places.ts';
import type { Field } from './source-fields.sql.ts';
import type { Source } from './sources.ts';
import type { FilterOperator } from './view-spec.ts';

/**
 * The statements for a block's rows. All identifiers in them come from the sources; values from the request are
 * parameters.
 */

/**
 * The maximum number of scanned rows per query; a query that would scan more is refused
 * (docs/reference/views-and-lists.md#read).
 */
export const scannedRowsMax = 20_000;
/**
 * The number of the first row over the limit, which is returned first, or last if the rows are in the order of an
 * index.
 */
const excess = fragment.raw(String(scannedRowsMax + 1));

type Fragment = ReturnType<typeof fragment>;
type Condition = ReturnType<typeof condition>;
export type Stored = string | number | boolean;

/** The operand of a field; null matches missing values. */
export interface Comparison {
  readonly field: Field;
  readonly op: FilterOperator;
  readonly values: readonly Stored[] | null;
}

/** The access path to the scanned rows. */
export type Access =
  | { readonly by: 'tenant' }
  | { readonly by: 'field'; readonly comparison: Comparison }
  /**
   * The filter by the workspaces that a person sees, by one workspace, or both; includes rows without a workspace if
   * the person may see all.
   */
  | { readonly by: 'places' };

/** The part of a block's query that selects rows. */
export interface Looking {
  readonly tenantId: string;
  readonly source: Source;
  readonly access: Access;
  readonly viewerId: string | null;
  /** Only rows of this workspace or its descendants. */
  readonly workspaceId: string | null;
  readonly comparisons: readonly Comparison[];
  /** The objects that external authorization grants, if it decides on each. */
  readonly granted: readonly string[] | undefined;
}

/** A column that rows are sorted by, as an expression over them. */
export interface SortKey {
  readonly expression: string;
  readonly storedAs: string;
  readonly direction: 'asc' | 'desc';
}

/** The values of the sort keys in the row after which a page begins. */
export type Start = readonly (Stored | null)[] | undefined;

const raw = (text: string) => fragment.raw(text);
const names = (letter: string, of: readonly unknown[]) => of.map((_, n) => `${letter}${n}`);

function workspacesWithin({ tenantId, workspaceId }: Looking): Fragment {
  return fragment`select id from workspaces where tenant_id = ${tenantId} and path @> array[${workspaceId}::uuid]`;
}

function placesOf(looking: Looking): Fragment {
  const { tenantId, viewerId, workspaceId } = looking;
  if (viewerId === null) return workspacesWithin(looking);
  if (workspaceId === null) return placesSeenBy(tenantId, viewerId);
  return fragment`
    select place.id from (${placesSeenBy(tenantId, viewerId)}) as place (id) where place.id in (${workspacesWithin(looking)})`;
}

/** Rows of the table as `t`, each found by an index; empty if a joined row has none. */
function found(looking: Looking): Fragment {
  const { tenantId, source, access } = looking;
  const table = fragment.table(source.table);
  if (access.by === 'tenant') return fragment`${table} as t where t.tenant_id = ${tenantId}`;
  if (access.by === 'places') return foundInPlaces(looking);
  const { field, values } = access.comparison;
  const { expression, inOrder, valuesOf } = field.index as NonNullable<Field['index']>;
  const [only] = values as readonly Stored[];
  if (inOrder && values?.length === 1)
    return fragment`
      ${table} as t where t.tenant_id = ${tenantId} and ${raw(expression)} = ${only}::${raw(field.storedAs)}`;
  const owners =
    valuesOf?.(tenantId, values as readonly Stored[]) ??
    fragment`select v from unnest(${values}::${raw(field.storedAs)}[]) as given (v)`;
  return fragment`
    (${owners}) as owner cross join lateral (
      select * from ${table} as t where t.tenant_id = ${tenantId} and ${raw(expression)} = owner.v offset 0
    ) as t where true`;
}

function foundInPlaces(looking: Looking): Fragment {
  const { tenantId, source } = looking;
  const table = fragment.table(source.table);
  const places = fragment`select place.id from (${placesOf(looking)}) as place (id)`;
  const ofPlaces = (more: Condition) => fragment`
    (${places}) as owner cross join lateral (
      select * from ${table} where coalesce(workspace_id, tenant_id) = owner.id and tenant_id = ${tenantId} and ${more} offset 0
    ) as t`;
  // A task without rows in this table also counts as scanned.
  const ofTasks = fragment`
    (${places}) as place cross join lateral (
      select id from tasks where coalesce(workspace_id, tenant_id) = place.id and tenant_id = ${tenantId} offset 0
    ) as task left join lateral (
      select * from ${table} where task_id = task.id and tenant_id = ${tenantId} offset 0
    ) as t on true`;
  if (source.filedBy === 'workspace') return fragment`${ofPlaces(condition`true`)} where true`;
  if (source.filedBy === 'task') return fragment`${ofTasks} where true`;
  return fragment`
    (select t.* from ${ofTasks} union all select t.* from ${ofPlaces(condition`task_id is null`)}) as t where true`;
}

/** The workspace of a row, directly or through its task. */
function placeOf({ filedBy }: Source): string {
  const ofTask = '(select workspace_id from tasks where id = t.task_id)';
  if (filedBy === 'workspace') return 't.workspace_id';
  return filedBy === 'task' ? ofTask : `case when t.task_id is null then t.workspace_id else ${ofTask} end`;
}

/**
 * The scanned rows, numbered from 1 as `passed`, at most one more than the limit, with the expressions that the rest of
 * the query needs: `f…` for the filters, and others by name.
 */
function lookedAt(
  looking: Looking,
  more: readonly (readonly [name: string, expression: string])[],
  inOrder?: Fragment,
): Fragment {
  const { comparisons, source, workspaceId, access } = looking;
  const isNarrowed = workspaceId !== null && access.by !== 'places' && source.filedBy !== undefined;
  const needed = [
    ...comparisons.map(({ field }, n) => [`f${n}`, field.expression] as const),
    ...(isNarrowed ? [['place', placeOf(source)] as const] : []),
    ...(looking.granted === undefined ? [] : [['object', source.judgedBy?.column as string] as const]),
    ...more,
  ];
  const columns = needed.map(([name, expression]) => raw(`${expression} as ${name}`));
  return fragment`
    select looked.*, row_number() over ()::integer as passed from (
      select ${fragment.join([raw('t.id'), ...columns])} from ${found(looking)} ${inOrder ?? raw('')} limit ${excess}
    ) as looked`;
}

/** Whether a row from `lookedAt` belongs to the block. */
function isOfBlock({ comparisons, workspaceId, access, source, granted, ...looking }: Looking): Condition {
  const isNarrowed = workspaceId !== null && access.by !== 'places' && source.filedBy !== undefined;
  const all = [
    condition`id is not null`,
    ...comparisons.map((comparison, n) => holds(comparison, `f${n}`)),
    ...(isNarrowed
      ? [
          condition`place in (${workspacesWithin({ ...looking, comparisons, workspaceId, access, source, granted })})`,
        ]
      : []),
    ...(granted === undefined ? [] : [condition`object = any (${granted}::uuid[])`]),
  ];
  return condition`(${fragment.join(all, fragment` and `)})`;
}

function holds({ field, op, values }: Comparison, name: string): Condition {
  const [column, type] = [raw(name), raw(field.storedAs)];
  if (values === null) return condition`${column} is null`;
  const [value] = values;
  if (op === 'in') return condition`${column} = any (${values}::${type}[])`;
  if (op === 'prefix') return condition`starts_with(${column}, ${value})`;
  const sign = { eq: '=', gte: '>=', lte: '<=' }[op];
  return condition`${column} ${raw(sign)} ${value}::${type}`;
}

/** After the row with these values, in an order with missing values last. */
function isBehind(
  keys: readonly SortKey[],
  columns: readonly string[],
  start: NonNullable<Start>,
): Condition {
  const later = keys.map(({ storedAs, direction }, n) => {
    const [column, value] = [raw(columns[n] as string), fragment`${start[n] ?? null}::${raw(storedAs)}`];
    const before = columns.slice(0, n).map((name, m) => {
      const same = fragment`${start[m] ?? null}::${raw(keys[m]?.storedAs as string)}`;
      return condition`${raw(name)} is not distinct from ${same}`;
    });
    const behind =
      start[n] == null
        ? condition`false`
        : condition`(${column} is null or ${column} ${raw(direction === 'asc' ? '>' : '<')} ${value})`;
    return condition`(${fragment.join([...before, behind], fragment` and `)})`;
  });
  return condition`(${fragment.join(later, fragment` or `)})`;
}

const ordered = (keys: readonly SortKey[], columns: readonly string[]) =>
  keys.map(({ direction }, n) => raw(`${columns[n]} is null, ${columns[n]} ${direction}`));

function compiled<Row>(query: Fragment): Statement<Row> {
  const { sql: text, parameters: values } = query.compile(queryBuilder());
  return { text, values };
}

/** A row of a block: its columns `c…`, its sort keys `s…`, its authorization object, and its number. */
export interface BlockRow {
  passed: number;
  judged: string | null;
  [column: `c${number}` | `s${number}`]: Stored | null;
}

/** A page of the rows of a block. */
export interface RowsPage {
  readonly columns: readonly Field[];
  /** Unique in combination. */
  readonly keys: readonly SortKey[];
  readonly start: Start;
  /** Whether the scanned rows have the order of the keys, so that a full page ends the scan. */
  readonly inOrder: boolean;
  readonly rowsMax: number;
}

/** The rows of a page. They include the first row over the scan limit, regardless of its values. */
export function findBlockRows(
  looking: Looking,
  { columns, keys, start, inOrder, rowsMax }: RowsPage,
): Statement<BlockRow> {
  const { source } = looking;
  const sorted = names('s', keys);
  const expressions = keys.map(({ expression }, n) => [sorted[n] as string, expression] as const);
  const direction = raw(keys[0]?.direction as string);
  const places = keys.map(({ expression }) => raw(expression));
  const begun =
    start === undefined
      ? []
      : [
          fragment`
    and (${fragment.join(places)}) ${raw(keys[0]?.direction === 'asc' ? '>' : '<')} (${fragment.join(
      start.map((value, n) => fragment`${value}::${raw(keys[n]?.storedAs as string)}`),
    )})`,
        ];
  const byIndex = fragment`
    ${fragment.join(begun, raw(''))} order by ${fragment.join(places.map((place) => fragment`${place} ${direction}`))}`;
  const rows = lookedAt(looking, expressions, inOrder ? byIndex : undefined);
  const behind = inOrder || start === undefined ? condition`true` : isBehind(keys, sorted, start);
  const order = inOrder
    ? raw('')
    : fragment`order by passed = ${excess} desc, ${fragment.join(ordered(keys, sorted))}`;
  const shown = columns.map(({ expression }, n) => raw(`${expression} as c${n}`));
  const judged = raw(`${source.judgedBy?.column ?? 'null::uuid'} as judged`);
  return compiled(fragment`
    select page.passed, ${fragment.join(sorted.map((name) => raw(`page.${name}`)))}, shown.*
    from (
      select chosen.*, row_number() over () as place_in_page from (
        select * from (${rows}) as numbered
        where passed = ${excess} or (${isOfBlock(looking)} and ${behind})
        ${order} limit ${rowsMax}
      ) as chosen
    ) as page left join lateral (
      select ${fragment.join([judged, ...shown])} from ${fragment.table(source.table)} as t where t.id = page.id
    ) as shown on true
    order by page.place_in_page`);
}

/** The group of one value of `groupBy`. */
export interface GroupRow {
  is_excess: boolean;
  g: Stored | null;
  value: Stored | null;
}

export interface GroupsPage {
  readonly groupBy: Field | undefined;
  readonly aggregate: { readonly fn: string; readonly field: Field | undefined };
  /** The columns of `g` and `value`; unique in combination. */
  readonly keys: readonly SortKey[];
  readonly start: Start;
  readonly rowsMax: number;
}

/** The groups of a block. If too many rows would be scanned, an additional group is returned first. */
export function findBlockGroups(
  looking: Looking,
  { groupBy, aggregate: { fn, field }, keys, start, rowsMax }: GroupsPage,
): Statement<GroupRow> {
  const rows = lookedAt(looking, [
    ['g', groupBy?.expression ?? 'null::boolean'],
    ['a', field?.expression ?? '1'],
  ]);
  const argument = field?.type === 'number' ? 'a::double precision' : 'a';
  const columns = keys.map(({ expression }) => expression);
  const behind = start === undefined ? condition`true` : isBehind(keys, columns, start);
  return compiled(fragment`
    select * from (
      select passed = ${excess} as is_excess, g, ${raw(`${fn}(${argument})`)} as value from (${rows}) as numbered
      where passed = ${excess} or ${isOfBlock(looking)}
      group by passed = ${excess}, g
    ) as grouped
    where is_excess or ${behind}
    order by is_excess desc, ${fragment.join(ordered(keys, columns))} limit ${rowsMax}`);
}

/** The authorization objects of a block's rows. If too many would be scanned, an additional one is returned first. */
export function findAuthorizedObjects(
  looking: Looking,
  rowsMax: number,
): Statement<{ id: string | null; is_excess: boolean }> {
  const rows = lookedAt(looking, [['judged', looking.source.judgedBy?.column as string]]);
  return compiled(fragment`
    select judged as id, passed = ${excess} as is_excess from (${rows}) as numbered
    where passed = ${excess} or ${isOfBlock(looking)}
    group by judged, passed = ${excess} order by is_excess desc limit ${rowsMax}`);
}
