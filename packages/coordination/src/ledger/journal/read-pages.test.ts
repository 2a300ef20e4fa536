import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable, writeEvents } from '../../testing/ledger/journal-writer.ts';
import { encodeCursor, type JournalPosition, parseCursor } from './cursor.ts';
import { typePatternsOf } from './event-types.ts';
import { type EventFilter, everyEvent, readPageAfter, readPageBefore } from './read-pages.ts';

let baton: TestCoordination;
let stored: { id: string; type: string; entity_id: string }[];
const types = ['task.created', 'task.updated', 'run.started'] as const;
const entities = [
  '0190b2c4-0000-7000-8000-00000000000a',
  '0190b2c4-0000-7000-8000-00000000000b',
  '0190b2c4-0000-7000-8000-00000000000c',
];

before(async () => {
  baton = await startCoordination();
  for (let n = 0; n < 60; n += 1)
    await writeEvents(
      baton.pool,
      baton.tenantId,
      Array.from({ length: 1 + (n % 3) }, (_, m) => ({
        type: types[(n * 7 + m) % 3] as string,
        entity_id: entities[(n * 5 + m) % 3] as string,
      })),
    );
  await journalIsStable(baton.pool);
  stored = await baton.pool.rows(sql`
    select id, type, entity_id from events where tenant_id = ${baton.tenantId} order by position, sequence`);
});
after(() => baton.close());

const filters = fc.record({
  prefix: fc.option(fc.constantFrom('task.', 'run.', 'task.created', 'goal.')),
  entityId: fc.option(fc.constantFrom(...entities)),
});
const sizes = fc.record({ limit: fc.integer({ min: 1, max: 40 }), scanMax: fc.integer({ min: 1, max: 50 }) });

function filterOf({ prefix, entityId }: { prefix: string | null; entityId: string | null }) {
  const filter: EventFilter = {
    ...everyEvent,
    typePatterns: typePatternsOf(prefix === null ? undefined : [prefix]),
    entityId,
  };
  const expected = stored
    .filter(({ type }) => prefix === null || type.startsWith(prefix))
    .filter((event) => entityId === null || event.entity_id === entityId)
    .map(({ id }) => id);
  return { filter, expected };
}

test('pages of any length with any filter return each matching event once, in order', async () => {
  await fc.assert(
    fc.asyncProperty(filters, sizes, async (wanted, { limit, scanMax }) => {
      const { filter, expected } = filterOf(wanted);
      const seen: string[] = [];
      let from: JournalPosition | undefined;
      for (let hasMore = true; hasMore; ) {
        const page = await readPageAfter(baton.pool, from, {
          tenantId: baton.tenantId,
          filter,
          limit,
          // Unfiltered pages skip no events.
          scanMax: wanted.prefix === null ? 1000 : scanMax,
        });
        assert.ok(page.rows.length <= limit);
        seen.push(...page.rows.map(({ id }) => id));
        hasMore = page.hasMore;
        from = page.next ?? from;
      }
      assert.deepEqual(seen, expected);
    }),
    { numRuns: byDepth(20, 60) },
  );
});

test('pages read backward from the end return each matching event once, in order', async () => {
  await fc.assert(
    fc.asyncProperty(filters, sizes, async (wanted, { limit, scanMax }) => {
      const { filter, expected } = filterOf(wanted);
      const seen: string[] = [];
      let from: JournalPosition | undefined;
      do {
        const page = await readPageBefore(baton.pool, from, {
          tenantId: baton.tenantId,
          filter,
          limit,
          scanMax: wanted.prefix === null ? 1000 : scanMax,
        });
        seen.unshift(...page.rows.map(({ id }) => id));
        from = page.previous;
      } while (from !== undefined);
      assert.deepEqual(seen, expected);
    }),
    { numRuns: byDepth(20, 60) },
  );
});

test('a cursor decodes to the position from which it was encoded', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.maxSafeNat(), (position, sequence) => {
      assert.deepEqual(parseCursor(encodeCursor({ position, sequence })), { position, sequence });
    }),
  );
});

test("any text that isn't a cursor is refused, without any other failure", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.base64String().map((text) => `ec1_${text}`),
        fc.json().map((text) => `ec1_${Buffer.from(text).toString('base64url')}`),
        fc.json().map((text) => Buffer.from(text).toString('base64url')),
      ),
      (text) => {
        try {
          parseCursor(text);
        } catch (error) {
          assert.match((error as Error).message, /^(invalid_cursor|unsupported_cursor_version)$/);
        }
      },
    ),
    { numRuns: byDepth(500, 2000) },
  );
});
