import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask } from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

test('the first and the last date that a task can start at begin at an instant of these years in every zone', async () => {
  const starts = [
    ['Asia/Tokyo', '0001-01-01T00:00:00.000Z', '9999-12-30T15:00:00.000Z'],
    ['America/Los_Angeles', '0001-01-01T07:52:58.000Z', '9999-12-31T08:00:00.000Z'],
  ] as const;
  for (const [place, [timezone, first, last]] of starts.entries()) {
    const calendarKey = `zone${place}`;
    const spec = { displayName: timezone, timezone, years: [{ year: 2026 }] };
    await done(baton.admin.post('/calendars', { key: calendarKey, spec }), 201);
    const { id: workspaceId } = await makeWorkspace(baton, { calendarKey });
    for (const [startDate, availableAt] of [
      ['0001-01-01', first],
      ['9999-12-31', last],
    ] as const) {
      const task = await makeTask(baton, { workspaceId, startDate });
      assert.deepEqual([task.startDate, task.availableAt], [`${startDate}T00:00:00.000Z`, availableAt]);
    }
  }
});
