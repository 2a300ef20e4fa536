import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JournalEvent } from '@baton/sdk';
import { happeningsOf, nextPage, type Source, sourceOf } from './merged-events.ts';

const at = (second: number) => new Date(Date.UTC(2026, 2, 2, 9, 0, second)).toISOString();
const event = (second: number, other: Partial<JournalEvent> = {}): JournalEvent =>
  ({
    id: `e${second}`,
    type: 'task.updated',
    sequence: second,
    occurredAt: at(second),
    requestId: null,
    actorId: 'ada',
    ...other,
  }) as JournalEvent;

/** Returns a reader of streams that counts its reads, with pages of this size. */
function journalOf(streams: Readonly<Record<string, readonly JournalEvent[]>>, pageSize: number) {
  const reads: string[] = [];
  const read = async ({ entityId, before }: Source) => {
    reads.push(entityId);
    const newest = [...(streams[entityId] ?? [])].sort((one, other) => other.sequence - one.sequence);
    const from = before === undefined ? 0 : newest.findIndex(({ id }) => id === before) + 1;
    const items = newest.slice(from, from + pageSize);
    const isLast = from + items.length >= newest.length;
    return { items, prevCursor: isLast ? null : (items.at(-1)?.id ?? null) };
  };
  return { reads, read };
}

async function readAll(sources: readonly Source[], pageSize: number, read: Parameters<typeof nextPage>[2]) {
  const pages: string[][] = [];
  let state: readonly Source[] | null = sources;
  while (state !== null) {
    assert.ok(pages.length < 1_000);
    const { events, next }: Awaited<ReturnType<typeof nextPage>> = await nextPage(state, pageSize, read);
    pages.push(events.map(({ id }) => id));
    state = next;
  }
  return pages;
}

describe('the merged streams of a task', () => {
  test('pages contain every event once, newest first, whatever the streams and page sizes', async () => {
    for (const [pageSize, readSize] of [
      [1, 1],
      [3, 2],
      [7, 10],
      [100, 4],
    ] as const) {
      const streams: Record<string, JournalEvent[]> = { task: [], run: [], claim: [] };
      const names = Object.keys(streams);
      for (let second = 0; second < 40; second += 1)
        streams[names[(second * second) % 3] ?? '']?.push(event(second));
      const { read } = journalOf(streams, readSize);
      const pages = await readAll(
        names.map((name) => sourceOf(name, [])),
        pageSize,
        read,
      );
      assert.deepEqual(
        pages.flat(),
        Array.from({ length: 40 }, (_, place) => `e${39 - place}`),
      );
      for (const page of pages.slice(0, -1)) assert.equal(page.length, pageSize);
    }
  });

  test('a stream that ended earlier is read only when the page reaches it', async () => {
    const old = [event(1), event(2)];
    const recent = Array.from({ length: 500 }, (_, place) => event(10_000 + place));
    const { reads, read } = journalOf({ task: recent, old }, 40);
    const sources = [sourceOf('task', []), sourceOf('old', [], at(2))];
    const first = await nextPage(sources, 40, read);
    assert.deepEqual([first.events.length, first.events[0]?.id, reads], [40, 'e10499', ['task']]);
    assert.ok(first.next);
    const rest = await readAll(first.next, 40, read);
    assert.deepEqual(rest.flat().slice(-2), ['e2', 'e1']);
    assert.equal(rest.flat().length, 462);
  });

  test('an empty page of a filtered stream does not end it', async () => {
    let calls = 0;
    const read = async () => {
      calls += 1;
      return calls < 3 ? { items: [], prevCursor: `c${calls}` } : { items: [event(1)], prevCursor: null };
    };
    const { events, next } = await nextPage([sourceOf('task', ['task.comment_'])], 10, read);
    assert.deepEqual([events.map(({ id }) => id), next], [['e1'], null]);
  });

  test('without streams there is one empty page', async () => {
    assert.deepEqual(await nextPage([], 10, () => assert.fail()), { events: [], next: null });
  });
});

describe('the lines of the activity', () => {
  const of = (type: string, second: number, requestId: string | null = 'req_1', actorId = 'ada') =>
    event(second, { type, requestId, actorId });

  test('the end of a run, its claim and its task are one line, described by the run', () => {
    const events = [
      of('task.completed', 4),
      of('claim.released', 3),
      of('run.succeeded', 2),
      of('run.started', 1, 'req_0'),
    ];
    assert.deepEqual(
      happeningsOf(events).map(({ event: { type }, events: all }) => [type, all.length]),
      [
        ['run.succeeded', 3],
        ['run.started', 1],
      ],
    );
  });

  test('a comment and an artifact are lines of their own', () => {
    const events = [
      of('task.comment_added', 4),
      of('run.succeeded', 3),
      of('artifact.created', 2),
      of('artifact.created', 1),
    ];
    assert.equal(happeningsOf(events).length, 4);
  });

  test('events of other requests, of other actors or without a request are not joined', () => {
    assert.equal(happeningsOf([of('task.updated', 2, 'a'), of('task.updated', 1, 'b')]).length, 2);
    assert.equal(
      happeningsOf([of('task.updated', 2, 'a', 'ada'), of('task.updated', 1, 'a', 'bob')]).length,
      2,
    );
    assert.equal(happeningsOf([of('task.updated', 2, null), of('task.updated', 1, null)]).length, 2);
  });
});
