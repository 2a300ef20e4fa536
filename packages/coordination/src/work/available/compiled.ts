import { queryBuilder } from '@baton/kernel/database/db';
import type { fragment } from '@baton/kernel/database/list';
import { prepared, type Statement } from '@baton/kernel/database/sql';

export type Fragment = ReturnType<typeof fragment>;

/** A statement whose text is put together for each request, and which is prepared all the same: there are few such texts. */
export function compiled<Row>(query: Fragment): Statement<Row> {
  const { sql: text, parameters } = query.compile(queryBuilder());
  return prepared(text, parameters);
}
