import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JournalEvent } from '@baton/sdk';
import { NewerEvents } from '../web/src/journal/newer-events.ts';

const bounds = { gatherMs: 5, readAgainMs: 20, gatheredMax: 3 };
const event = (id: number) => ({ id: String(id) }) as JournalEvent;

function shown() {
  const seen: string[] = [];
  const state = { isReading: false, readings: 0 };
  const newer = new NewerEvents(
    {
      isReading: () => state.isReading,
      show: (events) => seen.push(...events.map(({ id }) => id)),
      readAgain: () => {
        state.readings += 1;
      },
    },
    bounds,
  );
  return { newer, seen, state };
}

async function until(isSo: () => boolean): Promise<void> {
  for (let n = 0; n < 500 && !isSo(); n += 1) await sleep(5);
  assert.ok(isSo());
}

test('events during a query are shown after it', async () => {
  const { newer, seen, state } = shown();
  state.isReading = true;
  newer.add(event(1));
  await sleep(30);
  newer.add(event(2));
  assert.deepEqual(seen, []);
  state.isReading = false;
  await until(() => seen.length === 2);
  assert.deepEqual([seen, state.readings], [['1', '2'], 0]);
});

test('if events were left out it is refetched once, and never during a running query', async () => {
  const { newer, seen, state } = shown();
  state.isReading = true;
  // The fourth event exceeds the limit.
  for (const id of [1, 2, 3, 4, 5]) newer.add(event(id));
  newer.leftOut();
  await sleep(80);
  assert.equal(state.readings, 0);
  state.isReading = false;
  await until(() => state.readings === 1);
  await sleep(60);
  assert.equal(state.readings, 1);
  assert.equal(seen.includes('4'), false);
  newer.add(event(6));
  await until(() => seen.includes('6'));
});

test('once it is stopped, no events are shown or read', async () => {
  const { newer, seen, state } = shown();
  newer.add(event(1));
  newer.leftOut();
  newer.stop();
  await sleep(60);
  assert.deepEqual([seen, state.readings], [[], 0]);
});
