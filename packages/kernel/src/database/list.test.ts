import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeCursor } from '../http/paging.ts';
import { Refusal } from '../http/refusal.ts';
import { type Db, queryBuilder } from './db.ts';
import { type ListOrder, listPage, matching, pageQuery, startOf } from './list.ts';

interface LampRow {
  id: string;
  lit_at: string;
  due_at: string | null;
  colour: string;
}

const id = '0190b2c4-0000-7000-8000-000000000001';
const at = '2026-11-22T03:00:00.000Z';
const lamps = queryBuilder<{ lamps: LampRow; rooms: { id: string } }>();
const newestFirst: ListOrder<LampRow> = {
  cursor: 'lamps',
  columns: { lit_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};
const nextDueFirst: ListOrder<LampRow> = {
  cursor: 'lamps:due',
  columns: { due_at: 'timestamp?', id: 'uuid' },
  direction: 'asc',
  table: 'l',
};

test('the first page is ordered and reads one row more than it holds', () => {
  const { statement } = pageQuery(lamps.selectFrom('lamps').selectAll(), newestFirst, {
    limit: 2,
    cursor: undefined,
  });
  assert.deepEqual(statement, {
    text: 'select * from "lamps" order by "lit_at" desc, "id" desc limit $1',
    values: [3],
  });
});

test('the next page begins behind its cursor, and rows without a date come last', () => {
  const query = lamps.selectFrom('lamps as l').innerJoin('rooms as r', 'r.id', 'l.id').selectAll('l');
  const page = { limit: 2, cursor: encodeCursor('lamps:due', [null, id]) };
  const { statement } = pageQuery(query, nextDueFirst, page);
  assert.equal(
    statement.text,
    `select "l".* from "lamps" as "l" inner join "rooms" as "r" on "r"."id" = "l"."id" ` +
      `where (coalesce("l"."due_at", 'infinity'), "l"."id") > ($1, $2) ` +
      `order by coalesce("l"."due_at", 'infinity') asc, "l"."id" asc limit $3`,
  );
  assert.deepEqual(statement.values, ['infinity', id, 3]);
});

test("another order's cursor is refused", () => {
  const page = { limit: 2, cursor: encodeCursor('lamps:due', [at, id]) };
  assert.throws(
    () => startOf(newestFirst, page),
    (error) => error instanceof Refusal && error.code === 'invalid_cursor',
  );
});

test('a page is cut, its rows are mapped, and its cursor leads to the next', async () => {
  const row = (number: number): LampRow => ({ id, lit_at: at, due_at: null, colour: `colour ${number}` });
  const db = { rows: async () => [row(1), row(2), row(3)] } as unknown as Db;
  const query = (cursor: string | undefined, limit: number) =>
    pageQuery(lamps.selectFrom('lamps').selectAll(), newestFirst, { limit, cursor });
  const { items, nextCursor } = await listPage(db, query(undefined, 2), ({ colour }) => colour);
  assert.deepEqual(items, ['colour 1', 'colour 2']);
  assert.deepEqual(startOf(newestFirst, { limit: 2, cursor: nextCursor as string }), [at, id]);
  assert.equal((await listPage(db, query(undefined, 3), ({ colour }) => colour)).nextCursor, null);
});

test('a filter narrows by what is given only', () => {
  const query = matching(lamps.selectFrom('lamps').selectAll(), { colour: 'red', due_at: undefined });
  const { sql, parameters } = query.compile();
  assert.deepEqual([sql, parameters], ['select * from "lamps" where "colour" = $1', ['red']]);
});
