import { queryBuilder } from '@baton/kernel/database/db';
import { fragment, type PageQuery } from '@baton/kernel/database/list';
import type { Statement } from '@baton/kernel/database/sql';
import type { FiledBy } from './places.ts';

/** A row of a search with its position, counted from 1. */
export type Passed<Row> = Row & { readonly passed: number };

const ofTask = '(select workspace_id from tasks where id = found.task_id)';
/** The places that must all be visible. */
const placesBy: Record<Exclude<FiledBy, 'session'>, readonly string[]> = {
  workspace: ['found.workspace_id'],
  task: [ofTask],
  taskOrWorkspace: [`case when found.task_id is null then found.workspace_id else ${ofTask} end`],
  itself: ['found.id'],
  workspaceAndRole: ['found.workspace_id', '(select workspace_id from roles where id = found.role_id)'],
};

/**
 * Finds the first rows of a page that the viewer sees, and the last searched row, visible or not: if it is returned,
 * more rows may follow. Stops reading once it has found enough rows.
 */
export function findSeenOf<Row>(
  { statement: { text, values }, page: { limit } }: PageQuery<Row>,
  filedBy: FiledBy,
  viewerId: string,
  rowsWanted: number,
): Statement<Passed<Row>> {
  const [viewer, last, wanted] = [1, 2, 3].map((n) => `$${values.length + n}`);
  const places = filedBy === 'session' ? [] : placesBy[filedBy];
  const isSeen =
    filedBy === 'session'
      ? [`sees_session(${viewer}::uuid, id)`]
      : places.map(
          (_, n) =>
            `(place_${n} is null or place_${n} in (select id from workspaces_seen_by(${viewer}::uuid) as seen (id)))`,
        );
  return {
    text: `
      select * from (
        select found.*, row_number() over ()::integer as passed${places.map((place, n) => `, ${place} as place_${n}`).join('')}
        from (${text}) as found
      ) as passed_by
      where passed = ${last} or ${isSeen.join(' and ')}
      limit ${wanted}`,
    values: [...values, viewerId, limit + 1, rowsWanted],
  };
}

/** Counts the rows of a query, up to `rowsMax`. */
export function countOf(query: ReturnType<typeof fragment>, rowsMax: number): Statement<{ rows: number }> {
  const count = fragment`
    select count(*)::integer as rows from (select from (${query}) as counted limit ${rowsMax + 1}) as counted`;
  const { sql: text, parameters: values } = count.compile(queryBuilder());
  return { text, values };
}
