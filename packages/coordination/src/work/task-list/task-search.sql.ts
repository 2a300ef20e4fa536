import { queryBuilder } from '@baton/kernel/database/db';
import { fragment } from '@baton/kernel/database/list';
import { prepared, type Statement, sql } from '@baton/kernel/database/sql';

/** How many characters of each text the sample contains, and of how many texts. */
const sampleLettersMax = 1000;
const sampleTextsMax = 64;
/** How many letter sequences are looked up in the sample. */
const gramsMax = 24;

/** The result of scanning the first tasks of a list for the terms. */
export interface ScanResult {
  /** The number of tasks whose texts were read. */
  readonly looked: number;
  /** Whether all of the tenant's tasks from the start of the page on were read. */
  readonly is_all: boolean;
  /** The tasks that contain all terms. */
  readonly ids: string[];
  /** Letter sequences that every text with the terms contains. */
  readonly grams: string[];
  /** For each element of `grams`, the number of texts in the sample that contain it. */
  readonly counts: number[];
  readonly sample: number;
}

/** The parameters of the scan. */
export interface ScanRange {
  readonly terms: readonly string[];
  readonly tasksMax: number;
  /** The maximum number of bytes of text that are read. */
  readonly bytesMax: number;
  /** The page starts after these values of the order's columns. */
  readonly start: readonly (string | number)[] | undefined;
}

const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const firstId = '00000000-0000-0000-0000-000000000000';

/** LIKE patterns. The terms are plain text, so LIKE's wildcards are escaped. */
export const patternsOf = (terms: readonly string[]) =>
  terms.map((term) => `%${term.replaceAll(/[\\%_]/g, '\\$&')}%`);

/** Reads the texts of the first tasks of a list without further filters. */
export function scanFirstTasks(
  tenantId: string,
  order: 'createdAt' | 'startDate' | 'dueDate',
  what: ScanRange,
) {
  const { terms, tasksMax, bytesMax, start } = what;
  const [before, beforeId] = start ?? ['infinity', lastId];
  const [after, afterId] = start ?? ['-infinity', firstId];
  return sql<ScanResult>`
    with first as materialized (
      (select id, row_number() over (order by created_at desc, id desc) as position from tasks
       where ${order}::text = 'createdAt' and tenant_id = ${tenantId}
         and (created_at, id) < (${before}::timestamptz, ${beforeId}::uuid)
       order by created_at desc, id desc limit ${tasksMax}::integer)
      union all
      (select id, row_number() over (order by coalesce(start_date, 'infinity'), id) from tasks
       where ${order}::text = 'startDate' and tenant_id = ${tenantId}
         and (coalesce(start_date, 'infinity'), id) > (${after}::timestamptz, ${afterId}::uuid)
       order by coalesce(start_date, 'infinity'), id limit ${tasksMax}::integer)
      union all
      (select id, row_number() over (order by coalesce(due_date, 'infinity'), id) from tasks
       where ${order}::text = 'dueDate' and tenant_id = ${tenantId}
         and (coalesce(due_date, 'infinity'), id) > (${after}::timestamptz, ${afterId}::uuid)
       order by coalesce(due_date, 'infinity'), id limit ${tasksMax}::integer)
    ), looked as materialized (
      select id, position, lower(words) as words from (
        select f.id, f.position, s.words,
          sum(octet_length(s.words)) over (order by f.position rows unbounded preceding) - octet_length(s.words) as bytes_before
        from first f, lateral (select words from task_search where task_id = f.id offset 0) s
      ) as measured
      where bytes_before < ${bytesMax}::integer
    ), grams as materialized (
      select distinct substr(term, at, least(3, length(term))) as gram
      from (select lower(given) as term from unnest(${terms}::text[]) as t(given)) as lowered,
        lateral generate_series(1, greatest(1, length(term) - 2), ceil(length(term) / floor(
          ${gramsMax}::numeric / cardinality(${terms}::text[])))::integer) as at
    )
    select (select count(*) from looked)::integer as looked,
      (select count(*) from looked) = (select count(*) from first) and (select count(*) from first) < ${tasksMax} as is_all,
      array(
        select id from looked
        where words like all (array(select lower(pattern) from unnest(${patternsOf(terms)}::text[]) as p(pattern)))
      ) as ids,
      array(select gram from grams order by gram) as grams,
      array(
        select (
          select count(*)::integer from looked
          where position <= ${sampleTextsMax} and position(gram in left(words, ${sampleLettersMax})) > 0)
        from grams order by gram
      ) as counts,
      (select count(*) from looked where position <= ${sampleTextsMax})::integer as sample`;
}

/** A group of a tenant's tasks with consecutive numbers. */
export interface Bucket {
  readonly bucket: number;
  /** The creation times of the bucket's newest and oldest tasks. */
  readonly newest: string;
  readonly oldest: string;
  /** The newest task of all buckets below this one; null for the last. */
  readonly older_newest: string | null;
}

/** The buckets of a tenant, newest first. */
export function findBuckets(tenantId: string) {
  return sql<Bucket>`
    select b.bucket, newest.created_at as newest, oldest.created_at as oldest,
      max(newest.created_at) over (order by b.bucket rows between unbounded preceding and 1 preceding) as older_newest
    from generate_series(0, (
        select bucket from task_search where tenant_id = ${tenantId} order by bucket desc limit 1)) as b(bucket),
      lateral (
        select created_at from task_search where tenant_id = ${tenantId} and bucket = b.bucket
        order by created_at desc limit 1) as newest,
      lateral (
        select created_at from task_search where tenant_id = ${tenantId} and bucket = b.bucket
        order by created_at limit 1) as oldest
    order by b.bucket desc`;
}

/** The criteria of a search. */
export interface Wanted {
  readonly terms: readonly string[];
  readonly buckets: readonly number[];
  /** Letter sequences for the index query, at most eight. */
  readonly grams: readonly string[];
  /** Only tasks created after this time. */
  readonly after: string;
  /** Only tasks created at or before this time. */
  readonly upTo: string;
  readonly rowsMax: number;
}

/** Tasks that contain all terms, up to the limit, in no particular order. */
export function findMatchingTasks(tenantId: string, wanted: Wanted): Statement<{ task_id: string }> {
  const { terms, after, upTo, rowsMax } = wanted;
  // `offset 0` keeps PostgreSQL from evaluating the other conditions in the subquery, so that only the text index can
  // be used.
  const query = fragment`
    select s.task_id from (select * from task_search where ${fragment.join(conditionsOf(tenantId, wanted), fragment` and `)} offset 0) as s
    where s.tenant_id = ${tenantId} and s.created_at > ${after}::timestamptz and s.created_at <= ${upTo}::timestamptz
      and lower(s.words) like all (array(select lower(pattern) from unnest(${patternsOf(terms)}::text[]) as p(pattern)))
    limit ${rowsMax}::integer`;
  const { sql: text, parameters } = query.compile(queryBuilder());
  return prepared(text, parameters);
}

/**
 * One condition per letter sequence: the task contains the sequence in one of the buckets, or the task's text is long.
 */
function conditionsOf(tenantId: string, { buckets, grams }: Wanted) {
  const tokens = (gram: string) =>
    buckets.map((bucket) => `${tenantId.slice(-8)}${bucket.toString(16)}:${gram}`);
  const long = tokens('long');
  return grams.map(
    (gram) =>
      fragment`(task_tokens(tenant_id, bucket, words) collate "C") && ${[...tokens(gram), ...long]}::text[]`,
  );
}
