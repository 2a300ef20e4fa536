import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { byDepth } from '@baton/testing/depth';
import { startDoors } from '../testing/door/door-service.ts';
import { cutPage, decodeCursor, encodeCursor } from './paging.ts';
import { Refusal } from './refusal.ts';

const uuid = fc.uuid().map((text) => text.toLowerCase());
const timestamp = fc
  .date({
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  })
  .map((date) => date.toISOString());
const forms = ['timestamp', 'uuid', 'integer', 'timestamp?'] as const;
const position = fc.tuple(timestamp, uuid, fc.maxSafeNat(), fc.option(timestamp, { nil: null }));

const isInvalid = (error: unknown) => error instanceof Refusal && error.code === 'invalid_cursor';

test('a cursor gives back the position it was made of, and is safe in a URL', () => {
  fc.assert(
    fc.property(position, (at) => {
      const cursor = encodeCursor('list', at);
      assert.match(cursor, /^[A-Za-z0-9_-]+$/);
      assert.deepEqual(decodeCursor('list', cursor, forms), at);
    }),
  );
});

test("another list's cursor is refused, and one of another shape", () => {
  fc.assert(
    fc.property(position, ([at, id, number]) => {
      assert.throws(
        () => decodeCursor('other', encodeCursor('list', [at, id]), ['timestamp', 'uuid']),
        isInvalid,
      );
      assert.throws(
        () => decodeCursor('list', encodeCursor('list', [id, at]), ['timestamp', 'uuid']),
        isInvalid,
      );
      assert.throws(() => decodeCursor('list', encodeCursor('list', [at]), ['timestamp', 'uuid']), isInvalid);
      assert.throws(
        () => decodeCursor('list', encodeCursor('list', [at, id, number]), ['timestamp', 'uuid']),
        isInvalid,
      );
      assert.throws(
        () => decodeCursor('list', encodeCursor('list', [null, id]), ['timestamp', 'uuid']),
        isInvalid,
      );
    }),
  );
});

test('a position that the database could not read is refused', () => {
  for (const at of [
    '2026-02-30T00:00:00.000Z',
    '2026-13-01T00:00:00.000Z',
    '0000-01-01T00:00:00.000Z',
    '2026-01-01T24:00:01.000Z',
    '2026-01-01T23:59:60.000Z',
    '2026-01-01T00:00:00Z',
    'infinity',
  ])
    assert.throws(() => decodeCursor('list', encodeCursor('list', [at]), ['timestamp']), isInvalid, at);
  for (const number of [-1, 1.5, 2 ** 53, 1e300, '1'])
    assert.throws(() => decodeCursor('list', encodeCursor('list', [number]), ['integer']), isInvalid);
});

test('garbage is refused and nothing else', () => {
  const garbage = fc.oneof(
    fc.string(),
    fc.base64String(),
    fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value)).toString('base64url')),
  );
  fc.assert(
    fc.property(garbage, (cursor) => assert.throws(() => decodeCursor('list', cursor, forms), isInvalid)),
  );
});

test('a page is cut where its cursor points, and the last one has none', () => {
  fc.assert(
    fc.property(
      fc.array(fc.maxSafeNat(), { maxLength: 20 }),
      fc.integer({ min: 1, max: 10 }),
      (all, limit) => {
        const { rows, nextCursor } = cutPage(
          all.slice(0, limit + 1),
          { limit, cursor: undefined },
          'list',
          (row) => [row],
        );
        assert.deepEqual(rows, all.slice(0, limit));
        assert.equal(nextCursor !== null, all.length > limit);
        if (nextCursor !== null)
          assert.deepEqual(decodeCursor('list', nextCursor, ['integer']), [all[limit - 1]]);
      },
    ),
  );
});

test('over HTTP, pages of any length give every row once and in order', async (t) => {
  const doors = await startDoors();
  t.after(() => doors.close());
  const made: string[] = [];
  for (let count = 0; count < 7; count += 1) made.unshift((await doors.makeDoor()).id);
  for (const limit of [1, 2, 3, 7, 8]) {
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { body } = await doors.call(
        'GET',
        `/api/doors?limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`,
      );
      const page = body as { items: { id: string }[]; nextCursor: string | null };
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
    }
    assert.deepEqual(seen, made);
  }
});

test('over HTTP, no cursor is answered with 500', async (t) => {
  const doors = await startDoors();
  t.after(() => doors.close());
  const parts = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.constant(null),
    uuid,
    timestamp,
    fc.constant('2026-02-31T00:00:00.000Z'),
  );
  const cursors = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(parts, { maxLength: 3 }).map((values) => encodeCursor('doors', values)),
  );
  await fc.assert(
    fc.asyncProperty(cursors, async (cursor) => {
      const { status, text } = await doors.call(
        'GET',
        `/api/doors?cursor=${encodeURIComponent(cursor.toWellFormed())}`,
      );
      assert.ok([200, 422].includes(status), text);
    }),
    { numRuns: byDepth(30, 200) },
  );
});
