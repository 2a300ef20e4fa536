import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Generated } from 'kysely';
import { z } from 'zod';
import { type RowOf, wireMapper } from './row.ts';

interface DoorsTable {
  id: string;
  opened_at: string | null;
  open_count: Generated<number>;
  paint: unknown;
}
type DoorRow = RowOf<DoorsTable, { paint: { colour: string } }>;

const Door = z.strictObject({
  id: z.string(),
  doorId: z.string(),
  openedAt: z.string().nullable(),
  openCount: z.number(),
  paint: z.strictObject({ colour: z.string() }),
  isOpen: z.boolean(),
});

const row: DoorRow = { id: 'a', opened_at: null, open_count: 2, paint: { colour: 'red' } };

test('a row becomes its wire form: columns by name, and what is derived', () => {
  const doorOf = wireMapper<DoorRow>()(Door, {
    doorId: ({ id }) => id,
    isOpen: ({ opened_at }) => opened_at !== null,
  });
  assert.deepEqual(doorOf(row), {
    id: 'a',
    doorId: 'a',
    openedAt: null,
    openCount: 2,
    paint: { colour: 'red' },
    isOpen: false,
  });
});

test('a field without a column of its type does not compile', () => {
  // @ts-expect-error doorId and isOpen have no column
  wireMapper<DoorRow>()(Door, {});
  // @ts-expect-error opened_at may be null
  wireMapper<DoorRow>()(z.strictObject({ openedAt: z.string() }), {});
  // @ts-expect-error the table has no such column
  type _Wrong = RowOf<DoorsTable, { window: string }>;
});
