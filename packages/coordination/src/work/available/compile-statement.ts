import { queryBuilder } from '@baton/kernel/database/db';
import type { fragment } from '@baton/kernel/database/list';
import { prepared, type Statement } from '@baton/kernel/database/sql';

export type Fragment = ReturnType<typeof fragment>;

/** A prepared statement whose text is composed dynamically, with few variants. */
export function compileStatement<Row>(query: Fragment): Statement<Row> {
  const { sql: text, parameters } = query.compile(queryBuilder());
  return prepared(text, parameters);
}
